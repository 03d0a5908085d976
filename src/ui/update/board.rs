//! Board actions: selection and scrolling in the graph or the list.

use super::movement::{self, Way};
use crate::domain::ids::TaskId;
use crate::protocol::event::Level;
use crate::ui::board::{self, GRAPH_MAX, Places, Shape, Shown, Step, Toward, Why, Zoom};
use crate::ui::graph::Drawing;
use crate::ui::keymap::{Action, Context};
use crate::ui::layout;
use crate::ui::state::UiState;
use crate::ui::state::pane::Pane;
use crate::ui::transcript::Scroll;

/// Returns the current board layout; a list if the board is not visible.
fn places(state: &UiState) -> Places {
    let area = layout::layout(state, state.size).pane(Pane::Board);
    let inside = area.map(layout::inside).unwrap_or_default();
    board::places(state, inside)
}

fn shown(state: &UiState) -> Shown {
    places(state).shown
}

/// Returns the message for graph actions in the list view.
fn listed(state: &UiState) -> String {
    let key = state
        .keymap
        .key(Context::In(Pane::Board), Action::TurnBoard);
    format!("Tasks are shown as a list. {key} shows the graph.")
}

/// Pans the graph. The selection stays; moving it scrolls back to it.
pub fn pan(state: &mut UiState, toward: Toward) {
    let places = places(state);
    let Shown::Graph(drawing) = places.shown else {
        let words = listed(state);
        state.say(Level::Info, words);
        return;
    };
    let selected = board::selected(state).and_then(|(_, id)| board::index(state).place(id));
    let selected = selected.unwrap_or_default();
    state.camera = state.camera.panned(toward, &drawing, selected, places.body);
}

/// Sets the zoom of the graph.
pub fn zoom(state: &mut UiState, zoom: Zoom) {
    state.camera = board::Camera {
        zoom,
        moved: (0, 0),
    };
    let words = match shown(state) {
        Shown::Graph(_) => zoom.words().into(),
        Shown::List(_) => listed(state),
    };
    state.say(Level::Info, words);
}

fn select(state: &mut UiState, id: Option<TaskId>) {
    if id.is_some() {
        state.camera.moved = (0, 0);
        state.selected.task = id;
    }
}

fn walk(state: &mut UiState, drawing: &Drawing, step: Step) {
    let index = board::index(state);
    let here = board::selected(state).and_then(|(_, id)| index.place(id));
    let there = here.map(|at| board::step(drawing, at, step));
    select(state, there.and_then(|at| index.id(at)));
}

pub fn scroll(state: &mut UiState, by: Scroll) {
    let page = movement::page_of(state, Pane::Board);
    match shown(state) {
        Shown::Graph(drawing) => {
            let half = (page / 2).max(1);
            let step = match by {
                Scroll::LineUp => Step::Up(1),
                Scroll::LineDown => Step::Down(1),
                Scroll::HalfUp => Step::Up(half),
                Scroll::HalfDown => Step::Down(half),
                Scroll::PageUp => Step::Up(page),
                Scroll::PageDown => Step::Down(page),
                Scroll::Top => Step::First,
                Scroll::Bottom => Step::Last,
            };
            walk(state, &drawing, step);
        }
        Shown::List(_) => {
            let rows = board::rows(state);
            let at = board::selected(state).map_or(0, |(at, _)| at);
            let next = rows.get(movement::step(at, rows.len(), by, page));
            let id = next.and_then(|row| board::index(state).id(row.task));
            select(state, id);
        }
    }
}

/// Applies a dragged scrollbar: selects row `at` of a list, or scrolls the graph so that `first` rows are above.
pub fn jump(state: &mut UiState, first: usize, at: usize) {
    let places = places(state);
    match &places.shown {
        Shown::List(_) => {
            let task = board::rows(state).get(at).map(|row| row.task);
            let id = task.and_then(|task| board::index(state).id(task));
            select(state, id);
        }
        Shown::Graph(drawing) => {
            let selected = board::selected(state).and_then(|(_, id)| board::index(state).place(id));
            let selected = selected.unwrap_or_default();
            let (_, top) = state.camera.window(drawing, selected, places.body);
            shift(state, (0, first.cast_signed() - top.cast_signed()));
        }
    }
}

/// Moves the selection along an edge: forward to a blocked task, back to a blocker.
pub fn along(state: &mut UiState, way: Way) {
    match shown(state) {
        Shown::Graph(drawing) => {
            let step = match way {
                Way::Forward => Step::Right,
                Way::Back => Step::Left,
            };
            walk(state, &drawing, step);
        }
        Shown::List(_) => {
            let (index, rows) = (board::index(state), board::rows(state));
            let Some((at, id)) = board::selected(state) else {
                return;
            };
            let here = index.place(id).unwrap_or_default();
            let ends = match way {
                Way::Forward => index.frees(here),
                Way::Back => index.waits(here),
            };
            let listed = ends.iter().filter_map(|task| rows.row_of(*task));
            let nearest = listed.min_by_key(|row| (row.abs_diff(at), *row));
            let task = nearest.and_then(|row| rows.get(row)).map(|row| row.task);
            select(state, task.and_then(|task| index.id(task)));
        }
    }
}

/// Switches between graph and list.
pub fn turn(state: &mut UiState) {
    if state.filters.of(Pane::Board).is_some() {
        let key = state.keymap.key(Context::Panes, Action::Back);
        let words = format!("Filtered tasks are shown as a list. {key} clears the filter.");
        state.say(Level::Info, words);
        return;
    }
    match shown(state) {
        Shown::Graph(_) => state.board_shape = Shape::List,
        Shown::List(Why::Many(count)) if count > GRAPH_MAX => {
            let text = format!("{count} tasks: the graph shows at most {GRAPH_MAX}.");
            state.say(Level::Info, text);
        }
        Shown::List(Why::Tangled) => {
            state.say(
                Level::Info,
                "The tasks have too many dependencies for a graph.",
            );
        }
        Shown::List(Why::Asked | Why::Filtered | Why::Many(_) | Why::Deep(_)) => {
            state.board_shape = Shape::Graph;
        }
    }
}

/// Focuses the board and selects a clicked task.
pub fn click(state: &mut UiState, task: TaskId) {
    movement::focus(state, Pane::Board);
    select(state, Some(task));
}

/// Applies the mouse wheel: pans the graph, or moves the selection of the list up and down.
pub fn wheel(state: &mut UiState, toward: Toward, cells: usize) {
    let by = match (shown(state), toward) {
        (Shown::List(_), Toward::Left | Toward::Right) => return,
        (Shown::List(_), Toward::Up) => Scroll::LineUp,
        (Shown::List(_), Toward::Down) => Scroll::LineDown,
        (Shown::Graph(_), toward) => return shift(state, toward.by(cells, cells)),
    };
    for _ in 0..cells {
        scroll(state, by);
    }
}

/// Pans the graph by columns and rows; does nothing in a list.
pub fn shift(state: &mut UiState, by: (isize, isize)) {
    let places = places(state);
    let Shown::Graph(drawing) = places.shown else {
        return;
    };
    let selected = board::selected(state).and_then(|(_, id)| board::index(state).place(id));
    let selected = selected.unwrap_or_default();
    state.camera = state.camera.shifted(by, &drawing, selected, places.body);
}

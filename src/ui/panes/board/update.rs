//! The keys of the board: the selection moves along the drawing or the list.

use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::app::board_view::Shape;
use crate::ui::frame::navigation as frame_navigation;
use crate::ui::graph::navigation::Step;
use crate::ui::graph::viewport::Zoom;
use crate::ui::graph::{Drawing, navigation, viewport};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::direction::Toward;
use crate::ui::keymap::direction::Way;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::board::index;
use crate::ui::panes::board;
use crate::ui::panes::board::{GRAPH_MAX, Shown, Why, places};
use crate::ui::widgets::list;

fn shown(state: &UiState, area: Rect) -> Shown {
    board::places(state, area).shown
}

/// That there is no drawing, and the key that makes one.
fn listed(state: &UiState) -> String {
    let key = state
        .prefs
        .keymap
        .key(Context::In(Pane::Board), Action::TurnBoard);
    format!("The tasks are listed; {key} draws them.")
}

/// Moves the view over the drawing; the selection stays, and brings the view back when it moves.
pub fn pan(state: &mut UiState, area: Rect, toward: Toward) {
    let places = board::places(state, area);
    let Shown::Graph(drawing) = places.shown else {
        let words = listed(state);
        state.say(Level::Info, words);
        return;
    };
    let selected = board::selected(state).and_then(|(_, id)| index(state).place(id));
    let selected = selected.unwrap_or_default();
    state.board_view.camera =
        state
            .board_view
            .camera
            .panned(toward, &drawing, selected, places.body);
}

/// Draws more or less of each task.
pub fn zoom(state: &mut UiState, area: Rect, zoom: Zoom) {
    state.board_view.camera = viewport::Camera {
        zoom,
        moved: (0, 0),
    };
    let words = match shown(state, area) {
        Shown::Graph(_) => zoom.words().into(),
        Shown::List(_) => listed(state),
    };
    state.say(Level::Info, words);
}

fn select(state: &mut UiState, id: Option<TaskId>) {
    if id.is_some() {
        state.board_view.camera.moved = (0, 0);
        state.selected.task = id;
    }
}

fn walk(state: &mut UiState, drawing: &Drawing, step: Step) {
    let index = index(state);
    let here = board::selected(state).and_then(|(_, id)| index.place(id));
    let there = here.map(|at| navigation::step(drawing, at, step));
    select(state, there.and_then(|at| index.id(at)));
}

/// Moves the selection up or down.
pub fn scroll(state: &mut UiState, area: Rect, by: Scroll) {
    let page = usize::from(area.height).max(1);
    match shown(state, area) {
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
            let next = rows.get(list::step(at, rows.len(), by, page));
            let id = next.and_then(|row| index(state).id(row.task));
            select(state, id);
        }
    }
}

/// Goes to where a scrollbar is pulled: a list to its row `at`, a drawing so far that `first` rows of it lie above.
pub fn jump(state: &mut UiState, area: Rect, first: usize, at: usize) {
    let places = board::places(state, area);
    match &places.shown {
        Shown::List(_) => {
            let task = board::rows(state).get(at).map(|row| row.task);
            let id = task.and_then(|task| index(state).id(task));
            select(state, id);
        }
        Shown::Graph(drawing) => {
            let selected = board::selected(state).and_then(|(_, id)| index(state).place(id));
            let selected = selected.unwrap_or_default();
            let (_, top) = state
                .board_view
                .camera
                .window(drawing, selected, places.body);
            shift(state, area, (0, first.cast_signed() - top.cast_signed()));
        }
    }
}

/// Moves the selection along an edge: forward to what waits, back to what is waited for.
pub fn along(state: &mut UiState, area: Rect, way: Way) {
    match shown(state, area) {
        Shown::Graph(drawing) => {
            let step = match way {
                Way::Forward => Step::Right,
                Way::Back => Step::Left,
            };
            walk(state, &drawing, step);
        }
        Shown::List(_) => {
            let (index, rows) = (index(state), board::rows(state));
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

/// Draws what is listed, lists what is drawn.
pub fn turn(state: &mut UiState, area: Rect) {
    if state.filters.of(Pane::Board).is_some() {
        let key = state.prefs.keymap.key(Context::Panes, Action::Back);
        let words = format!("What is looked for is listed. {key} clears the filter.");
        state.say(Level::Info, words);
        return;
    }
    match shown(state, area) {
        Shown::Graph(_) => state.board_view.shape = Shape::List,
        Shown::List(Why::Many(count)) if count > GRAPH_MAX => {
            let text = format!("{count} tasks are listed; {GRAPH_MAX} at most are drawn.");
            state.say(Level::Info, text);
        }
        Shown::List(Why::Tangled) => {
            state.say(
                Level::Info,
                "The tasks wait for one another in too many ways to be drawn.",
            );
        }
        Shown::List(Why::Asked | Why::Filtered | Why::Many(_) | Why::Deep(_)) => {
            state.board_view.shape = Shape::Graph;
        }
    }
}

/// A click on a task: the board gets the keys, and the task is selected.
pub fn click(state: &mut UiState, task: TaskId) {
    frame_navigation::focus(state, Pane::Board);
    select(state, Some(task));
}

/// The wheel: it moves the view over the drawing; a list moves as others do, up and down.
pub fn wheel(state: &mut UiState, area: Rect, toward: Toward, cells: usize) {
    let by = match (shown(state, area), toward) {
        (Shown::List(_), Toward::Left | Toward::Right) => return,
        (Shown::List(_), Toward::Up) => Scroll::LineUp,
        (Shown::List(_), Toward::Down) => Scroll::LineDown,
        (Shown::Graph(_), toward) => return shift(state, area, toward.by(cells, cells)),
    };
    for _ in 0..cells {
        scroll(state, area, by);
    }
}

/// Moves the view over the drawing by columns and rows; a list stays.
pub fn shift(state: &mut UiState, area: Rect, by: (isize, isize)) {
    let places = board::places(state, area);
    let Shown::Graph(drawing) = places.shown else {
        return;
    };
    let selected = board::selected(state).and_then(|(_, id)| index(state).place(id));
    let selected = selected.unwrap_or_default();
    state.board_view.camera = state
        .board_view
        .camera
        .shifted(by, &drawing, selected, places.body);
}

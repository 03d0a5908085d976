//! Board actions: selection and scrolling in the graph or the list.

use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::board_view::Shape;
use crate::ui::frame::navigation as frame_navigation;
use crate::ui::graph::navigation::Step;
use crate::ui::graph::viewport::Zoom;
use crate::ui::graph::{Drawing, navigation, viewport};
use crate::ui::keymap::direction::{Scroll, Toward, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::board::index;
use crate::ui::panes::board;
use crate::ui::panes::board::{GRAPH_MAX, ListReason, Shown};
use crate::ui::widgets::list;

fn shown(app: &App, area: Rect) -> Shown {
    board::places(app, area).shown
}

/// Returns the message for graph actions in the list view.
fn listed(prefs: &Preferences) -> String {
    let key = prefs
        .keymap
        .key(Context::In(Pane::Board), Action::TurnBoard);
    format!("Tasks are shown as a list. {key} shows the graph.")
}

/// Pans the graph. The selection stays; moving it scrolls back to it.
pub fn pan(app: &mut App, area: Rect, toward: Toward) {
    let places = board::places(app, area);
    let Shown::Graph(drawing) = places.shown else {
        let words = listed(&app.prefs);
        app.say(NoticeLevel::Info, words);
        return;
    };
    let selected = board::selected(app).and_then(|(_, id)| index(app).place(id));
    let selected = selected.unwrap_or_default();
    app.board_view.camera = app
        .board_view
        .camera
        .panned(toward, &drawing, selected, places.body);
}

/// Sets the zoom of the graph.
pub fn zoom(app: &mut App, area: Rect, zoom: Zoom) {
    app.board_view.camera = viewport::Camera {
        zoom,
        moved: (0, 0),
    };
    let words = match shown(app, area) {
        Shown::Graph(_) => zoom.words().into(),
        Shown::List(_) => listed(&app.prefs),
    };
    app.say(NoticeLevel::Info, words);
}

fn select(app: &mut App, id: Option<TaskId>) {
    if id.is_some() {
        app.board_view.camera.moved = (0, 0);
        app.selected.task = id;
    }
}

fn walk(app: &mut App, drawing: &Drawing, step: Step) {
    let index = index(app);
    let here = board::selected(app).and_then(|(_, id)| index.place(id));
    let there = here.map(|at| navigation::step(drawing, at, step));
    select(app, there.and_then(|at| index.id(at)));
}
pub fn scroll(app: &mut App, area: Rect, by: Scroll) {
    let page = usize::from(area.height).max(1);
    match shown(app, area) {
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
            walk(app, &drawing, step);
        }
        Shown::List(_) => {
            let rows = board::rows(app);
            let at = board::selected(app).map_or(0, |(at, _)| at);
            let next = rows.get(list::step(at, rows.len(), by, page));
            let id = next.and_then(|row| index(app).id(row.task));
            select(app, id);
        }
    }
}

/// Applies a dragged scrollbar: selects row `at` of a list, or scrolls the graph so that `first` rows are above.
pub fn jump(app: &mut App, area: Rect, first: usize, at: usize) {
    let places = board::places(app, area);
    match &places.shown {
        Shown::List(_) => {
            let task = board::rows(app).get(at).map(|row| row.task);
            let id = task.and_then(|task| index(app).id(task));
            select(app, id);
        }
        Shown::Graph(drawing) => {
            let selected = board::selected(app).and_then(|(_, id)| index(app).place(id));
            let selected = selected.unwrap_or_default();
            let (_, top) = app.board_view.camera.window(drawing, selected, places.body);
            shift(app, area, (0, first.cast_signed() - top.cast_signed()));
        }
    }
}

/// Moves the selection along an edge: forward to a blocked task, back to a blocker.
pub fn along(app: &mut App, area: Rect, way: Way) {
    match shown(app, area) {
        Shown::Graph(drawing) => {
            let step = match way {
                Way::Forward => Step::Right,
                Way::Back => Step::Left,
            };
            walk(app, &drawing, step);
        }
        Shown::List(_) => {
            let (index, rows) = (index(app), board::rows(app));
            let Some((at, id)) = board::selected(app) else {
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
            select(app, task.and_then(|task| index.id(task)));
        }
    }
}

/// Switches between graph and list.
pub fn turn(app: &mut App, area: Rect) {
    if app.filters.of(Pane::Board).is_some() {
        let key = app.prefs.keymap.key(Context::Panes, Action::Back);
        let words = format!("Filtered tasks are shown as a list. {key} clears the filter.");
        app.say(NoticeLevel::Info, words);
        return;
    }
    match shown(app, area) {
        Shown::Graph(_) => app.board_view.shape = Shape::List,
        Shown::List(ListReason::Many(count)) if count > GRAPH_MAX => {
            let text = format!("{count} tasks: the graph shows at most {GRAPH_MAX}.");
            app.say(NoticeLevel::Info, text);
        }
        Shown::List(ListReason::Tangled) => {
            app.say(
                NoticeLevel::Info,
                "The tasks have too many dependencies for a graph.",
            );
        }
        Shown::List(
            ListReason::Asked | ListReason::Filtered | ListReason::Many(_) | ListReason::Deep(_),
        ) => {
            app.board_view.shape = Shape::Graph;
        }
    }
}

/// Focuses the board and selects a clicked task.
pub fn click(app: &mut App, task: TaskId) {
    frame_navigation::focus(app, Pane::Board);
    select(app, Some(task));
}

/// Applies the mouse wheel: pans the graph, or moves the selection of the list up and down.
pub fn wheel(app: &mut App, area: Rect, toward: Toward, cells: usize) {
    let by = match (shown(app, area), toward) {
        (Shown::List(_), Toward::Left | Toward::Right) => return,
        (Shown::List(_), Toward::Up) => Scroll::LineUp,
        (Shown::List(_), Toward::Down) => Scroll::LineDown,
        (Shown::Graph(_), toward) => return shift(app, area, toward.by(cells, cells)),
    };
    for _ in 0..cells {
        scroll(app, area, by);
    }
}

/// Pans the graph by columns and rows; does nothing in a list.
pub fn shift(app: &mut App, area: Rect, by: (isize, isize)) {
    let places = board::places(app, area);
    let Shown::Graph(drawing) = places.shown else {
        return;
    };
    let selected = board::selected(app).and_then(|(_, id)| index(app).place(id));
    let selected = selected.unwrap_or_default();
    app.board_view.camera = app
        .board_view
        .camera
        .shifted(by, &drawing, selected, places.body);
}

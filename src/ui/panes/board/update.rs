//! Board actions: selection and scrolling in the graph or the list.

use crate::ui::model::CrewModel;
use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::domain::screen::BoardShape;
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::effect::Effect;
use crate::ui::graph::navigation::GraphMove;
use crate::ui::graph::viewport::Zoom;
use crate::ui::graph::{Drawing, navigation, viewport};
use crate::ui::keymap::direction::{PanDirection, Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::board::index;
use crate::ui::panes::board::{BoardPane, GRAPH_MAX, ListReason, Shown};
use crate::ui::widgets::list;

/// Returns the status message for an action that works only on the graph, used while the board shows a list.
fn graph_needed_message(prefs: &Preferences) -> String {
    let key = prefs
        .keymap
        .key(Context::In(Pane::Board), Action::ToggleGraph);
    format!("Tasks are shown as a list. {key} shows the graph.")
}

/// Shows a status message that says why the board showed a list although the user had not asked for one, and which keys
/// show more of the graph. Shows no message if the user had asked for the list or set a filter, or if the tasks have
/// too many dependencies for a graph.
fn say_why_list(app: &mut App, reason: ListReason) {
    let key = |action| app.prefs.keymap.key(Context::In(Pane::Board), action);
    let zoom = key(Action::ZoomOut);
    let (size, back, on) = match reason {
        ListReason::Deep(_) => ("wider", PanDirection::Left, PanDirection::Right),
        ListReason::Many(_) => ("much higher", PanDirection::Up, PanDirection::Down),
        ListReason::Narrow => {
            let full = app.prefs.keymap.key(Context::Panes, Action::Enlarge);
            let words = format!(
                "The pane is too narrow for whole names: {full} shows it in full screen, {zoom} zooms out."
            );
            app.say(words);
            return;
        }
        ListReason::Asked | ListReason::Filtered | ListReason::Tangled => return,
    };
    let (back, on) = (key(Action::Pan(back)), key(Action::Pan(on)));
    let words =
        format!("The graph is {size} than the pane: {back} and {on} pan, {zoom} zooms out.");
    app.say(words);
}

impl BoardPane {
    /// Pans the graph by a quarter of the visible area without changing the selection. When the user selects another
    /// task, the graph scrolls to that task. In a list, only shows a status message.
    pub fn pan(&mut self, app: &mut App, area: Rect, toward: PanDirection) {
        let places = self.layout(app, area);
        let Shown::Graph(drawing) = places.shown else {
            let words = graph_needed_message(&app.prefs);
            app.say(words);
            return;
        };
        let selected = self
            .selected_row(app)
            .and_then(|(_, id)| index(app).place(id));
        let selected = selected.unwrap_or_default();
        self.camera = self.camera.pan(toward, &drawing, selected, places.body);
    }

    /// Sets the zoom level of the graph, scrolls so that the selected task is visible, and names the level in a status
    /// message. While a list is shown, the level has no visible effect, and the message says so.
    pub fn zoom(&mut self, app: &mut App, area: Rect, zoom: Zoom) {
        self.camera = viewport::Camera {
            zoom,
            offset: (0, 0),
        };
        let words = match self.layout(app, area).shown {
            Shown::Graph(_) => zoom.words().into(),
            Shown::List(_) => graph_needed_message(&app.prefs),
        };
        app.say(words);
    }

    /// Selects a task and scrolls the graph so that the task is visible.
    pub fn select_task(&mut self, id: TaskId) {
        self.camera.offset = (0, 0);
        self.selected = Some(id);
    }

    /// Selects the task in a row of the list and scrolls the graph so that the task is visible. Does nothing if the
    /// list has no such row.
    pub fn select_row(&mut self, model: &CrewModel, row: usize) {
        let task = self.rows(model).get(row).map(|row| row.task);
        self.select_if_any(task.and_then(|task| index(model).id(task)));
    }

    fn select_if_any(&mut self, id: Option<TaskId>) {
        if let Some(id) = id {
            self.select_task(id);
        }
    }

    fn walk(&mut self, model: &CrewModel, drawing: &Drawing, step: GraphMove) {
        let index = index(model);
        let here = self.selected_row(model).and_then(|(_, id)| index.place(id));
        let there = here.map(|at| navigation::step(drawing, at, step));
        self.select_if_any(there.and_then(|at| index.id(at)));
    }
    pub fn scroll_by(&mut self, model: &CrewModel, area: Rect, by: Scroll) {
        let page = usize::from(area.height).max(1);
        match self.layout(model, area).shown {
            Shown::Graph(drawing) => {
                let half = (page / 2).max(1);
                let step = match by {
                    Scroll::LineUp => GraphMove::Up(1),
                    Scroll::LineDown => GraphMove::Down(1),
                    Scroll::HalfUp => GraphMove::Up(half),
                    Scroll::HalfDown => GraphMove::Down(half),
                    Scroll::PageUp => GraphMove::Up(page),
                    Scroll::PageDown => GraphMove::Down(page),
                    Scroll::Top => GraphMove::First,
                    Scroll::Bottom => GraphMove::Last,
                };
                self.walk(model, &drawing, step);
            }
            Shown::List(_) => {
                let at = self.selected_row(model).map_or(0, |(at, _)| at);
                let len = self.rows(model).len();
                self.select_row(model, list::step(at, len, by, page));
            }
        }
    }

    /// Applies the drag of a scrollbar: in a list, selects the row at index `at`; in the graph, scrolls so that `first`
    /// rows are above the visible part.
    pub fn jump_to(&mut self, model: &CrewModel, area: Rect, first: usize, at: usize) {
        let places = self.layout(model, area);
        match &places.shown {
            Shown::List(_) => self.select_row(model, at),
            Shown::Graph(drawing) => {
                let selected = self
                    .selected_row(model)
                    .and_then(|(_, id)| index(model).place(id));
                let selected = selected.unwrap_or_default();
                let (_, top) = self.camera.window(drawing, selected, places.body);
                self.pan_by(model, area, (0, first.cast_signed() - top.cast_signed()));
            }
        }
    }

    /// Moves the selection along an edge of the graph: forward to a task that the selected task blocks, or back to a
    /// task that blocks it. In a list, selects the nearest row that shows such a task; does nothing if there is none.
    pub fn along(&mut self, model: &CrewModel, area: Rect, way: Way) {
        match self.layout(model, area).shown {
            Shown::Graph(drawing) => {
                let step = match way {
                    Way::Forward => GraphMove::Right,
                    Way::Back => GraphMove::Left,
                };
                self.walk(model, &drawing, step);
            }
            Shown::List(_) => {
                let (index, rows) = (index(model), self.rows(model));
                let Some((at, id)) = self.selected_row(model) else {
                    return;
                };
                let here = index.place(id).unwrap_or_default();
                let ends = match way {
                    Way::Forward => index.blocked_tasks(here),
                    Way::Back => index.blockers(here),
                };
                let listed = ends.iter().filter_map(|task| rows.row_of(*task));
                if let Some(row) = listed.min_by_key(|row| (row.abs_diff(at), *row)) {
                    self.select_row(model, row);
                }
            }
        }
    }

    /// Switches between graph and list, and saves the choice. If only a list is possible, a status message says why.
    pub fn toggle_shape(&mut self, app: &mut App, area: Rect, out: &mut Vec<Effect>) {
        if self.filter.is_set() {
            let key = app.prefs.keymap.key(Context::Panes, Action::Back);
            let words = format!("Filtered tasks are shown as a list. {key} clears the filter.");
            app.say(words);
            return;
        }
        let before = self.shape;
        match self.layout(app, area).shown {
            Shown::Graph(_) => self.shape = BoardShape::List,
            Shown::List(ListReason::Many(count)) if count > GRAPH_MAX => {
                let text =
                    format!("No graph: {count} tasks, and a graph shows at most {GRAPH_MAX}.");
                app.say(text);
            }
            Shown::List(ListReason::Tangled) => {
                app.say("The tasks have too many dependencies for a graph.");
            }
            Shown::List(
                ListReason::Asked
                | ListReason::Filtered
                | ListReason::Many(_)
                | ListReason::Deep(_)
                | ListReason::Narrow,
            ) => {
                // A graph that fits stays the usual form, so that a later board that does not fit is a list.
                self.shape = BoardShape::Fitting;
                if let Shown::List(reason) = self.layout(app, area).shown {
                    self.shape = BoardShape::Graph;
                    say_why_list(app, reason);
                }
            }
        }
        if self.shape != before {
            app.arrangement.screen.board = self.shape;
            out.push(Effect::SaveScreen(app.arrangement.screen));
        }
    }

    /// Applies the mouse wheel: pans the graph by `cells` cells, or moves the selection in the list up or down by
    /// `cells` rows. Turning the wheel to the left or right does nothing in a list.
    pub fn wheel_by(&mut self, model: &CrewModel, area: Rect, toward: PanDirection, cells: usize) {
        let by = match (self.layout(model, area).shown, toward) {
            (Shown::List(_), PanDirection::Left | PanDirection::Right) => return,
            (Shown::List(_), PanDirection::Up) => Scroll::LineUp,
            (Shown::List(_), PanDirection::Down) => Scroll::LineDown,
            (Shown::Graph(_), toward) => return self.pan_by(model, area, toward.by(cells, cells)),
        };
        for _ in 0..cells {
            self.scroll_by(model, area, by);
        }
    }

    /// Moves the visible part of the graph by columns (positive: to the right) and rows (positive: down), up to the
    /// edges of the drawing. Does nothing in a list.
    pub fn pan_by(&mut self, model: &CrewModel, area: Rect, by: (isize, isize)) {
        let places = self.layout(model, area);
        let Shown::Graph(drawing) = places.shown else {
            return;
        };
        let selected = self
            .selected_row(model)
            .and_then(|(_, id)| index(model).place(id));
        let selected = selected.unwrap_or_default();
        self.camera = self.camera.scroll_by(by, &drawing, selected, places.body);
    }
}

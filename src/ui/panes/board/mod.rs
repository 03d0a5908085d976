//! The content of the board pane: which tasks it shows, in which order, as graph or list, and at which scroll position.
//! Pure.
//!
//! This content is derived from the tasks, the filter and the size of the pane. It is computed on demand and cached
//! until one of these changes ([`BoardMemos`](crate::ui::model::board::BoardMemos), [`BoardPane`]), so that the cost of
//! a frame does not grow with the number of tasks.

mod feature;
mod filter;
mod label;
mod list;
mod places;
mod progress;
#[cfg(test)]
pub mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod user_actions;
pub(in crate::ui) mod view;
mod view_state;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::domain::screen::BoardShape;
use crate::protocol::{BoardEvent, CrewEvent, Event, EventKind};
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::graph;
use crate::ui::graph::viewport::{Camera, Zoom};
use crate::ui::graph::{Drawing, GraphInput, NodeOverflow};
use crate::ui::model::CrewModel;
use crate::ui::model::board::index;
use crate::ui::model::board::memo::Memo;
use crate::ui::panes::board::filter::BoardQuery;
use crate::ui::panes::board::label::{Label, label};
use crate::ui::panes::board::list::ListRows;
use crate::ui::panes::board::view_state::DrawingKey;
use crate::ui::text::width;

/// Maximum number of tasks that are drawn as a graph. A larger board is shown as a list.
pub const GRAPH_MAX: usize = 400;

/// Minimum width of the pane, in columns, for panning a graph that is wider than the pane. From this width on,
/// [`BoardShape::Fitting`] shows a graph that is up to one and a half times as wide as the pane; in a narrower pane, it
/// shows a list instead.
const PANNED_FROM: usize = 60;

#[derive(Debug)]
pub struct BoardPane {
    /// The selected task; `None` selects the first task of the list.
    pub selected: Option<TaskId>,
    pub filter: ListFilter,
    /// The user's choice between graph and list.
    pub shape: BoardShape,
    /// The zoom level and the scroll offset of the graph.
    pub camera: Camera,
    /// The cached rows of the list. The cache key holds the version of the board and the filter text.
    rows: Memo<(u64, String), Arc<ListRows>>,
    /// The cached drawing of the graph. The cache key holds the version of the board and the parameters of the drawing.
    drawing: Memo<(u64, DrawingKey), Option<DrawnGraph>>,
    /// The cached result of [`BoardPane::rows_wanted()`]. The cache key holds the version of the board, the parameters
    /// of the drawing, the shape and the filter text.
    rows_wanted: Memo<(u64, DrawingKey, BoardShape, String), usize>,
    /// The index of the row in which the selected task was before the current event. If the event removes the task from
    /// the list, the task that is then in this row is selected.
    row_before: Option<usize>,
}

impl Default for BoardPane {
    fn default() -> BoardPane {
        BoardPane {
            selected: None,
            filter: ListFilter::new("words  owner:NAME  status:ready  tag:T  !word"),
            shape: BoardShape::default(),
            camera: Camera::default(),
            rows: Memo::default(),
            drawing: Memo::default(),
            rows_wanted: Memo::default(),
            row_before: None,
        }
    }
}

/// Why the board shows a list instead of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListReason {
    /// The user chose the list instead of the graph, or the board has no tasks.
    Asked,
    /// A filter is set. Only a list can show which tasks match the filter.
    Filtered,
    /// There are more than [`GRAPH_MAX`] tasks, or the graph would be more than twice as high as the pane. Holds the
    /// number of tasks.
    Many(usize),
    /// The dependency chains are too long for the width of the pane. Holds the number of graph layers.
    Deep(usize),
    /// There are too many edges to draw as a graph.
    Tangled,
    /// The nodes are too narrow for readable subjects.
    Narrow,
}

/// A drawing of the graph.
#[derive(Debug, Clone)]
struct DrawnGraph {
    drawing: Arc<Drawing>,
    /// Whether each node shows its subject, or enough of it to recognise the task.
    is_readable: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    Graph(Arc<Drawing>),
    List(ListReason),
}

impl CrewModel {
    /// Records in the task history what an event changes, and invalidates what was computed from the board if the event
    /// changes tasks. Must be called before the event is applied to the board.
    pub(in crate::ui) fn remember(&mut self, event: &Event) {
        if let EventKind::Board(BoardEvent::BoardChanged { changed, removed }) = &event.kind {
            self.memo.invalidate();
            self.history
                .record_changes(&self.board, changed, removed, event.at);
        } else if let EventKind::Crew(CrewEvent::Notice { text, .. }) = &event.kind {
            self.history.record_notice(&self.board, text, event.at);
        }
    }
}

impl BoardPane {
    /// Returns the rows of the list: one for each task, or for each task that matches the filter.
    pub fn rows(&self, model: &CrewModel) -> Arc<ListRows> {
        let version = model.memo.version();
        let words = self.filter.words();
        let key = (version, words.to_string());
        self.rows.get(key, || {
            let index = index(model);
            Arc::new(match words {
                "" => list::tree(&index),
                words => list::flat(&index, &model.board, &BoardQuery::new(words)),
            })
        })
    }

    /// Returns the number of rows that the pane needs to show its whole content, at most the height of `room`.
    fn rows_wanted(&self, model: &CrewModel, room: Rect) -> usize {
        let version = model.memo.version();
        let words = self.filter.words().to_string();
        let key = (version, self.drawing_key(model, room), self.shape, words);
        self.rows_wanted.get(key, || {
            let places = self.layout(model, room);
            let content = match &places.shown {
                Shown::Graph(drawing) => drawing.height,
                Shown::List(_) => self.rows(model).len(),
            };
            let others = room.height - places.body.height;
            content
                .saturating_add(others.into())
                .min(room.height.into())
        })
    }

    fn drawing_key(&self, model: &CrewModel, room: Rect) -> DrawingKey {
        DrawingKey {
            columns: room.width,
            rows: room.height,
            zoom: self.camera.zoom,
            owners: owners(model),
        }
    }

    /// Returns the drawing of the graph, laid out for an area of the size of `room`. The drawing may be larger than
    /// `room`. `None` if the graph has too many edges to draw.
    fn graph_drawing(&self, model: &CrewModel, room: Rect) -> Option<DrawnGraph> {
        let key = self.drawing_key(model, room);
        let make = || {
            let drawing = draw_graph(model, key)?;
            Some(DrawnGraph {
                is_readable: is_readable(model, &drawing, key),
                drawing: Arc::new(drawing),
            })
        };
        self.drawing.get((model.memo.version(), key), make)
    }

    /// Returns the index of the selected row and the task in that row. If no task is selected or the selected task has
    /// left the list, the first row counts as selected. `None` if the list is empty.
    pub fn selected_row(&self, model: &CrewModel) -> Option<(usize, TaskId)> {
        let row = self.selected.and_then(|id| self.row_of(model, id));
        let row = row.unwrap_or(0);
        let row_at = self.rows(model).get(row)?;
        Some((row, index(model).id(row_at.task)?))
    }

    fn row_of(&self, model: &CrewModel, id: TaskId) -> Option<usize> {
        self.rows(model).row_of(index(model).place(id)?)
    }

    pub fn selected_task(&self, model: &CrewModel) -> Option<TaskId> {
        self.selected_row(model).map(|(_, id)| id)
    }
}

fn draw_graph(model: &CrewModel, key: DrawingKey) -> Option<Drawing> {
    let DrawingKey { zoom, owners, .. } = key;
    let columns = usize::from(key.columns);
    let natural = |task| match zoom {
        Zoom::Cards | Zoom::Lines => label(task).width(owners),
        Zoom::Numbers => label(task).mark_width(),
    };
    let widths = model.board.tasks().map(|t| natural(t).min(columns));
    let mut wanted = GraphInput {
        widths: widths.collect(),
        edges: index(model).edges().collect(),
        columns,
        ..GraphInput::default()
    };
    let low = graph::draw(&wanted)?;
    let is_whole = |(at, width): (usize, &usize)| low.nodes[at].width >= *width;
    let height = usize::from(key.rows);
    if zoom != Zoom::Cards || low.height >= height || wanted.widths.iter().enumerate().all(is_whole)
    {
        return Some(low);
    }
    // Wraps long subjects into further rows of their nodes instead of truncating them, as long as the graph is not
    // higher than the pane. The layers use the free columns to need fewer rows: first for the whole label, then so that
    // the subject is not wrapped, then for a single row.
    for rows in (2..=graph::ROWS_MAX).rev() {
        wanted.overflow = NodeOverflow::Wrapped(rows);
        let all = |width: &dyn Fn(Label) -> usize| -> Vec<usize> {
            model.board.tasks().map(|t| width(label(t))).collect()
        };
        wanted.min_widths = all(&|label| label.min_width(rows, owners));
        wanted.better_widths = (2..rows)
            .map(|rows| all(&|label| label.min_width(rows, owners)))
            .collect();
        wanted
            .better_widths
            .push(all(&|label| label.subject_width()));
        wanted.better_widths.push(wanted.widths.clone());
        wanted.min_rows = Vec::new();
        let fits = |drawing: &Drawing| drawing.height <= height;
        let Some(high) = graph::draw(&wanted).filter(fits) else {
            continue;
        };
        // Words that do not fit side by side need more rows than the drawing has reserved from the widths alone.
        let nodes = model.board.tasks().zip(&high.nodes);
        let needed = nodes.map(|(t, node)| label(t).rows_needed(node.width, owners));
        wanted.min_rows = needed.map(|needed| needed.unwrap_or(rows)).collect();
        return graph::draw(&wanted).filter(fits).or(Some(high));
    }
    Some(low)
}

/// Returns whether the subjects in `drawing` can be read. If the user has zoomed out, they count as readable, because
/// the user has then asked for short labels.
fn is_readable(model: &CrewModel, drawing: &Drawing, key: DrawingKey) -> bool {
    let mut nodes = model.board.tasks().zip(&drawing.nodes);
    key.zoom != Zoom::Cards
        || nodes.all(|(task, node)| label(task).is_readable(node.width, node.height, key.owners))
}

/// Returns the number of columns that each node reserves for its owner, based on the longest name of a team member or
/// task owner.
fn owners(model: &CrewModel) -> usize {
    let members = model.team.members.iter();
    let longest = members.map(|m| width(m.name.as_str())).max();
    label::owners(longest.unwrap_or(0).max(index(model).longest_owner()))
}

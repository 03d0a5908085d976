//! Pure: what the board's pane shows: which tasks in which order, drawn or listed, and where.
//!
//! All of it follows from the tasks, the filter and the room. It is worked out when it is asked for and kept
//! until one of these changes ([`Kept`]), so that a frame costs the same with 10 000 tasks as with 12.

mod branches;
mod camera;
mod critical;
mod filter;
mod hands;
pub mod history;
mod index;
mod kept;
mod label;
mod list;
pub mod progress;
mod steps;
#[cfg(test)]
pub mod tests;
mod unlocks;

use std::sync::Arc;

use ratatui::layout::Rect;

pub use branches::{Branches, UNMERGED, branch, is_unmerged, look, refusal, to_merge, words};
pub use camera::{Camera, Toward, Zoom};
pub use filter::Query;
pub use hands::{Hand, is_own, owner, owner_is_here, why_no_edit, why_no_removal, why_not};
pub use index::{Index, Standing, standing};
use kept::Slot;
use label::Owner;
pub use label::{INDENT, label};
pub use list::{Row, Rows};
pub use steps::{Step, step};

use super::ages;
use super::graph::{self, Drawing, Short, Wanted};
use super::rows::first_row;
use super::state::UiState;
use super::textual::age;
use crate::domain::ids::{Name, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::protocol::{Event, EventKind};

/// Most tasks that are drawn as a graph.
pub const GRAPH_MAX: usize = 400;

/// Rows that a pane must have before one is given to words about the selected task.
const ABOUT_FROM: u16 = 5;

/// From this width on a drawing may be half as wide again.
const PANNED_FROM: usize = 60;

/// How the person wants the tasks shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Drawn where the drawing fits.
    #[default]
    Fitting,
    /// Drawn, in parts that scroll.
    Graph,
    /// Listed.
    List,
}

/// Why tasks are listed and not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The person wants it.
    Asked,
    /// Some of them are looked for.
    Filtered,
    /// There are too many.
    Many(usize),
    /// They wait for one another in too many steps for the width.
    Deep(usize),
    /// The lines would be too many.
    Tangled,
}

/// How the tasks are shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Drawn.
    Graph(Arc<Drawing>),
    /// Listed.
    List(Why),
}

/// What is worked out from the board, kept until it is out of date. Its loss changes no pixel.
#[derive(Debug, Default)]
pub struct Kept {
    /// Counts the boards.
    version: u64,
    index: Slot<u64, Arc<Index>>,
    /// By the board and the words of the filter.
    rows: Slot<(u64, String), Arc<Rows>>,
    /// By the board and the room.
    drawing: Slot<(u64, u16, u16, Zoom), Option<Arc<Drawing>>>,
    /// By the board and the task.
    unlocks: Slot<(u64, TaskId), Arc<Vec<TaskId>>>,
    /// By the board.
    under_way: Slot<u64, Arc<[Stamp]>>,
    /// By the board and what is known of the branches.
    to_merge: Slot<(u64, u64), Arc<Vec<TaskId>>>,
}

impl Kept {
    /// The board has changed: whatever is kept is out of date.
    pub fn outdated(&mut self) {
        self.version += 1;
    }
}

impl UiState {
    /// Keeps what an event tells of tasks, before the board follows it.
    pub(super) fn remember(&mut self, event: &Event) {
        if let EventKind::BoardChanged { changed, removed } = &event.kind {
            self.board_kept.outdated();
            self.history
                .changed(&self.board, changed, removed, event.at);
        } else if let EventKind::Notice { text, .. } = &event.kind {
            self.history.said(&self.board, text, event.at);
        }
    }
}

/// The tasks by their places, with their edges.
pub fn index(state: &UiState) -> Arc<Index> {
    let kept = &state.board_kept;
    kept.index
        .get(kept.version, || Arc::new(Index::new(&state.board)))
}

/// The rows of the list: of all tasks, or of those that the filter lets through.
pub fn rows(state: &UiState) -> Arc<Rows> {
    let kept = &state.board_kept;
    let words = state.filter.as_ref().map_or("", |f| f.words.text().trim());
    kept.rows.get((kept.version, words.to_string()), || {
        let index = index(state);
        Arc::new(match words {
            "" => list::tree(&index),
            words => list::flat(&index, &state.board, &Query::new(words)),
        })
    })
}

/// The tasks as a drawing that keeps to `room` where it can; `None` when they are too many or too tangled.
fn drawing(state: &UiState, room: Rect) -> Option<Arc<Drawing>> {
    let kept = &state.board_kept;
    let zoom = state.camera.zoom;
    let key = (kept.version, room.width, room.height, zoom);
    kept.drawing.get(key, || drawn(state, room).map(Arc::new))
}

fn drawn(state: &UiState, room: Rect) -> Option<Drawing> {
    let columns = usize::from(room.width);
    let zoom = state.camera.zoom;
    let natural = |task| match zoom {
        Zoom::Cards | Zoom::Lines => label(task).width(),
        Zoom::Numbers => label(task).mark_width(),
    };
    let widths = state.board.tasks().map(|t| natural(t).min(columns));
    let mut wanted = Wanted {
        widths: widths.collect(),
        edges: index(state).edges().collect(),
        columns,
        ..Wanted::default()
    };
    let low = graph::draw(&wanted)?;
    let is_whole = |(at, width): (usize, &usize)| low.nodes[at].width >= *width;
    let height = usize::from(room.height);
    if zoom != Zoom::Cards || low.height >= height || wanted.widths.iter().enumerate().all(is_whole)
    {
        return Some(low);
    }
    // Where the height allows it, subjects that are cut go on in further rows.
    for rows in (2..=graph::ROWS_MAX).rev() {
        wanted.short = Short::Wrapped(rows);
        wanted.least = least(state, rows);
        let high = graph::draw(&wanted);
        if let Some(high) = high.filter(|d| d.height <= height) {
            return Some(high);
        }
    }
    Some(low)
}

/// The columns in which each task keeps its words whole in so many rows. Who is at work is told.
fn least(state: &UiState, rows: usize) -> Vec<usize> {
    let index = index(state);
    let tasks = state.board.tasks().enumerate();
    tasks
        .map(|(at, task)| {
            let owner = match index.standing(at) {
                Standing::InProgress => Owner::Told,
                Standing::Ready | Standing::Assigned | Standing::Blocked | Standing::Done => {
                    Owner::Spare
                }
            };
            label(task).least(rows, owner)
        })
        .collect()
}

/// The tasks that become ready when `id` is done: see [`unlocks::unlocks`].
pub fn unlocks(state: &UiState, id: TaskId) -> Arc<Vec<TaskId>> {
    let kept = &state.board_kept;
    let make = || Arc::new(unlocks::unlocks(&state.board, id));
    kept.unlocks.get((kept.version, id), make)
}

/// When the tasks in progress began to be, [`ages::AGES_MAX`] at most.
pub fn under_way(state: &UiState) -> Arc<[Stamp]> {
    let kept = &state.board_kept;
    kept.under_way
        .get(kept.version, || ages::of_tasks(state).into())
}

/// How long a task has stood where it stands, as `12m`; empty where that is not known.
pub fn standing_for(state: &UiState, task: &Task) -> String {
    let since = state.history.since(task);
    since.map_or_else(String::new, |at| age(state.now.since(at)))
}

/// The tags of a task, as `#rust #docs`.
pub fn tags(task: &Task) -> String {
    let tags: Vec<String> = task.tags.iter().map(|t| format!("#{t}")).collect();
    one_line(&tags.join(" "))
}

/// Where things lie in the pane.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    /// The filter.
    pub filter: Option<Rect>,
    /// The drawing or the list.
    pub body: Rect,
    /// Words about the selected task, below a drawing.
    pub about: Option<Rect>,
    /// What the body holds.
    pub shown: Shown,
}

/// Where things lie in a pane with the inside `area`.
pub fn places(state: &UiState, area: Rect) -> Places {
    let wanted_rows = state.filter.as_ref().map_or(0, |filter| {
        let query = Query::new(filter.words.text());
        1 + u16::from(!query.problems().is_empty())
    });
    let filter_rows = wanted_rows.min(area.height);
    let filter = (filter_rows > 0).then_some(Rect {
        height: filter_rows,
        ..area
    });
    let body = Rect {
        y: area.y + filter_rows,
        height: area.height - filter_rows,
        ..area
    };
    let about_rows = u16::from(body.height >= ABOUT_FROM);
    let drawn = Rect {
        // The column before the nodes is for the mark of the selected one.
        x: body.x + body.width.min(1),
        width: body.width.saturating_sub(1),
        height: body.height - about_rows,
        ..body
    };
    let shown = shown(state, drawn);
    match shown {
        Shown::List(_) => Places {
            filter,
            body,
            about: None,
            shown,
        },
        Shown::Graph(_) => Places {
            filter,
            body: drawn,
            about: (about_rows > 0).then_some(Rect {
                y: drawn.bottom(),
                height: 1,
                ..body
            }),
            shown,
        },
    }
}

fn shown(state: &UiState, room: Rect) -> Shown {
    if state.filter.is_some() {
        return Shown::List(Why::Filtered);
    }
    let count = state.board.len();
    if state.board_shape == Shape::List || count == 0 {
        return Shown::List(Why::Asked);
    }
    if count > GRAPH_MAX {
        return Shown::List(Why::Many(count));
    }
    let (columns, rows) = (usize::from(room.width), usize::from(room.height));
    // Half of it in view is enough to find the way up and down.
    let highest = rows * 2;
    // A narrow drawing that has to be scrolled tells less than a list.
    let widest = if columns < PANNED_FROM {
        columns
    } else {
        columns * 3 / 2
    };
    if state.board_shape == Shape::Fitting {
        // What can not fit is not drawn to find that out.
        let (steps, least) = index(state).extent();
        if least > highest {
            return Shown::List(Why::Many(count));
        }
        let narrowest = state.camera.zoom.narrowest();
        if steps * narrowest > widest + narrowest {
            return Shown::List(Why::Deep(steps));
        }
    }
    let Some(drawing) = drawing(state, room) else {
        return Shown::List(Why::Tangled);
    };
    match state.board_shape {
        Shape::Fitting if drawing.height > highest => Shown::List(Why::Many(count)),
        Shape::Fitting if drawing.width > widest => Shown::List(Why::Deep(drawing.layers)),
        Shape::Fitting | Shape::Graph | Shape::List => Shown::Graph(drawing),
    }
}

/// The first task of `owner` that is not completed.
pub fn open_task<'a>(state: &'a UiState, owner: &Name) -> Option<&'a Task> {
    state.board.get(index(state).open_of(owner)?)
}

/// The selected task and its row; the first row when none is selected, or it is not in the list any more.
pub fn selected(state: &UiState) -> Option<(usize, TaskId)> {
    let (index, rows) = (index(state), rows(state));
    let row = state
        .selected
        .task
        .and_then(|id| rows.row_of(index.place(id)?))
        .unwrap_or(0);
    let row_at = rows.get(row)?;
    Some((row, index.id(row_at.task)?))
}

/// The first column and row of a drawing that are in view, so that node `selected` is, and where there is
/// room what it leads to. The first column is that of some node, so that nodes are not cut at the left.
pub fn window(drawing: &Drawing, selected: usize, room: Rect) -> (usize, usize) {
    let node = drawing.nodes.get(selected).copied().unwrap_or_default();
    let (columns, height) = (usize::from(room.width), usize::from(room.height));
    let right = |n: &graph::Node| n.x + n.width;
    let after = drawing.paths.iter().filter(|p| p.from == selected);
    let near = after.filter_map(|p| drawing.nodes.get(p.to));
    let near = near.filter(|n| n.layer == node.layer + 1).map(right).max();
    let first_for = |end: usize| {
        let starts = drawing.nodes.iter().map(|n| n.x);
        let fitting = starts.filter(|x| *x <= node.x && x + columns >= end);
        fitting.min()
    };
    let left = match near.and_then(first_for).or_else(|| first_for(right(&node))) {
        _ if drawing.width <= columns => 0,
        Some(left) => left,
        None => node.x,
    };
    let top = (node.y + node.height / 2).saturating_sub(height / 2);
    (left, top.min(drawing.height.saturating_sub(height)))
}

/// The tasks in view and the cells that each of them has, in the drawing or in the list.
pub fn in_view(state: &UiState, places: &Places) -> Vec<(Rect, TaskId)> {
    let body = places.body;
    let index = index(state);
    let Some((selected_row, selected)) = selected(state) else {
        return Vec::new();
    };
    let Shown::Graph(drawing) = &places.shown else {
        let rows = rows(state);
        let first = first_row(rows.len(), selected_row, body.height);
        let listed = (first..rows.len()).zip(body.rows());
        let task = |(row, at)| Some((at, index.id(rows.get(row)?.task)?));
        return listed.filter_map(task).collect();
    };
    let Some(node) = index.place(selected) else {
        return Vec::new();
    };
    let (left, top) = state.camera.window(drawing, node, body);
    let nodes = drawing.nodes.iter().enumerate();
    let cells = |(at, node): (usize, &graph::Node)| {
        let (x, width) = seen((node.x, node.width), left, (body.x, body.width))?;
        let (y, height) = seen((node.y, node.height), top, (body.y, body.height))?;
        Some((Rect::new(x, y, width, height), index.id(at)?))
    };
    nodes.filter_map(cells).collect()
}

/// The cells on the screen of `length` cells from `at` on, when `first` is the first one in view of a place with so many.
fn seen((at, length): (usize, usize), first: usize, place: (u16, u16)) -> Option<(u16, u16)> {
    let from = at.max(first);
    let to = (at + length).min(first + usize::from(place.1));
    let count = to.checked_sub(from).filter(|count| *count > 0)?;
    let start = u16::try_from(from - first).ok()?;
    Some((place.0 + start, u16::try_from(count).ok()?))
}

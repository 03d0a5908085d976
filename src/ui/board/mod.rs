//! The content of the board pane: which tasks, in which order, as graph or list, and at which position. Pure.
//!
//! Everything is derived from the tasks, the filter and the pane size. It is computed on demand and cached until one of
//! these changes ([`Kept`]), so that the cost of a frame does not grow with the number of tasks.

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
mod places;
pub mod progress;
mod steps;
#[cfg(test)]
pub mod tests;
mod unlocks;

use std::collections::BTreeMap;
use std::sync::Arc;

use ratatui::layout::Rect;

pub use branches::{
    Branches, UNMERGED, branch, has_tree, is_mergeable, is_unmerged, look, refusal, to_merge,
    unmerged, why_no_tree, words,
};
pub use camera::{Camera, Toward, Zoom};
pub use filter::Query;
pub use hands::{Hand, is_own, owner, owner_is_here, why_no_edit, why_no_removal, why_not};
pub use index::{Index, Standing, standing};
pub use kept::Slot;
pub use label::{INDENT, label};
pub use list::{Row, Rows};
pub use places::{Places, in_view, places, scrollbar};
pub use steps::{Step, step};

use super::graph::{self, Drawing, Short, Wanted};
use super::state::UiState;
use super::textual::{age, width};
use crate::domain::ids::{Name, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::protocol::{Event, EventKind};
use crate::ui::state::ages;
use crate::ui::state::pane::Pane;

/// Maximum number of tasks that are drawn as a graph.
pub const GRAPH_MAX: usize = 400;

/// From this pane width on, in columns, a graph may be up to 1.5 times as wide as the pane.
const PANNED_FROM: usize = 60;

/// The board view that the user selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Graph if it fits, otherwise list.
    #[default]
    Fitting,
    /// Always the graph; it scrolls if it does not fit.
    Graph,
    /// Always the list.
    List,
}

/// Why the board shows a list instead of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The user selected the list, or there are no tasks.
    Asked,
    /// A filter is active.
    Filtered,
    /// There are too many tasks; holds their number.
    Many(usize),
    /// The dependency chains are too long for the width; holds the number of layers.
    Deep(usize),
    /// The graph has too many edges to draw.
    Tangled,
}

/// The board view on the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// The tasks as a graph.
    Graph(Arc<Drawing>),
    /// The tasks as a list, with the reason.
    List(Why),
}

/// The parameters that a drawing depends on besides the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Keeps {
    columns: u16,
    rows: u16,
    zoom: Zoom,
    /// The columns that each node reserves for its owner.
    owners: usize,
}

/// The completed tasks that are not merged, each with the open task in the same worktree that must be completed first.
type Unmerged = BTreeMap<TaskId, Option<TaskId>>;

/// Cached values derived from the board. Dropping them does not change the screen.
#[derive(Debug, Default)]
pub struct Kept {
    /// Incremented with every board change.
    version: u64,
    index: Slot<u64, Arc<Index>>,
    /// Key: board version and filter text.
    rows: Slot<(u64, String), Arc<Rows>>,
    /// Key: board version and drawing parameters.
    drawing: Slot<(u64, Keeps), Option<Arc<Drawing>>>,
    /// Key: board version and task.
    unlocks: Slot<(u64, TaskId), Arc<Vec<TaskId>>>,
    /// Key: board version.
    under_way: Slot<u64, Arc<[Stamp]>>,
    /// Key: board version and branches version.
    to_merge: Slot<(u64, u64), Arc<Vec<TaskId>>>,
    /// Key: board version and branches version.
    unmerged: Slot<(u64, u64), Arc<Unmerged>>,
}

impl Kept {
    /// Invalidates all cached values after a board change.
    pub fn outdated(&mut self) {
        self.version += 1;
    }
}

impl UiState {
    /// Updates the task history from an event. Must be called before the event is applied to the board.
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

/// Returns the index of the board.
pub fn index(state: &UiState) -> Arc<Index> {
    let kept = &state.board_kept;
    kept.index
        .get(kept.version, || Arc::new(Index::new(&state.board)))
}

/// Returns the rows of the list: all tasks, or those that match the filter.
pub fn rows(state: &UiState) -> Arc<Rows> {
    let kept = &state.board_kept;
    let words = state.filters.words(Pane::Board);
    kept.rows.get((kept.version, words.to_string()), || {
        let index = index(state);
        Arc::new(match words {
            "" => list::tree(&index),
            words => list::flat(&index, &state.board, &Query::new(words)),
        })
    })
}

/// Returns the graph, laid out for `room` if possible, or `None` if it is too large to draw.
fn drawing(state: &UiState, room: Rect) -> Option<Arc<Drawing>> {
    let kept = &state.board_kept;
    let keeps = Keeps {
        columns: room.width,
        rows: room.height,
        zoom: state.camera.zoom,
        owners: owners(state),
    };
    kept.drawing
        .get((kept.version, keeps), || drawn(state, keeps).map(Arc::new))
}

fn drawn(state: &UiState, keeps: Keeps) -> Option<Drawing> {
    let Keeps { zoom, owners, .. } = keeps;
    let columns = usize::from(keeps.columns);
    let natural = |task| match zoom {
        Zoom::Cards | Zoom::Lines => label(task).width(owners),
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
    let height = usize::from(keeps.rows);
    if zoom != Zoom::Cards || low.height >= height || wanted.widths.iter().enumerate().all(is_whole)
    {
        return Some(low);
    }
    // If the height allows it, truncated subjects wrap into further rows.
    for rows in (2..=graph::ROWS_MAX).rev() {
        wanted.short = Short::Wrapped(rows);
        let tasks = state.board.tasks();
        wanted.least = tasks.map(|t| label(t).least(rows, owners)).collect();
        let high = graph::draw(&wanted);
        if let Some(high) = high.filter(|d| d.height <= height) {
            return Some(high);
        }
    }
    Some(low)
}

/// Returns the columns that each node reserves for its owner: enough for the longest name of members and owners.
fn owners(state: &UiState) -> usize {
    let members = state.team.members.iter();
    let longest = members.map(|m| width(m.name.as_str())).max();
    label::owners(longest.unwrap_or(0).max(index(state).longest_owner()))
}

/// Returns the tasks that become ready when `id` is completed: see [`unlocks::unlocks`].
pub fn unlocks(state: &UiState, id: TaskId) -> Arc<Vec<TaskId>> {
    let kept = &state.board_kept;
    let make = || Arc::new(unlocks::unlocks(&state.board, id));
    kept.unlocks.get((kept.version, id), make)
}

/// Returns the start times of the tasks in progress, at most [`ages::AGES_MAX`].
pub fn under_way(state: &UiState) -> Arc<[Stamp]> {
    let kept = &state.board_kept;
    kept.under_way
        .get(kept.version, || ages::of_tasks(state).into())
}

/// Returns how long a task has had its current status, as `12m`; empty if that is unknown.
pub fn standing_for(state: &UiState, task: &Task) -> String {
    let since = state.history.since(task);
    since.map_or_else(String::new, |at| age(state.now.since(at)))
}

/// Returns the tags of a task, as `#rust #docs`.
pub fn tags(task: &Task) -> String {
    let tags: Vec<String> = task.tags.iter().map(|t| format!("#{t}")).collect();
    one_line(&tags.join(" "))
}

/// Returns the first task of `owner` that is not completed.
pub fn open_task<'a>(state: &'a UiState, owner: &Name) -> Option<&'a Task> {
    state.board.get(index(state).open_of(owner)?)
}

/// Returns the selected row and task. Falls back to the first row if nothing is selected or the task left the list.
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

/// Returns the first visible column and row of a drawing, so that node `selected` is in view and, if there is room, the
/// nodes that it blocks. The first column is the first column of a node, so that no node is cut off at the left.
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

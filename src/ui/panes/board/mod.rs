//! Pure: what the board's pane shows: which tasks in which order, drawn or listed, and where.
//!
//! All of it follows from the tasks, the filter and the room. It is worked out when it is asked for and kept
//! until one of these changes ([`Kept`]), so that a frame costs the same with 10 000 tasks as with 12.

mod places;
pub(in crate::ui) mod task_actions;
#[cfg(test)]
pub mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::{Name, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::protocol::{Event, EventKind};
use crate::ui::app::UiState;
use crate::ui::graph;
use crate::ui::graph::navigation::{Step, step};
use crate::ui::graph::viewport::{Camera, Toward, Zoom};
use crate::ui::graph::{Drawing, Short, Wanted};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::board::branches::{
    Branches, UNMERGED, branch, has_tree, is_mergeable, is_unmerged, look, refusal, to_merge,
    unmerged, why_no_tree, words,
};
use crate::ui::model::board::filter::Query;
use crate::ui::model::board::index::{Index, Standing, standing};
use crate::ui::model::board::label::{INDENT, label};
use crate::ui::model::board::list::{Row, Rows};
use crate::ui::model::board::memo::Slot;
use crate::ui::model::board::{label as board_label, list, unlocks};
pub use crate::ui::panes::board::places::{Places, in_view, places, scrollbar};
pub use crate::ui::panes::board::task_actions::{
    Hand, is_own, owner, owner_is_here, why_no_edit, why_no_removal, why_not,
};
use crate::ui::shell::ages;
use crate::ui::text::{age, width};

/// Most tasks that are drawn as a graph.
pub const GRAPH_MAX: usize = 400;

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

/// What a drawing keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Keeps {
    columns: u16,
    rows: u16,
    zoom: Zoom,
    /// The columns of a node that are for its owner.
    owners: usize,
}

/// The completed tasks that are not merged, each with the open task in the same worktree that comes first, if any.
type Unmerged = BTreeMap<TaskId, Option<TaskId>>;

/// What is worked out from the board, kept until it is out of date. Its loss changes no pixel.
#[derive(Debug, Default)]
pub struct Kept {
    /// Counts the boards.
    version: u64,
    index: Slot<u64, Arc<Index>>,
    /// By the board and the words of the filter.
    rows: Slot<(u64, String), Arc<Rows>>,
    /// By the board and what it keeps to.
    drawing: Slot<(u64, Keeps), Option<Arc<Drawing>>>,
    /// By the board and the task.
    unlocks: Slot<(u64, TaskId), Arc<Vec<TaskId>>>,
    /// By the board.
    under_way: Slot<u64, Arc<[Stamp]>>,
    /// By the board and what is known of the branches.
    to_merge: Slot<(u64, u64), Arc<Vec<TaskId>>>,
    /// By the same.
    unmerged: Slot<(u64, u64), Arc<Unmerged>>,
}

impl Kept {
    /// The board has changed: whatever is kept is out of date.
    pub fn outdated(&mut self) {
        self.version += 1;
    }
}

impl UiState {
    /// Keeps what an event tells of tasks, before the board follows it.
    pub(in crate::ui) fn remember(&mut self, event: &Event) {
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
    let words = state.filters.words(Pane::Board);
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
    // Where the height allows it, subjects that are cut go on in further rows.
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

/// The columns that each node keeps for an owner: for the longest name of the team and of those who own or owned tasks.
fn owners(state: &UiState) -> usize {
    let members = state.team.members.iter();
    let longest = members.map(|m| width(m.name.as_str())).max();
    board_label::owners(longest.unwrap_or(0).max(index(state).longest_owner()))
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

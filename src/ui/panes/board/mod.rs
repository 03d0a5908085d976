//! Pure: what the board's pane shows: which tasks in which order, drawn or listed, and where.
//!
//! All of it follows from the tasks, the filter and the room. It is worked out when it is asked for and kept
//! until one of these changes ([`Kept`]), so that a frame costs the same with 10 000 tasks as with 12.

mod feature;
mod places;
pub(in crate::ui) mod task_actions;
#[cfg(test)]
pub mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::protocol::{Event, EventKind};
use crate::ui::app::App;
use crate::ui::app::board_view::Keeps;
use crate::ui::graph;
use crate::ui::graph::viewport::Zoom;
use crate::ui::graph::{Drawing, Short, Wanted};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::Model;
use crate::ui::model::board::filter::Query;
use crate::ui::model::board::label::label;
use crate::ui::model::board::list::Rows;
use crate::ui::model::board::{index, label as board_label, list};
pub use crate::ui::panes::board::places::{in_view, places, scrollbar};
pub use crate::ui::panes::board::task_actions::{
    Hand, is_own, owner, owner_is_here, why_no_edit, why_no_removal, why_not,
};
use crate::ui::text::{age, width};
pub use feature::BoardPane;

/// Most tasks that are drawn as a graph.
pub const GRAPH_MAX: usize = 400;

/// From this width on a drawing may be half as wide again.
const PANNED_FROM: usize = 60;

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

impl Model {
    /// Keeps what an event tells of tasks, before the board follows it.
    pub(in crate::ui) fn remember(&mut self, event: &Event) {
        if let EventKind::BoardChanged { changed, removed } = &event.kind {
            self.memo.outdated();
            self.history
                .changed(&self.board, changed, removed, event.at);
        } else if let EventKind::Notice { text, .. } = &event.kind {
            self.history.said(&self.board, text, event.at);
        }
    }
}

/// The rows of the list: of all tasks, or of those that the filter lets through.
pub fn rows(app: &App) -> Arc<Rows> {
    let version = app.model.memo.version();
    let words = app.filters.words(Pane::Board);
    let key = (version, words.to_string());
    app.board_view.rows.get(key, || {
        let index = index(app);
        Arc::new(match words {
            "" => list::tree(&index),
            words => list::flat(&index, &app.model.board, &Query::new(words)),
        })
    })
}

/// The tasks as a drawing that keeps to `room` where it can; `None` when they are too many or too tangled.
fn drawing(app: &App, room: Rect) -> Option<Arc<Drawing>> {
    let keeps = Keeps {
        columns: room.width,
        rows: room.height,
        zoom: app.board_view.camera.zoom,
        owners: owners(app),
    };
    let key = (app.model.memo.version(), keeps);
    let make = || drawn(app, keeps).map(Arc::new);
    app.board_view.drawing.get(key, make)
}

fn drawn(model: &Model, keeps: Keeps) -> Option<Drawing> {
    let Keeps { zoom, owners, .. } = keeps;
    let columns = usize::from(keeps.columns);
    let natural = |task| match zoom {
        Zoom::Cards | Zoom::Lines => label(task).width(owners),
        Zoom::Numbers => label(task).mark_width(),
    };
    let widths = model.board.tasks().map(|t| natural(t).min(columns));
    let mut wanted = Wanted {
        widths: widths.collect(),
        edges: index(model).edges().collect(),
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
        let tasks = model.board.tasks();
        wanted.least = tasks.map(|t| label(t).least(rows, owners)).collect();
        let high = graph::draw(&wanted);
        if let Some(high) = high.filter(|d| d.height <= height) {
            return Some(high);
        }
    }
    Some(low)
}

/// The columns that each node keeps for an owner: for the longest name of the team and of those who own or owned tasks.
fn owners(model: &Model) -> usize {
    let members = model.team.members.iter();
    let longest = members.map(|m| width(m.name.as_str())).max();
    board_label::owners(longest.unwrap_or(0).max(index(model).longest_owner()))
}

/// How long a task has stood where it stands, as `12m`; empty where that is not known.
pub fn standing_for(app: &App, task: &Task) -> String {
    let since = app.model.history.since(task);
    since.map_or_else(String::new, |at| age(app.now.since(at)))
}

/// The selected task and its row; the first row when none is selected, or it is not in the list any more.
pub fn selected(app: &App) -> Option<(usize, TaskId)> {
    let (index, rows) = (index(app), rows(app));
    let row = app
        .selected
        .task
        .and_then(|id| rows.row_of(index.place(id)?))
        .unwrap_or(0);
    let row_at = rows.get(row)?;
    Some((row, index.id(row_at.task)?))
}

//! Mouse hit test: everything that can be clicked, with its rectangle. Uses the same layout functions as the views. Pure.

mod over;
mod panes;

use ratatui::layout::{Position, Rect};

use super::keymap::Action;
use super::layout::{self, Class};
use super::state::{MouseOwner, UiState};
use super::view;
use crate::domain::ids::TaskId;
use crate::ui::guide::bars::{self, Placed};
use crate::ui::layout::scrollbar::Scrollbar;
use crate::ui::state::pane::Pane;
use crate::ui::writing::task_form::Field;

/// What the mouse drags while its button is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Held {
    #[default]
    Nothing,
    /// The border between two columns.
    Border,
    /// The background of the task graph, from this cell.
    Ground(Position),
    /// The position bar of a replay, in this line.
    Replay(Rect),
    Scrollbar(Scrolls, Scrollbar),
}

/// What a scrollbar scrolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrolls {
    /// A pane.
    Pane(Pane),
    /// The topmost popup.
    Popup,
}

/// The mouse state between two mouse events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer {
    /// What is being dragged.
    pub held: Held,
    /// The last clicked target, until a key is pressed. A second click on it opens it.
    pub clicked: Option<Hit>,
}

/// The target under the mouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// Nothing clickable.
    Nothing,
    /// The position bar of a replay.
    Replay(Rect),
    Scrollbar(Scrolls, Scrollbar),
    /// The border between two columns.
    Border,
    /// A tab, or a status line item that leads to a pane.
    Tab(Pane),
    /// A hint, button or label that triggers this action.
    Button(Action),
    /// A label that focuses a pane and triggers an action in it.
    In(Pane, Action),
    /// A row of a pane's list, by its index in the list.
    Row(Pane, usize),
    /// A task of the board.
    Task(TaskId),
    /// The background of the task graph.
    Ground,
    /// A row of the conversation, counted from the first one in view.
    Talk(usize),
    /// A pane outside its rows.
    Pane(Pane),
    Composer,
    /// The text input of a comment.
    Comment,
    /// A field of the task form.
    Field(Field),
    /// A row of the completion list.
    Offer(usize),
    /// A row of a popup's list.
    PopupRow(usize),
    /// A row of the help whose action works where the help was opened.
    HelpRow(Action),
    /// A line of a diff that leads to the file with this index.
    File(usize),
    /// A popup outside its rows.
    Popup,
    /// The screen outside a popup.
    BesidePopup,
}

/// Returns the target at a cell.
pub fn at(state: &UiState, column: u16, row: u16) -> Hit {
    let here = Position::new(column, row);
    let found = targets(state).into_iter().find(|t| t.at.contains(here));
    found.map_or(Hit::Nothing, |t| t.what)
}

/// Returns all targets, topmost first. Where targets overlap, the first one is hit.
pub fn targets(state: &UiState) -> Vec<Placed<Hit>> {
    let layout = layout::layout(state, state.size);
    if layout.class == Class::Small {
        // Such a screen only shows a message about its size.
        return Vec::new();
    }
    let hints = bars::hint_line(state, layout.hints).into_iter();
    let mut out: Vec<Placed<Hit>> = hints
        .map(|hint| hint.map(|hint| Hit::Button(hint.action)))
        .collect();
    if let Some(popup) = state.popups.last() {
        over::popup(state, popup, &mut out);
        return out;
    }
    over::offers(state, &layout, &mut out);
    let mut put = |at: Rect, what: Hit| out.push(Placed { at, what });
    if let (Some(line), Some(player)) = (layout.replay, &state.replay) {
        let (turn, bar) = view::replay_places(player, line);
        put(turn, Hit::Button(Action::PauseOrPlay));
        put(bar, Hit::Replay(line));
    }
    if let Some(away) = layout.tour.and_then(|row| bars::tour_away(state, row)) {
        put(away.at, Hit::Button(Action::DismissTour));
    }
    if let Some(line) = layout.banner {
        put(line, Hit::Button(Action::Waiting));
    }
    if let Some((line, offered)) = &layout.tabs {
        for tab in bars::tab_line(state, &layout, *line, offered) {
            put(tab.at, Hit::Tab(tab.what.0));
        }
    }
    for piece in view::status_places(state, layout.status) {
        put(piece.at, piece.what);
    }
    for (pane, area) in &layout.panes {
        panes::on_the_frame(state, *pane, *area, &mut out);
    }
    out.extend(layout.border.map(|at| Placed {
        at,
        what: Hit::Border,
    }));
    for (pane, area) in &layout.panes {
        panes::inside(state, *pane, *area, &mut out);
    }
    out.extend(layout.composer.map(|at| Placed {
        at,
        what: Hit::Composer,
    }));
    out
}

/// Whether the screen shows controls that only the mouse can use.
pub fn has_mouse(state: &UiState) -> bool {
    state.mouse == MouseOwner::Crewdeck
}

/// Returns the visible rows of a list with `len` rows from `first` on, each with its index.
fn listed(list: Rect, first: usize, len: usize) -> impl Iterator<Item = (Rect, usize)> {
    list.rows().zip(first..len)
}

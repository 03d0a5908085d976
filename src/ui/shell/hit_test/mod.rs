//! Pure: what the mouse can press, and where. One table of rectangles: it counts by the same places as the views draw by.

mod over;
mod panes;

use ratatui::layout::{Position, Rect};

use crate::domain::ids::TaskId;
use crate::ui::app::task_form::Field;
use crate::ui::app::{MouseOwner, UiState};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell;
use crate::ui::shell::hints::bars;
use crate::ui::shell::hints::bars::Placed;
use crate::ui::shell::layout;
use crate::ui::shell::layout::Class;
use crate::ui::widgets::scrollbar::Scrollbar;

/// What the mouse holds while its button is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Held {
    /// Nothing.
    #[default]
    Nothing,
    /// The border between two columns.
    Border,
    /// The ground of the drawing of the tasks, at this cell.
    Ground(Position),
    /// The bar of a recording, in this line.
    Replay(Rect),
    /// A scrollbar.
    Scrollbar(Scrolls, Scrollbar),
}

/// What a scrollbar scrolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrolls {
    /// A pane.
    Pane(Pane),
    /// What lies over the panes.
    Popup,
}

/// What is remembered of the mouse between two of its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer {
    /// What it holds.
    pub held: Held,
    /// What it clicked last, with no key in between: a second click there takes it.
    pub clicked: Option<Hit>,
}

/// What lies under the mouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// Nothing that a click means.
    Nothing,
    /// The bar in the line of a recording.
    Replay(Rect),
    /// The scrollbar of a place.
    Scrollbar(Scrolls, Scrollbar),
    /// The border between two columns.
    Border,
    /// What leads to a pane: its tab, or words about what is in it.
    Tab(Pane),
    /// A hint, a button or a word that does this.
    Button(Action),
    /// What does this in a pane, which gets the keys.
    In(Pane, Action),
    /// A row of a pane's list, by its place in the list.
    Row(Pane, usize),
    /// A task of the board.
    Task(TaskId),
    /// The drawing of the tasks, beside them.
    Ground,
    /// A row of the conversation, counted from the first one in view.
    Talk(usize),
    /// A pane, beside its rows.
    Pane(Pane),
    /// Where the person writes.
    Composer,
    /// The text of a comment.
    Comment,
    /// A field of the form of a task.
    Field(Field),
    /// A row of the list that completes a word.
    Offer(usize),
    /// A row of a popup's list.
    PopupRow(usize),
    /// A row of the help that does this where the help was opened.
    HelpRow(Action),
    /// A line that leads to a file of the diff that is read.
    File(usize),
    /// A popup, beside its rows.
    Popup,
    /// The screen beside a popup.
    BesidePopup,
}

/// What lies at a cell.
pub fn at(state: &UiState, column: u16, row: u16) -> Hit {
    let here = Position::new(column, row);
    let found = targets(state).into_iter().find(|t| t.at.contains(here));
    found.map_or(Hit::Nothing, |t| t.what)
}

/// Everything that can be pressed, what lies on top first: of two that share a cell, the first one is hit.
pub fn targets(state: &UiState) -> Vec<Placed<Hit>> {
    let layout = layout::layout(state, state.size);
    if layout.class == Class::Small {
        // Only words about the size are on such a screen.
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
        let (turn, bar) = shell::view::replay_places(player, line);
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
    for piece in shell::view::status_places(state, layout.status) {
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

/// Whether the screen shows what only a mouse can press.
pub fn has_mouse(state: &UiState) -> bool {
    state.mouse == MouseOwner::Crewdeck
}

/// The rows of a list of `len` rows whose first one in view is `first`, each with its place in the list.
fn listed(list: Rect, first: usize, len: usize) -> impl Iterator<Item = (Rect, usize)> {
    list.rows().zip(first..len)
}

//! The parts of the screen that react to the mouse.

use ratatui::layout::{Position, Rect};

use crate::ui::app::Preferences;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::widgets::scrollbar::Scrollbar;

/// What the mouse drags while its button is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drag {
    #[default]
    Nothing,
    /// The border between two columns.
    Border,
    /// The background of a pane. Holds the position of the last mouse event.
    Ground(Pane, Position),
    /// The position bar of a replay, which occupies this area.
    Replay(Rect),
    Scrollbar(ScrollTarget, Scrollbar),
}

/// What a scrollbar scrolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrollTarget {
    Pane(Pane),
    /// The topmost popup.
    Popup,
}

/// The mouse state between two mouse events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer {
    pub drag: Drag,
    /// The last clicked target; a second click on it opens it. A key press clears it.
    pub clicked: Option<Hit>,
}

/// The target under the mouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// Nothing clickable.
    Nothing,
    /// The position bar of a replay.
    Replay(Rect),
    Scrollbar(ScrollTarget, Scrollbar),
    /// The border between two columns.
    Border,
    /// A tab, or an item of the status line that leads to a pane.
    Tab(Pane),
    /// A hint, button or label that triggers this action.
    Button(Action),
    /// A label that focuses a pane and triggers an action in it.
    In(Pane, Action),
    /// A row of a pane's list, by its index in the list; for the board also the node of that task in the graph.
    Row(Pane, usize),
    /// The background of a pane, which the mouse can drag.
    Ground(Pane),
    /// A row of the conversation, counted from the first one in view.
    ConversationRow(usize),
    /// A part of a pane that is none of its list rows.
    Pane(Pane),
    Composer,
    /// A row of the completion list.
    CompletionRow(usize),
    /// A row of a popup's list.
    PopupRow(usize),
    /// Another part of the topmost popup, by a number that the popup gave it.
    PopupPart(usize),
    /// A part of a popup that is not one of its rows.
    Popup,
    /// A part of the screen that no popup covers, while a popup is open.
    BesidePopup,
}

/// Returns whether the screen shows controls that only the mouse can use, such as close buttons.
pub fn has_mouse(prefs: &Preferences) -> bool {
    prefs.captures_mouse
}

/// Returns the area and the index of each visible row of a list in the area `list`. The list has `len` rows; row
/// `first` is the first visible one.
pub fn listed(list: Rect, first: usize, len: usize) -> impl Iterator<Item = (Rect, usize)> {
    list.rows().zip(first..len)
}

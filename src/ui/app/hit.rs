//! The parts of the screen that react to the mouse.

use ratatui::layout::{Position, Rect};

use crate::ui::app::Preferences;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::widgets::scrollbar::Scrollbar;

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

/// What the hit test finds at a mouse position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
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
    /// A list row of a pane, by its index. On the board also a node of the graph, by the index of its task in the list.
    Row(Pane, usize),
    /// The background of a pane, which the mouse can drag.
    Ground(Pane),
    /// A row of the conversation, counted from the first one in view.
    ConversationRow(usize),
    /// A part of a pane for which no other variant applies. A click on it only focuses the pane.
    Pane(Pane),
    Composer,
    /// A row of the composer's completion list, by its index.
    CompletionRow(usize),
    /// A row of the list in the topmost popup, by its index.
    PopupRow(usize),
    /// A clickable part of the topmost popup that is not a list row, by a number that the popup assigned to it.
    PopupPart(usize),
    /// A part of the topmost popup that ignores clicks.
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

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
    /// The border between two columns. Dragging it changes the widths of the columns.
    Border,
    /// The background of a pane. Dragging it pans the content of the pane. Holds the mouse position at the last event.
    Ground(Pane, Position),
    /// The progress bar of a replay. Holds the area of the bar.
    Replay(Rect),
    Scrollbar(ScrollTarget, Scrollbar),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrollTarget {
    Pane(Pane),
    /// The scrollbar of the topmost popup.
    Popup,
}

/// What the application remembers of the mouse from one event to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer {
    pub drag: Drag,
    /// The target of the last click. A second click on the same target opens it. `None` after a key press.
    pub clicked: Option<Hit>,
}

/// What the hit test finds at a mouse position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    Nothing,
    /// The progress bar of a replay. Holds the area of the bar.
    Replay(Rect),
    Scrollbar(ScrollTarget, Scrollbar),
    /// The border between two columns, which can be dragged to change their widths.
    Border,
    /// A tab, or an item of the status line, that focuses this pane.
    Tab(Pane),
    /// A hint, button or label that runs this action.
    Button(Action),
    /// A label that focuses this pane and runs this action in it.
    In(Pane, Action),
    /// A list row of a pane, by its index, counted from 0. In the board's graph, the node of the task that has this
    /// index in the list.
    Row(Pane, usize),
    /// The background of a pane, which can be dragged with the mouse.
    Ground(Pane),
    /// A row of the conversation. Row 0 is the first visible one.
    ConversationRow(usize),
    /// A part of a pane that no other variant describes. A click on it only focuses the pane.
    Pane(Pane),
    Composer,
    /// A row of the composer's completion list, by its index, counted from 0.
    CompletionRow(usize),
    /// A row of the list in the topmost popup, by its index, counted from 0.
    PopupRow(usize),
    /// A clickable part of the topmost popup other than a list row. The popup has assigned this number to the part.
    PopupPart(usize),
    /// A part of the topmost popup that ignores clicks.
    Popup,
    /// A place outside the open popup. A click there closes the popup.
    BesidePopup,
}

/// Returns whether the screen shows controls for the mouse, such as close buttons.
pub fn has_mouse(prefs: &Preferences) -> bool {
    prefs.captures_mouse
}

/// Returns the area and the index of each visible row of a list with `len` rows. `list` is the area of the list, and
/// `first` is the index of the first visible row.
pub fn visible_rows(list: Rect, first: usize, len: usize) -> impl Iterator<Item = (Rect, usize)> {
    list.rows().zip(first..len)
}

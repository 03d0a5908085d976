//! What the mouse can press.

use ratatui::layout::{Position, Rect};

use crate::domain::ids::TaskId;
use crate::ui::app::Preferences;
use crate::ui::app::task_form::Field;
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
    /// The background of a pane, from this cell.
    Ground(Pane, Position),
    /// The position bar of a replay, in this line.
    Replay(Rect),
    Scrollbar(ScrollTarget, Scrollbar),
}

/// What a scrollbar scrolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrollTarget {
    /// A pane.
    Pane(Pane),
    /// The topmost popup.
    Popup,
}

/// The mouse state between two mouse events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer {
    /// What is being dragged.
    pub drag: Drag,
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
    Scrollbar(ScrollTarget, Scrollbar),
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
    /// The background of a pane, which the mouse can drag.
    Ground(Pane),
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

/// Whether the screen shows controls that only the mouse can use.
pub fn has_mouse(prefs: &Preferences) -> bool {
    prefs.captures_mouse
}

/// Returns the visible rows of a list with `len` rows from `first` on, each with its index.
pub fn listed(list: Rect, first: usize, len: usize) -> impl Iterator<Item = (Rect, usize)> {
    list.rows().zip(first..len)
}

//! What the mouse can press.

use ratatui::layout::{Position, Rect};

use crate::domain::ids::TaskId;
use crate::ui::app::task_form::Field;
use crate::ui::app::{App, MouseOwner};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
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

/// Whether the screen shows what only a mouse can press.
pub fn has_mouse(app: &App) -> bool {
    app.prefs.mouse == MouseOwner::Crewdeck
}

/// The rows of a list of `len` rows whose first one in view is `first`, each with its place in the list.
pub fn listed(list: Rect, first: usize, len: usize) -> impl Iterator<Item = (Rect, usize)> {
    list.rows().zip(first..len)
}

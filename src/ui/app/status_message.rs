//! The status message in place of the key hints: how long it stays, and when it becomes outdated.

use std::fmt;
use std::time::Duration;

use crate::domain::ids::RequestId;
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;

/// Maximum length of a notice in the status line, in characters.
pub const NOTICE_MAX: usize = 2000;
/// How long a status message stays if no key press or other message removes it.
const MESSAGE_TIME: Duration = Duration::from_secs(5);
/// Minimum time for which an informational message stays, even if a key is pressed. Warnings and errors stay three
/// times as long.
const MESSAGE_TIME_MIN: Duration = Duration::from_millis(1500);

/// A status message in place of the key hints.
#[derive(Debug)]
pub struct StatusMessage {
    pub level: NoticeLevel,
    /// The text, on one line.
    pub text: String,
    /// When the message is removed, even if no key was pressed.
    pub until: Timestamp,
    /// The request that the message warns about, if any.
    pub request: Option<RequestId>,
    /// Set if the message says that this pane has nothing to preview. The message is removed once the pane has
    /// something.
    pub nothing_in: Option<Pane>,
    holds: Holds,
}

/// The condition under which a message stays true; `None` for a message about a past event, which stays true forever.
struct Holds(Option<Box<Condition>>);

type Condition = dyn Fn(&App) -> bool + Send + Sync;

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "while" } else { "always" })
    }
}

impl StatusMessage {
    /// Returns whether the message was shown long enough that the next key may remove it.
    pub fn is_read(&self, now: Timestamp) -> bool {
        let least = match self.level {
            NoticeLevel::Info => MESSAGE_TIME_MIN,
            NoticeLevel::Warn | NoticeLevel::Error => MESSAGE_TIME_MIN * 3,
        };
        self.until.since(now) + least <= MESSAGE_TIME
    }
}

impl App {
    /// Shows a status message about an event. For the current state use `say_while`.
    pub fn say(&mut self, text: impl Into<String>) {
        self.show_message(NoticeLevel::Info, &text.into());
    }

    /// Shows a warning about an event. Key presses remove it later than a message of [`App::say`].
    pub fn warn(&mut self, text: impl Into<String>) {
        self.show_message(NoticeLevel::Warn, &text.into());
    }

    pub(in crate::ui) fn show_message(&mut self, level: NoticeLevel, text: &str) {
        self.status = Some(StatusMessage {
            level,
            text: one_line(text),
            until: self.now.after(MESSAGE_TIME),
            request: None,
            nothing_in: None,
            holds: Holds(None),
        });
        self.dirty = true;
    }

    /// Shows a status message about the current state; it is removed as soon as `holds` returns `false`.
    pub(in crate::ui) fn say_while(
        &mut self,
        text: impl Into<String>,
        holds: impl Fn(&App) -> bool + Send + Sync + 'static,
    ) {
        self.say(text);
        self.keep_message_while(holds);
    }

    /// Removes the current status message as soon as `holds` returns `false`.
    pub(in crate::ui) fn keep_message_while(
        &mut self,
        holds: impl Fn(&App) -> bool + Send + Sync + 'static,
    ) {
        if let Some(message) = &mut self.status {
            message.holds = Holds(Some(Box::new(holds)));
        }
    }

    /// Shows why something cannot be done now, for as long as `why` returns that reason.
    pub(in crate::ui) fn say_why(
        &mut self,
        text: String,
        why: impl Fn(&App) -> Option<String> + Send + Sync + 'static,
    ) {
        let reason = text.clone();
        self.say_while(text, move |state| why(state).as_ref() == Some(&reason));
    }

    /// Says that no request is open, for as long as that is true.
    pub(in crate::ui) fn say_nothing_waits(&mut self) {
        self.say_while("No open requests.", |state| state.model.requests.is_empty());
    }

    /// Says that the board is empty, for as long as that is true.
    pub(in crate::ui) fn say_no_task(&mut self) {
        self.say_while("No tasks yet.", |state| state.model.board.is_empty());
    }

    /// Removes a message whose condition no longer holds.
    pub(in crate::ui) fn withdraw_stale(&mut self) {
        let is_stale =
            |message: &StatusMessage| message.holds.0.as_ref().is_some_and(|holds| !holds(self));
        if self.status.as_ref().is_some_and(is_stale) {
            self.status = None;
            self.dirty = true;
        }
    }

    /// Shows a notice, which the event log also records. Since it is not caused by a key, it does not replace a more
    /// severe message that is still unread.
    pub(in crate::ui) fn note(&mut self, level: NoticeLevel, text: &str) {
        let weighs_more =
            |message: &StatusMessage| message.level > level && !message.is_read(self.now);
        if !self.status.as_ref().is_some_and(weighs_more) {
            self.show_message(level, &clip(&one_line(text), NOTICE_MAX));
        }
    }
}

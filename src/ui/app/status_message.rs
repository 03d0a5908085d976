//! The status message at the bottom of the screen: how long it is shown, and when it is outdated.

use std::any::{Any, TypeId};
use std::fmt;
use std::time::Duration;

use crate::domain::ids::RequestId;
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::keymap::pane::{Focus, Pane};

/// Maximum length of a notice that is shown as a status message, in characters. A longer notice is cut.
pub const NOTICE_MAX: usize = 2000;
/// Time after which a status message disappears, unless a key press or another message removes it earlier.
const MESSAGE_TIME: Duration = Duration::from_secs(5);
/// Minimum time for which an informational status message stays even if a key is pressed. Warnings and errors stay
/// three times as long.
const MESSAGE_TIME_MIN: Duration = Duration::from_millis(1500);

/// Maximum number of rows that a status message takes above the key hints.
pub const MESSAGE_ROWS_MAX: u16 = 3;

/// A status message, shown directly above the key hints or in their row.
#[derive(Debug)]
pub struct StatusMessage {
    pub level: NoticeLevel,
    /// The text of the message, on one line.
    pub text: String,
    /// The time at which the message disappears even if no key is pressed.
    pub until: Timestamp,
    /// The request that the message warns about; `None` if it does not warn about a request.
    pub request: Option<RequestId>,
    /// If the message says that a pane has nothing to preview, this pane; `None` for other messages. The message is
    /// removed once the pane has something to preview.
    pub nothing_in: Option<Pane>,
    holds: Holds,
    /// Which part of the screen received the keys when the message was first shown; `None` until the end of the update
    /// that set the message.
    place: Option<MessagePlace>,
}

/// The part of the screen that receives the keys: the focus, the number of open popups and the type of the top popup.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MessagePlace {
    focus: Focus,
    popups: usize,
    top: Option<TypeId>,
}

/// The condition under which a status message is true. `None` for a message about a past event, which stays true.
struct Holds(Option<Box<Condition>>);

type Condition = dyn Fn(&App) -> bool + Send + Sync;

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "while" } else { "always" })
    }
}

impl StatusMessage {
    /// Returns whether the message was shown for so long that the next key may remove it.
    pub fn is_read(&self, now: Timestamp) -> bool {
        let least = match self.level {
            NoticeLevel::Info => MESSAGE_TIME_MIN,
            NoticeLevel::Warn | NoticeLevel::Error => MESSAGE_TIME_MIN * 3,
        };
        self.until.since(now) + least <= MESSAGE_TIME
    }
}

impl App {
    /// Shows a status message about something that has happened. A message about the current state uses `say_while`.
    pub fn say(&mut self, text: impl Into<String>) {
        self.show_message(NoticeLevel::Info, &text.into());
    }

    /// Shows a warning about something that has happened. It stays longer than a message of [`App::say`] when keys are
    /// pressed.
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
            place: None,
        });
        self.dirty = true;
    }

    /// Shows a status message about the current state. It is removed as soon as `holds` returns `false`.
    pub(in crate::ui) fn say_while(
        &mut self,
        text: impl Into<String>,
        holds: impl Fn(&App) -> bool + Send + Sync + 'static,
    ) {
        self.say(text);
        self.keep_message_while(holds);
    }

    /// Makes the current status message, if any, disappear as soon as `holds` returns `false`.
    pub(in crate::ui) fn keep_message_while(
        &mut self,
        holds: impl Fn(&App) -> bool + Send + Sync + 'static,
    ) {
        if let Some(message) = &mut self.status {
            message.holds = Holds(Some(Box::new(holds)));
        }
    }

    /// Shows `text`, the reason why something is not possible now. The message is removed as soon as `why` returns
    /// another reason or none.
    pub(in crate::ui) fn say_why(
        &mut self,
        text: String,
        why: impl Fn(&App) -> Option<String> + Send + Sync + 'static,
    ) {
        let reason = text.clone();
        self.say_while(text, move |state| why(state).as_ref() == Some(&reason));
    }

    /// Shows the message that no request is open. It is removed as soon as a request is open.
    pub(in crate::ui) fn say_nothing_waits(&mut self) {
        self.say_while("No open requests.", |state| state.model.requests.is_empty());
    }

    /// Shows the message that the board is empty. It is removed as soon as the board has a task.
    pub(in crate::ui) fn say_no_task(&mut self) {
        self.say_while("No tasks yet.", |state| state.model.board.is_empty());
    }

    /// Removes the current message if its condition is no longer true.
    pub(in crate::ui) fn withdraw_stale(&mut self) {
        let is_stale =
            |message: &StatusMessage| message.holds.0.as_ref().is_some_and(|holds| !holds(self));
        if self.status.as_ref().is_some_and(is_stale) {
            self.status = None;
            self.dirty = true;
        }
    }

    /// Removes the status message if the part of the screen that receives the keys has changed since the message was
    /// first shown: the message was about the earlier part. A warning or an error is removed only after it has been
    /// shown for long enough to be read. Called at the end of each update.
    pub(in crate::ui) fn withdraw_elsewhere(&mut self) {
        let popup = self.popups.last();
        let here = MessagePlace {
            focus: self.focus,
            popups: self.popups.len(),
            top: popup.map(|popup| (popup as &dyn Any).type_id()),
        };
        let now = self.now;
        let Some(message) = &mut self.status else {
            return;
        };
        let place = *message.place.get_or_insert(here);
        let may_go = message.level == NoticeLevel::Info || message.is_read(now);
        if place != here && may_go {
            self.status = None;
            self.dirty = true;
        }
    }

    /// Shows a notice, which is also in the event log. Does nothing if a more severe message is shown and the user has
    /// not had time to read it.
    pub(in crate::ui) fn note(&mut self, level: NoticeLevel, text: &str) {
        let weighs_more =
            |message: &StatusMessage| message.level > level && !message.is_read(self.now);
        if !self.status.as_ref().is_some_and(weighs_more) {
            self.show_message(level, &clip(&one_line(text), NOTICE_MAX));
        }
    }
}

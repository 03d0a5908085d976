//! The short message in place of the hints: how long it stays, and that it goes when it is no longer true.

use std::fmt;
use std::time::Duration;

use crate::domain::ids::RequestId;
use crate::domain::stamp::Stamp;
use crate::domain::text::{clip, one_line};
use crate::protocol::event::Level;
use crate::ui::app::App;

/// Longest notice, in characters.
pub const NOTICE_MAX: usize = 2000;
/// How long a short message stays.
const FLASH: Duration = Duration::from_secs(5);
/// How long it stays at least; three times as long where something is wrong.
const FLASH_LEAST: Duration = Duration::from_millis(1500);

/// A short message in place of the hints.
#[derive(Debug)]
pub struct Flash {
    /// How much it matters.
    pub level: Level,
    /// What, on one line.
    pub text: String,
    /// When it goes.
    pub until: Stamp,
    /// The request that it is about.
    pub request: Option<RequestId>,
    holds: Holds,
}

/// Whether what a message says is still so; `None`: it tells of something that has happened, which stays true.
struct Holds(Option<Box<Condition>>);

type Condition = dyn Fn(&App) -> bool + Send + Sync;

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "while" } else { "always" })
    }
}

impl Flash {
    /// Whether it has been there long enough that the next key may put it away.
    pub fn is_read(&self, now: Stamp) -> bool {
        let least = match self.level {
            Level::Info => FLASH_LEAST,
            Level::Warn | Level::Error => FLASH_LEAST * 3,
        };
        self.until.since(now) + least <= FLASH
    }
}

impl App {
    /// Shows a short message in place of the hints. One about how things are now is for `say_while`.
    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        self.flash = Some(Flash {
            level,
            text: one_line(&text.into()),
            until: self.now.after(FLASH),
            request: None,
            holds: Holds(None),
        });
        self.dirty = true;
    }

    /// Shows a short message about how things are now: it is withdrawn as soon as `holds` is false.
    pub(in crate::ui) fn say_while(
        &mut self,
        level: Level,
        text: impl Into<String>,
        holds: impl Fn(&App) -> bool + Send + Sync + 'static,
    ) {
        self.say(level, text);
        if let Some(flash) = &mut self.flash {
            flash.holds = Holds(Some(Box::new(holds)));
        }
    }

    /// Shows why something cannot be done now, as long as `why` gives that reason.
    pub(in crate::ui) fn say_why(
        &mut self,
        text: String,
        why: impl Fn(&App) -> Option<String> + Send + Sync + 'static,
    ) {
        let reason = text.clone();
        self.say_while(Level::Info, text, move |state| {
            why(state).as_ref() == Some(&reason)
        });
    }

    /// Says that no request waits, as long as none does.
    pub(in crate::ui) fn say_nothing_waits(&mut self) {
        self.say_while(Level::Info, "Nothing waits for you.", |state| {
            state.model.requests.is_empty()
        });
    }

    /// Says that the board is empty, as long as it is.
    pub(in crate::ui) fn say_no_task(&mut self) {
        self.say_while(Level::Info, "There is no task yet.", |state| {
            state.model.board.is_empty()
        });
    }

    /// Withdraws a message that is no longer true.
    pub(in crate::ui) fn withdraw_stale(&mut self) {
        let is_stale = |flash: &Flash| flash.holds.0.as_ref().is_some_and(|holds| !holds(self));
        if self.flash.as_ref().is_some_and(is_stale) {
            self.flash = None;
            self.dirty = true;
        }
    }

    /// Shows a notice, which the event log keeps. It comes by itself, so it does not take the place of a more serious
    /// message that nobody can have read yet.
    pub(in crate::ui) fn note(&mut self, level: Level, text: &str) {
        let weighs_more = |flash: &Flash| flash.level > level && !flash.is_read(self.now);
        if !self.flash.as_ref().is_some_and(weighs_more) {
            self.say(level, clip(&one_line(text), NOTICE_MAX));
        }
    }
}

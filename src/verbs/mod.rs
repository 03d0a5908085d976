//! The verbs of the command line: the doors of the store, one process at a time.

mod mail;
mod task;
mod team;
mod worktree;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::cli::Verb;
use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::text::{harmless, harmless_json, one_line};
use crate::store;

/// What a verb works with.
pub struct Desk<'a> {
    /// The root: here lie the state folders.
    pub root: &'a Path,
    /// The form of the output.
    pub form: Form,
    /// The time.
    pub now: Stamp,
    /// A new id.
    pub new_id: fn() -> String,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How a verb ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It did what was asked.
    Done,
    /// There was nothing to do (exit 3).
    Nothing,
}

/// Carries a verb of the state files out.
///
/// # Errors
/// Why it was refused, in one line that says what to do.
pub fn run(verb: &Verb, desk: &Desk<'_>) -> Result<Ended> {
    // What it has to say concerns who works here for longer: the dashboard and `run` say it.
    store::prepare(desk.root)?;
    match verb {
        Verb::Run { .. }
        | Verb::Replay { .. }
        | Verb::Doctor { .. }
        | Verb::Completions { .. }
        | Verb::Man
        | Verb::Trust(_) => Ok(Ended::Nothing),
        Verb::Task(verb) => task::run(verb, desk),
        Verb::Mail(verb) => mail::run(verb, desk),
        Verb::Team(verb) => team::run(verb, desk),
        Verb::Worktree(verb) => worktree::run(verb, desk),
    }
}

impl Desk<'_> {
    /// Prints one value: `text` for people, `value` for programs.
    fn print(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        let out = match self.form {
            Form::Json => harmless_json(&serde_json::to_string_pretty(value)?),
            Form::Text => harmless(&text()),
        };
        if out.is_empty() {
            return Ok(());
        }
        match writeln!(std::io::stdout().lock(), "{out}") {
            // Nobody reads on (`| head`): the wish was to stop.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    /// Says on stderr what the store set aside or could not read.
    fn warn(notices: &[String]) {
        for notice in notices {
            // What was asked for is not worse off when a notice can not be written.
            let notice = one_line(notice);
            let _ = writeln!(std::io::stderr().lock(), "crewdeck: {notice}");
        }
    }
}

/// A name as the command line gives it: a teammate's, `lead` or `user`.
fn party(text: &str) -> Result<Name> {
    Ok(Name::party(text)?)
}

//! The event log: lines with time, topic, actors and text, oldest first. Pure.
//!
//! All lines are derived from events (`format` decides which kinds are logged, and how). So the crew's own screen, a
//! viewer, a resumed session and a replay show the same lines. The only exception is the rejection of a command, which
//! only the screen that sent the command shows.

mod agents;
pub(in crate::ui) mod attribution;
mod board;
pub(in crate::ui) mod format;

use std::collections::VecDeque;

use crate::domain::ids::{JobId, MessageId, Name, RequestId, TaskId};
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{CrewEvent, Event, EventKind};
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::attribution::Attribution;
use crate::ui::text::display_name;

/// Maximum number of lines in memory. Beyond it, the oldest are dropped. The journal has all events.
pub const LINES_MAX: usize = 2000;
/// Maximum length of a line's text, in characters. A longer text is cut.
pub const WORDS_MAX: usize = 400;
/// Maximum number of names per line that the filter `who:` searches.
const WHO_MAX: usize = 8;
/// How many of the latest lines are searched for one that a new line replaces: a less detailed line about the same
/// event.
const RECENT: usize = 16;

/// The topic of a line, which the filter `kind:` selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    Task,
    /// A message or a prompt.
    Mail,
    /// A request that needs a decision, or a session permission.
    Request,
    /// Agents that join, leave or become idle.
    Team,
    Worktree,
    /// Model calls: failures, queueing, compaction.
    Model,
    Job,
    Notice,
}

impl Topic {
    /// All topics, in the order in which the filter lists them.
    pub const ALL: [Topic; 8] = [
        Topic::Task,
        Topic::Mail,
        Topic::Request,
        Topic::Team,
        Topic::Worktree,
        Topic::Model,
        Topic::Job,
        Topic::Notice,
    ];

    /// Returns the name of the topic, for the filter and the screen.
    pub fn word(self) -> &'static str {
        match self {
            Topic::Task => "task",
            Topic::Mail => "mail",
            Topic::Request => "request",
            Topic::Team => "team",
            Topic::Worktree => "worktree",
            Topic::Model => "model",
            Topic::Job => "job",
            Topic::Notice => "notice",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSeverity {
    Plain,
    Good,
    /// A problem that does not stop the work.
    Warn,
    Error,
}

impl LogSeverity {
    /// Returns whether this is a warning or an error. The filter `!` selects such lines.
    pub fn is_trouble(self) -> bool {
        match self {
            LogSeverity::Plain | LogSeverity::Good => false,
            LogSeverity::Warn | LogSeverity::Error => true,
        }
    }
}

/// What the Enter key opens when a line is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    Nothing,
    /// The page of a task.
    Task(TaskId),
    /// The conversation of an agent.
    Agent(Name),
    /// A message and its thread.
    Message(MessageId),
    /// The card of a request, or the conversation of that agent once the request is decided.
    Request(RequestId, Name),
    /// The list of background jobs, with this job selected.
    Job(JobId),
}

/// A new log line, before it gets its number and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) struct NewLogLine {
    topic: Topic,
    severity: LogSeverity,
    about: About,
    /// The names of the agents and the user involved, which the filter `who:` searches.
    who: Vec<String>,
    words: String,
}

impl NewLogLine {
    pub(in crate::ui) fn new(topic: Topic, words: impl Into<String>) -> NewLogLine {
        NewLogLine {
            topic,
            severity: LogSeverity::Plain,
            about: About::Nothing,
            who: Vec::new(),
            words: words.into(),
        }
    }

    fn tone(mut self, tone: LogSeverity) -> NewLogLine {
        self.severity = tone;
        self
    }

    fn about(mut self, about: About) -> NewLogLine {
        self.about = about;
        self
    }

    fn by(mut self, who: &str) -> NewLogLine {
        let who = clip(&display_name(who), 80);
        if !who.is_empty() && self.who.len() < WHO_MAX && !self.who.contains(&who) {
            self.who.push(who);
        }
        self
    }

    /// Makes Enter open the conversation of `agent`, and adds the agent's name to the names that the filter `who:`
    /// searches.
    fn of(self, agent: &Name) -> NewLogLine {
        self.by(agent.as_str()).about(About::Agent(agent.clone()))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// A sequential number that identifies the line, for the selection.
    pub number: u64,
    pub at: Timestamp,
    pub topic: Topic,
    pub severity: LogSeverity,
    /// What the Enter key opens when the line is selected.
    pub about: About,
    /// The names of the agents and the user involved, which the filter `who:` searches.
    pub who: Vec<String>,
    pub words: String,
}

/// The latest [`LINES_MAX`] lines, oldest first.
#[derive(Debug, Default)]
pub struct EventLog {
    lines: VecDeque<LogLine>,
    next: u64,
    is_cut: bool,
    attribution: Attribution,
}

impl EventLog {
    /// Returns all lines in memory, oldest first.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &LogLine> + DoubleEndedIterator {
        self.lines.iter()
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns whether older lines are missing because they were dropped or not read.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Records that older lines are missing, for example because only the end of a long journal was read.
    pub(in crate::ui) fn begins_late(&mut self) {
        self.is_cut = true;
    }

    /// Returns when the shutdown of an agent was approved, or `None` if no shutdown is pending.
    pub(in crate::ui) fn shutdown_approved_at(&self, name: &Name) -> Option<Timestamp> {
        self.attribution.shutdown_approved_at(name)
    }

    /// Clears the log, except for notices, because no later event repeats them.
    pub(in crate::ui) fn forget_crew(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.retain(|l| l.topic == Topic::Notice);
        *self = EventLog {
            lines,
            next: self.next,
            ..EventLog::default()
        };
    }

    pub(in crate::ui) fn push(&mut self, at: Timestamp, line: NewLogLine) {
        let line = LogLine {
            number: self.next,
            at,
            topic: line.topic,
            severity: line.severity,
            about: line.about,
            who: line.who,
            words: clip(&one_line(&line.words), WORDS_MAX),
        };
        // When a journal is read again, it repeats notices that the log has kept.
        let same =
            |l: &LogLine| l.at == line.at && l.topic == Topic::Notice && l.words == line.words;
        if line.topic == Topic::Notice && self.lines.iter().rev().any(same) {
            return;
        }
        self.next += 1;
        // Insert by time: a journal may be read after newer lines were added.
        let later = self.lines.iter().rev().take_while(|l| l.at > line.at);
        let place = self.lines.len() - later.count();
        self.lines.insert(place, line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
            self.is_cut = true;
        }
    }

    /// Returns the index of the latest line with the text `words`, if it is among the last [`RECENT`] lines.
    fn find_recent(&self, words: &str) -> Option<usize> {
        let from = self.lines.len().saturating_sub(RECENT);
        let at = self.lines.range(from..).rposition(|l| l.words == words);
        at.map(|at| from + at)
    }

    fn has_just_said(&self, words: &str) -> bool {
        self.find_recent(words).is_some()
    }

    /// Removes the line with the text `words`, if it is among the last [`RECENT`] lines. The caller adds a line with
    /// more details instead.
    fn remove_recent(&mut self, words: &str) {
        if let Some(at) = self.find_recent(words) {
            self.lines.remove(at);
        }
    }
}

impl CrewModel {
    /// Adds the lines for an event to the log. Must be called before the event is applied to the rest of the model,
    /// because the lines describe what the event changes.
    pub(in crate::ui) fn log(&mut self, event: &Event) {
        if self.event_log.next == 0 && event.seq > 1 && !event.kind.is_delta() {
            self.event_log.begins_late();
        }
        let line = format::log_lines(self, event);
        if let EventKind::Crew(CrewEvent::Notice {
            agent: Some(agent), ..
        }) = &event.kind
        {
            self.event_log.remove_recent(&agents::gone(agent.as_str()));
        }
        self.event_log.attribution.record(event);
        for line in line {
            self.event_log.push(event.at, line);
        }
    }

    /// Returns the path of the session's journal, relative to the project's root directory.
    pub fn journal_path(&self) -> Option<String> {
        let session = one_line(&self.setup.as_ref()?.session);
        Some(format!(".crewdeck/sessions/{session}/journal.jsonl"))
    }
}

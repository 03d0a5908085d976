//! The event log: lines with time, topic, involved agents and text, oldest first. Pure.
//!
//! All lines are derived from events; `format` decides which kinds of events are logged, and how. So the crew's screen,
//! a viewer (a dashboard that only watches a crew), a resumed session and a replay show the same lines. The only
//! exception is the rejection of a command: only the screen that has sent the command shows it.

mod agents;
pub(in crate::ui) mod attribution;
mod board;
mod checks;
pub(in crate::ui) mod format;
mod hosts;
mod train;

use std::collections::VecDeque;

use crate::domain::ids::{JobId, MessageId, Name, RequestId, TaskId};
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{CrewEvent, Event, EventKind};
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::attribution::Attribution;
use crate::ui::text::display_name;

/// Maximum number of lines in memory. If there are more, the oldest are dropped. The journal file keeps all events.
pub const LINES_MAX: usize = 2000;
/// Maximum length of a line's text, in characters. A longer text is cut.
pub const WORDS_MAX: usize = 400;
/// Maximum number of names of a line that the filter `who:` searches. Further names are not stored.
const WHO_MAX: usize = 8;
/// Number of latest lines that are searched for the line about a teammate that has left, when a notice about this
/// teammate arrives. The notice has more details, so its line replaces that line.
const RECENT: usize = 16;

/// The topic of a line. The filter `kind:` selects lines by topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    Task,
    /// A message or a prompt.
    Mail,
    /// A request that needs a decision, or a session permission.
    Request,
    /// Agents that join the team, leave it or become idle, subagents, and the start of the session.
    Team,
    Worktree,
    /// Model calls that have failed or wait in the call queue; also compaction, cleared or rewound conversations and the
    /// choice of another model.
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

    /// Returns the word for the topic in the filter and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Topic::Task => "task",
            Topic::Mail => "message",
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
    /// Returns whether the severity is a warning or an error. The filter `!` selects such lines.
    pub fn is_trouble(self) -> bool {
        match self {
            LogSeverity::Plain | LogSeverity::Good => false,
            LogSeverity::Warn | LogSeverity::Error => true,
        }
    }
}

/// What the Enter key opens if a line of the log is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    Nothing,
    /// The page of a task.
    Task(TaskId),
    /// The conversation of an agent.
    Agent(Name),
    /// A message and its thread.
    Message(MessageId),
    /// The request in the pane "Needs you". If the request is already decided, the conversation of the agent that the
    /// request is about.
    Request(RequestId, Name),
    /// The list of background jobs, with this job selected.
    Job(JobId),
}

/// A new line of the log that has no number and time yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) struct NewLogLine {
    topic: Topic,
    severity: LogSeverity,
    about: About,
    /// The names of the agents and the user that the line is about. The filter `who:` searches them.
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
    /// A number by which the selection identifies the line. A line that was added later has a higher number, even if
    /// its time is earlier.
    pub number: u64,
    pub at: Timestamp,
    pub topic: Topic,
    pub severity: LogSeverity,
    /// What the Enter key opens if this line is selected.
    pub about: About,
    /// The names of the agents and the user that the line is about. The filter `who:` searches them.
    pub who: Vec<String>,
    pub words: String,
}

/// The latest lines, oldest first: at most [`LINES_MAX`].
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

    /// Returns whether older lines are missing, because they were dropped or the journal was not read from its start.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Records that older lines are missing, for example because only the end of a long journal was read.
    pub(in crate::ui) fn begins_late(&mut self) {
        self.is_cut = true;
    }

    /// Returns when the shutdown of the agent `name` was approved; `None` if no approved shutdown is pending.
    pub(in crate::ui) fn shutdown_approved_at(&self, name: &Name) -> Option<Timestamp> {
        self.attribution.shutdown_approved_at(name)
    }

    /// Removes all lines except notices. Called before the events of a session are applied from the start. They bring
    /// back the removed lines, but not every notice.
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
        // A journal that is read again repeats the notices that are still in the log.
        let same =
            |l: &LogLine| l.at == line.at && l.topic == Topic::Notice && l.words == line.words;
        if line.topic == Topic::Notice && self.lines.iter().rev().any(same) {
            return;
        }
        self.next += 1;
        // Lines are sorted by time, because a journal may be read after newer lines were added.
        let later = self.lines.iter().rev().take_while(|l| l.at > line.at);
        let place = self.lines.len() - later.count();
        self.lines.insert(place, line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
            self.is_cut = true;
        }
    }

    /// Returns the index of the newest line with the text `words`; `None` if it is not among the last [`RECENT`] lines.
    fn find_recent(&self, words: &str) -> Option<usize> {
        let from = self.lines.len().saturating_sub(RECENT);
        let at = self.lines.range(from..).rposition(|l| l.words == words);
        at.map(|at| from + at)
    }

    fn has_just_said(&self, words: &str) -> bool {
        self.find_recent(words).is_some()
    }

    /// Removes the newest line with the text `words`, if it is among the last [`RECENT`] lines. Called before a line
    /// with more details about the same event is added.
    fn remove_recent(&mut self, words: &str) {
        if let Some(at) = self.find_recent(words) {
            self.lines.remove(at);
        }
    }
}

impl CrewModel {
    /// Adds the lines for an event to the log. Must be called before the event is applied to the model, because the
    /// text of a line depends on the state before the event.
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

    /// Returns the path of the session's journal, relative to the project's root directory; `None` before the crew has
    /// started.
    pub fn journal_path(&self) -> Option<String> {
        let session = one_line(&self.setup.as_ref()?.session);
        Some(format!(".crewdeck/sessions/{session}/journal.jsonl"))
    }
}

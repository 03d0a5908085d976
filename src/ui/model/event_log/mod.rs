//! The event log: what happened in the crew, when, by whom and why, one sentence an event, the newest last. Pure.
//!
//! All of it comes from events ([`tell`] says for each kind whether and how it is told), so a screen that was there, one
//! that looks on, one that goes on with a session and one that replays it have the same lines. Only what a command was
//! refused for stays with the screen that gave it.

mod agents;
pub(in crate::ui) mod attribution;
mod board;
pub(in crate::ui) mod format;
pub(in crate::ui) mod query;

use std::collections::VecDeque;

use crate::domain::ids::{JobId, LetterId, Name, RequestId, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::text::{clip, one_line};
use crate::protocol::{Event, EventKind};
use crate::ui::model::Model;
use crate::ui::model::event_log::attribution::Actors;
use crate::ui::text::called;

/// Most lines that are kept; the oldest go first. The journal has all events.
pub const LINES_MAX: usize = 2000;
/// Longest sentence, in characters.
pub const WORDS_MAX: usize = 400;
/// Most names that a line is found by.
const WHO_MAX: usize = 8;
/// How far back a line is looked for that another one says better.
const RECENT: usize = 16;

/// What a line is about, roughly: what `kind:` finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A task of the board.
    Task,
    /// A letter, or words of the person.
    Mail,
    /// A request that somebody decides, or a rule of the session.
    Request,
    /// Who is there and what they are up to.
    Team,
    /// A worktree and its branch.
    Worktree,
    /// The calls of the models: what failed, what waits, what was shortened.
    Model,
    /// A background job.
    Job,
    /// What crewdeck has to say.
    Notice,
}

impl Topic {
    /// All of them, as the filter names them.
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

    /// Its word, for the filter and the screen.
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

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It happened.
    Plain,
    /// Something is finished.
    Good,
    /// Something is not as it should be, work goes on.
    Warn,
    /// Something failed.
    Error,
}

impl Tone {
    /// Whether it is trouble: what `!` finds.
    pub fn is_trouble(self) -> bool {
        match self {
            Tone::Plain | Tone::Good => false,
            Tone::Warn | Tone::Error => true,
        }
    }
}

/// What Enter on a line shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// Nothing.
    Nothing,
    /// The page of a task.
    Task(TaskId),
    /// The conversation of an agent.
    Agent(Name),
    /// A letter and its thread.
    Letter(LetterId),
    /// The card of a request; when it is decided, the conversation of that agent.
    Request(RequestId, Name),
    /// The background jobs, at that one.
    Job(JobId),
}

/// What is told of an event, before it has its number and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) struct Told {
    topic: Topic,
    tone: Tone,
    about: About,
    /// Whom it concerns, for `who:`.
    who: Vec<String>,
    words: String,
}

impl Told {
    pub(in crate::ui) fn new(topic: Topic, words: impl Into<String>) -> Told {
        Told {
            topic,
            tone: Tone::Plain,
            about: About::Nothing,
            who: Vec::new(),
            words: words.into(),
        }
    }

    fn tone(mut self, tone: Tone) -> Told {
        self.tone = tone;
        self
    }

    fn about(mut self, about: About) -> Told {
        self.about = about;
        self
    }

    fn by(mut self, who: &str) -> Told {
        let who = clip(&called(who), 80);
        if !who.is_empty() && self.who.len() < WHO_MAX && !self.who.contains(&who) {
            self.who.push(who);
        }
        self
    }

    /// What happened to an agent: it is about it and found by its name.
    fn of(self, agent: &Name) -> Told {
        self.by(agent.as_str()).about(About::Agent(agent.clone()))
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// Counts up by one; what a selection holds on to.
    pub number: u64,
    /// When it happened.
    pub at: Stamp,
    /// What it is about, roughly.
    pub topic: Topic,
    /// How it is meant.
    pub tone: Tone,
    /// What Enter shows.
    pub about: About,
    /// Whom it concerns.
    pub who: Vec<String>,
    /// The sentence.
    pub words: String,
}

/// The newest lines, the oldest first.
#[derive(Debug, Default)]
pub struct EventLog {
    lines: VecDeque<LogLine>,
    next: u64,
    is_cut: bool,
    actors: Actors,
}

impl EventLog {
    /// All lines that are kept, the oldest first.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &LogLine> + DoubleEndedIterator {
        self.lines.iter()
    }

    /// How many lines are kept.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether nothing has happened.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether older lines are missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn begins_late(&mut self) {
        self.is_cut = true;
    }

    /// Since when that agent is to shut down and has not; `None`: nobody wants it to.
    pub(in crate::ui) fn asked_to_go(&self, name: &Name) -> Option<Stamp> {
        self.actors.asked_to_go(name)
    }

    /// Forgets the crew. What crewdeck itself had to say stays: no other event says it again.
    pub(in crate::ui) fn forget_crew(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.retain(|l| l.topic == Topic::Notice);
        *self = EventLog {
            lines,
            next: self.next,
            ..EventLog::default()
        };
    }

    pub(in crate::ui) fn push(&mut self, at: Stamp, told: Told) {
        let line = LogLine {
            number: self.next,
            at,
            topic: told.topic,
            tone: told.tone,
            about: told.about,
            who: told.who,
            words: clip(&one_line(&told.words), WORDS_MAX),
        };
        // A journal that is read again says a notice again that was kept.
        let same =
            |l: &LogLine| l.at == line.at && l.topic == Topic::Notice && l.words == line.words;
        if line.topic == Topic::Notice && self.lines.iter().rev().any(same) {
            return;
        }
        self.next += 1;
        // The newest is the last, also where a journal is read after something was said here.
        let later = self.lines.iter().rev().take_while(|l| l.at > line.at);
        let place = self.lines.len() - later.count();
        self.lines.insert(place, line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
            self.is_cut = true;
        }
    }

    /// The place of a line with these words among the last ones.
    fn just_said(&self, words: &str) -> Option<usize> {
        let from = self.lines.len().saturating_sub(RECENT);
        let at = self.lines.range(from..).rposition(|l| l.words == words);
        at.map(|at| from + at)
    }

    fn has_just_said(&self, words: &str) -> bool {
        self.just_said(words).is_some()
    }

    /// Takes a line out that says nothing beside what comes now.
    fn say_better(&mut self, words: &str) {
        if let Some(at) = self.just_said(words) {
            self.lines.remove(at);
        }
    }
}

impl Model {
    /// Writes an event into the log, before the rest of the state follows it.
    pub(in crate::ui) fn log(&mut self, event: &Event) {
        if self.event_log.next == 0 && event.seq > 1 && !event.kind.is_delta() {
            self.event_log.begins_late();
        }
        let told = format::tell(self, event);
        if let EventKind::Notice {
            agent: Some(agent), ..
        } = &event.kind
        {
            self.event_log.say_better(&agents::gone(agent.as_str()));
        }
        self.event_log.actors.heard(event);
        for told in told {
            self.event_log.push(event.at, told);
        }
    }

    /// What happened before the first event is not known: only the end of a long journal was read.
    pub fn begins_late(&mut self) {
        self.event_log.begins_late();
    }

    /// The journal that has every event of this session, below the root.
    pub fn journal_path(&self) -> Option<String> {
        let session = one_line(&self.setup.as_ref()?.session);
        Some(format!(".crewdeck/sessions/{session}/journal.jsonl"))
    }
}

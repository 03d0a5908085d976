//! One cell of a conversation, and what it keeps of what happened. All of it is bounded.

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::text::{harmless, head_and_tail, one_line};
use crate::protocol::event::{Level, TurnEnd};

/// Most bytes of text of one cell.
const TEXT_MAX: usize = 256 * 1024;
/// Most bytes of running output that are kept: its end is what matters.
const LIVE_MAX: usize = 8 * 1024;

/// A cell. Its version changes with its content, so that a drawing of it can be kept.
#[derive(Debug)]
pub struct Cell {
    /// What it holds.
    pub kind: Kind,
    /// Counts its changes.
    pub version: u32,
}

/// What a cell holds.
#[derive(Debug)]
pub enum Kind {
    /// What the person said.
    Prompt(String),
    /// What the model answered.
    Answer(Answer),
    /// A tool call.
    Tool(Box<ToolRun>),
    /// Something else that entered the conversation.
    Injected(String),
    /// A word of crewdeck itself.
    Notice(Level, String),
    /// A turn that ended otherwise than by its answer: how much it matters, what, and what to do.
    Ended(Level, String, String),
}

impl Cell {
    /// A new cell.
    pub fn new(kind: Kind) -> Cell {
        Cell { kind, version: 0 }
    }

    /// Its content changed.
    pub fn touch(&mut self) {
        self.version = self.version.wrapping_add(1);
    }
}

/// Text within a cell's bound.
pub fn bounded(text: &str) -> String {
    head_and_tail(text, TEXT_MAX)
}

/// The cell for the end of a turn; an answer needs none.
pub fn ended(end: &TurnEnd) -> Option<Kind> {
    match end {
        TurnEnd::Done => None,
        TurnEnd::Interrupted => Some(Kind::Ended(
            Level::Info,
            "interrupted".into(),
            String::new(),
        )),
        TurnEnd::Failed { error, hint } => {
            Some(Kind::Ended(Level::Error, one_line(error), one_line(hint)))
        }
        TurnEnd::Stopped { why } => Some(Kind::Ended(
            Level::Warn,
            format!("stopped: {}", one_line(why)),
            String::new(),
        )),
    }
}

/// An answer, whole or on its way.
#[derive(Debug, Default)]
pub struct Answer {
    /// Its words.
    pub text: String,
    /// What was thought before.
    pub thinking: String,
    state: Streaming,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Streaming {
    Open,
    #[default]
    Closed,
}

impl Answer {
    /// An answer whose first words come now.
    pub fn begun() -> Answer {
        Answer {
            state: Streaming::Open,
            ..Answer::default()
        }
    }

    /// An answer that is whole.
    pub fn whole(text: &str, thinking: &str) -> Answer {
        Answer {
            text: bounded(text),
            thinking: bounded(thinking),
            state: Streaming::Closed,
        }
    }

    /// Whether more may come.
    pub fn is_open(&self) -> bool {
        self.state == Streaming::Open
    }

    /// Nothing more comes.
    pub fn close(&mut self) {
        self.state = Streaming::Closed;
    }

    /// More words.
    pub fn say(&mut self, more: &str) {
        self.text.push_str(more);
        if self.text.len() > TEXT_MAX * 2 {
            self.text = bounded(&self.text);
        }
    }

    /// More thoughts.
    pub fn think(&mut self, more: &str) {
        self.thinking.push_str(more);
        if self.thinking.len() > TEXT_MAX * 2 {
            self.thinking = bounded(&self.thinking);
        }
    }
}

/// How far a tool call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It runs.
    Running,
    /// It did what was asked.
    Done,
    /// It did not.
    Failed,
}

/// Whether a cell shows everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// One line.
    Folded,
    /// Everything.
    Open,
}

/// A tool call and what came of it.
#[derive(Debug)]
pub struct ToolRun {
    call: CallId,
    /// The tool.
    pub tool: String,
    /// What it works on.
    pub on: String,
    /// Its input, as a person reads it.
    pub input: String,
    /// How far it has come.
    pub progress: Progress,
    /// The end of its output while it runs, all of it (bounded) when it is done.
    pub output: String,
    /// What it changed.
    pub diff: String,
    /// How long it took.
    pub took_ms: u64,
    /// Whether it shows everything.
    pub fold: Fold,
}

impl ToolRun {
    /// A call that begins.
    pub fn begun(call: &CallId, tool: &str, on: &str, input: &Value) -> ToolRun {
        ToolRun {
            call: call.clone(),
            tool: one_line(tool),
            on: one_line(on),
            input: readable(input),
            progress: Progress::Running,
            output: String::new(),
            diff: String::new(),
            took_ms: 0,
            fold: Fold::Folded,
        }
    }

    /// Whether it is that call and still runs.
    pub fn is(&self, call: &CallId) -> bool {
        self.progress == Progress::Running && self.call == *call
    }

    /// Output while it runs.
    pub fn hear(&mut self, chunk: &str) {
        self.output.push_str(&harmless(chunk));
        if self.output.len() > LIVE_MAX * 2 {
            let mut cut = self.output.len() - LIVE_MAX;
            while !self.output.is_char_boundary(cut) {
                cut += 1;
            }
            self.output.drain(..cut);
        }
    }

    /// It is over.
    pub fn end(&mut self, progress: Progress, output: &str, diff: &str, took_ms: u64) {
        self.progress = progress;
        self.output = harmless(&bounded(output));
        self.diff = harmless(&bounded(diff));
        self.took_ms = took_ms;
    }

    /// Opens or folds it.
    pub fn toggle(&mut self) {
        self.fold = match self.fold {
            Fold::Folded => Fold::Open,
            Fold::Open => Fold::Folded,
        };
    }

    /// Everything in it as text.
    pub fn text(&self) -> String {
        format!("{} {}\n{}\n{}", self.tool, self.on, self.input, self.output)
    }
}

/// An input as a person reads it: a command as a command, else one field a line.
fn readable(input: &Value) -> String {
    let text = match input {
        Value::Object(fields) => match fields.get("command").and_then(Value::as_str) {
            Some(command) => format!("$ {command}"),
            None => fields
                .iter()
                .map(|(name, value)| match value {
                    Value::String(text) => format!("{name}: {text}"),
                    other => format!("{name}: {other}"),
                })
                .collect::<Vec<_>>()
                .join("\n"),
        },
        other => other.to_string(),
    };
    harmless(&head_and_tail(&text, 16 * 1024))
}

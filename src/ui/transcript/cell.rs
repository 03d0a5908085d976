//! One cell of a transcript: a prompt, an answer, a tool call, a notice or another entry.

use super::answer::Answer;
use super::calls::Calls;
use super::entry::Entry;
use super::fields::Field;
use super::find::Needle;
use super::fold;
use super::run::{Progress, ToolRun};
use crate::domain::text::one_line;
use crate::protocol::event::{Level, TurnEnd};

#[derive(Debug)]
pub struct Cell {
    pub kind: Kind,
    /// Changes with every modification and is unique within a transcript. Identifies a cached layout.
    pub version: u64,
    /// Number of search matches in it.
    pub found: usize,
    /// Number of the group header if the cell is a call in a group.
    pub calls: Option<u64>,
    /// Number of entries before it, including dropped ones. Group headers are not entries.
    pub entries: u64,
}

/// Content of a cell.
#[derive(Debug)]
pub enum Kind {
    /// A prompt.
    Prompt(String),
    /// An answer of the model.
    Answer(Box<Answer>),
    /// A tool call.
    Tool(Box<ToolRun>),
    /// The header of a group of calls of the same tool.
    Calls(Box<Calls>),
    /// Another entry of the conversation, such as a message from a teammate.
    Injected(Box<Entry>),
    /// A notice of crewdeck: severity, text and hint (may be empty).
    Notice(Level, String, String),
}

/// Whether a cell is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// Shown as one line.
    #[default]
    Folded,
    /// Shown completely.
    Open,
}

impl Fold {
    pub fn toggle(&mut self) {
        *self = match self {
            Fold::Folded => Fold::Open,
            Fold::Open => Fold::Folded,
        };
    }
}

/// Determines spacing: a blank row separates cells of different groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Prompts.
    Person,
    /// Answers.
    Model,
    /// Tool calls, entries and notices.
    Work,
}

impl Kind {
    pub fn group(&self) -> Group {
        match self {
            Kind::Prompt(_) => Group::Person,
            Kind::Answer(_) => Group::Model,
            Kind::Tool(_) | Kind::Calls(_) | Kind::Injected(_) | Kind::Notice(..) => Group::Work,
        }
    }

    /// Returns whether the cell draws nothing.
    pub fn is_blank(&self) -> bool {
        match self {
            Kind::Answer(answer) => answer.is_blank(),
            Kind::Calls(calls) => !calls.is_shown(),
            Kind::Prompt(_) | Kind::Tool(_) | Kind::Injected(_) | Kind::Notice(..) => false,
        }
    }

    /// Returns the fold state, if the cell can be folded.
    pub fn fold(&mut self) -> Option<&mut Fold> {
        match self {
            Kind::Tool(run) => Some(&mut run.fold),
            Kind::Calls(calls) => calls.is_shown().then_some(&mut calls.fold),
            Kind::Answer(answer) if !answer.thinking.is_blank() => Some(&mut answer.fold),
            Kind::Injected(entry) if entry.is_foldable() => Some(&mut entry.fold),
            Kind::Answer(_) | Kind::Prompt(_) | Kind::Injected(_) | Kind::Notice(..) => None,
        }
    }

    /// Returns whether the cell can be folded.
    pub fn is_foldable(&self) -> bool {
        match self {
            Kind::Tool(_) => true,
            Kind::Calls(calls) => calls.is_shown(),
            Kind::Answer(answer) => !answer.thinking.is_blank(),
            Kind::Injected(entry) => entry.is_foldable(),
            Kind::Prompt(_) | Kind::Notice(..) => false,
        }
    }

    /// Returns the length of the texts in the cell, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Kind::Prompt(text) => text.len(),
            Kind::Injected(entry) => entry.bytes(),
            Kind::Answer(answer) => answer.text.as_str().len() + answer.thinking.as_str().len(),
            Kind::Tool(run) => run.bytes(),
            Kind::Calls(calls) => calls.bytes(),
            Kind::Notice(_, text, hint) => text.len() + hint.len(),
        }
    }

    /// Counts the matches in the cell, folded or not. The original text is searched; of a long output, only the lines
    /// that an open cell shows.
    pub fn count(&self, needle: &Needle) -> usize {
        let count = |text: &str| needle.count(text);
        match self {
            Kind::Prompt(text) => count(text),
            Kind::Injected(entry) => {
                count(&entry.what) + fold::shown(&entry.text).map(count).sum::<usize>()
            }
            Kind::Answer(answer) => count(answer.thinking.as_str()) + count(answer.text.as_str()),
            Kind::Tool(run) => {
                let values =
                    |fields: &[Field]| fields.iter().map(|f| count(&f.value)).sum::<usize>();
                let input = if run.diff.is_empty() {
                    values(&run.input)
                } else {
                    0
                };
                let short = count(&run.tool) + count(&run.on) + input + values(&run.told);
                let long =
                    [&run.diff, &run.output].map(|t| fold::shown(t).map(count).sum::<usize>());
                short + long.iter().sum::<usize>()
            }
            // The matches are counted in the calls themselves.
            Kind::Calls(_) => 0,
            Kind::Notice(_, text, hint) => count(text) + count(hint),
        }
    }

    /// Returns the noun for the message `Copied …`.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Prompt(_) => "the prompt",
            Kind::Answer(_) => "the answer",
            Kind::Tool(_) => "the tool call",
            Kind::Calls(_) => "the tool calls",
            Kind::Injected(entry) if entry.is_message() => "the message",
            Kind::Injected(_) | Kind::Notice(..) => "the entry",
        }
    }

    /// Returns the text to copy; empty for a group header.
    pub fn text(&self) -> String {
        match self {
            Kind::Prompt(text) => text.clone(),
            Kind::Injected(entry) => entry.whole(),
            Kind::Answer(answer) => answer.text.as_str().to_string(),
            Kind::Tool(run) => run.text(),
            Kind::Calls(_) => String::new(),
            Kind::Notice(_, text, hint) if hint.is_empty() => text.clone(),
            Kind::Notice(_, text, hint) => format!("{text}\n{hint}"),
        }
    }

    /// Returns the progress if the cell is a tool call.
    pub fn progress(&self) -> Option<Progress> {
        match self {
            Kind::Tool(run) => Some(run.progress),
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Calls(_)
            | Kind::Injected(_)
            | Kind::Notice(..) => None,
        }
    }

    /// Returns the notice for the end of a turn; `None` if the turn ended normally.
    pub fn ended(end: &TurnEnd) -> Option<Kind> {
        match end {
            TurnEnd::Done => None,
            TurnEnd::Interrupted => Some(Kind::Notice(
                Level::Info,
                "interrupted".into(),
                String::new(),
            )),
            TurnEnd::Failed { error, hint } => {
                Some(Kind::Notice(Level::Error, one_line(error), one_line(hint)))
            }
            TurnEnd::Stopped { why } => Some(Kind::Notice(
                Level::Warn,
                format!("stopped: {}", one_line(why)),
                String::new(),
            )),
        }
    }
}

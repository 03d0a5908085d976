//! One cell of a conversation: something that was said or done.

use super::answer::Answer;
use super::calls::Calls;
use super::entry::Entry;
use super::fields::Field;
use super::find::Needle;
use super::fold;
use super::run::{Progress, ToolRun};
use crate::domain::text::one_line;
use crate::protocol::event::{Level, TurnEnd};

/// A cell.
#[derive(Debug)]
pub struct Cell {
    /// What it holds.
    pub kind: Kind,
    /// Another one after every change, never used twice in a transcript: a drawing is known by it.
    pub version: u64,
    /// How often it holds what is searched for.
    pub found: usize,
    /// The number of the line before the calls that it is one of.
    pub calls: Option<u64>,
    /// How many entries came before it since the conversation began; lines before calls are none.
    pub entries: u64,
}

/// What a cell holds.
#[derive(Debug)]
pub enum Kind {
    /// What the person said.
    Prompt(String),
    /// What the model said.
    Answer(Box<Answer>),
    /// A tool call.
    Tool(Box<ToolRun>),
    /// The line before calls of the same tool.
    Calls(Box<Calls>),
    /// Something else that entered the conversation.
    Injected(Box<Entry>),
    /// A word of crewdeck itself: how much it matters, what, and what to do (may be empty).
    Notice(Level, String, String),
}

/// Whether a cell shows everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// The gist, in one line.
    #[default]
    Folded,
    /// Everything.
    Open,
}

impl Fold {
    /// The other way.
    pub fn toggle(&mut self) {
        *self = match self {
            Fold::Folded => Fold::Open,
            Fold::Open => Fold::Folded,
        };
    }
}

/// Cells of one group stand close together, groups are set apart by a blank row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// What the person said.
    Person,
    /// What the model said.
    Model,
    /// What happened.
    Work,
}

impl Kind {
    /// The group of the cell.
    pub fn group(&self) -> Group {
        match self {
            Kind::Prompt(_) => Group::Person,
            Kind::Answer(_) => Group::Model,
            Kind::Tool(_) | Kind::Calls(_) | Kind::Injected(_) | Kind::Notice(..) => Group::Work,
        }
    }

    /// Whether there is nothing to see of it.
    pub fn is_blank(&self) -> bool {
        match self {
            Kind::Answer(answer) => answer.is_blank(),
            Kind::Calls(calls) => !calls.is_shown(),
            Kind::Prompt(_) | Kind::Tool(_) | Kind::Injected(_) | Kind::Notice(..) => false,
        }
    }

    /// What opens and folds, if the cell does.
    pub fn fold(&mut self) -> Option<&mut Fold> {
        match self {
            Kind::Tool(run) => Some(&mut run.fold),
            Kind::Calls(calls) => calls.is_shown().then_some(&mut calls.fold),
            Kind::Answer(answer) if !answer.thinking.is_blank() => Some(&mut answer.fold),
            Kind::Injected(entry) if entry.is_foldable() => Some(&mut entry.fold),
            Kind::Answer(_) | Kind::Prompt(_) | Kind::Injected(_) | Kind::Notice(..) => None,
        }
    }

    /// Whether the cell opens and folds.
    pub fn is_foldable(&self) -> bool {
        match self {
            Kind::Tool(_) => true,
            Kind::Calls(calls) => calls.is_shown(),
            Kind::Answer(answer) => !answer.thinking.is_blank(),
            Kind::Injected(entry) => entry.is_foldable(),
            Kind::Prompt(_) | Kind::Notice(..) => false,
        }
    }

    /// The bytes of text in it.
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

    /// How often the cell holds what is searched for, folded or not: in its words as they were written, of long
    /// outputs in the lines that are shown.
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
            // Its words are those of the calls.
            Kind::Calls(_) => 0,
            Kind::Notice(_, text, hint) => count(text) + count(hint),
        }
    }

    /// What the cell is, in the sentence `Copied …`.
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

    /// The text of the cell, for copying; the line before calls has none of its own.
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

    /// How far it has come, if it is a call.
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

    /// The cell for the end of a turn; an answer needs none.
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

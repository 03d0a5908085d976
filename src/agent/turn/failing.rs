//! The turn and its failures: what is tried again, and what ends it.

use super::compacting::Retry;
use super::{Effect, Phase, Turn};
use crate::model::{Fault, ModelError, retry};
use crate::protocol::event::TurnEnd;

impl Turn {
    pub(super) fn empty(&mut self) -> Vec<Effect> {
        self.empty_answers += 1;
        if self.empty_answers == 1 {
            return self.call();
        }
        self.end(TurnEnd::Failed {
            error: "the model gave an empty answer, twice".into(),
            hint: "Say it in other words, or take another model (/model).".into(),
        })
    }

    pub(super) fn failed(&mut self, error: &ModelError, jitter: f64) -> Vec<Effect> {
        let again = match &self.phase {
            Phase::Calling if error.fault == Fault::ContextTooLong => return self.overflow(),
            Phase::Calling => Retry::Call,
            Phase::Summarising(summary) => Retry::Summary(summary.clone()),
            Phase::Resting
            | Phase::Gathering
            | Phase::Waiting(_)
            | Phase::Archiving { .. }
            | Phase::Running(_) => return vec![],
        };
        if let Some(effects) = self.summary_failed(error) {
            return effects;
        }
        let what = match &again {
            Retry::Call => "",
            Retry::Summary(_) => "the conversation could not be summarised: ",
        };
        match retry::wait(error, self.attempt, jitter) {
            Some(wait) => {
                self.attempt += 1;
                self.phase = Phase::Waiting(again);
                vec![Effect::Wait {
                    wait,
                    attempt: self.attempt,
                    cause: error.message.clone(),
                }]
            }
            None => {
                let tries = self.attempt + 1;
                let error_text = if tries > 1 {
                    format!("{what}{} (given up after {tries} tries)", error.message)
                } else {
                    format!("{what}{}", error.message)
                };
                self.end(TurnEnd::Failed {
                    error: error_text,
                    hint: error.hint.clone(),
                })
            }
        }
    }

    /// The model was not called. What was said meanwhile goes into the conversation: none of it is lost.
    pub(super) fn stopped(&mut self, why: String) -> Vec<Effect> {
        match self.phase {
            Phase::Calling | Phase::Summarising(_) => {
                let mut effects = self.flush_user();
                effects.extend(self.end(TurnEnd::Stopped { why }));
                effects
            }
            Phase::Resting
            | Phase::Gathering
            | Phase::Waiting(_)
            | Phase::Archiving { .. }
            | Phase::Running(_) => vec![],
        }
    }

    pub(super) fn retry(&mut self) -> Vec<Effect> {
        match std::mem::replace(&mut self.phase, Phase::Resting) {
            Phase::Waiting(Retry::Call) => self.call(),
            Phase::Waiting(Retry::Summary(summary)) => self.summarise_again(summary),
            other @ (Phase::Resting
            | Phase::Gathering
            | Phase::Calling
            | Phase::Summarising(_)
            | Phase::Archiving { .. }
            | Phase::Running(_)) => {
                self.phase = other;
                vec![]
            }
        }
    }
}

pub(super) fn too_long() -> TurnEnd {
    TurnEnd::Failed {
        error: "the conversation no longer fits the model's window".into(),
        hint: "Start crewdeck again for a fresh conversation; the board and the files stay.".into(),
    }
}

/// Not even the first words fit.
pub(super) fn too_small() -> TurnEnd {
    TurnEnd::Failed {
        error: "system prompt, tools and your words do not fit the model's window".into(),
        hint: "Give the model a larger window (on a local server: its context size), or agents fewer tools (--tools bash,read_file).".into(),
    }
}

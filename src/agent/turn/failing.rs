//! Handles failures of a turn: decides which are retried, and which end the turn.

use super::{FallbackState, Retry, Turn, TurnEffect, TurnPhase};
use crate::domain::chat::Block;
use crate::model::retry::{self, FailedTries};
use crate::model::{ErrorKind, ModelError};
use crate::protocol::event::TurnEnd;

/// Maximum number of consecutive empty answers, including the first.
const EMPTY_MAX: u32 = 3;
const EMPTY: &str = "<crew>Your last answer was empty. Continue with the next step, or say in one sentence that you are done.</crew>";

impl Turn {
    pub(super) fn empty(&mut self) -> Vec<TurnEffect> {
        self.empty_answers += 1;
        if self.empty_answers < EMPTY_MAX {
            // The model would often answer the same request with an empty answer again, so a text is added.
            self.pending_texts.insert(0, Block::text(EMPTY));
            return self.gather();
        }
        self.end(TurnEnd::Failed {
            error: format!("the model gave an empty answer {EMPTY_MAX} times"),
            hint: "Rephrase your message, or switch to another model (/model).".into(),
        })
    }

    pub(super) fn on_model_failed(
        &mut self,
        error: &ModelError,
        jitter: f64,
        fallback: FallbackState,
    ) -> Vec<TurnEffect> {
        let again = match &self.phase {
            TurnPhase::Calling if error.kind == ErrorKind::ContextTooLong => {
                return self.overflow();
            }
            TurnPhase::Calling => Retry::Call,
            TurnPhase::Summarising(summary) => Retry::Summary(summary.clone()),
            _ => return vec![],
        };
        if let Some(effects) = self.summary_failed(error) {
            return effects;
        }
        let what = match &again {
            Retry::Call => "",
            Retry::Summary(_) => "the conversation could not be summarised: ",
        };
        let wait = retry::wait(error, &self.tries, jitter);
        self.tries.add(error.kind, wait);
        match wait {
            Some(wait) => {
                self.phase = TurnPhase::Waiting(again);
                vec![TurnEffect::Wait {
                    wait,
                    attempt: self.tries.count(),
                    attempts_max: retry::max_tries(error),
                    cause: error.message.clone(),
                }]
            }
            None if fallback == FallbackState::Usable => {
                self.tries = FailedTries::default();
                self.phase = TurnPhase::Waiting(again);
                let why = error.message.clone();
                let mut effects = vec![TurnEffect::UseFallback { why }];
                effects.extend(self.retry());
                effects
            }
            None => {
                let tries = self.tries.count();
                let mut error_text = if tries > 1 {
                    let waited = self.tries.total_wait().as_secs();
                    format!(
                        "{what}{} (given up after {tries} tries in {waited} s)",
                        error.message
                    )
                } else {
                    format!("{what}{}", error.message)
                };
                if let FallbackState::Unusable(why) = fallback {
                    error_text.push_str("; it has no fallback: ");
                    error_text.push_str(&why);
                }
                self.end(TurnEnd::Failed {
                    error: error_text,
                    hint: error.hint.clone(),
                })
            }
        }
    }

    /// Ends a turn because a budget or a hook prevents its next model call. Text that arrived during the turn is added
    /// to the conversation. Does nothing if no model call is due.
    pub(super) fn on_stop(&mut self, why: String) -> Vec<TurnEffect> {
        match self.phase {
            TurnPhase::Calling | TurnPhase::Summarising(_) => {
                let mut effects = self.flush_user();
                effects.extend(self.end(TurnEnd::Stopped { why }));
                effects
            }
            _ => vec![],
        }
    }

    pub(super) fn retry(&mut self) -> Vec<TurnEffect> {
        match std::mem::replace(&mut self.phase, TurnPhase::Idle) {
            TurnPhase::Waiting(Retry::Call) => self.call(),
            TurnPhase::Waiting(Retry::Summary(summary)) => self.summarise_again(summary),
            other => {
                self.phase = other;
                vec![]
            }
        }
    }
}

pub(super) fn too_long() -> TurnEnd {
    TurnEnd::Failed {
        error: "the conversation no longer fits the model's window".into(),
        hint: "Empty the conversation with /clear, or restart crewdeck to begin a new one. The board and the files are kept."
            .into(),
    }
}

/// Returns the failure of a turn whose conversation is a single message that does not fit the model's window.
pub(super) fn too_small() -> TurnEnd {
    TurnEnd::Failed {
        error: "system prompt, tools and your message do not fit the model's window".into(),
        hint: "Use a model with a larger context window (on a local server, raise its context size), or give agents fewer tools (--tools bash,read_file).".into(),
    }
}

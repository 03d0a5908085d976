//! The turn as a pure state machine: inputs go in, effects come out. It performs no IO and does not read the clock.

mod calls;
mod clearing;
mod compacting;
mod failing;
#[cfg(test)]
mod fallback_tests;
#[cfg(test)]
mod gain_tests;
mod inputs;
#[cfg(test)]
mod interrupt_tests;
#[cfg(test)]
mod length_tests;
#[cfg(test)]
mod loop_tests;
mod progress;
#[cfg(test)]
mod progress_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::chat::{Block, Message, Role};
use crate::model::retry::FailedTries;
use crate::model::{Reply, StopReason};
use crate::protocol::event::{NoticeLevel, TurnEnd};
use calls::{Calls, signature};
use compacting::{AfterSummary, Length, Summary};
pub use inputs::{FallbackState, TurnEffect, TurnInput};
use progress::{LoopDetector, Round};

/// After this many answers in a row without a `todo` call, an agent with open todo items is reminded of them after each
/// round of tool calls.
const REMIND_AFTER: u32 = 3;
/// Maximum number of times per turn that an answer is continued after the server paused it ([`StopReason::PauseTurn`]).
const PAUSE_MAX: u32 = 10;

/// The reminder to update the todo list, in the wording of learn-claude-code.
pub const REMINDER: &str = "<reminder>Update your todos.</reminder>";

/// The reason of [`TurnEnd::Stopped`] if an answer reached the token limit and cannot be continued: it was empty, or an
/// answer of this turn was already continued.
pub const TOKEN_LIMIT_REACHED: &str = "the answer reached its token limit (setting max_tokens)";
/// The reason of [`TurnEnd::Stopped`] if the model refused to answer.
pub const REFUSED: &str = "the model refused to answer";

/// The text that separates two messages of the user in one conversation message. Used if the user interrupted the turn
/// before the model began to answer the first message.
const UNANSWERED: &str = "<crew>The user stopped your answer to the text above before it began. Answer only the text below.</crew>";

/// Returns the reminder for a model that repeats the same tool calls and gets the same results.
fn repeat_reminder(times: usize) -> String {
    format!(
        "<reminder>You made the same tool calls {times} times and got the same results. Making them again will change \
         nothing. If the work is done, answer now without tools. If not, try something else.</reminder>"
    )
}

#[derive(Debug, Clone, Default)]
pub struct TurnLimits {
    /// Maximum number of answers of the model in the turn; summaries do not count. `None` means no limit (the lead).
    pub rounds: Option<u32>,
    /// The text that tells the model that only one model call is left. `None` for no such text.
    pub last_round: Option<&'static str>,
    /// The names of tools that only read or start subagents. Consecutive calls of these tools run in parallel.
    pub parallel_tools: BTreeSet<String>,
}

/// The failed model call that the driver repeats after a wait: a call for an answer or for a summary.
#[derive(Debug)]
enum Retry {
    Call,
    Summary(Summary),
}

#[derive(Debug)]
enum TurnPhase {
    Idle,
    /// The driver reads the inbox. The messages from it go into the next user message of the conversation.
    Gathering,
    Calling,
    /// The model call failed; the driver waits before it retries.
    Waiting(Retry),
    Summarising(Summary),
    /// The driver archives the conversation. After that, the summary replaces the conversation.
    Archiving {
        summary: String,
        after: AfterSummary,
    },
    Running(Calls),
}

/// One agent's conversation and the state of its turn.
#[derive(Debug)]
pub struct Turn {
    messages: Arc<Vec<Message>>,
    phase: TurnPhase,
    limits: TurnLimits,
    /// Tool results that go into the next user message.
    results: Vec<Block>,
    /// Texts that go into the next user message, after the results.
    pending_texts: Vec<Block>,
    rounds: u32,
    tries: FailedTries,
    empty_answers: u32,
    pauses: u32,
    /// Whether an answer that reached its length limit was already continued in this turn.
    was_continued: bool,
    since_todo: u32,
    /// Whether the agent's todo list has items that are not completed. If so, the agent is reminded to update the list.
    has_open_todos: bool,
    progress: LoopDetector,
    length: Length,
    /// The request for a summary that arrived during the turn: the focus of the summary, and how the turn continues
    /// after it. `None` if no summary was requested. An interrupt drops the request. Otherwise the request stays until
    /// the model begins the summary, which can be in the next turn.
    requested_compaction: Option<(String, AfterSummary)>,
    /// Whether the user has requested, during the turn, that the conversation is emptied. The interrupt that follows
    /// the request then returns the effect that empties it.
    is_clear_requested: bool,
    /// Why the interrupt that follows ends the turn; `None` if it is one of the user.
    abandoned_because: Option<&'static str>,
    /// The number of times that the conversation was emptied.
    clearings: u64,
}

impl Turn {
    /// Creates an empty conversation.
    pub fn new(limits: TurnLimits) -> Turn {
        Turn {
            messages: Arc::default(),
            phase: TurnPhase::Idle,
            limits,
            results: Vec::new(),
            pending_texts: Vec::new(),
            rounds: 0,
            tries: FailedTries::default(),
            empty_answers: 0,
            pauses: 0,
            was_continued: false,
            since_todo: 0,
            has_open_todos: false,
            progress: LoopDetector::default(),
            length: Length::default(),
            requested_compaction: None,
            is_clear_requested: false,
            abandoned_because: None,
            clearings: 0,
        }
    }

    /// Returns the turn with `messages` as its conversation. They must pass [`crate::domain::chat::validate`].
    #[must_use]
    pub fn with_messages(self, messages: Vec<Message>) -> Turn {
        Turn {
            messages: Arc::new(messages),
            ..self
        }
    }

    /// Returns the conversation. After [`TurnEffect::Call`] and between turns, it is valid by
    /// [`crate::domain::chat::validate`].
    pub fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.messages)
    }

    /// Returns the number of times that the conversation was emptied. An external agent begins a new session when this
    /// number changes.
    pub fn clearings(&self) -> u64 {
        self.clearings
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.phase, TurnPhase::Idle)
    }

    /// Processes one input and returns the effects to execute. Ignores a result that does not fit the current phase,
    /// because it comes late from interrupted work. Texts and images that do not fit the phase go into the next user
    /// message.
    pub fn step(&mut self, input: TurnInput) -> Vec<TurnEffect> {
        match input {
            TurnInput::Say(blocks) => self.say(blocks),
            TurnInput::Advice(blocks) => {
                let effects = self.say(blocks);
                match self.phase {
                    TurnPhase::Calling => self.gather(),
                    _ => effects,
                }
            }
            TurnInput::ResultImages(blocks) => {
                self.pending_texts.extend(blocks);
                vec![]
            }
            TurnInput::Mail(blocks) => self.on_mail(blocks),
            TurnInput::Replied(reply) => match self.phase {
                TurnPhase::Summarising(_) => self.on_summary(&reply),
                TurnPhase::Calling
                | TurnPhase::Idle
                | TurnPhase::Gathering
                | TurnPhase::Waiting(_)
                | TurnPhase::Archiving { .. }
                | TurnPhase::Running(_) => self.on_reply(reply),
            },
            TurnInput::ModelFailed {
                error,
                jitter,
                fallback,
            } => self.on_model_failed(&error, jitter, fallback),
            TurnInput::RetryDue => self.retry(),
            TurnInput::ToolDone {
                call,
                content,
                outcome,
            } => {
                let TurnPhase::Running(calls) = &mut self.phase else {
                    return vec![];
                };
                calls.done(&call, content, outcome);
                self.run_next()
            }
            TurnInput::TodoSet(open) => {
                self.has_open_todos = open;
                self.since_todo = 0;
                vec![]
            }
            TurnInput::Compact { focus } => {
                self.request_compaction(focus, AfterSummary::CallRequestedByUser)
            }
            TurnInput::Clear => self.request_clear(),
            TurnInput::OwnCompaction { focus } => {
                self.request_compaction(focus, AfterSummary::Call)
            }
            TurnInput::CompactionRefused { why } => self.compaction_refused(&why),
            TurnInput::Archived(keep) => self.on_archived(&keep),
            TurnInput::ArchiveFailed { why } => self.archive_failed(&why),
            TurnInput::Stop { why } => self.on_stop(why),
            TurnInput::Abandon(why) => {
                self.abandoned_because = Some(why);
                vec![]
            }
            TurnInput::Interrupt { partial } => self.interrupt(partial),
        }
    }

    /// Adds a text to the next message to the model, without starting a turn.
    pub fn add_note(&mut self, text: String) {
        self.pending_texts.push(Block::text(text));
    }

    fn say(&mut self, blocks: Vec<Block>) -> Vec<TurnEffect> {
        self.pending_texts.extend(blocks);
        if !self.is_idle() {
            self.progress.note_message();
            return vec![];
        }
        self.rounds = 0;
        self.tries = FailedTries::default();
        self.empty_answers = 0;
        self.pauses = 0;
        self.was_continued = false;
        self.progress = LoopDetector::default();
        self.phase = TurnPhase::Gathering;
        vec![TurnEffect::CheckMail]
    }

    /// Adds the inbox messages to the next user message, and calls the model, after a compaction if one is due. Ends
    /// the turn instead if there is nothing to answer, or if the limit of model calls is reached.
    fn on_mail(&mut self, mail: Vec<Block>) -> Vec<TurnEffect> {
        if !matches!(self.phase, TurnPhase::Gathering) {
            // Messages that were taken from the inbox must not be lost, even if the turn was interrupted meanwhile.
            self.pending_texts.extend(mail);
            return vec![];
        }
        if !mail.is_empty() {
            self.progress.note_message();
        }
        self.pending_texts.extend(mail);
        if self.limits.rounds == Some(self.rounds + 1)
            && let Some(words) = self.limits.last_round
        {
            self.pending_texts.push(Block::text(words));
        }
        let mut effects = self.flush_user();
        if self.messages.last().is_none_or(|m| m.role != Role::User) {
            // Another program has read the messages that woke the agent, so there is nothing to answer.
            effects.extend(self.end(TurnEnd::Done));
            return effects;
        }
        if self.limits.rounds.is_some_and(|max| self.rounds >= max) {
            let why = format!("the turn reached its limit of {} model calls", self.rounds);
            effects.extend(self.end(TurnEnd::Stopped { why }));
            return effects;
        }
        effects.extend(self.shorten().unwrap_or_else(|| self.call()));
        effects
    }

    fn call(&mut self) -> Vec<TurnEffect> {
        self.phase = TurnPhase::Calling;
        vec![TurnEffect::Call]
    }

    fn on_reply(&mut self, reply: Reply) -> Vec<TurnEffect> {
        if !matches!(self.phase, TurnPhase::Calling) {
            return vec![];
        }
        self.tries = FailedTries::default();
        self.rounds += 1;
        if reply.stop != StopReason::ContextExceeded {
            self.length.record_usage(reply.usage);
        }
        self.since_todo = self.since_todo.saturating_add(1);
        let message = Message::assistant(calls::tidy(reply.blocks));
        let calls: Vec<_> = message.calls().cloned().collect();
        let is_empty = message.text().trim().is_empty() && calls.is_empty();
        let mut effects = Vec::new();
        if !is_empty {
            self.empty_answers = 0;
            effects.push(self.push(message));
        }
        if !calls.is_empty() {
            self.phase = TurnPhase::Running(Calls::new(calls, &self.limits.parallel_tools));
            effects.extend(self.run_next());
            return effects;
        }
        effects.extend(match reply.stop {
            StopReason::PauseTurn if self.pauses < PAUSE_MAX => {
                self.pauses += 1;
                self.call()
            }
            StopReason::MaxTokens if !is_empty && !self.was_continued => {
                self.was_continued = true;
                self.pending_texts.insert(
                    0,
                    Block::text(
                        "<crew>Your answer reached its length limit. Continue exactly where it stopped.</crew>",
                    ),
                );
                self.gather()
            }
            StopReason::MaxTokens => self.end(TurnEnd::Stopped {
                why: TOKEN_LIMIT_REACHED.into(),
            }),
            StopReason::Refusal => self.end(TurnEnd::Stopped {
                why: REFUSED.into(),
            }),
            StopReason::ContextExceeded => self.overflow(),
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::PauseTurn
            | StopReason::Other(_) => {
                if is_empty {
                    self.empty()
                } else if self.pending_texts.is_empty() {
                    self.done()
                } else {
                    // Text that arrived while the model answered is the next message.
                    self.gather()
                }
            }
        });
        effects
    }

    fn run_next(&mut self) -> Vec<TurnEffect> {
        let TurnPhase::Running(calls) = &mut self.phase else {
            return vec![];
        };
        if let Some(batch) = calls.next_batch() {
            return vec![TurnEffect::Run(batch)];
        }
        if !calls.is_complete() {
            return vec![];
        }
        let results = calls.take_results();
        let asked = self
            .messages
            .last()
            .map(|m| m.calls().cloned().collect::<Vec<_>>());
        let asked = asked.unwrap_or_default();
        let mark = signature(&asked, &results);
        for read in calls::reads(&asked, &results) {
            self.progress.note_read(read);
        }
        self.results = results;
        if self.has_open_todos && self.since_todo >= REMIND_AFTER {
            self.pending_texts.push(Block::text(REMINDER));
        }
        match self.progress.round(mark) {
            Round::Progress => {}
            Round::Repeated { times } => {
                self.pending_texts.push(Block::text(repeat_reminder(times)));
            }
            Round::Loop => {
                let mut effects = self.flush_user();
                effects.extend(self.end_stuck(format!(
                    "the same tool calls gave the same results {} times",
                    progress::LOOP_MAX
                )));
                return effects;
            }
        }
        self.gather()
    }

    /// Ends a turn that makes no progress, with a warning for the user.
    fn end_stuck(&mut self, why: String) -> Vec<TurnEffect> {
        let text = format!("Turn ended: {why}. Send a message to continue.");
        let mut effects = vec![TurnEffect::Notice(NoticeLevel::Warn, text)];
        effects.extend(self.end(TurnEnd::Stopped { why }));
        effects
    }

    fn gather(&mut self) -> Vec<TurnEffect> {
        self.phase = TurnPhase::Gathering;
        vec![TurnEffect::CheckMail]
    }

    fn interrupt(&mut self, partial: String) -> Vec<TurnEffect> {
        let mut effects = Vec::new();
        self.requested_compaction = None;
        let cause = self.abandoned_because.take();
        match std::mem::replace(&mut self.phase, TurnPhase::Idle) {
            TurnPhase::Idle => return vec![],
            TurnPhase::Gathering
            | TurnPhase::Waiting(_)
            | TurnPhase::Summarising(_)
            | TurnPhase::Archiving { .. } => {}
            TurnPhase::Calling => match (partial.trim().is_empty(), cause) {
                (false, _) => {
                    effects.push(self.push(Message::assistant(vec![Block::text(partial)])));
                }
                (true, None) => self.pending_texts.push(Block::text(UNANSWERED)),
                (true, Some(_)) => {}
            },
            TurnPhase::Running(mut calls) => {
                calls.close_all(&match cause {
                    Some(why) => format!("Interrupted before this call finished: {why}."),
                    None => "Interrupted by the user before this call finished.".into(),
                });
                self.results = calls.take_results();
            }
        }
        let unanswered = match self.pending_texts.last() {
            Some(Block::Text { text }) if text == UNANSWERED => self.pending_texts.pop(),
            Some(_) | None => None,
        };
        effects.extend(self.flush_user());
        // The text alone needs no answer, so it is sent with the next message.
        self.pending_texts.extend(unanswered);
        effects.extend(self.end(match cause {
            Some(why) => TurnEnd::Stopped { why: why.into() },
            None => TurnEnd::Interrupted,
        }));
        if std::mem::take(&mut self.is_clear_requested) {
            effects.push(TurnEffect::Clear);
        }
        effects
    }

    /// Ends the turn. Text that arrived during the turn and is not yet in the conversation is kept for the next turn.
    fn end(&mut self, end: TurnEnd) -> Vec<TurnEffect> {
        self.phase = TurnPhase::Idle;
        vec![TurnEffect::End(end)]
    }

    /// Adds the collected tool results and texts to the conversation as a user message. Returns no effect if there are
    /// none.
    fn flush_user(&mut self) -> Vec<TurnEffect> {
        let mut blocks = std::mem::take(&mut self.results);
        blocks.append(&mut self.pending_texts);
        if blocks.is_empty() {
            vec![]
        } else {
            vec![self.push(Message::user(blocks))]
        }
    }

    /// Adds a message to the conversation. If the last message has the same role, joins both, because roles must
    /// alternate.
    fn push(&mut self, message: Message) -> TurnEffect {
        if message.role == Role::User {
            self.length.grew(&message);
        }
        let messages = Arc::make_mut(&mut self.messages);
        match messages.last_mut() {
            Some(last) if last.role == message.role => last.blocks.extend(message.blocks.clone()),
            Some(_) | None => {
                debug_assert!(!messages.is_empty() || message.role == Role::User);
                messages.push(message.clone());
            }
        }
        TurnEffect::Save(message)
    }
}

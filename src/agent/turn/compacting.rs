//! The length of a turn's conversation: measures it and shortens it before the next model call.

use std::sync::Arc;

use super::failing::{too_long, too_small};
use super::{Phase, Turn, TurnEffect};
use crate::agent::compact::{self, Budget, KeptState, Plan, SummaryForm};
use crate::domain::chat::{self, Block, Message, Role};
use crate::domain::usage::Usage;
use crate::model::retry::FailedTries;
use crate::model::{ErrorKind, ModelError, Reply};
use crate::protocol::event::{Compaction, CompactionMethod, NoticeLevel, TurnEnd};

/// The share of the available tokens, in percent, for a digest and for the rebuilt first message.
const ROOM: u64 = 50;
/// Minimum number of tokens that the limit must leave for the conversation. With fewer, a summary would be due after
/// each answer.
const ROOM_MIN: u64 = 500;
/// Estimated bytes per token.
const TOKEN: u64 = 4;

const CUT_OFF: &str =
    "<crew>Your last answer was cut off because the context window was full.</crew>";
const RESUMED_TURN: &str = "<crew>Your conversation was summarised in the middle of your work. Continue with the next step.</crew>";

const NO_GAIN: &str = "Not compacted: the summary would not be shorter.";

/// What the turn does after a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Makes the model call that was due.
    Call,
    /// Makes the model call that was due. The user requested the summary, so it does not count as a sign of a loop.
    CallForUser,
    /// Ends the turn: the user requested the summary between turns or during the last answer.
    Rest,
}

/// Who requested a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requester {
    User,
    Agent,
}

/// A summary that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    form: SummaryForm,
    focus: String,
    after: After,
}

/// How much of the model's window the conversation uses.
#[derive(Debug, Clone, Default)]
pub(super) struct Length {
    /// The configured budget.
    set: Budget,
    /// The window in tokens that the server's refusal showed, if it is smaller than the configured one.
    learned: Option<u64>,
    /// Tokens of system prompt and tools, which precede every conversation.
    front: u64,
    /// Tokens that the server counted up to and including the last answer.
    counted: Option<u64>,
    /// Estimated tokens after that.
    since: u64,
    /// Whether there was no answer since the last summary, so that another one would not help.
    is_fresh: bool,
    /// Whether the user was warned that the window is too small.
    was_warned: bool,
}

impl Length {
    fn set(&mut self, budget: Budget, front: u64) {
        if self.set != budget {
            self.learned = None;
        }
        self.set = budget;
        self.front = front;
    }

    /// Records that `refused` tokens did not fit.
    fn learn(&mut self, refused: u64) {
        self.learned = Some(refused.saturating_mul(9) / 10);
    }

    fn budget(&self) -> Budget {
        let window = self.learned.unwrap_or(u64::MAX).min(self.set.window).max(1);
        Budget { window, ..self.set }
    }

    pub(super) fn counted(&mut self, usage: Usage) {
        self.counted = (usage.total() > 0).then(|| usage.total());
        self.since = 0;
        self.is_fresh = false;
    }

    pub(super) fn grew(&mut self, message: &Message) {
        self.since += chat::estimate_tokens(std::slice::from_ref(message));
    }

    fn tokens(&self, messages: &[Message]) -> u64 {
        match self.counted {
            Some(counted) => counted.saturating_add(self.since),
            None => self.front.saturating_add(chat::estimate_tokens(messages)),
        }
    }

    /// Returns the tokens that are left for the conversation.
    fn left(&self) -> u64 {
        self.budget().limit().saturating_sub(self.front)
    }

    /// Returns the size, in tokens, of a conversation of `before` tokens after `old` is replaced by `new`; `None` if it
    /// is not smaller.
    ///
    /// `before` may be the server's count, which knows more than an estimate (images) or less (a server that does not
    /// count system prompt and tools). An estimate for `new` beside it could show growth where there is none: the count
    /// is scaled instead.
    fn shortened(&self, before: u64, old: &[Message], new: &[Message]) -> Option<u64> {
        let [old, new] = [old, new].map(chat::estimate_tokens);
        let old = old.max(before.saturating_sub(self.front));
        if new >= old {
            return None;
        }
        let whole = |tokens: u64| u128::from(self.front.saturating_add(tokens));
        let scaled = u128::from(before) * whole(new) / whole(old);
        Some(u64::try_from(scaled).unwrap_or(before))
    }

    /// Warns once that the window is too small to shorten the conversation.
    fn warn(&mut self) -> Vec<TurnEffect> {
        if std::mem::replace(&mut self.was_warned, true) {
            return vec![];
        }
        let (front, window) = (self.front, self.budget().window);
        let text = format!(
            "System prompt and tools take about {front} of the {window} tokens of the model's window, so the conversation cannot be shortened to fit. Use a larger window, or give agents fewer tools (--tools)."
        );
        vec![TurnEffect::Notice(NoticeLevel::Warn, text)]
    }

    fn room(&self) -> usize {
        let tokens = self.left().max(ROOM_MIN);
        usize::try_from(tokens.saturating_mul(TOKEN) * ROOM / 100).unwrap_or(usize::MAX)
    }
}

impl Turn {
    /// Sets the budget of the conversation and the tokens of system prompt and tools.
    pub fn set_budget(&mut self, budget: Budget, front: u64) {
        self.length.set(budget, front);
    }

    /// Returns the tokens of the conversation, counted by the server or estimated.
    pub fn context(&self) -> u64 {
        self.length.tokens(&self.messages)
    }

    /// Processes a request for a summary.
    pub(super) fn request_compaction(
        &mut self,
        focus: String,
        asker: Requester,
    ) -> Vec<TurnEffect> {
        if !self.is_idle() {
            self.requested_compaction = Some((focus, asker));
            return vec![];
        }
        if self.messages.len() < 2 {
            let text = "There is nothing to compact yet.".to_string();
            return vec![
                TurnEffect::Notice(NoticeLevel::Info, text),
                TurnEffect::End(TurnEnd::Done),
            ];
        }
        self.tries = FailedTries::default();
        self.summarise(SummaryForm::Appended, focus, After::Rest)
    }

    /// Ends the turn after its answer, or first makes the summary that was requested meanwhile.
    pub(super) fn done(&mut self) -> Vec<TurnEffect> {
        match self.requested_compaction.take() {
            Some((focus, _)) => self.summarise(SummaryForm::Appended, focus, After::Rest),
            None => self.end(TurnEnd::Done),
        }
    }

    /// Returns the effects that shorten the conversation before the next call; `None` if it need not be shortened.
    pub(super) fn shorten(&mut self) -> Option<Vec<TurnEffect>> {
        if let Some((focus, asker)) = self.requested_compaction.take() {
            let after = match asker {
                Requester::User => After::CallForUser,
                Requester::Agent => After::Call,
            };
            return Some(self.summarise(SummaryForm::Appended, focus, after));
        }
        if self.length.is_fresh {
            return None;
        }
        let before = self.context();
        match compact::plan(&self.messages, before, &self.length.budget()) {
            Plan::Leave => None,
            Plan::Whole if self.length.left() < ROOM_MIN => {
                let mut effects = self.length.warn();
                effects.extend(self.call());
                Some(effects)
            }
            Plan::Whole => Some(self.summarise(SummaryForm::Appended, String::new(), After::Call)),
            Plan::Prune(small) => {
                let messages: &mut Vec<Message> = Arc::make_mut(&mut self.messages);
                small.apply(messages);
                self.length.counted = self.length.counted.map(|c| c.saturating_sub(small.frees));
                let mut effects = vec![TurnEffect::Compacted(Compaction {
                    how: CompactionMethod::Results {
                        count: small.count(),
                    },
                    before,
                    after: self.context(),
                })];
                effects.extend(self.call());
                Some(effects)
            }
        }
    }

    fn summarise(&mut self, form: SummaryForm, focus: String, after: After) -> Vec<TurnEffect> {
        let question = compact::question(&self.messages, form, Some(&focus), self.length.room());
        self.phase = Phase::Summarising(Summary { form, focus, after });
        vec![TurnEffect::Summarise(question)]
    }

    /// Requests the same summary again, after a wait.
    pub(super) fn summarise_again(&mut self, summary: Summary) -> Vec<TurnEffect> {
        self.summarise(summary.form, summary.focus, summary.after)
    }

    /// Processes the summary. If it is empty, requests it once more in the other form.
    pub(super) fn summarised(&mut self, reply: &Reply) -> Vec<TurnEffect> {
        let Phase::Summarising(summary) = &self.phase else {
            return vec![];
        };
        let summary = summary.clone();
        let words = Message::assistant(reply.blocks.clone()).text();
        self.tries = FailedTries::default();
        if words.trim().is_empty() && summary.form == SummaryForm::Appended {
            return self.summarise(SummaryForm::Digest, summary.focus, summary.after);
        }
        self.phase = Phase::Archiving {
            summary: words,
            after: summary.after,
        };
        vec![TurnEffect::Archive]
    }

    /// Processes a failed summary. Returns `None` if the failure is handled like that of any other call.
    pub(super) fn summary_failed(&mut self, error: &ModelError) -> Option<Vec<TurnEffect>> {
        let Phase::Summarising(summary) = &self.phase else {
            return None;
        };
        let summary = summary.clone();
        (error.kind == ErrorKind::ContextTooLong && summary.form == SummaryForm::Appended)
            .then(|| self.summarise(SummaryForm::Digest, summary.focus, summary.after))
    }

    /// Replaces the conversation with the summary.
    pub(super) fn archived(&mut self, keep: &KeptState) -> Vec<TurnEffect> {
        let Phase::Archiving { summary, after } = &self.phase else {
            return vec![];
        };
        let (summary, after) = (summary.clone(), *after);
        let before = self.context();
        let mut first = compact::rebuild(&self.messages, &summary, keep, self.length.room());
        if after != After::Rest {
            first.blocks.push(Block::text(RESUMED_TURN));
        }
        let messages = vec![first];
        self.length.is_fresh = true;
        let stuck = match after {
            After::Call => self.progress.compacted(keep.work),
            After::CallForUser => self.progress.compacted(None),
            After::Rest => None,
        };
        let mut effects = match self.length.shortened(before, &self.messages, &messages) {
            None => vec![TurnEffect::Notice(NoticeLevel::Info, NO_GAIN.into())],
            Some(tokens) => {
                self.messages = Arc::new(messages);
                self.length.counted = self.length.counted.map(|_| tokens);
                self.length.since = 0;
                // Recent calls still count for loop detection: a loop may compact the conversation each time.
                vec![
                    TurnEffect::Replace(self.messages()),
                    TurnEffect::Compacted(Compaction {
                        how: CompactionMethod::Summary {
                            transcript: keep.transcript.clone(),
                        },
                        before,
                        after: self.context(),
                    }),
                ]
            }
        };
        effects.extend(match after {
            After::Call | After::CallForUser => match stuck {
                Some(why) => self.end_stuck(why),
                None => self.call(),
            },
            After::Rest if self.said.is_empty() => self.end(TurnEnd::Done),
            // Text that arrived meanwhile starts a turn, as it would have without the summary.
            After::Rest => {
                self.phase = Phase::Idle;
                self.say(Vec::new())
            }
        });
        effects
    }

    pub(super) fn archive_failed(&mut self, why: &str) -> Vec<TurnEffect> {
        if !matches!(self.phase, Phase::Archiving { .. }) {
            return vec![];
        }
        self.end(TurnEnd::Failed {
            error: format!("the conversation is too long and could not be archived: {why}"),
            hint: "Free disk space or repair the directory .transcripts, then continue.".into(),
        })
    }

    /// Summarises a conversation that the server refused as too long, unless it was just summarised.
    pub(super) fn overflow(&mut self) -> Vec<TurnEffect> {
        if self.messages.len() < 2 && !self.length.is_fresh {
            return self.end(too_small());
        }
        if self.length.is_fresh {
            return self.end(too_long());
        }
        self.length.learn(self.context());
        let mut effects = Vec::new();
        // The last message is an answer that was cut off by the window, so a user message must follow.
        if self
            .messages
            .last()
            .is_some_and(|m| m.role == Role::Assistant)
        {
            self.said.insert(0, Block::text(CUT_OFF));
            effects.extend(self.flush_user());
        }
        effects.extend(self.summarise(SummaryForm::Digest, String::new(), After::Call));
        effects
    }
}

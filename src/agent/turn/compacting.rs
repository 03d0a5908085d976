//! Measures the length of a turn's conversation, and shortens the conversation before the next model call if
//! necessary.

use std::sync::Arc;

use super::failing::{too_long, too_small};
use super::{Turn, TurnEffect, TurnPhase};
use crate::agent::compact::{self, CompactionPlan, KeptState, LengthLimit, SummaryForm};
use crate::domain::chat::{self, Block, Message, Role};
use crate::domain::usage::Usage;
use crate::model::retry::FailedTries;
use crate::model::{ErrorKind, ModelError, Reply};
use crate::protocol::event::{Compaction, CompactionMethod, NoticeLevel, TurnEnd};

/// The percentage of the tokens from [`Length::left`] that each of two texts may use: the conversation in a
/// [`SummaryForm::Digest`], and, after a compaction, the summary, the user's messages and the skills together.
const ROOM: u64 = 50;
/// Minimum number of tokens from [`Length::left`] for a summary. With fewer, a summary would be due after each answer,
/// so the user gets a warning instead.
const ROOM_MIN: u64 = 500;
/// The assumed number of bytes per token.
const TOKEN: u64 = 4;

const CUT_OFF: &str =
    "<crew>Your last answer was cut off because the context window was full.</crew>";
const RESUMED_TURN: &str = "<crew>Your conversation was summarised in the middle of your work. Continue with the next step.</crew>";

const NO_GAIN: &str = "Not compacted: the summary would not be shorter than the conversation.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterSummary {
    /// After the summary, the model call that was due is made.
    Call,
    /// After the summary, the model call that was due is made. The user requested the summary, so it does not count as
    /// a sign of a loop.
    CallRequestedByUser,
    /// After the summary, the turn ends: the user requested the summary between turns or during the last answer.
    EndTurn,
}

/// A summary that the model is writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    form: SummaryForm,
    focus: String,
    after: AfterSummary,
}

/// How much of the model's window the conversation uses.
#[derive(Debug, Clone, Default)]
pub(super) struct Length {
    set: LengthLimit,
    /// The size of the window, in tokens, estimated from the last request that the server refused as too long. `None`
    /// if the server has refused no request since the field `set` last changed.
    learned: Option<u64>,
    /// The number of tokens in system prompt and tools, which precede every conversation.
    prefix_tokens: u64,
    /// The length of the conversation up to and including the last answer, in tokens, as counted by the server; after a
    /// compaction, an estimate that is based on this count. `None` if the server reported no count, or if there is no
    /// answer yet.
    counted: Option<u64>,
    /// The estimated number of tokens in the messages after the last answer.
    since: u64,
    /// True from a summary until the model's next answer. During this time, another summary would not make the
    /// conversation shorter.
    is_fresh: bool,
    was_warned: bool,
}

impl Length {
    fn set(&mut self, budget: LengthLimit, front: u64) {
        if self.set != budget {
            self.learned = None;
        }
        self.set = budget;
        self.prefix_tokens = front;
    }

    /// Records that the server refused a request of `refused` tokens as too long. The window is then assumed to have
    /// 90 % of that size.
    fn learn(&mut self, refused: u64) {
        self.learned = Some(refused.saturating_mul(9) / 10);
    }

    fn budget(&self) -> LengthLimit {
        let window = self.learned.unwrap_or(u64::MAX).min(self.set.window).max(1);
        LengthLimit { window, ..self.set }
    }

    pub(super) fn record_usage(&mut self, usage: Usage) {
        self.counted = (usage.total() > 0).then(|| usage.total());
        self.since = 0;
        self.is_fresh = false;
    }

    /// Resets the counts, because the conversation is now empty.
    pub(super) fn reset_counts(&mut self) {
        self.counted = None;
        self.since = 0;
        self.is_fresh = false;
    }

    pub(super) fn grew(&mut self, message: &Message) {
        self.since += chat::estimate_tokens(std::slice::from_ref(message));
    }

    fn tokens(&self, messages: &[Message]) -> u64 {
        match self.counted {
            Some(counted) => counted.saturating_add(self.since),
            None => self
                .prefix_tokens
                .saturating_add(chat::estimate_tokens(messages)),
        }
    }

    /// Returns how many tokens the messages may have before the conversation is shortened: the limit minus system
    /// prompt and tools.
    fn left(&self) -> u64 {
        self.budget().limit().saturating_sub(self.prefix_tokens)
    }

    /// Returns the estimated number of tokens that the conversation has after `new` replaces its messages `old`.
    /// `before` is the number of tokens with `old`. Returns `None` if the conversation would not become shorter.
    ///
    /// `before` may be the server's count. It can be higher than an estimate, for example with images, or lower, if the
    /// server does not count system prompt and tools. So `before` cannot be compared with an estimate of `new`.
    /// Instead, it is scaled by the ratio of the estimates of `new` and `old`.
    fn estimate_replacement(&self, before: u64, old: &[Message], new: &[Message]) -> Option<u64> {
        let [old, new] = [old, new].map(chat::estimate_tokens);
        let old = old.max(before.saturating_sub(self.prefix_tokens));
        if new >= old {
            return None;
        }
        let whole = |tokens: u64| u128::from(self.prefix_tokens.saturating_add(tokens));
        let scaled = u128::from(before) * whole(new) / whole(old);
        Some(u64::try_from(scaled).unwrap_or(before))
    }

    /// Returns the effect that warns the user that system prompt and tools leave too little of the window for a
    /// summary. Empty if the user was already warned.
    fn warn(&mut self) -> Vec<TurnEffect> {
        if std::mem::replace(&mut self.was_warned, true) {
            return vec![];
        }
        let (front, window) = (self.prefix_tokens, self.budget().window);
        let text = format!(
            "System prompt and tools take about {front} of the {window} tokens in the model's window. The rest is too small for a summary, so the conversation cannot be shortened. Use a model with a larger context window (on a local server, raise its context size), or give agents fewer tools (--tools)."
        );
        vec![TurnEffect::Notice(NoticeLevel::Warn, text)]
    }

    fn room(&self) -> usize {
        let tokens = self.left().max(ROOM_MIN);
        usize::try_from(tokens.saturating_mul(TOKEN) * ROOM / 100).unwrap_or(usize::MAX)
    }
}

impl Turn {
    /// Sets at which length the conversation is shortened. `prefix_tokens` is the number of tokens in system prompt and
    /// tools.
    pub fn set_budget(&mut self, budget: LengthLimit, prefix_tokens: u64) {
        self.length.set(budget, prefix_tokens);
    }

    /// Returns the number of tokens in the conversation, as counted by the server or estimated.
    pub fn context(&self) -> u64 {
        self.length.tokens(&self.messages)
    }

    /// If no turn is running, starts a summary, or ends with a notice if the conversation has fewer than two messages.
    /// Otherwise records the request. If the running turn makes another model call, the summary is made before that
    /// call, and `after` says how the turn continues. If it makes none, the summary is made after the last answer, and
    /// the turn ends.
    pub(super) fn request_compaction(
        &mut self,
        focus: String,
        after: AfterSummary,
    ) -> Vec<TurnEffect> {
        if !self.is_idle() {
            self.requested_compaction = Some((focus, after));
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
        self.summarise(SummaryForm::Appended, focus, AfterSummary::EndTurn)
    }

    /// Ends the turn after the last answer. If a summary was requested during the turn, requests it from the model
    /// first.
    pub(super) fn done(&mut self) -> Vec<TurnEffect> {
        match self.requested_compaction.take() {
            Some((focus, _)) => self.summarise(SummaryForm::Appended, focus, AfterSummary::EndTurn),
            None => self.end(TurnEnd::Done),
        }
    }

    /// Returns the effects that shorten the conversation and lead to the next model call. If the window is too small
    /// for a summary, the effects warn the user once and call the model with the whole conversation. Returns `None` if
    /// the conversation is short enough or was just summarised; the caller must then call the model itself.
    pub(super) fn shorten(&mut self) -> Option<Vec<TurnEffect>> {
        if let Some((focus, after)) = self.requested_compaction.take() {
            return Some(self.summarise(SummaryForm::Appended, focus, after));
        }
        if self.length.is_fresh {
            return None;
        }
        let before = self.context();
        match compact::plan(&self.messages, before, &self.length.budget()) {
            CompactionPlan::Leave => None,
            CompactionPlan::Summarise if self.length.left() < ROOM_MIN => {
                let mut effects = self.length.warn();
                effects.extend(self.call());
                Some(effects)
            }
            CompactionPlan::Summarise => {
                Some(self.summarise(SummaryForm::Appended, String::new(), AfterSummary::Call))
            }
            CompactionPlan::Prune(small) => {
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

    fn summarise(
        &mut self,
        form: SummaryForm,
        focus: String,
        after: AfterSummary,
    ) -> Vec<TurnEffect> {
        let question = compact::question(&self.messages, form, Some(&focus), self.length.room());
        self.phase = TurnPhase::Summarising(Summary { form, focus, after });
        vec![TurnEffect::Summarise(question)]
    }

    /// Requests a failed summary again, once the wait before the retry is over.
    pub(super) fn summarise_again(&mut self, summary: Summary) -> Vec<TurnEffect> {
        self.summarise(summary.form, summary.focus, summary.after)
    }

    /// Processes the model's summary. If it is empty, requests another one with [`SummaryForm::Digest`].
    pub(super) fn on_summary(&mut self, reply: &Reply) -> Vec<TurnEffect> {
        let TurnPhase::Summarising(summary) = &self.phase else {
            return vec![];
        };
        let summary = summary.clone();
        let words = Message::assistant(reply.blocks.clone()).text();
        self.tries = FailedTries::default();
        if words.trim().is_empty() && summary.form == SummaryForm::Appended {
            return self.summarise(SummaryForm::Digest, summary.focus, summary.after);
        }
        self.phase = TurnPhase::Archiving {
            summary: words,
            after: summary.after,
        };
        vec![TurnEffect::Archive]
    }

    /// If a summary failed because the conversation is too long, requests another one with [`SummaryForm::Digest`].
    /// Returns `None` for any other failure, and if the summary that failed was a [`SummaryForm::Digest`] itself: the
    /// caller then retries or ends the turn, as for any model call.
    pub(super) fn summary_failed(&mut self, error: &ModelError) -> Option<Vec<TurnEffect>> {
        let TurnPhase::Summarising(summary) = &self.phase else {
            return None;
        };
        let summary = summary.clone();
        (error.kind == ErrorKind::ContextTooLong && summary.form == SummaryForm::Appended)
            .then(|| self.summarise(SummaryForm::Digest, summary.focus, summary.after))
    }

    /// Replaces the conversation with the summary and the state in `keep`, unless that would not make the conversation
    /// shorter. Then continues or ends the turn, as the request for the summary says. Ends the turn if the agent has
    /// made no progress since the previous summary. Called after the conversation was archived.
    pub(super) fn on_archived(&mut self, keep: &KeptState) -> Vec<TurnEffect> {
        let TurnPhase::Archiving { summary, after } = &self.phase else {
            return vec![];
        };
        let (summary, after) = (summary.clone(), *after);
        let before = self.context();
        let mut first = compact::rebuild(&self.messages, &summary, keep, self.length.room());
        if after != AfterSummary::EndTurn {
            first.blocks.push(Block::text(RESUMED_TURN));
        }
        let messages = vec![first];
        self.length.is_fresh = true;
        let stuck = match after {
            AfterSummary::Call => self.progress.note_compaction(keep.work),
            AfterSummary::CallRequestedByUser => self.progress.note_compaction(None),
            AfterSummary::EndTurn => None,
        };
        let mut effects = match self
            .length
            .estimate_replacement(before, &self.messages, &messages)
        {
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
            AfterSummary::Call | AfterSummary::CallRequestedByUser => match stuck {
                Some(why) => self.end_stuck(why),
                None => self.call(),
            },
            AfterSummary::EndTurn if self.pending_texts.is_empty() => self.end(TurnEnd::Done),
            // Text that arrived while the summary was made starts a turn, as it would have without the summary.
            AfterSummary::EndTurn => {
                self.phase = TurnPhase::Idle;
                self.say(Vec::new())
            }
        });
        effects
    }

    /// Adds a text to the first message of the conversation. Called right after a compaction, when this message is the
    /// only one.
    pub fn add_context(&mut self, text: String) {
        let messages: &mut Vec<Message> = Arc::make_mut(&mut self.messages);
        if let Some(first) = messages.first_mut() {
            let added = Message::user(vec![Block::text(text)]);
            self.length.grew(&added);
            first.blocks.extend(added.blocks);
        }
    }

    /// Returns whether the user requested the summary that the model is writing, and the summary's focus. A summary
    /// that is made after the last answer of a turn counts as requested by the user. `None` if the model is writing no
    /// summary.
    pub fn compaction(&self) -> Option<(bool, &str)> {
        match &self.phase {
            TurnPhase::Summarising(summary) => {
                Some((summary.after != AfterSummary::Call, &summary.focus))
            }
            _ => None,
        }
    }

    /// Continues after a hook has prevented a compaction: calls the model, or ends the turn if the turn would have
    /// ended after the compaction. If the server has refused the conversation as too long, the turn fails instead,
    /// because the model cannot answer such a conversation.
    pub(super) fn compaction_refused(&mut self, why: &str) -> Vec<TurnEffect> {
        let TurnPhase::Summarising(summary) = &self.phase else {
            return vec![];
        };
        if summary.form == SummaryForm::Digest {
            return self.end(TurnEnd::Failed {
                error: format!(
                    "the conversation is too long, and a hook prevents its compaction: {why}"
                ),
                hint: "Change the PreCompact hook, or empty the conversation with /clear.".into(),
            });
        }
        match summary.after {
            AfterSummary::Call | AfterSummary::CallRequestedByUser => self.call(),
            AfterSummary::EndTurn => self.end(TurnEnd::Done),
        }
    }

    pub(super) fn archive_failed(&mut self, why: &str) -> Vec<TurnEffect> {
        let TurnPhase::Archiving { after, .. } = &self.phase else {
            return vec![];
        };
        let (problem, next) = match after {
            AfterSummary::Call => (
                "the conversation is too long and",
                "send a message to continue",
            ),
            AfterSummary::CallRequestedByUser | AfterSummary::EndTurn => (
                "the conversation was not compacted, because it",
                "run /compact again",
            ),
        };
        self.end(TurnEnd::Failed {
            error: format!("{problem} could not be archived: {why}"),
            hint: format!("Free disk space or make .transcripts writable, then {next}."),
        })
    }

    /// Summarises a conversation that the server refused as too long. Ends the turn instead if a summary would not
    /// help, because the conversation was just summarised or has only one message.
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
            self.pending_texts.insert(0, Block::text(CUT_OFF));
            effects.extend(self.flush_user());
        }
        effects.extend(self.summarise(SummaryForm::Digest, String::new(), AfterSummary::Call));
        effects
    }
}

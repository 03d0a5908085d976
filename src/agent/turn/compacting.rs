//! The turn and its length: what the conversation takes, and how it is shortened before the next call.

use std::sync::Arc;

use super::failing::{too_long, too_small};
use super::{Effect, Phase, Turn};
use crate::agent::compact::{self, Budget, Form, Keep, Plan};
use crate::domain::chat::{self, Block, Message, Role};
use crate::domain::usage::Usage;
use crate::model::retry::Tries;
use crate::model::{Fault, ModelError, Reply};
use crate::protocol::event::{Compaction, Level, Shortened, TurnEnd};

/// The share of what fits, in percent, that a digest and the fresh first message may take.
const ROOM: u64 = 50;
/// Fewest tokens between what stands in front and the limit; with less, a summary would be due again after
/// each answer.
const ROOM_MIN: u64 = 500;
/// Bytes that a token is taken for.
const TOKEN: u64 = 4;

const CUT_OFF: &str = "<crew>Your last answer was cut off at the end of your window.</crew>";
const GO_ON: &str = "<crew>Your conversation was compacted in the middle of your work. Go on with the next step.</crew>";

const NO_GAIN: &str = "Not compacted: the summary would not be shorter.";

/// What follows a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The call that was about to be made.
    Call,
    /// The same, where the user asked for the summary: that it was made is no sign of a loop.
    CallForUser,
    /// Rest: the person asked for it between turns, or during the last answer of one.
    Rest,
}

/// Who asked for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    User,
    Agent,
}

/// What is tried again after a wait.
#[derive(Debug)]
pub(super) enum Retry {
    Call,
    Summary(Summary),
}

/// A summary that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    form: Form,
    focus: String,
    after: After,
}

/// What the conversation takes of the model's window.
#[derive(Debug, Clone, Default)]
pub(super) struct Length {
    /// What was set.
    set: Budget,
    /// The window in tokens that the server's refusal has shown, where it is smaller than what was set.
    learned: Option<u64>,
    /// Tokens that stand in front of every conversation: system prompt and tools.
    front: u64,
    /// What the server counted with the last answer, that answer included.
    counted: Option<u64>,
    /// What came after it, estimated.
    since: u64,
    /// Whether nothing was answered since the last summary: another one would not help.
    fresh: Fresh,
    /// Whether the person was told that the window is too small.
    warned: Warned,
}

/// Whether something was told already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Warned {
    #[default]
    No,
    Yes,
}

/// Whether the conversation was just summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fresh {
    #[default]
    No,
    Yes,
}

impl Length {
    fn set(&mut self, budget: Budget, front: u64) {
        if self.set != budget {
            self.learned = None;
        }
        self.set = budget;
        self.front = front;
    }

    /// `refused` tokens did not fit.
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
        self.fresh = Fresh::No;
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

    /// What is left for a conversation, in tokens.
    fn left(&self) -> u64 {
        self.budget().limit().saturating_sub(self.front)
    }

    /// Returns what a conversation of `before` tokens takes when `new` stands in place of `old`, in tokens; `None`: not
    /// less.
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

    /// Says once that the window is too small for conversations to be shortened.
    fn warn(&mut self) -> Vec<Effect> {
        if std::mem::replace(&mut self.warned, Warned::Yes) == Warned::Yes {
            return vec![];
        }
        let (front, window) = (self.front, self.budget().window);
        let text = format!(
            "System prompt and tools take about {front} of the {window} tokens of the model's window: the conversation can not be shortened to fit. Give the model a larger window, or agents fewer tools (--tools)."
        );
        vec![Effect::Notice(Level::Warn, text)]
    }

    fn room(&self) -> usize {
        let tokens = self.left().max(ROOM_MIN);
        usize::try_from(tokens.saturating_mul(TOKEN) * ROOM / 100).unwrap_or(usize::MAX)
    }
}

impl Turn {
    /// Sets how much the conversation may hold, and the tokens that stand in front of it.
    pub fn set_budget(&mut self, budget: Budget, front: u64) {
        self.length.set(budget, front);
    }

    /// The tokens that the conversation takes, as counted by the server or estimated.
    pub fn context(&self) -> u64 {
        self.length.tokens(&self.messages)
    }

    /// The person or the agent asks for a summary.
    pub(super) fn wish_compaction(&mut self, focus: String, asker: Asker) -> Vec<Effect> {
        if !self.is_resting() {
            self.wished = Some((focus, asker));
            return vec![];
        }
        if self.messages.len() < 2 {
            let text = "There is nothing to compact yet.".to_string();
            return vec![
                Effect::Notice(Level::Info, text),
                Effect::End(TurnEnd::Done),
            ];
        }
        self.tries = Tries::default();
        self.summarise(Form::Behind, focus, After::Rest)
    }

    /// The turn has its answer: it ends, behind the summary that was asked for meanwhile.
    pub(super) fn done(&mut self) -> Vec<Effect> {
        match self.wished.take() {
            Some((focus, _)) => self.summarise(Form::Behind, focus, After::Rest),
            None => self.end(TurnEnd::Done),
        }
    }

    /// What is due before the next call; none: call.
    pub(super) fn shorten(&mut self) -> Option<Vec<Effect>> {
        if let Some((focus, asker)) = self.wished.take() {
            let after = match asker {
                Asker::User => After::CallForUser,
                Asker::Agent => After::Call,
            };
            return Some(self.summarise(Form::Behind, focus, after));
        }
        if self.length.fresh == Fresh::Yes {
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
            Plan::Whole => Some(self.summarise(Form::Behind, String::new(), After::Call)),
            Plan::Small(small) => {
                let messages: &mut Vec<Message> = Arc::make_mut(&mut self.messages);
                small.apply(messages);
                self.length.counted = self.length.counted.map(|c| c.saturating_sub(small.frees));
                let mut effects = vec![Effect::Compacted(Compaction {
                    how: Shortened::Results {
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

    fn summarise(&mut self, form: Form, focus: String, after: After) -> Vec<Effect> {
        let question = compact::question(&self.messages, form, Some(&focus), self.length.room());
        self.phase = Phase::Summarising(Summary { form, focus, after });
        vec![Effect::Summarise(question)]
    }

    /// The same question again, after a wait.
    pub(super) fn summarise_again(&mut self, summary: Summary) -> Vec<Effect> {
        self.summarise(summary.form, summary.focus, summary.after)
    }

    /// The model has written the summary. One without words is asked for once more, in the other form.
    pub(super) fn summarised(&mut self, reply: &Reply) -> Vec<Effect> {
        let Phase::Summarising(summary) = &self.phase else {
            return vec![];
        };
        let summary = summary.clone();
        let words = Message::assistant(reply.blocks.clone()).words();
        self.tries = Tries::default();
        if words.trim().is_empty() && summary.form == Form::Behind {
            return self.summarise(Form::Digest, summary.focus, summary.after);
        }
        self.phase = Phase::Archiving {
            summary: words,
            after: summary.after,
        };
        vec![Effect::Archive]
    }

    /// The model could not write it; what a wait does not mend comes back as `None`.
    pub(super) fn summary_failed(&mut self, error: &ModelError) -> Option<Vec<Effect>> {
        let Phase::Summarising(summary) = &self.phase else {
            return None;
        };
        let summary = summary.clone();
        (error.fault == Fault::ContextTooLong && summary.form == Form::Behind)
            .then(|| self.summarise(Form::Digest, summary.focus, summary.after))
    }

    /// The conversation begins anew with the summary.
    pub(super) fn archived(&mut self, keep: &Keep) -> Vec<Effect> {
        let Phase::Archiving { summary, after } = &self.phase else {
            return vec![];
        };
        let (summary, after) = (summary.clone(), *after);
        let before = self.context();
        let mut first = compact::fresh(&self.messages, &summary, keep, self.length.room());
        if after != After::Rest {
            first.blocks.push(Block::text(GO_ON));
        }
        let messages = vec![first];
        self.length.fresh = Fresh::Yes;
        let stuck = match after {
            After::Call => self.progress.compacted(keep.work),
            After::CallForUser => self.progress.compacted(None),
            After::Rest => None,
        };
        let mut effects = match self.length.shortened(before, &self.messages, &messages) {
            None => vec![Effect::Notice(Level::Info, NO_GAIN.into())],
            Some(tokens) => {
                self.messages = Arc::new(messages);
                self.length.counted = self.length.counted.map(|_| tokens);
                self.length.since = 0;
                // What was called lately still counts: a loop may shorten the conversation each time around.
                vec![
                    Effect::Replace(self.messages()),
                    Effect::Compacted(Compaction {
                        how: Shortened::Summary {
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
            // Somebody spoke meanwhile: that begins a turn, as it would have without the summary.
            After::Rest => {
                self.phase = Phase::Resting;
                self.say(Vec::new())
            }
        });
        effects
    }

    pub(super) fn archive_failed(&mut self, why: &str) -> Vec<Effect> {
        if !matches!(self.phase, Phase::Archiving { .. }) {
            return vec![];
        }
        self.end(TurnEnd::Failed {
            error: format!("the conversation is too long and could not be put aside: {why}"),
            hint: "Make room on the disk or mend the folder .transcripts, then go on.".into(),
        })
    }

    /// The server says that the conversation does not fit: it is summarised now, unless it just was.
    pub(super) fn overflow(&mut self) -> Vec<Effect> {
        if self.messages.len() < 2 && self.length.fresh == Fresh::No {
            return self.end(too_small());
        }
        if self.length.fresh == Fresh::Yes {
            return self.end(too_long());
        }
        self.length.learn(self.context());
        let mut effects = Vec::new();
        // An answer that was cut off at the end of the window stands there: the next message is ours.
        if self
            .messages
            .last()
            .is_some_and(|m| m.role == Role::Assistant)
        {
            self.said.insert(0, Block::text(CUT_OFF));
            effects.extend(self.flush_user());
        }
        effects.extend(self.summarise(Form::Digest, String::new(), After::Call));
        effects
    }
}

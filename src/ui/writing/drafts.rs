//! Pure: one draft per agent. The composer holds that of the open conversation; the others wait here.

use crate::domain::ids::{Name, RequestId};
use crate::domain::stamp::Stamp;
use crate::ui::state::UiState;
use crate::ui::writing::complete::Completion;
use crate::ui::writing::composer::Composer;

/// Most drafts of conversations that are not open. The oldest one beyond goes into the history.
const DRAFTS_MAX: usize = 200;
/// Most answers and comments whose outcome is not known yet.
const SENT_MAX: usize = 50;

/// Everything that the user has written and that has not arrived, the open draft aside.
#[derive(Debug, Default)]
pub struct Drafts {
    /// Drafts of conversations that are not open, the oldest first.
    others: Vec<(Name, Draft)>,
    /// The question that the open draft is meant to answer; `None`: it is meant as a message.
    pub meant: Option<RequestId>,
    /// When the user was told that Enter does something else with the draft now.
    pub told_at: Option<Stamp>,
    /// Answers and comments on their way, the oldest first.
    sent: Vec<Sent>,
    /// The request whose comment is open in `$EDITOR`, and who asks.
    pub edited: Option<(RequestId, Name)>,
}

#[derive(Debug, Default)]
struct Draft {
    composer: Composer,
    meant: Option<RequestId>,
}

/// Words that went with a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The request that they decide.
    pub request: RequestId,
    /// Who asks.
    pub to: Name,
    /// The words.
    pub text: String,
}

/// Where returned words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// In the composer.
    Composer,
    /// In the draft of a conversation that is not open.
    Draft,
    /// In the history: a draft to that agent is being written.
    History,
}

impl Drafts {
    /// The agents with a draft whose conversation is not open.
    pub fn others(&self) -> impl Iterator<Item = &Name> {
        self.others.iter().map(|(name, _)| name)
    }

    /// Remembers words that go with a decision, until its outcome is known.
    pub fn send(&mut self, sent: Sent) {
        self.sent.push(sent);
        if self.sent.len() > SENT_MAX {
            self.sent.remove(0);
        }
    }

    /// The words that went with the decision of that request.
    pub fn sent(&self, request: &RequestId) -> Option<&Sent> {
        self.sent.iter().find(|sent| sent.request == *request)
    }

    /// Takes these words out.
    pub fn take_sent(&mut self, request: &RequestId) -> Option<Sent> {
        let at = self.sent.iter().position(|s| s.request == *request)?;
        Some(self.sent.remove(at))
    }

    fn take(&mut self, of: &Name) -> Draft {
        let at = self.others.iter().position(|(name, _)| name.same(of));
        at.map_or_else(Draft::default, |at| self.others.remove(at).1)
    }

    fn put(&mut self, of: Name, draft: Draft) -> Option<Draft> {
        if !draft.composer.is_empty() {
            self.others.push((of, draft));
        }
        let is_full = self.others.len() > DRAFTS_MAX;
        is_full.then(|| self.others.remove(0).1)
    }
}

impl UiState {
    /// Shows the conversation of `agent`: the composer takes its draft and keeps that of the agent before.
    pub(in crate::ui) fn open_conversation(&mut self, agent: &Name) {
        self.selected.todo = None;
        if self.shown.same(agent) {
            return;
        }
        let mut next = self.drafts.take(agent);
        next.composer.take_history(&mut self.composer);
        let before = Draft {
            composer: std::mem::replace(&mut self.composer, next.composer),
            meant: std::mem::replace(&mut self.drafts.meant, next.meant),
        };
        let shown = std::mem::replace(&mut self.shown, agent.clone());
        if let Some(oldest) = self.drafts.put(shown, before) {
            self.composer.remember(&oldest.composer.text());
        }
        self.drafts.told_at = None;
        self.completion = Completion::Fresh;
    }

    /// Gives words back that were on their way to `to`: as its draft, unless another one is being written.
    pub(in crate::ui) fn return_words(&mut self, to: &Name, text: &str) -> Returned {
        self.dirty = true;
        if self.shown.same(to) {
            if self.composer.is_empty() {
                self.composer.set(text);
                // It was refused once: the next Enter, if it comes at once, was not pressed for it.
                self.drafts.meant = None;
                self.drafts.told_at = Some(self.now);
                return Returned::Composer;
            }
        } else {
            let mut draft = self.drafts.take(to);
            let is_free = draft.composer.is_empty();
            if is_free {
                draft.composer.set(text);
            }
            if let Some(oldest) = self.drafts.put(to.clone(), draft) {
                self.composer.remember(&oldest.composer.text());
            }
            if is_free {
                return Returned::Draft;
            }
        }
        self.composer.remember(text);
        Returned::History
    }

    /// The draft to `to`.
    pub(in crate::ui) fn draft_to(&self, to: &Name) -> String {
        if self.shown.same(to) {
            return self.composer.text();
        }
        let mut others = self.drafts.others.iter();
        let own = others.find(|(name, _)| name.same(to));
        own.map_or_else(String::new, |(_, draft)| draft.composer.text())
    }
}

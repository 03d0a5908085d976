//! One draft per agent: the composer holds the draft to the agent whose conversation is open; the other drafts are
//! stored here. No I/O.

use crate::domain::ids::{Name, RequestId};
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::widgets::composer::Composer;

/// Maximum number of stored drafts. If there are more, the oldest moves to the history of sent messages.
const DRAFTS_MAX: usize = 200;
/// Maximum number of sent answers and comments that are stored until the crew confirms them. If there are more, the
/// oldest is dropped.
const SENT_MAX: usize = 50;

/// The texts of the user that are not delivered yet, except the draft in the composer.
#[derive(Debug, Default)]
pub struct Drafts {
    /// The drafts to agents whose conversations are not open, oldest first.
    others: Vec<(Name, Draft)>,
    /// The question that the draft in the composer answers; `None` if the draft is a message.
    pub answers_question: Option<RequestId>,
    /// When the effect of Enter on the draft last changed: the draft became an answer or a message, or it was restored
    /// after a failed delivery. For the time [`SETTLE`](crate::ui::SETTLE) after that, Enter sends nothing, because the
    /// key may have been meant for the earlier effect.
    pub enter_changed_at: Option<Timestamp>,
    /// The answers and comments that were sent but are not confirmed yet, oldest first.
    sent: Vec<SentText>,
    /// The request whose comment the user is editing in `$EDITOR`, and the agent that has sent the request.
    pub in_editor: Option<(RequestId, Name)>,
}

#[derive(Debug, Default)]
struct Draft {
    composer: Composer,
    answers_question: Option<RequestId>,
}

/// A comment or an answer that was sent together with a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentText {
    pub request: RequestId,
    /// The agent that has sent the request.
    pub to: Name,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredTo {
    Composer,
    /// The text is now the draft to an agent whose conversation is not open.
    Draft,
    /// The text is in the history of sent messages, because the user has another draft to that agent.
    History,
}

impl Drafts {
    /// Iterates over the agents with a stored draft, oldest draft first. The draft to the agent whose conversation is
    /// open is not stored here but in the composer.
    pub fn others(&self) -> impl Iterator<Item = &Name> {
        self.others.iter().map(|(name, _)| name)
    }

    /// Stores the text of a decision until the crew has confirmed or rejected the decision.
    pub fn send(&mut self, sent: SentText) {
        self.sent.push(sent);
        if self.sent.len() > SENT_MAX {
            self.sent.remove(0);
        }
    }

    pub fn sent(&self, request: &RequestId) -> Option<&SentText> {
        self.sent.iter().find(|sent| sent.request == *request)
    }

    pub fn take_sent(&mut self, request: &RequestId) -> Option<SentText> {
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

impl App {
    /// Opens the conversation of `agent`: stores the draft to the agent shown before, and loads the draft to `agent`.
    /// If that conversation is already open, only sends [`PaneRequest::ConversationOpened`] to the panes.
    pub(in crate::ui) fn open_conversation(&mut self, agent: &Name) {
        let is_other = !self.shown.same(agent);
        self.ask_panes(PaneRequest::ConversationOpened { is_other });
        if !is_other {
            return;
        }
        let mut next = self.input.drafts.take(agent);
        next.composer.take_history(&mut self.input.composer);
        let before = Draft {
            composer: std::mem::replace(&mut self.input.composer, next.composer),
            answers_question: std::mem::replace(
                &mut self.input.drafts.answers_question,
                next.answers_question,
            ),
        };
        let shown = std::mem::replace(&mut self.shown, agent.clone());
        if let Some(oldest) = self.input.drafts.put(shown, before) {
            self.input.composer.add_to_history(&oldest.composer.text());
        }
        self.input.drafts.enter_changed_at = None;
    }

    /// Restores a text that could not be delivered to the agent `to`. It becomes the draft to that agent, or goes to
    /// the history of sent messages if there is another draft.
    pub(in crate::ui) fn restore_text(&mut self, to: &Name, text: &str) -> RestoredTo {
        self.dirty = true;
        if self.shown.same(to) {
            if self.input.composer.is_empty() {
                self.input.composer.set(text);
                // Enter is ignored for a moment, because a press right now is not meant for the restored text.
                self.input.drafts.answers_question = None;
                self.input.drafts.enter_changed_at = Some(self.now);
                return RestoredTo::Composer;
            }
        } else {
            let mut draft = self.input.drafts.take(to);
            let is_free = draft.composer.is_empty();
            if is_free {
                draft.composer.set(text);
            }
            if let Some(oldest) = self.input.drafts.put(to.clone(), draft) {
                self.input.composer.add_to_history(&oldest.composer.text());
            }
            if is_free {
                return RestoredTo::Draft;
            }
        }
        self.input.composer.add_to_history(text);
        RestoredTo::History
    }

    /// Returns the draft to the agent `to`, from the composer or from the stored drafts; empty if there is none.
    pub(in crate::ui) fn draft_to(&self, to: &Name) -> String {
        if self.shown.same(to) {
            return self.input.composer.text();
        }
        let mut others = self.input.drafts.others.iter();
        let own = others.find(|(name, _)| name.same(to));
        own.map_or_else(String::new, |(_, draft)| draft.composer.text())
    }
}

/// Requests [`Effect::EditComposer`], which opens the text of the composer, comment or form in `$EDITOR`. For a
/// comment, also records the request that the comment belongs to, because that request may be decided before the editor
/// ends.
pub fn edit_outside(app: &mut App, out: &mut Vec<Effect>) {
    let request = app.popups.last().and_then(|popup| popup.request());
    let request = request.and_then(|id| app.model.requests.get(id));
    app.input.drafts.in_editor = request.map(|r| (r.id.clone(), r.from.clone()));
    out.push(Effect::EditComposer);
}

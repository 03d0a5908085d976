//! One draft per agent: the composer holds the draft of the open conversation, the others are stored here. No I/O.

use crate::domain::ids::{Name, RequestId};
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::widgets::composer::Composer;

/// Maximum number of stored drafts. Beyond it, the oldest moves to the message history.
const DRAFTS_MAX: usize = 200;
/// Maximum number of answers and comments whose delivery is not confirmed.
const SENT_MAX: usize = 50;

/// Texts that the user has written and that are not delivered yet, except the draft in the composer.
#[derive(Debug, Default)]
pub struct Drafts {
    /// Drafts of conversations that are not open, oldest first.
    others: Vec<(Name, Draft)>,
    /// The question that the draft in the composer answers; `None` if it is a message.
    pub answers_question: Option<RequestId>,
    /// When Enter last changed its effect on the draft, because the draft turned from a message into an answer or back,
    /// or because the text of a failed delivery was restored. Until [`SETTLE`](crate::ui::SETTLE) later, Enter sends
    /// nothing, so that a double press does not send the draft.
    pub enter_changed_at: Option<Timestamp>,
    /// Answers and comments in delivery, oldest first.
    sent: Vec<SentText>,
    /// The request whose comment is open in `$EDITOR`, and the agent that sent the request.
    pub in_editor: Option<(RequestId, Name)>,
}

#[derive(Debug, Default)]
struct Draft {
    composer: Composer,
    answers_question: Option<RequestId>,
}

/// A comment or answer sent with a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentText {
    pub request: RequestId,
    /// The agent that sent the request.
    pub to: Name,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredTo {
    Composer,
    /// In the draft of a conversation that is not open.
    Draft,
    /// In the message history, because another draft to that agent exists.
    History,
}

impl Drafts {
    /// Iterates over the agents that have a draft and whose conversation is not open.
    pub fn others(&self) -> impl Iterator<Item = &Name> {
        self.others.iter().map(|(name, _)| name)
    }

    /// Stores the text of a decision until its result is known.
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
    /// Opens the conversation of `agent`: stores the draft of the previous agent and loads that of `agent`.
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

    /// Restores a text whose delivery to `to` failed: as the draft to that agent, or in the message history if another
    /// draft exists.
    pub(in crate::ui) fn restore_text(&mut self, to: &Name, text: &str) -> RestoredTo {
        self.dirty = true;
        if self.shown.same(to) {
            if self.input.composer.is_empty() {
                self.input.composer.set(text);
                // An Enter pressed immediately after this was not meant for the restored text.
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

    /// Returns the unsent text to agent `to`, from the composer or from the stored drafts; empty if there is none.
    pub(in crate::ui) fn draft_to(&self, to: &Name) -> String {
        if self.shown.same(to) {
            return self.input.composer.text();
        }
        let mut others = self.input.drafts.others.iter();
        let own = others.find(|(name, _)| name.same(to));
        own.map_or_else(String::new, |(_, draft)| draft.composer.text())
    }
}

/// Opens the text in `$EDITOR`. For a comment, also remembers its request, which may be decided in the meantime.
pub fn edit_outside(app: &mut App, out: &mut Vec<Effect>) {
    let request = app.popups.last().and_then(|popup| popup.request());
    let request = request.and_then(|id| app.model.requests.get(id));
    app.input.drafts.in_editor = request.map(|r| (r.id.clone(), r.from.clone()));
    out.push(Effect::EditComposer);
}

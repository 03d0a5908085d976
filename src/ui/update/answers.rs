//! Answers from the composer, and the text of decisions: it is delivered or returned as a draft.

use super::{Do, decide};
use crate::domain::ids::{Name, RequestId};
use crate::domain::redact;
use crate::domain::request::{Request, RequestKind, RequestStatus, Verdict};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::Level;
use crate::ui::keymap::{Action, Context};
use crate::ui::state::UiState;
use crate::ui::state::key_guard::SETTLE;
use crate::ui::writing::answering;
use crate::ui::writing::drafts::{Returned, Sent};

/// Maximum characters of an answer that a status message quotes.
const QUOTED_MAX: usize = 60;

/// Answers the open question of the shown agent with `words`. Returns `false` if there is no question. Returns `true`
/// without sending anything if Enter has changed its meaning since the draft was started: a status message then
/// explains what Enter does now.
pub fn answer(state: &mut UiState, words: &str, out: &mut Vec<Do>) -> bool {
    if !is_meant(state) {
        return true;
    }
    let Some(question) = answering::question(state) else {
        return false;
    };
    let id = question.id.clone();
    let text = answering::answer(question, words);
    state.say(
        Level::Info,
        format!("Answer sent to {}.", question.from.clone()),
    );
    state.composer.take();
    send(state, &id, Verdict::Approve, text, out);
    true
}

/// Returns whether Enter still does what it did when the draft was started. If not, explains it in a status message,
/// and the next Enter sends.
fn is_meant(state: &mut UiState) -> bool {
    let question = answering::question(state).map(|q| q.id.clone());
    if state.drafts.meant == question {
        // Ignores a double press: the next Enter counts only after [`SETTLE`].
        let told_at = state.drafts.told_at;
        return told_at.is_none_or(|at| state.now.since(at) >= SETTLE);
    }
    let (to, key) = (state.shown.clone(), enter(state));
    let text = if question.is_some() {
        format!(
            "Not sent yet: {to} now asks a question. {key} answers it; start with @{to} to send a message."
        )
    } else {
        format!("Not sent yet: {to}'s question is closed. {key} sends this to {to} as a message.")
    };
    state.say(Level::Warn, text);
    state.drafts.meant = question;
    state.drafts.told_at = Some(state.now);
    false
}

fn enter(state: &UiState) -> String {
    state.keymap.key(Context::Composer, Action::Send)
}

/// Keeps an empty draft in step with the composer's title: it answers the question that is open now.
pub fn follow(state: &mut UiState) {
    if state.composer.is_empty() {
        state.drafts.told_at = None;
        let question = answering::question(state).map(|q| q.id.clone());
        state.dirty |= state.drafts.meant != question;
        state.drafts.meant = question;
    }
}

/// Returns the status message for a message sent to an agent that waits for an answer; `None` if it does not wait.
pub fn still_open(state: &UiState, to: &Name) -> Option<String> {
    let mut cards = state.requests.cards();
    let is_open = |r: &Request| {
        r.kind == RequestKind::Question && r.from.same(to) && !state.requests.is_answered(&r.id)
    };
    let key = state.waiting_key();
    cards
        .any(is_open)
        .then(|| format!("Sent to {to} as a message. Its question is still open: {key} shows it."))
}

/// Decides a request and keeps the text until it has been delivered.
pub fn send(
    state: &mut UiState,
    id: &RequestId,
    verdict: Verdict,
    words: String,
    out: &mut Vec<Do>,
) {
    if let Some(request) = state.requests.get(id)
        && !words.is_empty()
    {
        let sent = Sent {
            request: id.clone(),
            to: request.from.clone(),
            text: words.clone(),
        };
        state.drafts.send(sent);
    }
    decide::answer(state, id, verdict, words, out);
}

/// Handles a closed request: the user's text was delivered, or returns as a draft.
pub fn closed(state: &mut UiState, request: &Request) {
    let Some(sent) = state.drafts.sent(&request.id).cloned() else {
        return tell_writer(state, request);
    };
    let is_users = request.decided_by == Name::user().as_str();
    let is_same = request.comment == sent.text || request.comment.contains(redact::MARK);
    if is_users && !is_same {
        // The decision came from another window. The rejection of this one follows.
        return;
    }
    state.drafts.take_sent(&request.id);
    if !is_users {
        come_back(state, &sent, &why_closed(request));
    } else if request.kind == RequestKind::Question && request.status == RequestStatus::Approved {
        let words = clip(&one_line(&sent.text), QUOTED_MAX);
        state.say(
            Level::Info,
            format!("{} received your answer: {words}", sent.to),
        );
    }
}

/// Tells the user that the question of the current draft was closed by someone else. The draft stays.
fn tell_writer(state: &mut UiState, request: &Request) {
    let is_own = state.drafts.meant.as_ref() == Some(&request.id);
    if is_own && !state.composer.is_empty() {
        let (to, status) = (&request.from, request.status);
        let text = format!("{to}'s question was {status}: your text stays as a draft.");
        state.note(Level::Warn, &text);
    }
}

/// Returns the text of a rejected decision as a draft.
pub fn refused(state: &mut UiState, request: &RequestId, why: &str) {
    if let Some(sent) = state.drafts.take_sent(request) {
        come_back(state, &sent, why);
    }
}

fn come_back(state: &mut UiState, sent: &Sent, why: &str) {
    let returned = state.return_words(&sent.to, &sent.text);
    let place = place(state, &sent.to, returned, "Your answer");
    state.note(Level::Warn, format!("{why} {place}").trim_end());
}

/// Turns the comment on a closed request into a draft for the agent that asked.
pub fn return_comment(state: &mut UiState, to: &Name, text: &str, why: &str) {
    let returned = state.return_words(to, text);
    let place = place(state, to, returned, "What you wrote");
    state.say(Level::Warn, format!("{why} {place}"));
}

/// Returns why a request was closed, if it was not decided here.
pub fn why_closed(request: &Request) -> String {
    let by = one_line(&request.decided_by);
    match request.status {
        RequestStatus::Withdrawn => format!("{} withdrew the request.", request.from),
        status => format!("The request was already {status} by {by}."),
    }
}

/// Returns a sentence that says where the returned text is.
pub fn place(state: &UiState, to: &Name, returned: Returned, what: &str) -> String {
    match returned {
        Returned::Composer => format!("{what} is back in the composer."),
        Returned::Draft => format!("{what} is kept as a draft to {to}."),
        Returned::History => {
            let key = state.keymap.key(Context::Composer, Action::Older);
            format!("{what} is in the composer's history: {key} brings it back.")
        }
    }
}

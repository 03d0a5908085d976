//! Answers that the user sends from the composer, and texts that the user sends with decisions on requests. A text that
//! cannot be delivered becomes a draft again.

use crate::domain::ids::{Name, RequestId};
use crate::domain::redact;
use crate::domain::request::{Decision, Request, RequestKind, RequestStatus, Verdict};
use crate::domain::text::{clip, one_line};
use crate::protocol::Command;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::answering;
use crate::ui::app::drafts::{RestoredTo, SentText};
use crate::ui::app::effect::Effect;
use crate::ui::app::key_guard::SETTLE;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::keymap::{Action, Context};

/// Maximum length of the part of the user's answer that a status message quotes, in characters.
const QUOTED_MAX: usize = 60;

/// Answers the open question of the shown agent with `words`. Returns `false` if no question is open; the caller then
/// sends `words` as a message.
///
/// Sends nothing and returns `true` if a question was asked or closed since the user began the draft: Enter would then
/// not do what the user meant. A status message says what Enter does now, and Enter does so after the time [`SETTLE`].
pub fn answer(app: &mut App, words: &str, out: &mut Vec<Effect>) -> bool {
    if !is_meant(app) {
        return true;
    }
    let Some(question) = answering::question(app) else {
        return false;
    };
    let id = question.id.clone();
    let text = question.resolve_answer(words);
    app.say(format!("Answer sent to {}.", question.from.clone()));
    app.input.clear_sent();
    send(app, &id, Verdict::Approve, text, out);
    true
}

/// Returns whether Enter still does what it did when the user began the draft. If not, a status message says what Enter
/// does now, and Enter sends the draft when it is pressed again after [`SETTLE`].
fn is_meant(app: &mut App) -> bool {
    let question = answering::question(app).map(|q| q.id.clone());
    if app.input.drafts.answers_question == question {
        // Ignores the second press of a double press: after the status message, Enter counts again only after
        // [`SETTLE`].
        let changed_at = app.input.drafts.enter_changed_at;
        return changed_at.is_none_or(|at| app.now.since(at) >= SETTLE);
    }
    let (to, key) = (app.shown.clone(), enter(&app.prefs));
    let text = if question.is_some() {
        format!("Not sent yet: {to} now asks a question. {key} sends this as the answer.")
    } else {
        format!("Not sent yet: {to}'s question is closed. {key} sends this to {to} as a message.")
    };
    app.warn(text);
    app.input.drafts.answers_question = question;
    app.input.drafts.enter_changed_at = Some(app.now);
    false
}

fn enter(prefs: &Preferences) -> String {
    prefs.keymap.key(Context::Composer, Action::Send)
}

/// Records whether the draft is an answer to the open question or, if none is open, a message. The composer's title
/// says which of them it is. Does nothing if the user has already begun the draft.
pub fn sync_empty_draft(app: &mut App) {
    if app.input.composer.is_empty() {
        app.input.drafts.enter_changed_at = None;
        let question = answering::question(app).map(|q| q.id.clone());
        app.dirty |= app.input.drafts.answers_question != question;
        app.input.drafts.answers_question = question;
    }
}

/// Returns the status message for a text that the user has sent to `to` as a message: it says that a question of `to`
/// is still open, because a message does not answer it. `None` if `to` has no open question.
pub fn open_question_reminder(app: &App, to: &Name) -> Option<String> {
    let mut cards = app.model.requests.cards();
    let is_open = |r: &Request| {
        r.kind == RequestKind::Question && r.from.same(to) && !app.model.requests.is_answered(&r.id)
    };
    let key = app.waiting_key();
    cards
        .any(is_open)
        .then(|| format!("Sent to {to} as a message. Its question is still open: {key} shows it."))
}

/// Sends a decision on a request together with the user's text `words`. Keeps a copy of the text until its delivery is
/// confirmed.
pub fn send(app: &mut App, id: &RequestId, verdict: Verdict, words: String, out: &mut Vec<Effect>) {
    if let Some(request) = app.model.requests.get(id)
        && !words.is_empty()
    {
        let sent = SentText {
            request: id.clone(),
            to: request.from.clone(),
            text: words.clone(),
        };
        app.input.drafts.send(sent);
    }
    decide(app, id, verdict, words, out);
}

/// Sends the user's decision on a request to the crew. If the request is closed, only shows a status message; if it is
/// already answered, does nothing.
pub fn decide(
    app: &mut App,
    id: &RequestId,
    verdict: Verdict,
    comment: String,
    out: &mut Vec<Effect>,
) {
    let Some(request) = app.model.requests.get(id) else {
        app.say("This request is already closed.");
        return;
    };
    if app.model.requests.is_answered(id) {
        return;
    }
    let decision = Decision::on(request, verdict, Name::user(), comment);
    app.ask_panes(PaneRequest::SelectRequest(id.clone()));
    app.model.requests.answer(id);
    out.push(Effect::Command(Command::Decide(decision)));
}

/// Handles the closing of a request:
///
/// - If another agent or a policy decided the request before the user's decision arrived, the text that the user sent
///   with the decision becomes a draft again.
/// - If the user's answer to a question has arrived, a status message confirms it.
/// - If the user is writing an answer to the request, a status message says that the question is closed.
pub fn on_request_closed(app: &mut App, request: &Request) {
    let Some(sent) = app.input.drafts.sent(&request.id).cloned() else {
        return tell_writer(app, request);
    };
    let is_users = request.decided_by == Name::user().as_str();
    let is_same =
        request.comment == sent.text || request.comment.contains(redact::PLACEHOLDER_START);
    if is_users && !is_same {
        // The user decided the request in another window. The event that rejects the decision made in this window
        // follows.
        return;
    }
    app.input.drafts.take_sent(&request.id);
    if !is_users {
        restore(
            app,
            &sent.to,
            &sent.text,
            "Your answer",
            &why_closed(request),
        );
    } else if request.kind == RequestKind::Question && request.status == RequestStatus::Approved {
        let words = clip(&one_line(&sent.text), QUOTED_MAX);
        app.say(format!("{} received your answer: {words}", sent.to));
    }
}

/// Called when a request was closed. If the draft is the user's answer to this request, a status message says that the
/// question is closed and that the text stays as a draft.
fn tell_writer(app: &mut App, request: &Request) {
    let is_own = app.input.drafts.answers_question.as_ref() == Some(&request.id);
    if is_own && !app.input.composer.is_empty() {
        let (to, status) = (&request.from, request.status_word());
        let text = format!("{to}'s question was {status}: your text stays as a draft.");
        app.note(NoticeLevel::Warn, &text);
    }
}

/// Called when the crew has rejected the user's decision on a request. If the user sent a text with the decision, that
/// text becomes a draft again.
pub fn restore_rejected(app: &mut App, request: &RequestId, why: &str) {
    if let Some(sent) = app.input.drafts.take_sent(request) {
        restore(app, &sent.to, &sent.text, "Your answer", why);
    }
}

/// Restores a text that could not be delivered to the agent `to`. A warning begins with `why`, a sentence with the
/// reason, and says where the text is now. `what` is what the warning calls the text, such as `Your answer`.
pub fn restore(app: &mut App, to: &Name, text: &str, what: &str, why: &str) {
    let returned = app.restore_text(to, text);
    let place = where_restored(&app.prefs, to, returned, what);
    app.note(NoticeLevel::Warn, format!("{why} {place}").trim_end());
}

/// Turns the comment that the user was writing on a request into a draft, because the request was closed in the
/// meantime. The draft is addressed to `to`, the agent that made the request. `why` is a sentence that says how the
/// request was closed.
pub fn return_comment(app: &mut App, to: &Name, text: &str, why: &str) {
    let returned = app.restore_text(to, text);
    let place = where_restored(&app.prefs, to, returned, "What you wrote");
    app.warn(format!("{why} {place}"));
}

/// Returns a sentence that says how a request was closed without the user, for example that it was withdrawn.
pub fn why_closed(request: &Request) -> String {
    let by = one_line(&request.decided_by);
    match request.status {
        RequestStatus::Withdrawn => format!("{} withdrew the request.", request.from),
        _ => format!("The request was already {} by {by}.", request.status_word()),
    }
}

/// Returns a sentence that says where an undelivered text was restored. `what` is what the sentence calls the text,
/// such as `Your answer`.
pub fn where_restored(prefs: &Preferences, to: &Name, returned: RestoredTo, what: &str) -> String {
    match returned {
        RestoredTo::Composer => format!("{what} is back in the composer."),
        RestoredTo::Draft => format!("{what} is kept as a draft to {to}."),
        RestoredTo::History => {
            let key = prefs.keymap.key(Context::Composer, Action::Older);
            format!("{what} is in the composer's history: {key} brings it back.")
        }
    }
}

//! Answering from the composer, and the words that went with a decision: they arrive, or come back as a draft.

use crate::domain::ids::{Name, RequestId};
use crate::domain::redact;
use crate::domain::request::{Request, RequestKind, RequestStatus, Verdict};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::Level;
use crate::ui::app::App;
use crate::ui::app::drafts::{Returned, Sent};
use crate::ui::app::effect::Do;
use crate::ui::app::key_guard::SETTLE;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::lead::answering;
use crate::ui::panes::needs;

/// Most characters of an answer that a status message quotes.
const QUOTED_MAX: usize = 60;

/// Answers the open question of the shown agent with `words`. Whether there is one, or the user was told what Enter does
/// now: then nothing was sent.
pub fn answer(app: &mut App, words: &str, out: &mut Vec<Do>) -> bool {
    if !is_meant(app) {
        return true;
    }
    let Some(question) = answering::question(app) else {
        return false;
    };
    let id = question.id.clone();
    let text = answering::answer(question, words);
    app.say(
        Level::Info,
        format!("Answer sent to {}.", question.from.clone()),
    );
    app.input.composer.take();
    send(app, &id, Verdict::Approve, text, out);
    true
}

/// Whether the draft was begun for what Enter does now. Else says what Enter does, and the next Enter does it.
fn is_meant(app: &mut App) -> bool {
    let question = answering::question(app).map(|q| q.id.clone());
    if app.input.drafts.meant == question {
        // The second press of the Enter that was held back.
        let told_at = app.input.drafts.told_at;
        return told_at.is_none_or(|at| app.now.since(at) >= SETTLE);
    }
    let (to, key) = (app.shown.clone(), enter(app));
    let text = if question.is_some() {
        format!(
            "Not sent yet: {to} asks a question now. {key} answers it; @{to} before it makes it a message."
        )
    } else {
        format!("Not sent yet: {to}'s question is closed. {key} sends this as a message to {to}.")
    };
    app.say(Level::Warn, text);
    app.input.drafts.meant = question;
    app.input.drafts.told_at = Some(app.now);
    false
}

fn enter(app: &App) -> String {
    app.prefs.keymap.key(Context::Composer, Action::Send)
}

/// While nothing is written, what is written next is meant for what the composer's title says.
pub fn follow(app: &mut App) {
    if app.input.composer.is_empty() {
        app.input.drafts.told_at = None;
        let question = answering::question(app).map(|q| q.id.clone());
        app.dirty |= app.input.drafts.meant != question;
        app.input.drafts.meant = question;
    }
}

/// What is said where words went to an agent as a message although it waits for an answer.
pub fn still_open(app: &App, to: &Name) -> Option<String> {
    let mut cards = app.model.requests.cards();
    let is_open = |r: &Request| {
        r.kind == RequestKind::Question && r.from.same(to) && !app.model.requests.is_answered(&r.id)
    };
    let key = app.waiting_key();
    cards
        .any(is_open)
        .then(|| format!("Sent to {to} as a message. Its question is still open: {key} shows it."))
}

/// Decides a request, and remembers the words that go with it until they have arrived.
pub fn send(app: &mut App, id: &RequestId, verdict: Verdict, words: String, out: &mut Vec<Do>) {
    if let Some(request) = app.model.requests.get(id)
        && !words.is_empty()
    {
        let sent = Sent {
            request: id.clone(),
            to: request.from.clone(),
            text: words.clone(),
        };
        app.input.drafts.send(sent);
    }
    needs::update::answer(app, id, verdict, words, out);
}

/// A request waits no more. The words that the user gave it have arrived, or come back.
pub fn closed(app: &mut App, request: &Request) {
    let Some(sent) = app.input.drafts.sent(&request.id).cloned() else {
        return tell_writer(app, request);
    };
    let is_users = request.decided_by == Name::user().as_str();
    let is_same = request.comment == sent.text || request.comment.contains(redact::MARK);
    if is_users && !is_same {
        // Given in another window: the refusal of this one is on its way.
        return;
    }
    app.input.drafts.take_sent(&request.id);
    if !is_users {
        come_back(app, &sent, &why_closed(request));
    } else if request.kind == RequestKind::Question && request.status == RequestStatus::Approved {
        let words = clip(&one_line(&sent.text), QUOTED_MAX);
        app.say(Level::Info, format!("{} has your answer: {words}", sent.to));
    }
}

/// The user writes an answer to a question that was closed by someone else: the text stays.
fn tell_writer(app: &mut App, request: &Request) {
    let is_own = app.input.drafts.meant.as_ref() == Some(&request.id);
    if is_own && !app.input.composer.is_empty() {
        let (to, status) = (&request.from, request.status);
        let text = format!("{to}'s question was {status}: your text stays as a draft.");
        app.note(Level::Warn, &text);
    }
}

/// The decision of that request was refused: the words that went with it come back.
pub fn refused(app: &mut App, request: &RequestId, why: &str) {
    if let Some(sent) = app.input.drafts.take_sent(request) {
        come_back(app, &sent, why);
    }
}

fn come_back(app: &mut App, sent: &Sent, why: &str) {
    let returned = app.return_words(&sent.to, &sent.text);
    let place = place(app, &sent.to, returned, "Your answer");
    app.note(Level::Warn, format!("{why} {place}").trim_end());
}

/// A comment was being written to a request that waits no more: it becomes a draft to the agent that asked.
pub fn return_comment(app: &mut App, to: &Name, text: &str, why: &str) {
    let returned = app.return_words(to, text);
    let place = place(app, to, returned, "What you wrote");
    app.say(Level::Warn, format!("{why} {place}"));
}

/// Why a request waits no more, where the user did not decide it here.
pub fn why_closed(request: &Request) -> String {
    let by = one_line(&request.decided_by);
    match request.status {
        RequestStatus::Withdrawn => format!("{} withdrew the request.", request.from),
        status => format!("The request was already {status} by {by}."),
    }
}

/// Where returned words are, as a sentence.
pub fn place(app: &App, to: &Name, returned: Returned, what: &str) -> String {
    match returned {
        Returned::Composer => format!("{what} is back in the composer."),
        Returned::Draft => format!("{what} is kept as a draft to {to}."),
        Returned::History => {
            let key = app.prefs.keymap.key(Context::Composer, Action::Older);
            format!("{what} is in the composer's history: {key} brings it back.")
        }
    }
}

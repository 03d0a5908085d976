//! Decides which request can be answered from the composer: one of the agent whose conversation is open. No I/O.

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::App;
use crate::ui::app::key_guard::{SETTLE, ShownRequest};
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::role::SessionRole;
use crate::ui::keymap::pane::Focus;
use crate::ui::model::requests::is_for_lead;

/// Returns the open requests for which `is_meant` is true, oldest first; none if answers cannot be sent.
fn open(app: &App, is_meant: impl Fn(&Request) -> bool) -> impl Iterator<Item = &Request> {
    let is_heard = app.replay.is_none()
        && app.role != SessionRole::NoCrew
        && app.onboarding_page().map(|p| p.severity) != Some(PageSeverity::Missing);
    let is_open =
        move |r: &&Request| is_heard && is_meant(r) && !app.model.requests.is_answered(&r.id);
    app.model.requests.cards().filter(is_open)
}

/// Returns the open questions of the agent whose conversation is open, oldest first.
pub fn questions(app: &App) -> Vec<&Request> {
    let is_question = |r: &Request| r.kind == RequestKind::Question && r.from.same(&app.shown);
    open(app, is_question).collect()
}

/// Returns the question that Enter answers: the oldest open one.
pub fn question(app: &App) -> Option<&Request> {
    questions(app).first().copied()
}

/// Returns the request that is answered from the composer: the question that Enter answers, else the oldest open
/// request by or about the agent whose conversation is open. Requests that the lead may decide do not count.
pub fn request(app: &App) -> Option<&Request> {
    let is_shown =
        |r: &Request| !is_for_lead(r) && (r.from.same(&app.shown) || r.target.same(&app.shown));
    let decision = |r: &Request| r.kind != RequestKind::Question && is_shown(r);
    question(app).or_else(|| open(app, decision).next())
}

/// Returns whether a digit chooses an answer instead of being typed: the draft is empty and a question with choices is
/// shown.
pub fn takes_choice(app: &App) -> bool {
    let has_choices = |request: &Request| !request.choices.is_empty();
    app.focus == Focus::Composer
        && app.popups.is_empty()
        && app.input.composer.is_empty()
        && question(app).is_some_and(has_choices)
}

/// Returns whether the request above the composer has been shown for at least [`SETTLE`]. Only then can a key be meant
/// for it.
pub fn has_settled(app: &App) -> bool {
    let shown = app.keys.guard.shown.as_ref();
    shown.is_none_or(|shown| app.now.since(shown.since) >= SETTLE)
}

/// Records since when the current request is shown above the composer.
pub fn record_shown(app: &mut App) {
    let id = request(app).map(|r| r.id.clone());
    if app.keys.guard.shown.as_ref().map(|shown| &shown.request) != id.as_ref() {
        let since = app.now;
        app.keys.guard.shown = id.map(|request| ShownRequest { request, since });
        app.dirty = true;
    }
}

/// Returns the answer that the typed text gives: a choice if the text is its number, otherwise the text itself.
pub fn answer(question: &Request, words: &str) -> String {
    let number = words.parse::<usize>().ok();
    let choice = number.and_then(|n| question.choices.get(n.checked_sub(1)?));
    choice.map_or_else(|| words.to_string(), Clone::clone)
}

//! Decides which request can be answered from the composer: a request of the agent whose conversation is open. No I/O.

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::App;
use crate::ui::app::key_guard::{SETTLE, ShownRequest};
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::role::SessionRole;
use crate::ui::keymap::pane::Focus;
use crate::ui::model::requests::is_for_lead;

/// Returns the open requests for which `is_meant` is true and that the user has not answered yet. The requests that the
/// user must decide come first, then those that the lead may decide; each group is ordered oldest first. Returns none
/// in a replay and while no crew runs, because an answer could not be sent.
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

/// Returns the question that a message sent with Enter answers: the oldest open question of the agent whose
/// conversation is open. Returns `None` if that agent has no open question.
pub fn question(app: &App) -> Option<&Request> {
    questions(app).first().copied()
}

/// Returns the request that can be answered from the composer: the oldest open question of the agent whose conversation
/// is open. If there is none, returns the oldest open request of another kind that is from or about this agent and
/// whose approver is not the lead.
pub fn request(app: &App) -> Option<&Request> {
    let is_shown =
        |r: &Request| !is_for_lead(r) && (r.from.same(&app.shown) || r.target.same(&app.shown));
    let decision = |r: &Request| r.kind != RequestKind::Question && is_shown(r);
    question(app).or_else(|| open(app, decision).next())
}

/// Returns whether a click on a choice above the composer answers the question with that choice. This is the case if
/// the composer has the focus, no popup is open, the draft is empty, and a question with choices is shown. Digits are
/// always typed and never choose, because the user's own answer can begin with a digit.
pub fn takes_click(app: &App) -> bool {
    let has_choices = |request: &Request| !request.choices.is_empty();
    app.focus == Focus::Composer
        && app.popups.is_empty()
        && app.input.composer.is_empty()
        && question(app).is_some_and(has_choices)
}

/// Returns the numbers that the user can type to answer with one of `count` choices, such as `1-3`.
pub fn choice_numbers(count: usize) -> String {
    match count {
        0 | 1 => count.to_string(),
        _ => format!("1-{count}"),
    }
}

/// Returns whether the request above the composer has been shown for at least [`SETTLE`]. A key that was pressed
/// earlier is not meant for the request. Also returns true if no request is shown.
pub fn has_settled(app: &App) -> bool {
    let shown = app.keys.guard.shown.as_ref();
    shown.is_none_or(|shown| app.now.since(shown.since) >= SETTLE)
}

/// Records which request is shown above the composer now. For a request that was not shown before, also records the
/// time.
pub fn record_shown(app: &mut App) {
    let id = request(app).map(|r| r.id.clone());
    if app.keys.guard.shown.as_ref().map(|shown| &shown.request) != id.as_ref() {
        let since = app.now;
        app.keys.guard.shown = id.map(|request| ShownRequest { request, since });
        app.dirty = true;
    }
}

//! Decides which question Enter answers: while the agent of the open conversation waits for an answer, the composer's
//! text is that answer. No I/O.

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::App;
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::role::SessionRole;

/// Returns the open questions of the agent whose conversation is open, oldest first.
pub fn questions(app: &App) -> Vec<&Request> {
    let is_heard = app.replay.is_none()
        && app.role != SessionRole::NoCrew
        && app.onboarding_page().map(|p| p.severity) != Some(PageSeverity::Missing);
    let is_open = |request: &&Request| {
        is_heard
            && request.kind == RequestKind::Question
            && request.from.same(&app.shown)
            && !app.model.requests.is_answered(&request.id)
    };
    app.model.requests.cards().filter(is_open).collect()
}

/// Returns the question that Enter answers: the oldest open one.
pub fn question(app: &App) -> Option<&Request> {
    questions(app).first().copied()
}

/// Returns the answer for the typed text: the choice with that number if there is one, otherwise the text itself.
pub fn answer(question: &Request, words: &str) -> String {
    let number = words.parse::<usize>().ok();
    let choice = number.and_then(|n| question.choices.get(n.checked_sub(1)?));
    choice.map_or_else(|| words.to_string(), Clone::clone)
}

//! Pure: which question Enter answers. While the agent of the open conversation waits for an answer, what is written in
//! the composer is that answer.

use crate::domain::request::{Request, RequestKind};
use crate::ui::guide::first::Weight;
use crate::ui::state::UiState;
use crate::ui::state::seat::Seat;

/// The open questions of the agent whose conversation is open, the oldest first.
pub fn questions(state: &UiState) -> Vec<&Request> {
    let is_heard = state.replay.is_none()
        && state.seat != Seat::Left
        && state.first_page().map(|p| p.weight) != Some(Weight::Missing);
    let is_open = |request: &&Request| {
        is_heard
            && request.kind == RequestKind::Question
            && request.from.same(&state.shown)
            && !state.requests.is_answered(&request.id)
    };
    state.requests.cards().filter(is_open).collect()
}

/// The question that Enter answers.
pub fn question(state: &UiState) -> Option<&Request> {
    questions(state).first().copied()
}

/// The answer that `words` are: a choice where they are its number.
pub fn answer(question: &Request, words: &str) -> String {
    let number = words.parse::<usize>().ok();
    let choice = number.and_then(|n| question.choices.get(n.checked_sub(1)?));
    choice.map_or_else(|| words.to_string(), Clone::clone)
}

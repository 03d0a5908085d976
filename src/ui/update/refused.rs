//! What was on its way to the crew: it has arrived, or was refused and comes back to where it was written.

use super::task_form;
use crate::domain::ids::Name;
use crate::domain::redact;
use crate::protocol::Asked;
use crate::protocol::event::Level;
use crate::ui::state::{Models, Queued, UiState};

/// Tells of a refusal, and gives what was refused back: each piece of the screen that waits for an answer takes its own.
pub fn refused(state: &mut UiState, asked: Option<&Asked>, why: &str) {
    state.note(Level::Warn, why);
    let Some(asked) = asked else { return };
    match asked {
        Asked::Prompt { to } => give_back(state, to),
        Asked::Interrupt { agent } => {
            state.interrupted.take_if(|waits| waits.same(agent));
        }
        Asked::Decide { request } => state.requests.forget_answer(request),
        Asked::AddTask => task_form::refused(state, None, why),
        Asked::EditTask { task } => task_form::refused(state, Some(*task), why),
        Asked::ListModels => {
            if state.models == Models::Asked {
                state.models = Models::Listed(Vec::new());
            }
        }
        Asked::Compact { .. }
        | Asked::KillJob { .. }
        | Asked::TakeBack { .. }
        | Asked::AskShutdown { .. }
        | Asked::Force { .. }
        | Asked::Nudge { .. }
        | Asked::ClaimTask { .. }
        | Asked::ReleaseTask { .. }
        | Asked::CompleteTask { .. }
        | Asked::Merge { .. }
        | Asked::MergeAll
        | Asked::ShowDiff { .. }
        | Asked::JudgeWorktree { .. }
        | Asked::RemoveWorktree { .. }
        | Asked::UseModel
        | Asked::Other => {}
    }
}

/// Words have arrived in a conversation. What reaches the screen may hide a secret in them: then they are the oldest.
pub fn arrived(state: &mut UiState, to: &Name, text: &str) {
    if !take_exactly(state, to, text) {
        oldest(state, to);
    }
}

/// A letter of the person is under way: it need not be one that was written here.
pub fn sent(state: &mut UiState, to: &Name, text: &str) {
    if !take_exactly(state, to, text) && text.contains(redact::MARK) {
        oldest(state, to);
    }
}

fn take_exactly(state: &mut UiState, to: &Name, text: &str) -> bool {
    let is_it = |q: &Queued| q.to.same(to) && q.text == text;
    let at = state.queued.iter().position(is_it);
    at.map(|at| state.queued.remove(at)).is_some()
}

/// The oldest words on their way to `to`.
fn oldest(state: &mut UiState, to: &Name) -> Option<Queued> {
    let at = state.queued.iter().position(|q| q.to.same(to))?;
    Some(state.queued.remove(at))
}

/// Refused words go back to where they were written; where others are written by now, the history has them.
fn give_back(state: &mut UiState, to: &Name) {
    let Some(words) = oldest(state, to) else {
        return;
    };
    if state.composer.is_empty() {
        let text = if words.to.same(&state.shown) {
            words.text
        } else {
            format!("@{} {}", words.to, words.text)
        };
        state.composer.set(&text);
    }
}

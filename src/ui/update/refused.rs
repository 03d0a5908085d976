//! Answers of the crew to commands: text was delivered, or was rejected and returns as a draft.

use super::{answers, task_form};
use crate::domain::ids::Name;
use crate::domain::redact;
use crate::protocol::Asked;
use crate::protocol::event::Level;
use crate::ui::state::{Models, Queued, UiState};

/// Reports a rejected command and restores the state that waited for its answer.
pub fn refused(state: &mut UiState, asked: Option<&Asked>, why: &str) {
    state.note(Level::Warn, why);
    let Some(asked) = asked else { return };
    match asked {
        Asked::Prompt { to, text } => give_back(state, to, text, why),
        Asked::Interrupt { agent } => {
            state.interrupted.take_if(|waits| waits.same(agent));
        }
        Asked::Decide { request } => {
            state.requests.forget_answer(request);
            answers::refused(state, request, why);
        }
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

/// Removes a prompt from the queue once its agent has read it. If secrets in it were redacted, the texts differ and
/// the oldest one is removed.
pub fn arrived(state: &mut UiState, to: &Name, text: &str) {
    if !take_exactly(state, to, text) && text.contains(redact::MARK) {
        oldest(state, to);
    }
}

/// Handles a delivered message of the user, which may come from another window. The crew's own window shows it as
/// queued until its agent reads it.
pub fn sent(state: &mut UiState, to: &Name, text: &str) {
    if !state.seat.is_crew() && !take_exactly(state, to, text) && text.contains(redact::MARK) {
        oldest(state, to);
    }
}

fn take_exactly(state: &mut UiState, to: &Name, text: &str) -> bool {
    exactly(state, to, text).is_some()
}

fn exactly(state: &mut UiState, to: &Name, text: &str) -> Option<Queued> {
    let is_it = |q: &Queued| q.to.same(to) && q.text == text;
    let at = state.queued.iter().position(is_it)?;
    Some(state.queued.remove(at))
}

/// Removes and returns the oldest queued message to `to`.
fn oldest(state: &mut UiState, to: &Name) -> Option<Queued> {
    let at = state.queued.iter().position(|q| q.to.same(to))?;
    Some(state.queued.remove(at))
}

/// Returns rejected text as a draft to its recipient.
fn give_back(state: &mut UiState, to: &Name, text: &str, why: &str) {
    if let Some(words) = exactly(state, to, text).or_else(|| oldest(state, to)) {
        let returned = state.return_words(&words.to, &words.text);
        let place = answers::place(state, &words.to, returned, "Your message");
        state.note(Level::Warn, format!("{why} {place}").trim_end());
    }
}

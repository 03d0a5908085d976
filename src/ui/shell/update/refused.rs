//! What was on its way to the crew: it has arrived, or was refused and comes back to where it was written.

use crate::domain::ids::Name;
use crate::domain::redact;
use crate::protocol::Asked;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::model::{Models, Queued};
use crate::ui::panes::needs::answers;
use crate::ui::popups::task_form;

/// Tells of a refusal, and gives what was refused back: each piece of the screen that waits for an answer takes its own.
pub fn refused(state: &mut UiState, asked: Option<&Asked>, why: &str) {
    state.note(Level::Warn, why);
    let Some(asked) = asked else { return };
    match asked {
        Asked::Prompt { to, text } => give_back(state, to, text, why),
        Asked::Interrupt { agent } => {
            state.keys.interrupted.take_if(|waits| waits.same(agent));
        }
        Asked::Decide { request } => {
            state.model.requests.forget_answer(request);
            answers::refused(state, request, why);
        }
        Asked::AddTask => task_form::update::refused(state, None, why),
        Asked::EditTask { task } => task_form::update::refused(state, Some(*task), why),
        Asked::ListModels => {
            if state.model.models == Models::Asked {
                state.model.models = Models::Listed(Vec::new());
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

/// An agent has taken a prompt up: it is queued no more. What reaches the screen may hide a secret in them: then they are the oldest.
pub fn arrived(state: &mut UiState, to: &Name, text: &str) {
    if !take_exactly(state, to, text) && text.contains(redact::MARK) {
        oldest(state, to);
    }
}

/// A message of the user is in an inbox: it need not be one that was written here. In the crew's own window it is shown
/// as queued until its agent takes it up.
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
    let at = state.model.queued.iter().position(is_it)?;
    Some(state.model.queued.remove(at))
}

/// The oldest words on their way to `to`.
fn oldest(state: &mut UiState, to: &Name) -> Option<Queued> {
    let at = state.model.queued.iter().position(|q| q.to.same(to))?;
    Some(state.model.queued.remove(at))
}

/// Refused words come back as a draft to the agent that they were meant for.
fn give_back(state: &mut UiState, to: &Name, text: &str, why: &str) {
    if let Some(words) = exactly(state, to, text).or_else(|| oldest(state, to)) {
        let returned = state.return_words(&words.to, &words.text);
        let place = answers::place(state, &words.to, returned, "Your message");
        state.note(Level::Warn, format!("{why} {place}").trim_end());
    }
}

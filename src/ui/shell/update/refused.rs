//! What was on its way to the crew: it has arrived, or was refused and comes back to where it was written.

use crate::domain::ids::Name;
use crate::domain::redact;
use crate::protocol::Asked;
use crate::protocol::event::Level;
use crate::ui::app::App;
use crate::ui::model::{Model, Models, Queued};
use crate::ui::panes::needs::answers;
use crate::ui::popups::task_form;

/// Tells of a refusal, and gives what was refused back: each piece of the screen that waits for an answer takes its own.
pub fn refused(app: &mut App, asked: Option<&Asked>, why: &str) {
    app.note(Level::Warn, why);
    let Some(asked) = asked else { return };
    match asked {
        Asked::Prompt { to, text } => give_back(app, to, text, why),
        Asked::Interrupt { agent } => {
            app.keys.interrupted.take_if(|waits| waits.same(agent));
        }
        Asked::Decide { request } => {
            app.model.requests.forget_answer(request);
            answers::refused(app, request, why);
        }
        Asked::AddTask => task_form::update::refused(app, None, why),
        Asked::EditTask { task } => task_form::update::refused(app, Some(*task), why),
        Asked::ListModels => {
            if app.model.models == Models::Asked {
                app.model.models = Models::Listed(Vec::new());
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
pub fn arrived(model: &mut Model, to: &Name, text: &str) {
    if !take_exactly(model, to, text) && text.contains(redact::MARK) {
        oldest(model, to);
    }
}

/// A message of the user is in an inbox: it need not be one that was written here. In the crew's own window it is shown
/// as queued until its agent takes it up.
pub fn sent(app: &mut App, to: &Name, text: &str) {
    if !app.seat.is_crew() && !take_exactly(app, to, text) && text.contains(redact::MARK) {
        oldest(app, to);
    }
}

fn take_exactly(model: &mut Model, to: &Name, text: &str) -> bool {
    exactly(model, to, text).is_some()
}

fn exactly(model: &mut Model, to: &Name, text: &str) -> Option<Queued> {
    let is_it = |q: &Queued| q.to.same(to) && q.text == text;
    let at = model.queued.iter().position(is_it)?;
    Some(model.queued.remove(at))
}

/// The oldest words on their way to `to`.
fn oldest(model: &mut Model, to: &Name) -> Option<Queued> {
    let at = model.queued.iter().position(|q| q.to.same(to))?;
    Some(model.queued.remove(at))
}

/// Refused words come back as a draft to the agent that they were meant for.
fn give_back(app: &mut App, to: &Name, text: &str, why: &str) {
    if let Some(words) = exactly(app, to, text).or_else(|| oldest(app, to)) {
        let returned = app.return_words(&words.to, &words.text);
        let place = answers::place(app, &words.to, returned, "Your message");
        app.note(Level::Warn, format!("{why} {place}").trim_end());
    }
}

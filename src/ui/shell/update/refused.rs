//! Answers of the crew to commands: text was delivered, or was rejected and returns as a draft.

use crate::domain::ids::Name;
use crate::domain::redact;
use crate::protocol::CommandRef;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::model::{CrewModel, Models, Queued};
use crate::ui::panes::needs::answers;
use crate::ui::popups::task_form;

/// Reports a rejected command and restores the state that waited for its answer.
pub fn refused(app: &mut App, asked: Option<&CommandRef>, why: &str) {
    app.note(NoticeLevel::Warn, why);
    let Some(asked) = asked else { return };
    match asked {
        CommandRef::Prompt { to, text } => give_back(app, to, text, why),
        CommandRef::Interrupt { agent } => {
            app.keys.interrupted.take_if(|waits| waits.same(agent));
        }
        CommandRef::Decide { request } => {
            app.model.requests.forget_answer(request);
            answers::refused(app, request, why);
        }
        CommandRef::AddTask => task_form::refused(app, None, why),
        CommandRef::EditTask { task } => task_form::refused(app, Some(*task), why),
        CommandRef::ListModels => {
            if app.model.models == Models::Asked {
                app.model.models = Models::Listed(Vec::new());
            }
        }
        CommandRef::Compact { .. }
        | CommandRef::KillJob { .. }
        | CommandRef::TakeBack { .. }
        | CommandRef::AskShutdown { .. }
        | CommandRef::Force { .. }
        | CommandRef::Nudge { .. }
        | CommandRef::ClaimTask { .. }
        | CommandRef::ReleaseTask { .. }
        | CommandRef::CompleteTask { .. }
        | CommandRef::Merge { .. }
        | CommandRef::MergeAll
        | CommandRef::ShowDiff { .. }
        | CommandRef::JudgeWorktree { .. }
        | CommandRef::RemoveWorktree { .. }
        | CommandRef::UseModel
        | CommandRef::Other => {}
    }
}

/// Removes a prompt from the queue once its agent has read it. If secrets in it were redacted, the texts differ and
/// the oldest one is removed.
pub fn arrived(model: &mut CrewModel, to: &Name, text: &str) {
    if !take_exactly(model, to, text) && text.contains(redact::PLACEHOLDER_START) {
        oldest(model, to);
    }
}

/// Handles a delivered message of the user, which may come from another window. The crew's own window shows it as
/// queued until its agent reads it.
pub fn sent(app: &mut App, to: &Name, text: &str) {
    if !app.role.is_crew()
        && !take_exactly(app, to, text)
        && text.contains(redact::PLACEHOLDER_START)
    {
        oldest(app, to);
    }
}

fn take_exactly(model: &mut CrewModel, to: &Name, text: &str) -> bool {
    exactly(model, to, text).is_some()
}

fn exactly(model: &mut CrewModel, to: &Name, text: &str) -> Option<Queued> {
    let is_it = |q: &Queued| q.to.same(to) && q.text == text;
    let at = model.queued.iter().position(is_it)?;
    Some(model.queued.remove(at))
}

/// Removes and returns the oldest queued message to `to`.
fn oldest(model: &mut CrewModel, to: &Name) -> Option<Queued> {
    let at = model.queued.iter().position(|q| q.to.same(to))?;
    Some(model.queued.remove(at))
}

/// Returns rejected text as a draft to its recipient.
fn give_back(app: &mut App, to: &Name, text: &str, why: &str) {
    if let Some(words) = exactly(app, to, text).or_else(|| oldest(app, to)) {
        let returned = app.restore_text(&words.to, &words.text);
        let place = answers::place(&app.prefs, &words.to, returned, "Your message");
        app.note(NoticeLevel::Warn, format!("{why} {place}").trim_end());
    }
}

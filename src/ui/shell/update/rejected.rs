//! Handles the crew's answers to commands: a delivered text leaves the queue, and a rejected text becomes a draft
//! again.

use crate::domain::ids::Name;
use crate::domain::redact;
use crate::domain::request::Decision;
use crate::protocol::event::NoticeLevel;
use crate::protocol::{Command, CommandId};
use crate::ui::app::App;
use crate::ui::model::{CrewModel, ModelList, Queued};
use crate::ui::panes::needs::answers;
use crate::ui::popups::{rewind, task_form};

/// Shows why a command was rejected, and undoes what this screen did when it sent the command: for example, a rejected
/// message becomes a draft again. Undoes nothing if this screen did not send the command, or has sent too many others
/// since.
pub fn on_command_rejected(app: &mut App, id: Option<CommandId>, why: &str) {
    app.note(NoticeLevel::Warn, why);
    let Some(command) = id.and_then(|id| app.input.sent_commands.take(id)) else {
        return;
    };
    match command {
        Command::Prompt { to, text, .. } => {
            // An interrupt also ends the wait for what a message mentions.
            app.keys.interrupted.take_if(|waits| waits.same(&to));
            restore_rejected_text(app, &to, &text, why);
        }
        Command::RunShell { agent, command } => {
            answers::restore(app, &agent, &format!("!{command}"), "Your command", why);
        }
        Command::Interrupt { agent } => {
            app.keys.interrupted.take_if(|waits| waits.same(&agent));
        }
        Command::Decide(Decision { id: request, .. }) | Command::Allow { request, .. } => {
            app.model.requests.forget_answer(&request);
            answers::restore_rejected(app, &request, why);
        }
        Command::Task(command) => task_form::on_command_rejected(app, &command, why),
        Command::ListCheckpoints { agent } => rewind::on_list_rejected(app, &agent, why),
        Command::ShowCheckpoint { agent, checkpoint } => {
            rewind::on_preview_rejected(app, &agent, checkpoint, why);
        }
        Command::Rewind {
            agent, checkpoint, ..
        } => rewind::on_rewind_rejected(app, &agent, checkpoint, why),
        // What the server offered earlier may no longer be true, for example because it was restarted.
        Command::ListModels => app.model.models = ModelList::Listed(Vec::new()),
        _ => {}
    }
}

/// Removes a prompt from the queue once its agent has read it. A prompt in which secrets were redacted has another text
/// than the queued one; the oldest prompt for the agent is removed then.
pub fn remove_read_prompt(model: &mut CrewModel, to: &Name, text: &str) {
    if !take_exactly(model, to, text) && text.contains(redact::PLACEHOLDER_START) {
        drop_oldest(model, to);
    }
}

/// Removes a delivered message from the queue of a viewer, a dashboard that only watches a crew. Does nothing if the
/// message was sent from another window, because it is not in the queue then. Also does nothing in the window of the
/// crew itself, where a message stays queued until its agent reads it.
pub fn remove_delivered_message(app: &mut App, to: &Name, text: &str) {
    if !app.role.is_crew()
        && !take_exactly(&mut app.model, to, text)
        && text.contains(redact::PLACEHOLDER_START)
    {
        drop_oldest(&mut app.model, to);
    }
}

fn take_exactly(model: &mut CrewModel, to: &Name, text: &str) -> bool {
    let is_it = |q: &Queued| q.to.same(to) && q.text == text;
    let at = model.queued.iter().position(is_it);
    at.map(|at| model.queued.remove(at)).is_some()
}

/// Removes the oldest queued message for the agent `to`.
fn drop_oldest(model: &mut CrewModel, to: &Name) {
    if let Some(at) = model.queued.iter().position(|q| q.to.same(to)) {
        model.queued.remove(at);
    }
}

/// Removes a rejected message from the queue, makes its text a draft again, and shows a status message that says where
/// the draft is. Does nothing if the message is no longer queued.
fn restore_rejected_text(app: &mut App, to: &Name, text: &str, why: &str) {
    if take_exactly(&mut app.model, to, text) {
        answers::restore(app, to, text, "Your message", why);
    }
}

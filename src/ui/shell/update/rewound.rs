//! Handles the end of a rewind: a status message, the report about skipped files, and the removed prompt, which becomes
//! a draft.

use crate::domain::ids::Name;
use crate::domain::text::count_noun;
use crate::protocol::{AgentEvent, Command};
use crate::ui::app::App;
use crate::ui::app::drafts::RestoredTo;
use crate::ui::popups::rewind;

/// Handles [`AgentEvent::Rewound`]. Does nothing if this screen did not send the rewind, for example in a viewer, in a
/// replay, or when a session is resumed. The conversation and the event log show the rewind in any case.
pub fn on_rewound(app: &mut App, agent: &Name, event: &AgentEvent) {
    let AgentEvent::Rewound {
        checkpoint,
        scope,
        files,
        messages,
        prompt,
        ..
    } = event
    else {
        return;
    };
    let is_own = app.input.sent_commands.take_if(|command| {
        matches!(command, Command::Rewind { agent: of, checkpoint: to, .. }
            if of.same(agent) && to == checkpoint)
    });
    if !is_own {
        return;
    }
    rewind::show_result(app, agent, *checkpoint, files);
    let mut parts = Vec::new();
    if scope.includes_files() {
        parts.push(count_noun(files.changed.count, "file"));
    }
    if let Some(left) = messages {
        let left = usize::try_from(*left).unwrap_or(usize::MAX);
        parts.push(format!(
            "{} in the conversation",
            count_noun(left, "message")
        ));
    }
    let mut text = format!(
        "Rewound {agent} to checkpoint {checkpoint}: {}.",
        parts.join(", ")
    );
    if let Some(undo) = files.undo {
        let whose = if agent.is_lead() {
            String::new()
        } else {
            format!(" @{agent}")
        };
        text.push_str(&format!(" Undo: /rewind{whose}, checkpoint {undo}."));
    }
    if !prompt.is_empty() {
        match app.restore_text(agent, prompt) {
            RestoredTo::Composer => text.push_str(" The prompt is back in the composer."),
            RestoredTo::Draft => {
                text.push_str(&format!(" The prompt is kept as a draft to {agent}."));
            }
            RestoredTo::History => {}
        }
    }
    app.say(text);
}

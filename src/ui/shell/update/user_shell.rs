//! Runs a shell command from the composer: a draft that begins with `!`.

use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;

/// Runs `command`, the draft without its `!`, in the conversation of the shown agent. If the command cannot run now,
/// the draft stays and a status message says why.
pub fn run(app: &mut App, command: &str, out: &mut Vec<Effect>) {
    let command = app.input.composer.expand(command.trim());
    let agent = app.shown.clone();
    if command.is_empty() {
        app.say("Write a command after !");
    } else if let Some(parent) = agent.parent() {
        let text =
            format!("Subagents have no shell. Open {parent} to run a command in the same folder.");
        app.warn(text);
    } else if app.runs_command(&agent) {
        let text =
            "A command is still running in this conversation: wait until it ends, or stop it.";
        app.warn(text);
    } else {
        app.input.clear_sent();
        out.push(Effect::Command(Command::RunShell { agent, command }));
    }
}

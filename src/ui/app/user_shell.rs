//! Shell commands of the user: a draft that begins with `!` is run in a shell instead of being sent as a message. No
//! I/O.

use crate::domain::ids::Name;
use crate::ui::app::App;

impl App {
    /// Returns whether the draft is a shell command, which begins with `!`. Enter runs the command instead of sending
    /// it.
    pub(in crate::ui) fn is_shell_mode(&self) -> bool {
        self.input.composer.begins_with('!')
    }

    /// Returns whether a shell command of the user is running in the conversation of `agent`.
    pub(in crate::ui) fn runs_command(&self, agent: &Name) -> bool {
        let agent = self.model.agents.get(agent);
        agent.is_some_and(|agent| agent.user_command.is_some())
    }
}

//! Commands that were sent to the crew and may still be rejected.

use std::collections::VecDeque;

use crate::protocol::{Command, CommandId, CommandIds, SentCommand};

/// Maximum number of commands kept. More than the crew queues, so that it holds every command that waits there. The
/// rejection of an older command shows its reason and restores nothing.
const COMMANDS_MAX: usize = 512;

/// The last [`COMMANDS_MAX`] commands, oldest first. Success is not reported by id, so accepted ones stay until newer
/// ones displace them.
#[derive(Debug, Default)]
pub struct SentCommands {
    ids: CommandIds,
    commands: VecDeque<SentCommand>,
}

impl SentCommands {
    /// Gives a command its id and keeps a copy.
    pub fn assign_id(&mut self, command: Command) -> SentCommand {
        let sent = self.ids.assign(command);
        self.commands.push_back(sent.clone());
        if self.commands.len() > COMMANDS_MAX {
            self.commands.pop_front();
        }
        sent
    }

    /// Removes and returns the command with that id; `None` if it is not known.
    pub fn take(&mut self, id: CommandId) -> Option<Command> {
        let at = self.commands.iter().position(|sent| sent.id == id)?;
        self.commands.remove(at).map(|sent| sent.command)
    }
}

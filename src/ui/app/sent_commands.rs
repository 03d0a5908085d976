//! Commands that were sent to the crew and may still be rejected.

use std::collections::VecDeque;

use crate::protocol::{Command, CommandId, CommandIds, SentCommand};

/// Maximum number of sent commands that are stored. It is more than the crew ever has queued and running, so the
/// command of each rejection is still stored, and its text can be restored.
const COMMANDS_MAX: usize = 300;

/// The last commands, oldest first, at most [`COMMANDS_MAX`]. An accepted command stays until newer ones replace it,
/// because the crew does not report that a command was accepted.
#[derive(Debug, Default)]
pub struct SentCommands {
    ids: CommandIds,
    commands: VecDeque<SentCommand>,
}

impl SentCommands {
    /// Assigns an id to a command and stores a copy of the command.
    pub fn assign_id(&mut self, command: Command) -> SentCommand {
        let sent = self.ids.assign(command);
        self.commands.push_back(sent.clone());
        if self.commands.len() > COMMANDS_MAX {
            self.commands.pop_front();
        }
        sent
    }

    /// Removes the oldest command for which `is_wanted` returns `true`. Returns whether there was one.
    pub fn take_if(&mut self, is_wanted: impl Fn(&Command) -> bool) -> bool {
        let mut sent = self.commands.iter();
        let at = sent.position(|sent| is_wanted(&sent.command));
        at.and_then(|at| self.commands.remove(at)).is_some()
    }

    /// Removes the command with this id and returns it; `None` if the id is not known.
    pub fn take(&mut self, id: CommandId) -> Option<Command> {
        let at = self.commands.iter().position(|sent| sent.id == id)?;
        self.commands.remove(at).map(|sent| sent.command)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn command_is_returned_once_and_the_oldest_is_dropped() {
        let mut sent = SentCommands::default();
        let mut ids = (0..=COMMANDS_MAX).map(|_| sent.assign_id(Command::ListModels).id);
        let (first, second) = (ids.next(), ids.next());
        let _ = ids.count();
        let mut taken = |id: Option<CommandId>| id.and_then(|id| sent.take(id)).is_some();
        assert_eq!(
            [taken(first), taken(second), taken(second)],
            [false, true, false]
        );
    }
}

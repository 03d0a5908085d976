//! What the user has written: the text in the composer, the drafts, and the sent commands.

use crate::domain::ids::Name;
use crate::domain::mention::Mention;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::drafts::Drafts;
use crate::ui::app::mentions::Mentions;
use crate::ui::app::sent_commands::SentCommands;
use crate::ui::model::{QUEUED_MAX, Queued};
use crate::ui::widgets::composer::Composer;

#[derive(Debug, Default)]
pub struct UserInput {
    /// The composer, which holds the draft to the agent whose conversation is open.
    pub composer: Composer,
    /// The drafts to all agents whose conversation is not open, and the answers and comments that the crew has not
    /// confirmed yet.
    pub drafts: Drafts,
    pub sent_commands: SentCommands,
    pub mentions: Mentions,
    pub history: SavedHistory,
    /// The message that was sent last, until [`App::take_sent`](crate::ui::app::App::take_sent) takes it.
    pub sent: Option<String>,
}

impl UserInput {
    /// Empties the composer after its text was sent, and keeps the text in `sent`.
    pub fn clear_sent(&mut self) {
        self.sent = Some(self.composer.take());
    }
}

impl App {
    /// Adds a prompt to the list of queued prompts, in which it stays until its agent reads it. If the list has more
    /// than [`QUEUED_MAX`] prompts, removes the oldest from it. Returns the command that sends the prompt.
    pub(in crate::ui) fn queue_prompt(
        &mut self,
        to: Name,
        text: String,
        attachments: Vec<Mention>,
    ) -> Command {
        self.model.queued.push(Queued {
            to: to.clone(),
            text: text.clone(),
        });
        if self.model.queued.len() > QUEUED_MAX {
            self.model.queued.remove(0);
        }
        Command::Prompt {
            to,
            text,
            attachments,
        }
    }

    /// Returns which queued prompt the user can take back now, as an index in the list of queued prompts. This is the
    /// last prompt to the lead, while the lead works, its conversation is shown and the composer is empty. Prompts to
    /// other agents cannot be taken back, because they are delivered immediately. Returns `None` if no prompt can be
    /// taken back, in a replay, and if the crew does not run in this process.
    pub(in crate::ui) fn recallable(&self) -> Option<usize> {
        let is_free = self.input.composer.is_empty() && self.replay.is_none();
        let waits = self.shown.is_lead() && self.is_running(&self.shown);
        let can_take = is_free && waits && self.role.is_crew();
        let of_lead = |queued: &Queued| can_take && queued.to.is_lead();
        self.model.queued.iter().rposition(of_lead)
    }
}

/// Whether the sent messages of earlier sessions are in the history of the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SavedHistory {
    #[default]
    Unread,
    /// The front end was asked to read the messages of earlier sessions and has not returned them yet.
    Requested {
        /// Whether the user has asked for a message before the oldest one in the history. If so, the composer shows the
        /// newest message of the earlier sessions when they arrive.
        recalls: bool,
    },
    Loaded,
}

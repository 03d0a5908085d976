//! What the user has written: the text in the composer, the drafts and the sent commands.

use crate::ui::app::drafts::Drafts;
use crate::ui::app::sent_commands::SentCommands;
use crate::ui::widgets::composer::Composer;

/// What the user has written: the text in the composer, the drafts and the sent commands.
#[derive(Debug, Default)]
pub struct UserInput {
    /// Holds the draft to the agent whose conversation is open.
    pub composer: Composer,
    /// The drafts to the other agents, and the question that each draft answers, if any.
    pub drafts: Drafts,
    pub sent_commands: SentCommands,
    pub history: SavedHistory,
    /// The last sent message, until [`App::take_sent`](crate::ui::app::App::take_sent).
    pub sent: Option<String>,
}

impl UserInput {
    /// Clears the composer, whose text was sent.
    pub fn clear_sent(&mut self) {
        self.sent = Some(self.composer.take());
    }
}

/// Whether the messages of earlier sessions are in the composer's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SavedHistory {
    #[default]
    Unread,
    /// The front end reads it.
    Requested {
        /// Whether the user wants to go to an older message.
        recalls: bool,
    },
    Loaded,
}

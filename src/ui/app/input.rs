//! What the user has written: the text in the composer, the drafts and the sent commands.

use crate::ui::app::drafts::Drafts;
use crate::ui::app::mentions::Mentions;
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
    pub mentions: Mentions,
}

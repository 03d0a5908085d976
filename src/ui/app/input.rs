//! The texts that the user is typing: the composer and the drafts.

use crate::ui::app::drafts::Drafts;
use crate::ui::app::sent_commands::SentCommands;
use crate::ui::widgets::composer::Composer;

/// The texts that the user is typing: composer, drafts, history.
#[derive(Debug, Default)]
pub struct UserInput {
    /// The draft to the shown agent.
    pub composer: Composer,
    /// The drafts to the other agents, and the request that each one answers.
    pub drafts: Drafts,
    pub sent_commands: SentCommands,
}

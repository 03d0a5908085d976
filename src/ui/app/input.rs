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
    /// The state of the list that completes a word.
    pub completion: Completion,
    pub sent_commands: SentCommands,
}

/// State of the completion list since the last typed character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completion {
    /// The list is offered with this row selected.
    Selected(usize),
    /// The list is offered with the first row selected.
    #[default]
    Fresh,
    /// The user dismissed the list; the next typed character brings it back.
    Dismissed,
}

//! What the user writes: the composer, the drafts, the forms of tasks.

use crate::ui::app::drafts::Drafts;
use crate::ui::app::task_forms::TaskForms;
use crate::ui::widgets::composer::Composer;

/// What the user writes.
#[derive(Debug, Default)]
pub struct UserInput {
    /// The draft to the shown agent.
    pub composer: Composer,
    /// The drafts to the other agents, and the request that each one answers.
    pub drafts: Drafts,
    /// Task forms that were closed before they were sent, and those that the board has not answered yet.
    pub task_forms: TaskForms,
}

//! What popups and the shared state ask of the panes, which they do not know.

use crate::domain::ids::{RequestId, TaskId};
use crate::ui::app::App;

/// Something that a pane is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneRequest {
    /// Select a task.
    SelectTask(TaskId),
    /// Select an open request.
    SelectRequest(RequestId),
    /// Select an open request and show it from its first line.
    ShowRequest(RequestId),
    /// The user opened a conversation.
    ConversationOpened {
        /// Whether another conversation was shown before.
        is_other: bool,
    },
}

impl App {
    /// Asks the panes to do something. It happens at the end of the current step at the latest.
    pub(in crate::ui) fn ask_panes(&mut self, request: PaneRequest) {
        self.pane_requests.push(request);
    }
}

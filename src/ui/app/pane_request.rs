//! Requests to the panes from popups and the shared state, which must not depend on the panes.

use crate::domain::ids::{RequestId, TaskId};
use crate::ui::app::App;

/// A request to all panes. A pane ignores the requests that do not concern it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneRequest {
    SelectTask(TaskId),
    SelectRequest(RequestId),
    /// Select an open request and show it from its first line.
    ShowRequest(RequestId),
    ConversationOpened {
        /// False if the opened conversation was already shown.
        is_other: bool,
    },
}

impl App {
    /// Queues a request to the panes. They get it before the current update ends.
    pub(in crate::ui) fn ask_panes(&mut self, request: PaneRequest) {
        self.pane_requests.push(request);
    }
}

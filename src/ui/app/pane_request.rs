//! Requests to the panes. Popups and the shared state use them, because they must not depend on the panes.

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::screen::ScreenSettings;
use crate::ui::app::App;

/// A request that is sent to all panes. A pane ignores a request that does not concern it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneRequest {
    SelectTask(TaskId),
    /// Selects an agent in the team pane.
    SelectAgent(Name),
    SelectRequest(RequestId),
    /// Selects an open request, and shows it from its first line.
    ShowRequest(RequestId),
    /// The saved layout of the project was loaded.
    ScreenRestored(ScreenSettings),
    ConversationOpened {
        /// False if the same conversation was already shown.
        is_other: bool,
    },
}

impl App {
    /// Adds a request to the queue of requests to the panes. The request is delivered before the current update ends.
    pub(in crate::ui) fn ask_panes(&mut self, request: PaneRequest) {
        self.pane_requests.push(request);
    }
}

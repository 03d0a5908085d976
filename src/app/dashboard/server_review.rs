//! The approval of one MCP server in the list of servers, while the crew runs.

use anyhow::Result;
use tokio::task::spawn_blocking;

use super::Dashboard;
use super::requests::ScreenAnswer;
use crate::app::{describe_error, now};
use crate::config::SettingsDecision;
use crate::config::extensions::{ApprovalRequest, Extensions};
use crate::domain::text::{escape_control_chars, one_line};
use crate::protocol::event::NoticeLevel;
use crate::protocol::{Command, ServerAction};
use crate::ui::ServerReview;

impl Dashboard {
    /// Reads in the background what the server `name` runs now.
    pub(super) fn review_server(&self, name: String) {
        let root = self.root.clone();
        self.requests.start(Box::pin(async move {
            let found = spawn_blocking(move || {
                ApprovalRequest::of_server(&root, &Extensions::load(&root), &name)
            });
            ScreenAnswer::Server(found.await.unwrap_or_else(|error| Err(error.into())))
        }));
    }

    /// Shows a server for approval, and keeps exactly what is shown for [`Dashboard::approve_server`]. While the user still
    /// reads an earlier review, that one stays: its approval must not cover what has been read since.
    pub(super) fn show_server_review(&mut self, found: Result<ApprovalRequest>) {
        let request = match found {
            Ok(request) => request,
            Err(why) => {
                self.state
                    .warn(format!("Not approved: {}.", describe_error(&why)));
                return;
            }
        };
        let lines = request.lines();
        let [item] = request.items.as_slice() else {
            return;
        };
        let Some((runs, effect)) = lines.first() else {
            return;
        };
        let review = ServerReview {
            server: item.name.clone(),
            runs: one_line(&escape_control_chars(runs)),
            effect: (*effect).to_string(),
        };
        if self.state.show_server_review(review, now()) {
            self.requests.shown_server = Some(request);
        }
    }

    /// Stores the approval of the server that was shown last, if it is the server `name`, and starts the server.
    pub(super) fn approve_server(&mut self, name: &str) {
        let shown = self.requests.shown_server.take();
        let is_same = |request: &ApprovalRequest| request.items.iter().all(|i| i.name == name);
        let Some(request) = shown.filter(is_same) else {
            return;
        };
        match request.decide(Some(SettingsDecision::Approved)) {
            Ok(notice) => {
                if let Some(notice) = notice {
                    self.publish(NoticeLevel::Warn, &notice);
                }
                self.submit(Command::Server {
                    name: name.to_string(),
                    action: ServerAction::Restart,
                });
            }
            Err(why) => self.publish(
                NoticeLevel::Error,
                &format!("Not approved: {}", describe_error(&why)),
            ),
        }
    }
}

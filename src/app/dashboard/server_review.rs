//! The approval of one MCP server in the list of servers, while the crew runs.

use anyhow::{Result, bail};
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

/// A server whose approval was stored.
pub(super) struct ApprovedServer {
    name: String,
    /// A notice about the file with the user's earlier decisions.
    notice: Option<String>,
}

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

    /// Stores in the background the approval of the server that was shown last, if it is the server `name`.
    pub(super) fn approve_server(&mut self, name: String) {
        let shown = self.requests.shown_server.take();
        let is_same = |request: &ApprovalRequest| request.items.iter().all(|i| i.name == name);
        let Some(request) = shown.filter(is_same) else {
            return;
        };
        let root = self.root.clone();
        self.requests.start(Box::pin(async move {
            let approved = spawn_blocking(move || {
                let now = ApprovalRequest::of_server(&root, &Extensions::load(&root), &name)?;
                if now.digests() != request.digests() {
                    bail!("server {name} has changed since it was shown: review it again");
                }
                let notice = request.decide(Some(SettingsDecision::Approved))?;
                Ok(ApprovedServer { name, notice })
            });
            ScreenAnswer::Approved(approved.await.unwrap_or_else(|error| Err(error.into())))
        }));
    }

    /// Starts a server after its approval was stored, or shows why it was not.
    pub(super) fn start_approved(&mut self, approved: Result<ApprovedServer>) {
        let ApprovedServer { name, notice } = match approved {
            Ok(approved) => approved,
            Err(why) => {
                let text = format!("Not approved: {}", describe_error(&why));
                self.publish(NoticeLevel::Error, &text);
                return;
            }
        };
        if let Some(notice) = notice {
            self.publish(NoticeLevel::Warn, &notice);
        }
        self.state.say(format!("Approved: starting {name}."));
        self.submit(Command::Server {
            name,
            action: ServerAction::Restart,
        });
    }
}

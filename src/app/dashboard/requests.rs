//! Carries out requests of the screen. Listing sessions, the checks of the doctor and writing an export are slow and
//! run concurrently with the main loop. Loading and saving the message history and preparing the next session are fast
//! and run within it.

use anyhow::Result;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::task::spawn_blocking;

use super::Dashboard;
use super::restart::ExitReason;
use super::server_review::ApprovedServer;
use crate::app::frame_limiter::FrameCause;
use crate::app::{describe_error, doctor, export, prompt_history, resume, sessions};
use crate::config::extensions::ApprovalRequest;
use crate::domain::hook::SessionEndReason;
use crate::protocol::event::NoticeLevel;
use crate::ui::{DoctorResult, Msg, SessionSummary, update};

/// The result of work that a user action started in the background. The lists are empty if the work has panicked.
pub(super) enum ScreenAnswer {
    Sessions(Vec<SessionSummary>),
    Checked(Vec<DoctorResult>),
    /// The path of the exported file.
    Exported(Result<String>),
    /// The request for approval of an MCP server, or why the server cannot be approved.
    Server(Result<ApprovalRequest>),
    /// The server whose approval was stored, or why it was not.
    Approved(Result<ApprovedServer>),
}

#[derive(Default)]
pub(super) struct ScreenRequests {
    running: FuturesUnordered<BoxFuture<'static, ScreenAnswer>>,
    /// The server that was shown for approval last, exactly as it was shown.
    pub(super) shown_server: Option<ApprovalRequest>,
}

impl ScreenRequests {
    /// Starts work in the background.
    pub(super) fn start(&self, work: BoxFuture<'static, ScreenAnswer>) {
        self.running.push(work);
    }

    /// Waits for the next result. If no work runs in the background, waits forever.
    pub(super) async fn next(&mut self) -> ScreenAnswer {
        match self.running.next().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

impl Dashboard {
    pub(super) fn list_sessions(&self) {
        let root = self.root.clone();
        self.requests.running.push(Box::pin(async move {
            let listed = spawn_blocking(move || sessions::list(&root)).await;
            ScreenAnswer::Sessions(listed.unwrap_or_default())
        }));
    }

    pub(super) fn diagnose(&self) {
        let (options, root) = (self.options.clone(), self.root.clone());
        self.requests.running.push(Box::pin(async move {
            ScreenAnswer::Checked(doctor::check(options, root).await)
        }));
    }

    pub(super) fn export(&self, path: String, text: String) {
        let root = self.root.clone();
        self.requests.running.push(Box::pin(async move {
            let written = spawn_blocking(move || export::write(&root, &path, &text)).await;
            ScreenAnswer::Exported(written.unwrap_or_else(|error| Err(error.into())))
        }));
    }

    pub(super) fn quit(&self, reason: SessionEndReason) -> ExitReason {
        ExitReason::Quit(self.state.own_session().map(str::to_string), reason)
    }

    /// If the last input sent a message, adds the message to the history on disk.
    pub(super) fn save_sent(&mut self) {
        if let Some(text) = self.state.take_sent()
            && let Some(warning) = prompt_history::add(&self.root, &text)
        {
            self.warn(&warning);
        }
    }

    /// Reads the messages of earlier sessions from the history on disk and passes them to the composer.
    pub(super) fn load_history(&mut self) {
        let saved = prompt_history::load(&self.root);
        update(&mut self.state, Msg::History(saved));
    }

    /// Returns the exit reason that starts a new session, or resumes the session whose id begins with `wanted`. If that
    /// is not possible, shows the reason to the user and returns `None`.
    pub(super) fn start_session(&mut self, wanted: Option<String>) -> Option<ExitReason> {
        let chosen = wanted.map(|id| resume::choose(&self.root, &id)).transpose();
        let is_open =
            |id: &Option<String>| id.is_some() && id.as_deref() == self.state.own_session();
        // A demo creates its repository in an empty directory. The directory of the option `--dir` already contains the
        // demo.
        let is_demo = self.options.demo || self.options.provider.as_deref() == Some("demo");
        let refused = match &chosen {
            Err(why) => Some(format!("Not resumed: {}.", describe_error(why))),
            Ok(id) if is_open(id) => Some("This session is open already.".into()),
            Ok(None) if is_demo && self.options.dir.is_some() => {
                Some("A new demo needs an empty directory: quit and run crewdeck --demo with another --dir.".into())
            }
            Ok(_) => None,
        };
        match (chosen, refused) {
            (Ok(session), None) => {
                let kept = Box::new(self.keep());
                Some(ExitReason::StartSession(session, kept))
            }
            (_, refused) => {
                self.state.warn(refused.unwrap_or_default());
                None
            }
        }
    }

    /// Returns the exit reason that resumes the session of this process, whose host then joins the crew on the hub again.
    /// `cause` is why the hub cannot be reached.
    pub(super) fn join_again(&self, cause: Option<&str>) -> ExitReason {
        let mut kept = self.keep();
        kept.notice = Some((NoticeLevel::Error, lost_notice(cause)));
        let session = self.state.own_session().map(str::to_string);
        // A session without a message of the user cannot be resumed.
        let session = session.filter(|id| resume::choose(&self.root, id).is_ok());
        ExitReason::StartSession(session, Box::new(kept))
    }

    pub(super) fn show_answer(&mut self, answer: ScreenAnswer) {
        match answer {
            ScreenAnswer::Sessions(all) => self.state.show_sessions(all),
            ScreenAnswer::Checked(results) => self.state.show_findings(results),
            ScreenAnswer::Exported(Ok(path)) => {
                self.state.say(export::success_message(&path));
            }
            ScreenAnswer::Server(found) => self.show_server_review(found),
            ScreenAnswer::Approved(approved) => self.start_approved(approved),
            ScreenAnswer::Exported(Err(why)) => {
                self.state.warn(export::not_written(&why));
            }
        }
        self.frames.request(FrameCause::Key);
    }
}

/// Returns the notice about the loss of the session on the hub, which is shown after the host has joined again. `cause` is
/// `None` if the connection was not interrupted.
fn lost_notice(cause: Option<&str>) -> String {
    let cause = cause.unwrap_or("it did not answer, or this machine was suspended");
    format!(
        "The hub could not be reached for too long ({cause}), so the agents of this host were stopped. This host has joined the crew again."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notice_about_a_lost_session_names_the_cause() {
        let text = lost_notice(Some("no server accepts the connection"));
        let start = "The hub could not be reached for too long (no server accepts the connection), so the agents";
        assert!(text.starts_with(start), "{text}");
        assert!(lost_notice(None).contains("(it did not answer, or this machine was suspended)"));
    }
}

//! Shutdown of a teammate: its answer, the warning if it is still running after the deadline, and the forced stop.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::commands::from_person;
use crate::agent::desk::Parting;
use crate::agent::driver::blocking;
use crate::domain::ids::{LetterId, Name, RequestId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::request::{Request, RequestKind, RequestStatus, Verdict};
use crate::protocol::event::{EventKind, Level};

/// How long a teammate may take to shut down before the user is warned.
const DEADLINE: Duration = Duration::from_secs(120);

/// The message of a nudge.
pub(super) const NUDGE: &str =
    "What is your status? Continue with your task. If something blocks you, say what it is.";

impl Shared {
    /// Handles an agent's answer to a shutdown request. Fails unless the request was approved and targets this agent.
    pub(super) async fn part(
        &self,
        agent: &Name,
        request: &RequestId,
        verdict: Verdict,
        reason: String,
    ) -> Result<(), String> {
        let (requests, id) = (self.requests.clone(), request.clone());
        let found = blocking(move || requests.get(&id)).await;
        let found = found.map_err(|e| e.to_string())?.filter(|r| {
            r.kind == RequestKind::Shutdown
                && r.status == RequestStatus::Approved
                && r.target.same(agent)
        });
        let Some(found) = found else {
            return Err(format!(
                "there is no approved shutdown request {request} for you"
            ));
        };
        let handle = self.handle(agent).ok_or("you are not a running teammate")?;
        match verdict {
            Verdict::Approve => handle.desk.part(Parting::Agreed),
            Verdict::Reject => {
                handle.desk.part(Parting::Refused);
                let text = format!("{agent} does not shut down: {reason}. X ends it by force.");
                let agent = Some(agent.clone());
                let level = Level::Warn;
                self.publish(EventKind::Notice { level, agent, text }).await;
                self.answer_shutdown(found.target.clone(), &found, verdict, &reason)
                    .await;
                self.finish(&found.id).await;
            }
        }
        Ok(())
    }

    /// Sends the teammate's answer to the agent that asked for the shutdown. The user sees it anyway.
    pub(super) async fn answer_shutdown(
        &self,
        from: Name,
        request: &Request,
        verdict: Verdict,
        reason: &str,
    ) {
        if request.from.is_user() {
            return;
        }
        let mut letter = Letter::new(
            LetterId((self.new_id)()),
            LetterKind::ShutdownResponse,
            &from,
            &request.from,
            reason,
            self.now(),
        );
        let id = request.id.to_string();
        letter.extra.insert("request_id".into(), id.into());
        let approve = verdict == Verdict::Approve;
        letter.extra.insert("approve".into(), approve.into());
        let post = self.post.clone();
        if let Err(error) = blocking(move || post.send_once(&letter)).await {
            let text = format!("The answer to a shutdown request cannot be sent: {error}");
            self.notice(Level::Error, text).await;
        }
    }

    /// Returns the approved shutdown requests that `member` has not answered yet.
    pub(super) async fn open_shutdowns(&self, member: &Name) -> Vec<Request> {
        let requests = self.requests.clone();
        let all = blocking(move || requests.read_all()).await;
        let mut all = all.map(|r| r.requests).unwrap_or_default();
        all.retain(|r| {
            r.kind == RequestKind::Shutdown
                && r.status == RequestStatus::Approved
                && r.is_unfinished()
                && r.target.same(member)
        });
        all
    }

    /// Marks the shutdown requests of `member` as finished, because it has shut down or a new member has its name.
    pub(super) async fn finish_shutdowns(&self, member: &Name) {
        for request in self.open_shutdowns(member).await {
            self.finish(&request.id).await;
        }
    }

    /// Warns the user if the teammate is still running after the deadline.
    pub(super) fn watch_parting(self: &Arc<Self>, target: Name) {
        let shared = Arc::clone(self);
        self.tracker.spawn(async move {
            tokio::select! {
                () = shared.stop.cancelled() => return,
                () = tokio::time::sleep(DEADLINE) => {}
            }
            if shared.handle(&target).is_none() {
                return;
            }
            let text = format!(
                "{target} was asked to shut down {} s ago and is still running. X ends it by force; its task goes back to the board.",
                DEADLINE.as_secs()
            );
            let agent = Some(target);
            let level = Level::Warn;
            shared.publish(EventKind::Notice { level, agent, text }).await;
        });
    }

    /// Stops a teammate immediately, even in a turn. Its task goes back to the board.
    pub(super) fn force(&self, member: &Name) -> Result<(), String> {
        let handle = self.handle(member).filter(|_| !member.is_lead());
        let handle = handle.ok_or_else(|| format!("'{member}' is not a running teammate."))?;
        handle.force.cancel();
        Ok(())
    }

    /// Asks a teammate for its status in the user's name. A stuck teammate continues because of the message.
    pub(super) async fn nudge(&self, member: &Name) -> Result<(), String> {
        if member.is_lead() || self.handle(member).is_none() {
            return Err(format!("'{member}' is not a running teammate."));
        }
        let letter = from_person(member, NUDGE, (self.new_id)(), self.now());
        let post = self.post.clone();
        blocking(move || post.send(&letter))
            .await
            .map_err(|e| e.to_string())?;
        self.changed();
        Ok(())
    }
}

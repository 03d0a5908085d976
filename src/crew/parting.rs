//! Shutting a teammate down: its answer, the deadline after which the person hears that it is still there,
//! and the end by force.

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

/// How long a teammate gets to shut down before the person is told that it has not.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a nudge says.
pub(super) const NUDGE: &str =
    "Where do you stand? Go on with your task; if something holds you up, say what.";

impl Shared {
    /// An agent's answer to a shutdown request; it counts only for one that was approved and is about it.
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
                "nobody who may has asked you to shut down (request {request})"
            ));
        };
        let handle = self.handle(agent).ok_or("you are not a teammate here")?;
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

    /// Tells whoever asked what the teammate answered. The person sees it anyway.
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
            let text = format!("The answer to a shutdown can not be written: {error}");
            self.notice(Level::Error, text).await;
        }
    }

    /// The shutdowns of `member` that were allowed and that it has not answered yet.
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

    /// Notes that nothing is left of the shutdowns of `member`: it has left, or another has its name now.
    pub(super) async fn finish_shutdowns(&self, member: &Name) {
        for request in self.open_shutdowns(member).await {
            self.finish(&request.id).await;
        }
    }

    /// Tells the person when the teammate is still there after the deadline.
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
                "{target} was asked to shut down {} s ago and is still there. X ends it by force; its task goes back to the board.",
                DEADLINE.as_secs()
            );
            let agent = Some(target);
            let level = Level::Warn;
            shared.publish(EventKind::Notice { level, agent, text }).await;
        });
    }

    /// Ends a teammate now, wherever it stands. Its task goes back to the board.
    pub(super) fn force(&self, member: &Name) -> Result<(), String> {
        let handle = self.handle(member).filter(|_| !member.is_lead());
        let handle = handle.ok_or_else(|| format!("'{member}' is not a teammate at work."))?;
        handle.force.cancel();
        Ok(())
    }

    /// Asks a teammate in the person's name where it stands; that brings one on that has stopped.
    pub(super) async fn nudge(&self, member: &Name) -> Result<(), String> {
        if member.is_lead() || self.handle(member).is_none() {
            return Err(format!("'{member}' is not a teammate at work."));
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

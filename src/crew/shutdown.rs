//! Handles the shutdown of a teammate: its answer to a shutdown request, and the forced stop by the user.

use std::sync::Arc;

use super::context::CrewContext;
use super::decision_followup::DecisionFollowup;
use super::message_delivery::MessageDelivery;
use super::registry::AgentRegistry;
use crate::agent::driver::run_blocking;
use crate::agent::mailbox::ShutdownAnswer;
use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Request, RequestKind, RequestStatus, Verdict};
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};
use crate::store::{Requests, StoreError};

/// The text of the message that asks a teammate for its status in the user's name.
pub const NUDGE: &str =
    "What is your status? Continue with your task. If something blocks you, say what it is.";

/// Receives the answers of teammates to shutdown requests, kills teammates, and asks them for their status.
pub struct Shutdowns {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    delivery: Arc<MessageDelivery>,
    followup: Arc<DecisionFollowup>,
    requests: Requests,
}

impl Shutdowns {
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        delivery: Arc<MessageDelivery>,
        followup: Arc<DecisionFollowup>,
        requests: Requests,
    ) -> Shutdowns {
        Shutdowns {
            context,
            registry,
            delivery,
            followup,
            requests,
        }
    }

    /// Records that `agent` agrees or refuses to shut down. Reports a refusal to the user and to the agent that filed
    /// the shutdown request.
    ///
    /// # Errors
    /// Fails unless `request` is an approved shutdown request for `agent`, and `agent` is running.
    pub async fn answer(
        &self,
        agent: &Name,
        request: &RequestId,
        verdict: Verdict,
        reason: String,
    ) -> Result<(), String> {
        let found = self.find(request).await.map_err(|e| e.to_string())?;
        let found = found.filter(|r| {
            r.kind == RequestKind::Shutdown
                && r.status == RequestStatus::Approved
                && r.target.same(agent)
        });
        let Some(found) = found else {
            return Err(format!(
                "there is no approved shutdown request {request} for you"
            ));
        };
        let handle = self.registry.find(agent);
        let handle = handle.ok_or("you are not a running teammate")?;
        match verdict {
            Verdict::Approve => handle.mailbox.set_shutdown_answer(ShutdownAnswer::Agreed),
            Verdict::Reject => {
                handle.mailbox.set_shutdown_answer(ShutdownAnswer::Refused);
                let text = format!(
                    "{agent} does not shut down: {reason}. To kill {agent}, use the Team pane of the dashboard."
                );
                let agent = Some(agent.clone());
                let level = NoticeLevel::Warn;
                self.context
                    .publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
                    .await;
                self.send_answer(&found.target, &found, verdict, &reason)
                    .await;
                self.followup.finish(&found.id).await;
            }
        }
        Ok(())
    }

    async fn find(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        let (requests, id) = (self.requests.clone(), id.clone());
        run_blocking(move || requests.get(&id)).await
    }

    /// Informs the agent that filed the shutdown request `id` that the teammate `from` has shut down. Does nothing if
    /// the user filed the request, or if the request cannot be read.
    pub async fn confirm(&self, from: &Name, id: &RequestId) {
        if let Ok(Some(request)) = self.find(id).await {
            let text = "I have finished and shut down.";
            self.send_answer(from, &request, Verdict::Approve, text)
                .await;
        }
    }

    /// Sends the answer of the teammate `from` to the agent that filed the shutdown request. Sends nothing if the user
    /// filed the request, since the user sees the answer on the screen.
    async fn send_answer(&self, from: &Name, request: &Request, verdict: Verdict, reason: &str) {
        if !request.from.is_user() {
            let approve = verdict == Verdict::Approve;
            self.delivery
                .send_shutdown_answer(request, from, reason, approve)
                .await;
        }
    }

    /// Returns the approved shutdown requests that the teammate `member` has not answered yet. Empty if the requests
    /// cannot be read.
    pub async fn open(&self, member: &Name) -> Vec<Request> {
        let requests = self.requests.clone();
        let all = run_blocking(move || requests.read_all()).await;
        let mut all = all.map(|r| r.requests).unwrap_or_default();
        all.retain(|r| {
            r.kind == RequestKind::Shutdown
                && r.status == RequestStatus::Approved
                && r.has_open_follow_up()
                && r.target.same(member)
        });
        all
    }

    /// Marks all open shutdown requests for `member` as finished. Called when the teammate has shut down, or when a new
    /// teammate gets the same name.
    pub async fn finish_all(&self, member: &Name) {
        for request in self.open(member).await {
            self.followup.finish(&request.id).await;
        }
    }

    /// Stops the teammate `member` even during a turn, without waiting for its end. Its task goes back to the board.
    ///
    /// # Errors
    /// Fails if no teammate with that name is running.
    pub fn force(&self, member: &Name) -> Result<(), String> {
        self.registry.find_teammate(member)?.kill.cancel();
        Ok(())
    }

    /// Sends the message `NUDGE` to the teammate `member`, which may run on another host. A teammate that is stuck continues
    /// when it gets a message.
    ///
    /// # Errors
    /// Fails if the message cannot be written.
    pub async fn nudge(&self, member: &Name) -> Result<(), String> {
        let sent = self.delivery.send_generated(member, NUDGE).await;
        sent.map_err(|e| e.to_string())
    }
}

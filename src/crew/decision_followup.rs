//! Carries out decisions on requests, including decisions made before crewdeck ended. An agent that no longer waits for
//! a decision receives it as a message. If the agent then repeats an approved call, it need not file a request again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::context::{CrewContext, lock};
use super::message_delivery::MessageDelivery;
use super::registry::AgentRegistry;
use crate::agent::driver::run_blocking;
use crate::domain::conversation::{LogRecord, PlanState};
use crate::domain::ids::{Name, RequestId};
use crate::domain::mail::MailKind;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};
use crate::store::Requests;

/// Maximum number of characters of a request's text that the message about its decision quotes.
const ABOUT_MAX: usize = 300;
/// Time after the approval of a shutdown at which the user is warned if the teammate is still running.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(120);

/// Carries out decisions on plans and shutdowns, and sends decisions to agents that no longer wait for them.
pub struct DecisionFollowup {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    delivery: Arc<MessageDelivery>,
    requests: Requests,
    /// Approved permission requests whose agent no longer waited when they were approved. If the agent files the same
    /// request again, the approval applies to it. Only requests of an earlier run are added, so the number of entries
    /// is bounded.
    granted: Mutex<Vec<Request>>,
}

impl DecisionFollowup {
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        delivery: Arc<MessageDelivery>,
        requests: Requests,
    ) -> DecisionFollowup {
        DecisionFollowup {
            context,
            registry,
            delivery,
            requests,
            granted: Mutex::default(),
        }
    }

    /// Carries out the decision on `request` in the following cases; otherwise does nothing:
    ///
    /// - an approved plan: if the agent is running, opens its plan gate and records the approval in its transcript
    /// - an approved shutdown: asks the teammate to shut down, passes on the approver's comment, and warns the user if
    ///   the teammate is still running after [`SHUTDOWN_DEADLINE`]
    /// - a rejected shutdown: informs the agent that requested it; the user is not informed
    ///
    /// Does not wake the agent that waits for the decision.
    pub async fn carry_out(&self, request: &Request) {
        match (request.kind, request.status) {
            (RequestKind::Plan, RequestStatus::Approved) => {
                if let Some(handle) = self.registry.find(&request.target) {
                    handle.mailbox.open_gate();
                    self.record_approved_plan(&request.target).await;
                }
            }
            (RequestKind::Shutdown, RequestStatus::Approved) => {
                let text = shutdown_text(request);
                let (from, to) = (&request.from, &request.target);
                let kind = MailKind::ShutdownRequest;
                self.delivery
                    .send_about(request, from, to, kind, &text)
                    .await;
                self.warn_at_deadline(request.target.clone());
                self.forward_comment(request).await;
            }
            (RequestKind::Shutdown, RequestStatus::Rejected) if !request.from.is_user() => {
                let text = refusal_text(request);
                let (from, to) = (&request.target, &request.from);
                let kind = MailKind::ShutdownResponse;
                self.delivery
                    .send_about(request, from, to, kind, &text)
                    .await;
            }
            _ => {}
        }
    }

    /// Sends the approver's comment on an approved shutdown to the agent that requested the shutdown. That agent gets
    /// the answer to its request later, from the teammate that shuts down. Sends nothing if the approver or the user
    /// requested the shutdown.
    async fn forward_comment(&self, request: &Request) {
        let Ok(approver) = Name::party(&request.decided_by) else {
            return;
        };
        if !comment(request).is_empty() && !request.from.is_user() && !approver.same(&request.from)
        {
            let text = format!("{} may shut down. {}", request.target, request.comment);
            let kind = MailKind::Message;
            self.delivery
                .send_about(request, &approver, &request.from, kind, &text)
                .await;
        }
    }

    /// Waits for [`SHUTDOWN_DEADLINE`] in the background, then warns the user if the teammate is still running.
    fn warn_at_deadline(&self, target: Name) {
        let (context, registry) = (Arc::clone(&self.context), Arc::clone(&self.registry));
        self.context.spawn(async move {
            tokio::select! {
                () = context.stop.cancelled() => return,
                () = tokio::time::sleep(SHUTDOWN_DEADLINE) => {}
            }
            if registry.find(&target).is_none() {
                return;
            }
            let text = format!(
                "{target} was asked to shut down {} s ago and is still running. To kill {target}, use the Team pane of the dashboard; its task then goes back to the board.",
                SHUTDOWN_DEADLINE.as_secs()
            );
            let agent = Some(target);
            let level = NoticeLevel::Warn;
            context.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text })).await;
        });
    }

    /// Records on disk that the decision on a request was carried out, so that a later crew does not carry it out
    /// again.
    pub async fn finish(&self, id: &RequestId) {
        let (requests, id) = (self.requests.clone(), id.clone());
        if let Err(error) = run_blocking(move || requests.finish(&id)).await {
            tracing::error!("a request could not be marked as finished: {error}");
        }
    }

    /// Sends the decision on `request` as a message to the agent that filed the request and no longer waits for the
    /// decision. Adds an approved permission to `granted`. Does nothing if the agent is not running, or if the request
    /// is about a shutdown or a budget.
    pub async fn send_decision(&self, request: &Request) {
        let kind = match request.kind {
            RequestKind::Plan => MailKind::PlanResponse,
            RequestKind::Permission => MailKind::PermissionResponse,
            RequestKind::Question => MailKind::Message,
            // No agent waits for a shutdown. An agent that was stopped by a budget asks again when it continues.
            RequestKind::Shutdown | RequestKind::Budget => return,
        };
        if self.registry.find(&request.target).is_none() {
            return;
        }
        if request.kind == RequestKind::Permission && request.status == RequestStatus::Approved {
            lock(&self.granted).push(request.clone());
        }
        let Ok(by) = Name::party(&request.decided_by) else {
            return;
        };
        if let Some(text) = decision_text(request) {
            self.delivery
                .send_about(request, &by, &request.target, kind, &text)
                .await;
        }
    }

    /// Removes the request in `granted` with this sender, kind and text (`body`), and returns it; `None` if `granted`
    /// has no such request.
    pub fn take_granted(&self, from: &Name, kind: RequestKind, body: &str) -> Option<Request> {
        let mut granted = lock(&self.granted);
        let at = granted
            .iter()
            .position(|r| r.from.same(from) && r.kind == kind && r.body == body)?;
        Some(granted.remove(at))
    }

    /// Records in the agent's transcript that its plan was approved, so that the approval still applies after a resume.
    async fn record_approved_plan(&self, agent: &Name) {
        let transcript = self.context.transcript(agent);
        let plan = PlanState::Approved;
        if let Err(error) = run_blocking(move || transcript.append(&LogRecord::Plan { plan })).await
        {
            tracing::error!("the approval of a plan could not be recorded: {error}");
        }
    }
}

/// Returns the approver's comment. Empty if the settings decided the request.
fn comment(request: &Request) -> &str {
    if request.decided_by == Name::policy().as_str() {
        ""
    } else {
        &request.comment
    }
}

fn shutdown_text(request: &Request) -> String {
    let please = "Please shut down: finish your current task, then end your turn.";
    match comment(request) {
        "" => please.to_string(),
        comment => format!("{please} {} says: {comment}", request.decided_by),
    }
}

fn refusal_text(request: &Request) -> String {
    let space = if request.comment.is_empty() { "" } else { " " };
    format!(
        "{} did not allow {} to shut down.{space}{}",
        request.decided_by, request.target, request.comment
    )
}

/// Returns the text of the message about the decision on `request`, for an agent that no longer waits for the decision;
/// `None` if the request is pending or withdrawn.
fn decision_text(request: &Request) -> Option<String> {
    let comment = match request.comment.trim() {
        "" => String::new(),
        comment => format!(": {comment}"),
    };
    let about = one_line(&clip(&request.body, ABOUT_MAX));
    match (request.kind, request.status) {
        (_, RequestStatus::Pending | RequestStatus::Withdrawn) => None,
        (RequestKind::Question, RequestStatus::Approved) => {
            Some(format!("You asked: {about}\nAnswer{comment}"))
        }
        (RequestKind::Question, RequestStatus::Rejected) => Some(format!(
            "You asked: {about}\nThe user declined to answer{comment}"
        )),
        (_, RequestStatus::Approved) => Some(format!(
            "Approved{comment}. Continue with this now: {about}"
        )),
        (_, RequestStatus::Rejected) => {
            Some(format!("Rejected{comment}. The request was: {about}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::timestamp::Timestamp;

    fn decided_request(
        kind: RequestKind,
        status: RequestStatus,
        by: &Name,
        comment: &str,
    ) -> Request {
        let (id, bob) = (RequestId("r".into()), Name::member("bob").unwrap());
        Request {
            status,
            decided_by: by.to_string(),
            comment: comment.into(),
            ..Request::new(id, kind, bob.clone(), bob, "ls".into(), Timestamp(1.0))
        }
    }

    #[test]
    fn automatic_comments_are_not_repeated_to_a_teammate() {
        let (kind, status) = (RequestKind::Shutdown, RequestStatus::Approved);
        let by_policy = decided_request(kind, status, &Name::policy(), "the settings say so");
        assert_eq!(
            shutdown_text(&by_policy),
            "Please shut down: finish your current task, then end your turn."
        );
        let by_lead = decided_request(kind, status, &Name::lead(), "thanks");
        assert!(shutdown_text(&by_lead).ends_with("end your turn. lead says: thanks"));
    }

    #[test]
    fn late_decisions_repeat_the_request() {
        let text =
            |kind, status| decision_text(&decided_request(kind, status, &Name::user(), "fine"));
        assert_eq!(
            text(RequestKind::Permission, RequestStatus::Approved).unwrap(),
            "Approved: fine. Continue with this now: ls"
        );
        assert_eq!(
            text(RequestKind::Plan, RequestStatus::Rejected).unwrap(),
            "Rejected: fine. The request was: ls"
        );
        assert_eq!(
            text(RequestKind::Question, RequestStatus::Approved).unwrap(),
            "You asked: ls\nAnswer: fine"
        );
        assert_eq!(
            text(RequestKind::Question, RequestStatus::Rejected).unwrap(),
            "You asked: ls\nThe user declined to answer: fine"
        );
        // An agent that was interrupted while it asked must not be woken by its own request.
        for kind in [RequestKind::Plan, RequestKind::Question] {
            assert_eq!(text(kind, RequestStatus::Withdrawn), None);
        }
    }
}

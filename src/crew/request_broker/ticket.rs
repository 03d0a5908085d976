//! Requests for whose decision an agent waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::super::context::lock;
use super::super::signals::BusyGuard;
use super::RequestBroker;
use crate::agent::driver::run_blocking;
use crate::domain::ids::RequestId;
use crate::domain::request::{Approver, Request};
use crate::domain::team::Activity;
use crate::protocol::event::{AgentEvent, NoticeLevel};

/// A request that was filed and for whose decision an agent waits. Dropping this value, or the future that waits for
/// the decision, withdraws the request as [`Withdraw`] does.
pub struct PendingRequest {
    pub(super) request: Request,
    pub(super) decided: oneshot::Receiver<Request>,
    pub(super) withdraw: Withdraw,
    pub(super) busy: BusyGuard,
}

/// The result of [`RequestBroker::ask`]: an approval of an earlier run applies to the request, or the request is
/// pending.
pub enum RequestTicket {
    /// A request of an earlier run with the same sender, kind and text was approved. Its approval is used, and no agent
    /// waits for a new decision.
    Decided(Request),
    Pending(PendingRequest),
}

impl RequestTicket {
    /// Waits for the decision like [`RequestTicket::decision_within`], but without a time limit.
    ///
    /// # Errors
    /// Fails if the crew stops first.
    pub async fn decision(self) -> Result<Request, String> {
        self.decision_within(None).await
    }

    /// Waits until the request is decided or withdrawn, and returns it. Returns immediately if an approval of an
    /// earlier run is used. After `wait_max`, returns the request, which stays pending; with `None`, there is no time
    /// limit. If the user is the approver, shows the agent's activity as waiting for the user.
    ///
    /// # Errors
    /// Fails if the crew stops first.
    pub async fn decision_within(self, wait_max: Option<Duration>) -> Result<Request, String> {
        let PendingRequest {
            request,
            mut decided,
            withdraw,
            busy,
        } = match self {
            RequestTicket::Decided(request) => return Ok(request),
            RequestTicket::Pending(pending) => pending,
        };
        // The crew counts as busy only until the approver has the request.
        drop(busy);
        if request.approver == Approver::Ask {
            let agent = request.from.clone();
            let activity = Activity::NeedsYou {
                request: request.kind,
            };
            let context = &withdraw.broker.parts.context;
            context
                .publish(AgentEvent::ActivityChanged { activity }.of(agent))
                .await;
        }
        let limit = async {
            match wait_max {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let decided = tokio::select! {
            biased;
            decided = &mut decided => decided,
            () = limit => {
                if withdraw.broker.leave_open(&request) {
                    return Ok(request);
                }
                // The request was decided meanwhile.
                decided.await
            }
        };
        let decided = decided.map_err(|_| "the crew is stopping".to_string());
        drop(withdraw);
        decided
    }
}

impl RequestBroker {
    /// Records that the agent no longer waits for the decision on its request. The request stays pending, and its
    /// decision is later sent to the agent as a message. Returns false, and does nothing, if the request was just
    /// decided.
    fn leave_open(&self, request: &Request) -> bool {
        let was_waiting = lock(&self.waiting).remove(&request.id).is_some();
        if was_waiting {
            lock(&self.left_open).insert(request.id.clone(), request.from.clone());
        }
        was_waiting
    }
}

/// Withdraws a request in the background when this value is dropped. The agent that filed the request drops it when it
/// no longer waits. Does nothing if the request is decided, or if the crew stops and has given up waiting for the
/// request, or if this host has lost its session.
pub(super) struct Withdraw {
    pub(super) broker: Arc<RequestBroker>,
    pub(super) id: RequestId,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        let context = &self.broker.parts.context;
        // A decided request is no longer in `waiting`, so there is nothing to withdraw.
        if lock(&self.broker.waiting).remove(&self.id).is_none() {
            return;
        }
        if context.stop.is_cancelled() && self.broker.is_given_up(&self.id) {
            // The request is kept for the next run.
            return;
        }
        if !context.may_act() {
            // The agent uses the request when its host has joined again. Until then, others may act for this host.
            return;
        }
        let (broker, id) = (Arc::clone(&self.broker), self.id.clone());
        let work = async move {
            let context = &broker.parts.context;
            let (requests, now) = (broker.parts.requests.clone(), context.now());
            let withdrawn =
                run_blocking(move || requests.withdraw(&id, "the agent was interrupted", now))
                    .await;
            if let Err(error) = withdrawn {
                let text = format!("A request could not be withdrawn: {error}");
                context.notice(NoticeLevel::Warn, text).await;
            }
            broker.read().await;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(context.tracker.track_future(work));
        }
    }
}

//! Withdraws a request for whose decision no agent waits any more.

use std::sync::Arc;

use super::super::context::lock;
use super::RequestBroker;
use crate::agent::driver::run_blocking;
use crate::domain::ids::RequestId;
use crate::protocol::event::NoticeLevel;

/// Withdraws a request in the background when this value is dropped. The agent that filed the request drops it when it
/// no longer waits. Does nothing if the request is decided, if the crew stops and has given up waiting for the request,
/// or if this host has lost its session.
pub struct Withdraw {
    pub broker: Arc<RequestBroker>,
    pub id: RequestId,
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
        if context.is_lost() {
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

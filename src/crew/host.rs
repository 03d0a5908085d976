//! The crew as its tools see it.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::{Shared, mate};
use crate::domain::ids::{CallId, Name};
use crate::domain::request::{Decider, Decision, Request, RequestKind};
use crate::domain::team::Member;
use crate::domain::todo::TodoList;
use crate::protocol::event::EventKind;
use crate::tools::host::Host;

/// Most bytes of running output that one event carries.
const CHUNK_MAX: usize = 4 * 1024;

/// Hands what tools ask for to the crew.
pub struct CrewHost {
    pub(super) shared: Arc<Shared>,
}

impl Host for CrewHost {
    fn spawn(
        &self,
        _by: Name,
        member: Member,
        prompt: String,
    ) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(mate::start(Arc::clone(&self.shared), member, prompt))
    }

    fn ask<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(self.shared.ask_and_wait(from, kind, target, body))
    }

    fn file<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(self.shared.file_request(from, kind, target, body))
    }

    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>> {
        Box::pin(async move {
            let found = self.shared.deciders.of(decision.kind);
            if decision.by.is_lead() && found != Decider::Lead {
                return Err(format!(
                    "the person decides {} requests here",
                    decision.kind
                ));
            }
            self.shared.decide(decision).await
        })
    }

    fn output(&self, agent: &Name, call: &CallId, chunk: String) {
        let chunk = crate::domain::text::head_and_tail(&chunk, CHUNK_MAX);
        self.shared.publisher.offer(EventKind::ToolOutput {
            agent: agent.clone(),
            call: call.clone(),
            chunk,
        });
    }

    fn todo<'a>(&'a self, agent: &'a Name, list: TodoList) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(handle) = self.shared.handle(agent) {
                handle.desk.set_todo(list);
            }
        })
    }
}

//! Gives tools access to the crew.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use super::{Shared, mate, subagent};
use crate::domain::ids::{CallId, JobId, Name, RequestId, TaskId};
use crate::domain::job::Job;
use crate::domain::request::{Asking, Decider, Decision, Request, RequestKind, Verdict};
use crate::domain::task::Task;
use crate::domain::team::Member;
use crate::domain::todo::TodoList;
use crate::protocol::event::EventKind;
use crate::tools::host::{Host, JobOrder, SubagentOrder};

/// Most bytes of running output that one event carries.
const CHUNK_MAX: usize = 4 * 1024;

/// Forwards the requests of an agent's tools to the crew.
pub struct CrewHost {
    pub(super) shared: Arc<Shared>,
    /// Limits the subagents of this agent that run at the same time.
    pub(super) seats: Arc<Semaphore>,
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
        mut asking: Asking,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(async move {
            // A subagent's request is made in the name of its parent, which the user knows.
            match from.parent() {
                None => self.shared.ask_and_wait(from, asking).await,
                Some(parent) => {
                    asking.body = format!("{}\n\nRequested by its subagent {from}", asking.body);
                    asking.target = parent.clone();
                    self.shared.ask_and_wait(&parent, asking).await
                }
            }
        })
    }

    fn file<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(
            self.shared
                .file_request(from, Asking::new(kind, target, body)),
        )
    }

    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>> {
        Box::pin(async move {
            let found = self.shared.deciders.of(decision.kind);
            if decision.by.is_lead() && found != Decider::Lead {
                return Err(format!("the user decides {} requests here", decision.kind));
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

    fn part<'a>(
        &'a self,
        agent: &'a Name,
        request: &'a RequestId,
        verdict: Verdict,
        reason: String,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.shared.part(agent, request, verdict, reason))
    }

    fn go_to_place<'a>(
        &'a self,
        agent: &'a Name,
        task: &'a Task,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.shared.go_to_place(agent, task))
    }

    fn commit_leftovers<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.shared.commit_leftovers(agent))
    }

    fn merge(&self, task: TaskId) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(self.shared.merge(task))
    }

    fn start_job(&self, order: JobOrder) -> Result<Job, String> {
        self.shared.start_job(order)
    }

    fn jobs(&self, agent: &Name) -> Vec<Job> {
        self.shared.jobs.of(agent)
    }

    fn job_output(&self, id: &JobId) -> String {
        self.shared.jobs.output(id)
    }

    fn kill_job(&self, id: &JobId, by: &Name) -> Result<(), String> {
        self.shared.jobs.kill(id, by)
    }

    fn delegate(&self, order: SubagentOrder) -> BoxFuture<'_, Result<String, String>> {
        let (shared, seats) = (Arc::clone(&self.shared), Arc::clone(&self.seats));
        Box::pin(subagent::delegate(shared, seats, order))
    }

    fn compact(&self, agent: &Name, focus: String) {
        if let Some(handle) = self.shared.handle(agent) {
            handle.desk.wish_compaction(focus);
        }
    }
}

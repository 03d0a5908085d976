//! Implements the interface through which tools call the crew.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::checks::CrewChecks;
use super::context::CrewContext;
use super::jobs::JobRunner;
use super::merge_service::MergeService;
use super::registry::AgentRegistry;
use super::request_broker::{RequestBroker, RequestTicket};
use super::servers::CrewServers;
use super::session_permissions::SessionPermissions;
use super::shutdown::Shutdowns;
use super::subagent::Subagents;
use super::teammate::Teammates;
use super::worktrees::TaskWorktrees;
use crate::domain::hook::{HookEvent, HookInput};
use crate::domain::ids::{CallId, JobId, Name, RequestId, TaskId};
use crate::domain::job::Job;
use crate::domain::request::{Approver, Decision, NewRequest, Request, RequestKind, Verdict};
use crate::domain::task::Task;
use crate::domain::team::Member;
use crate::domain::todo::TodoList;
use crate::process::AddedEnvironment;
use crate::protocol::event::AgentEvent;
use crate::tools::host::{CheckedCompletion, Host, JobSpec, ServerHost, SubagentSpec};

/// Maximum number of bytes of a tool's output in one event. Longer output is shortened.
const CHUNK_MAX: usize = 4 * 1024;

/// The interface that the agents' tools call. Forwards each call to a component of the crew.
#[derive(Clone)]
pub struct CrewHost {
    pub context: Arc<CrewContext>,
    pub registry: Arc<AgentRegistry>,
    pub broker: Arc<RequestBroker>,
    pub permissions: Arc<SessionPermissions>,
    pub shutdowns: Arc<Shutdowns>,
    pub worktrees: Arc<TaskWorktrees>,
    pub merges: Arc<MergeService>,
    pub jobs: Arc<JobRunner>,
    pub subagents: Arc<Subagents>,
    pub teammates: Arc<Teammates>,
    pub servers: Option<Arc<CrewServers>>,
    pub checks: Arc<CrewChecks>,
}

impl CrewHost {
    /// Files a request and waits for its decision. A permission request that the session permissions cover is approved
    /// immediately. If the request sets `wait_max` and that time passes without a decision, returns the request as
    /// pending. Dropping the future withdraws the request.
    ///
    /// # Errors
    /// Fails if the request cannot be written or the crew stops first. A rejection is not an error.
    async fn ask_and_wait(&self, from: &Name, asking: NewRequest) -> Result<Request, String> {
        let wait_max = asking.wait_max;
        let is_permission = asking.kind == RequestKind::Permission;
        let asked = self.broker.ask(from, asking).await?;
        if is_permission && matches!(asked, RequestTicket::Pending(_)) {
            self.permissions.approve_covered().await;
        }
        asked.decision_within(wait_max).await
    }
}

impl Host for CrewHost {
    fn spawn(
        &self,
        _by: Name,
        member: Member,
        prompt: String,
    ) -> BoxFuture<'_, Result<(), String>> {
        let host: Arc<dyn Host> = Arc::new(self.clone());
        Box::pin(Arc::clone(&self.teammates).start(member, prompt, host))
    }

    fn ask<'a>(
        &'a self,
        from: &'a Name,
        mut asking: NewRequest,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(async move {
            // A subagent's request is filed in the name of its parent, because the user knows the parent.
            match from.parent() {
                None => self.ask_and_wait(from, asking).await,
                Some(parent) => {
                    asking.body = format!("{}\n\nRequested by subagent {from}", asking.body);
                    asking.target = parent.clone();
                    self.ask_and_wait(&parent, asking).await
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
        Box::pin(self.broker.file(from, NewRequest::new(kind, target, body)))
    }

    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>> {
        Box::pin(async move {
            let found = self.broker.approvers().of(decision.kind);
            if decision.by.is_lead() && found != Approver::Lead {
                return Err(format!(
                    "the user decides {} requests in this session: wait for the decision",
                    decision.kind
                ));
            }
            self.broker.decide(decision).await
        })
    }

    fn check_may_claim(&self) -> Result<(), String> {
        if self.teammates.is_draining() {
            return Err("this host ends when its teammates have finished their tasks, so no further task can be claimed here: end your turn".into());
        }
        Ok(())
    }

    fn output(&self, agent: &Name, call: &CallId, chunk: String) {
        let chunk = crate::domain::text::head_and_tail(&chunk, CHUNK_MAX);
        self.context.event_sender.offer(
            AgentEvent::ToolOutput {
                call: call.clone(),
                chunk,
            }
            .of(agent.clone()),
        );
    }

    fn todo<'a>(&'a self, agent: &'a Name, list: TodoList) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(handle) = self.registry.find(agent) {
                handle.mailbox.set_todo(list);
            }
        })
    }

    fn answer_shutdown_request<'a>(
        &'a self,
        agent: &'a Name,
        request: &'a RequestId,
        verdict: Verdict,
        reason: String,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.shutdowns.answer(agent, request, verdict, reason))
    }

    fn enter_worktree<'a>(
        &'a self,
        agent: &'a Name,
        task: &'a Task,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.worktrees.move_to_workspace(agent, task, self))
    }

    fn commit_leftovers<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.worktrees.commit_leftovers(agent))
    }

    fn merge(&self, task: TaskId) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(self.merges.merge(task))
    }

    fn added_environment<'a>(&'a self, dir: &'a Path) -> BoxFuture<'a, AddedEnvironment> {
        Box::pin(self.worktrees.added_environment(dir))
    }

    fn start_job(&self, order: JobSpec) -> Result<Job, String> {
        self.jobs.start(order)
    }

    fn jobs(&self, agent: &Name) -> Vec<Job> {
        self.jobs.of(agent)
    }

    fn job_output(&self, id: &JobId) -> String {
        self.jobs.output(id)
    }

    fn kill_job(&self, id: &JobId, by: &Name) -> Result<(), String> {
        self.jobs.kill(id, by)
    }

    fn delegate(&self, order: SubagentSpec) -> BoxFuture<'_, Result<String, String>> {
        let host: Arc<dyn Host> = Arc::new(self.clone());
        Box::pin(Arc::clone(&self.subagents).delegate(order, host))
    }

    fn compact(&self, agent: &Name, focus: String) {
        if let Some(handle) = self.registry.find(agent) {
            handle.mailbox.request_compaction(focus);
        }
    }

    fn interrupt_external(&self, agent: &Name) -> bool {
        let handle = self.registry.find(agent).filter(|handle| {
            handle.is_working() && handle.model.current().model.keeps_conversation()
        });
        if let Some(handle) = &handle {
            handle.interrupt();
        }
        handle.is_some()
    }

    fn has_hooks(&self, event: HookEvent) -> bool {
        let hooks = self.context.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.has_hooks(event))
    }

    fn check_task<'a>(
        &'a self,
        agent: &'a Name,
        dir: &'a Path,
        change: HookInput,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            match &self.context.hooks {
                Some(hooks) => hooks.check_task(self, agent, dir, change).await,
                None => Ok(()),
            }
        })
    }

    fn complete_checked<'a>(
        &'a self,
        agent: &'a Name,
        task: TaskId,
        wait_max: Option<Duration>,
    ) -> BoxFuture<'a, Result<Option<CheckedCompletion>, String>> {
        Box::pin(self.checks.complete(agent, task, wait_max))
    }

    fn servers(&self) -> Option<Arc<dyn ServerHost>> {
        let servers = self.servers.clone()?;
        Some(servers)
    }
}

//! What tools ask of the floors above. Declared here, implemented by the crew: no circle of imports.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::domain::ids::{CallId, JobId, Name, RequestId, TaskId};
use crate::domain::job::Job;
use crate::domain::request::{Asking, Decision, Request, RequestKind, Verdict};
use crate::domain::subagent::SubagentKind;
use crate::domain::task::Task;
use crate::domain::team::Member;
use crate::domain::todo::TodoList;

/// The crew, as a tool sees it.
pub trait Host: Send + Sync {
    /// Starts a teammate with its first prompt. The error is text for the model.
    fn spawn(&self, by: Name, member: Member, prompt: String) -> BoxFuture<'_, Result<(), String>>;

    /// Puts a request before whoever decides its kind, and waits until it is decided or withdrawn.
    fn ask<'a>(&'a self, from: &'a Name, asking: Asking) -> BoxFuture<'a, Result<Request, String>>;

    /// Puts a request before whoever decides its kind, and goes on. The request as it stands comes back.
    fn file<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Decides a request in the name of `decision.by`. The error says why nothing changed.
    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>>;

    /// Output of a running call, for the screen.
    fn output(&self, agent: &Name, call: &CallId, chunk: String);

    /// An agent's new todo list.
    fn todo<'a>(&'a self, agent: &'a Name, list: TodoList) -> BoxFuture<'a, ()>;

    /// An agent's answer to a shutdown request that was approved. The error says why it does not count.
    fn part<'a>(
        &'a self,
        agent: &'a Name,
        request: &'a RequestId,
        verdict: Verdict,
        reason: String,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Finds the place where a task is worked on that the agent has taken just now: the calls after this one are
    /// carried out there. What the agent should know of it comes back, or why there is none: then the task is
    /// back on the board.
    fn go_to_place<'a>(
        &'a self,
        agent: &'a Name,
        task: &'a Task,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Commits what the agent has left uncommitted for its open task. The error says what stops it.
    fn commit_leftovers<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;

    /// Merges the branch of a completed task. What came of it, or why it was not tried.
    fn merge(&self, task: TaskId) -> BoxFuture<'_, Result<String, String>>;

    /// Starts a command beside the agent. The error is text for the model.
    fn start_job(&self, order: JobOrder) -> Result<Job, String>;

    /// The background jobs of an agent, oldest first.
    fn jobs(&self, agent: &Name) -> Vec<Job>;

    /// What a background job has written so far, cut with a mark.
    fn job_output(&self, id: &JobId) -> String;

    /// Ends a background job in the name of `by`. The error says why nothing changed.
    fn kill_job(&self, id: &JobId, by: &Name) -> Result<(), String>;

    /// Sends a subagent out and waits for its answer. Dropping the future interrupts it.
    fn delegate(&self, order: SubagentOrder) -> BoxFuture<'_, Result<String, String>>;

    /// Has the agent's conversation summarised before its next call, with most room for `focus`.
    fn compact(&self, agent: &Name, focus: String);
}

/// A command that is to run beside an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOrder {
    /// Whose it is.
    pub agent: Name,
    /// The command, for a shell.
    pub command: String,
    /// Where.
    pub workdir: PathBuf,
    /// How long it may run.
    pub timeout: Duration,
}

/// What a subagent is sent out for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentOrder {
    /// Who sends it.
    pub parent: Name,
    /// The call that it answers.
    pub call: CallId,
    /// What it may do.
    pub kind: SubagentKind,
    /// What it is to find out or do.
    pub prompt: String,
    /// Where it works: where its parent does.
    pub workdir: PathBuf,
}

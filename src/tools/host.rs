//! The interface through which tools call the crew. Declared here and implemented by the crew, to avoid an import
//! cycle.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::domain::ids::{CallId, JobId, Name, RequestId, TaskId};
use crate::domain::job::Job;
use crate::domain::request::{Decision, NewRequest, Request, RequestKind, Verdict};
use crate::domain::subagent::SubagentKind;
use crate::domain::task::Task;
use crate::domain::team::Member;
use crate::domain::todo::TodoList;

/// The services of the crew that tools call. Every error of type `String` is text for the model.
pub trait Host: Send + Sync {
    /// Starts a teammate with its first prompt.
    fn spawn(&self, by: Name, member: Member, prompt: String) -> BoxFuture<'_, Result<(), String>>;

    /// Files a request with its approver and waits until it is decided or withdrawn.
    fn ask<'a>(
        &'a self,
        from: &'a Name,
        asking: NewRequest,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Files a request with its approver and returns it without waiting.
    fn file<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Decides a request in the name of `decision.by`. The error says why nothing changed.
    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>>;

    /// Publishes output of a running tool call, so that the screen shows it.
    fn output(&self, agent: &Name, call: &CallId, chunk: String);

    /// Replaces an agent's todo list.
    fn todo<'a>(&'a self, agent: &'a Name, list: TodoList) -> BoxFuture<'a, ()>;

    /// Records an agent's answer to an approved shutdown request. The error says why the answer is not accepted.
    fn answer_shutdown_request<'a>(
        &'a self,
        agent: &'a Name,
        request: &'a RequestId,
        verdict: Verdict,
        reason: String,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Moves the agent into the worktree of a task that it just claimed; its later tool calls run there. Returns text
    /// that tells the agent about the worktree. On an error the task is released.
    fn enter_worktree<'a>(
        &'a self,
        agent: &'a Name,
        task: &'a Task,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Commits the uncommitted changes in the worktree of the agent's open task.
    fn commit_leftovers<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;

    /// Merges the branch of a completed task and returns the outcome. A conflict is an error.
    fn merge(&self, task: TaskId) -> BoxFuture<'_, Result<String, String>>;

    /// Starts a background command.
    fn start_job(&self, order: JobSpec) -> Result<Job, String>;

    /// Returns the background jobs of an agent, oldest first.
    fn jobs(&self, agent: &Name) -> Vec<Job>;

    /// Returns the output of a background job so far; long output is cut in the middle.
    fn job_output(&self, id: &JobId) -> String;

    /// Stops a background job in the name of `by`. The error says why nothing changed.
    fn kill_job(&self, id: &JobId, by: &Name) -> Result<(), String>;

    /// Starts a subagent and waits for its answer. Dropping the future interrupts it.
    fn delegate(&self, order: SubagentSpec) -> BoxFuture<'_, Result<String, String>>;

    /// Requests a summary of the agent's conversation, to be made before its next model call. The summary should
    /// cover `focus` in most detail.
    fn compact(&self, agent: &Name, focus: String);
}

/// A background command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// The agent that starts the command.
    pub agent: Name,
    pub command: String,
    /// The directory in which the command runs.
    pub workdir: PathBuf,
    /// Maximum run time.
    pub timeout: Duration,
}

/// A subagent to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentSpec {
    /// The agent that starts the subagent.
    pub parent: Name,
    /// The tool call that returns the subagent's answer.
    pub call: CallId,
    /// Decides which tools the subagent gets.
    pub kind: SubagentKind,
    /// The name of its role, if it has one.
    pub role: Option<String>,
    /// The assignment, which is the subagent's first message.
    pub prompt: String,
    /// The parent's work directory, which the subagent shares.
    pub workdir: PathBuf,
}

//! The interface through which tools call the crew. It is declared here and implemented by the crew, because importing
//! the crew would create an import cycle.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::domain::attachment::AttachedImage;
use crate::domain::chat::ToolCall;
use crate::domain::hook::{HookEvent, HookInput};
use crate::domain::ids::{CallId, JobId, Name, RequestId, TaskId};
use crate::domain::job::Job;
use crate::domain::mcp::ServerStatus;
use crate::domain::mcp::ToolCatalog;
use crate::domain::request::{Decision, NewRequest, Request, RequestKind, Verdict};
use crate::domain::subagent::SubagentKind;
use crate::domain::task::Task;
use crate::domain::team::Member;
use crate::domain::todo::TodoList;
use crate::process::AddedEnvironment;

/// The result of a completion after the checks of the task.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckedCompletion {
    Completed(Box<Task>),
    /// The checks need longer than the caller waits. They go on, and the caller gets the result as a message.
    StillRunning,
}

/// The services of the crew that tools call. Every error of type `String` is text for the model.
pub trait Host: Send + Sync {
    fn spawn(&self, by: Name, member: Member, prompt: String) -> BoxFuture<'_, Result<(), String>>;

    /// Sends a request to its approver and waits until the request is decided or withdrawn. Returns the request with
    /// the decision; a rejected or withdrawn request is no error. A request of a subagent is filed in the name of its
    /// parent. If the request limits the wait (`wait_max`), it is returned as pending after that time, and can still be
    /// decided. Dropping the future withdraws the request.
    fn ask<'a>(
        &'a self,
        from: &'a Name,
        asking: NewRequest,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Sends a request about the agent `target` to the request's approver. Returns the request without waiting for the
    /// approver; a rule may already have decided it. Fails if the request cannot be stored.
    fn file<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Decides a request on behalf of `decision.by`, and returns the decided request. Fails with the reason if the
    /// request cannot be decided.
    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>>;

    /// Publishes output of a running tool call, so that the screen shows it. Long chunks are cut, and chunks are
    /// dropped while the screen cannot keep up.
    fn output(&self, agent: &Name, call: &CallId, chunk: String);

    /// Replaces an agent's todo list. Does nothing if the agent is not running.
    fn todo<'a>(&'a self, agent: &'a Name, list: TodoList) -> BoxFuture<'a, ()>;

    /// Records an agent's answer to an approved shutdown request. Fails with the reason if the answer is not accepted.
    fn answer_shutdown_request<'a>(
        &'a self,
        agent: &'a Name,
        request: &'a RequestId,
        verdict: Verdict,
        reason: String,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Fails with the reason if the agents of this process may not claim further tasks.
    fn check_may_claim(&self) -> Result<(), String> {
        Ok(())
    }

    /// Moves a teammate into the worktree of `task`, which the teammate has just claimed. The teammate's later tool
    /// calls run in that worktree. Returns a text about the worktree for the agent; empty if nothing was done because
    /// the agent is the lead or worktrees are not in use. If the worktree cannot be created, releases the task and
    /// fails.
    fn enter_worktree<'a>(
        &'a self,
        agent: &'a Name,
        task: &'a Task,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Commits the uncommitted changes in the worktree of the agent's open task. Does nothing if the agent has no open
    /// task with a worktree. Fails if git cannot commit the changes.
    fn commit_leftovers<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;

    /// Merges the branch of a completed task and returns a description of the merge as text. Fails if the branch cannot
    /// be merged, for example because of a conflict.
    fn merge(&self, task: TaskId) -> BoxFuture<'_, Result<String, String>>;

    /// Returns what the environment of a command in `dir` gets in addition. Empty unless `dir` is the worktree of a task.
    fn added_environment<'a>(&'a self, _dir: &'a Path) -> BoxFuture<'a, AddedEnvironment> {
        Box::pin(std::future::ready(AddedEnvironment::default()))
    }

    /// Starts a background command and returns without waiting for its end. Fails with the reason if it cannot be
    /// started.
    fn start_job(&self, order: JobSpec) -> Result<Job, String>;

    /// Returns the background jobs of an agent, oldest first: the running jobs and the last jobs that have ended. The
    /// crew keeps only a limited number of ended jobs.
    fn jobs(&self, agent: &Name) -> Vec<Job>;

    /// Returns the output that a background job has produced so far. Long output is cut in the middle. Empty if the job
    /// is unknown.
    fn job_output(&self, id: &JobId) -> String;

    /// Starts to stop a background job on behalf of `by`, without waiting for its end. Fails with the reason if the job
    /// is unknown or has ended.
    fn kill_job(&self, id: &JobId, by: &Name) -> Result<(), String>;

    /// Starts a subagent and waits for its answer. Fails with the reason if it ends without an answer. Dropping the
    /// future interrupts the subagent.
    fn delegate(&self, order: SubagentSpec) -> BoxFuture<'_, Result<String, String>>;

    /// Requests that the agent's conversation is summarised before the next model call. The summary should cover
    /// `focus` in most detail.
    fn compact(&self, agent: &Name, focus: String);

    /// Interrupts the turn of `agent` if `agent` is an external agent. External agents read messages only between
    /// turns, so the agent then reads its messages. Returns whether a turn was interrupted.
    fn interrupt_external(&self, _agent: &Name) -> bool {
        false
    }

    /// Returns whether any hook is configured for the event.
    fn has_hooks(&self, _event: HookEvent) -> bool {
        false
    }

    /// Runs the hooks for a change of the board that `agent` is about to make. `dir` is the agent's work directory. If
    /// a hook rejects the change, fails with the reason.
    fn check_task<'a>(
        &'a self,
        _agent: &'a Name,
        _dir: &'a Path,
        _change: HookInput,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs the checks of a task and completes it for `agent` if they are green. Returns `None`, and does nothing, if no
    /// check concerns the task; the caller then completes it. Waits at most `wait_max`; `None` means no limit. Fails with
    /// the reason and the failing part of the output if the task is not completed. Dropping the future stops the checks.
    fn complete_checked<'a>(
        &'a self,
        _agent: &'a Name,
        _task: TaskId,
        _wait_max: Option<Duration>,
    ) -> BoxFuture<'a, Result<Option<CheckedCompletion>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns the MCP servers; `None` if none is configured.
    fn servers(&self) -> Option<Arc<dyn ServerHost>> {
        None
    }
}

/// The MCP servers of the crew, which all agents share.
pub trait ServerHost: Send + Sync {
    fn status(&self) -> Vec<ServerStatus>;

    /// Returns a number that changes with each decision of the user about an approval. Does not block.
    fn decisions_hash(&self) -> u64;

    /// Starts the named servers, except those that already run, are disabled, have failed or need a login. Waits until
    /// each named server is ready or could not be started. The time-out of a server's start limits the wait for it.
    /// Dropping the future does not stop a start.
    fn start<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, ()>;

    /// Returns the tools of all servers that can take calls. The tools of a server that is being restarted are
    /// included.
    fn tools(&self) -> ToolCatalog;

    /// Returns a receiver that is marked as changed whenever the result of [`ServerHost::tools`] changes.
    fn tool_changes(&self) -> watch::Receiver<u64>;

    /// Returns what a server says about the use of its tools, with secrets redacted and the length limited. Empty if
    /// the server says nothing; `None` if the server is not ready.
    fn instructions(&self, server: &str) -> Option<String>;

    /// Calls a tool of a server, and publishes progress messages of the server as output of the call. Starts the server
    /// if necessary. Dropping the future cancels the call at the server. Fails with the reason if no server offers the
    /// tool, or if the server is not available, rejects the call or does not answer.
    fn call<'a>(
        &'a self,
        agent: &'a Name,
        call: &'a ToolCall,
    ) -> BoxFuture<'a, Result<ServerOutput, String>>;
}

/// The result of calling a tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOutput {
    /// The text of the result, bounded in size, with a line in brackets for each image and each content that is not
    /// text. Secrets in it are not redacted yet.
    pub text: String,
    pub images: Vec<AttachedImage>,
    /// Whether the server reports that the tool failed.
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    pub agent: Name,
    pub command: String,
    pub workdir: PathBuf,
    pub timeout: Duration,
    pub added: AddedEnvironment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentSpec {
    pub parent: Name,
    /// The tool call that returns the subagent's answer.
    pub call: CallId,
    /// The kind of subagent, which decides the tools that the subagent gets.
    pub kind: SubagentKind,
    /// The name of the subagent's role; `None` if it has none.
    pub role: Option<String>,
    /// The assignment, which is the subagent's first message.
    pub prompt: String,
    /// The parent's work directory, which the subagent shares.
    pub workdir: PathBuf,
}

//! What all tools share: their declaration, the context and the result of a call, and functions that run calls.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::file_snapshots::FileSnapshots;
use super::host::Host;
use crate::domain::attachment::AttachedImage;
use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, Name};
use crate::domain::redact::Redactor;
use crate::domain::role::ToolUse;
use crate::domain::subagent::SubagentKind;
use crate::domain::timestamp::Timestamp;
use crate::process::sandbox::Sandbox;
use crate::process::supervisor::Supervisor;
use crate::store::{Skills, Stores};

/// What a tool can affect. The policy and the plan gate use this to decide whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only reads. Calls of tools with this access may run in parallel.
    Read,
    /// Changes files in the work directory.
    Write,
    /// Runs a shell command. Of the built-in tools, only tools with this access can need approval by the policy. A hook
    /// can require approval for any tool.
    Run,
    /// Changes only the crew's own state: todo lists, board, messages, team.
    Crew,
    /// Starts a subagent. The policy checks each tool call that the subagent makes. Several subagents may run in
    /// parallel.
    Delegate,
}

/// Which agents get a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The lead, every teammate, and their subagents. A subagent of kind `explore` gets only tools with
    /// [`Access::Read`].
    Everyone,
    /// The lead and every teammate, without their subagents.
    Members,
    /// Only the lead, without its subagents.
    Lead,
    /// Every teammate, without the lead and without subagents.
    Teammates,
    /// The lead and every teammate whose turns crewdeck runs, without external teammates and without subagents. For tools
    /// that need the agent's conversation or move the agent to another directory.
    OwnMembers,
}

/// The kind of agent that calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    Lead,
    Teammate,
    /// A teammate that is another vendor's agent. It gets the tools for coordination and has its own tools for work.
    ExternalTeammate,
    Subagent(SubagentKind),
}

impl Tool {
    pub fn is_for(&self, caller: Caller) -> bool {
        match (self.audience, caller) {
            (Audience::Everyone, Caller::Subagent(SubagentKind::Explore)) => {
                self.access == Access::Read
            }
            (Audience::Everyone, Caller::Subagent(SubagentKind::General))
            | (
                Audience::Everyone | Audience::Members | Audience::OwnMembers,
                Caller::Lead | Caller::Teammate,
            )
            | (Audience::Lead, Caller::Lead)
            | (Audience::Teammates, Caller::Teammate) => true,
            (
                Audience::Everyone | Audience::Members | Audience::Teammates,
                Caller::ExternalTeammate,
            ) => self.used_for == ToolUse::Coordination,
            (
                Audience::Members | Audience::Lead | Audience::Teammates | Audience::OwnMembers,
                Caller::Subagent(_),
            )
            | (Audience::Lead, Caller::Teammate | Caller::ExternalTeammate)
            | (Audience::OwnMembers, Caller::ExternalTeammate)
            | (Audience::Teammates, Caller::Lead) => false,
        }
    }
}

/// The result of a tool call, for the model and the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// Whether the call succeeded. An error is a result for the model and never ends the turn.
    pub outcome: Outcome,
    /// The text for the model. Each tool limits its length.
    pub text: String,
    /// A unified diff of the changes, for the screen; empty if there is none.
    pub diff: String,
    /// Images for the model. `text` describes them.
    pub images: Vec<AttachedImage>,
}

impl ToolOutput {
    pub fn ok(text: impl Into<String>) -> ToolOutput {
        ToolOutput {
            outcome: Outcome::Ok,
            text: text.into(),
            diff: String::new(),
            images: Vec::new(),
        }
    }

    /// Creates the result of a call that failed; `text` says why and what to do.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput {
            outcome: Outcome::Error,
            text: text.into(),
            diff: String::new(),
            images: Vec::new(),
        }
    }
}

/// What a tool call can use: the calling agent, its directories, and the services of the crew.
#[derive(Clone)]
pub struct ToolContext {
    pub agent: Name,
    /// Whether the agent is an external agent: it gets messages only between its turns, and ready tasks are claimed for it.
    pub is_external: bool,
    pub call: CallId,
    /// The project's root directory, which holds the state directories.
    pub root: PathBuf,
    /// The shared state of the crew.
    pub stores: Stores,
    /// The agent's work directory. File tools can only access files below it.
    pub workdir: PathBuf,
    pub skills: Skills,
    pub host: Arc<dyn Host>,
    pub cancel: CancellationToken,
    /// Maximum run time of a program that the call starts.
    pub timeout: Duration,
    pub redactor: Redactor,
    /// Supervises and sandboxes programs. If it is `None`, programs run without a supervisor and sandbox.
    pub supervisor: Option<Arc<Supervisor>>,
    /// The files as the calling agent last saw them.
    pub snapshots: Arc<FileSnapshots>,
    pub clock: fn() -> Timestamp,
}

/// Maximum time for which the call of an external agent waits for a decision. The MCP clients of external agents end a
/// call after their own time limit. The shortest known limit is 60 s.
const DECISION_WAIT: Duration = Duration::from_secs(45);

impl ToolContext {
    /// Returns how long a call of the agent waits for the decision on a request; `None` for no limit.
    pub(super) fn decision_wait(&self) -> Option<Duration> {
        self.is_external.then_some(DECISION_WAIT)
    }

    /// Returns the files that the user has approved to run outside of the sandbox, with symbolic links resolved. Empty
    /// if programs run without a sandbox.
    pub(super) fn approved_files(&self) -> Arc<[PathBuf]> {
        let sandbox = self.supervisor.as_ref().and_then(|s| s.sandbox.as_ref());
        sandbox.map_or_else(Arc::default, Sandbox::approved_files)
    }

    /// Returns the work directory relative to the root; empty if it is the root itself.
    pub(super) fn relative_workdir(&self) -> String {
        path_below_root(&self.root, &self.workdir)
    }
}

/// Returns `workdir` relative to `root`: empty for the root itself, and unchanged if `workdir` is not below `root`.
pub fn path_below_root(root: &Path, workdir: &Path) -> String {
    let below = workdir.strip_prefix(root).unwrap_or(workdir);
    below.to_string_lossy().into_owned()
}

pub struct Tool {
    pub name: &'static str,
    /// The description of the tool that models read.
    pub text: &'static str,
    /// Returns the JSON schema of the input.
    pub schema: fn() -> Value,
    pub access: Access,
    pub audience: Audience,
    pub used_for: ToolUse,
    /// Summarises a tool input in one line, for the screen.
    pub show: fn(&Value) -> String,
    /// Executes a call with the input that the model sent. If the call fails, the output describes the error.
    pub run: fn(ToolContext, Value) -> BoxFuture<'static, ToolOutput>,
}

/// Returns the JSON schema of an input type in the form that model servers expect. The schema has no `$schema`, no
/// references to other schemas, and no title and description of the type itself.
pub fn schema_of<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft07().with(|s| {
        s.meta_schema = None;
        s.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

/// Parses the input of a call. A field with the value `null` counts as missing: in strict schemas every field is
/// required, so models send `null` for fields that they do not need.
///
/// # Errors
/// Text for the model that says what is wrong with the input.
pub fn parse<T: DeserializeOwned>(input: Value) -> Result<T, ToolOutput> {
    serde_json::from_value(without_nulls(input))
        .map_err(|e| error_output(format!("the input does not match the tool's schema: {e}")))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(given.map(|(key, v)| (key, without_nulls(v))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// The result of a tool's function. Both `Ok` and `Err` contain a result for the model, so that a function can end with
/// an error result by `?`.
pub(super) type ToolResult = Result<ToolOutput, ToolOutput>;

/// Returns an error result for the model: `Error: ` and the reason.
pub(super) fn error_output(why: impl Display) -> ToolOutput {
    ToolOutput::error(format!("Error: {why}"))
}

pub(super) fn output(result: ToolResult) -> ToolOutput {
    result.unwrap_or_else(|error| error)
}

/// Parses the input of a call and runs the function of an async tool. Invalid input gives an error result.
pub(super) fn call<I: DeserializeOwned, F: Future<Output = ToolResult> + Send + 'static>(
    context: ToolContext,
    input: Value,
    run: fn(ToolContext, I) -> F,
) -> BoxFuture<'static, ToolOutput> {
    match parse(input) {
        Ok(input) => {
            let running = run(context, input);
            Box::pin(async move { output(running.await) })
        }
        Err(error) => Box::pin(std::future::ready(error)),
    }
}

/// Parses the input of a call and runs the tool's function immediately on the current thread, before the returned
/// future is polled. The function must not block. Invalid input gives an error result.
pub(super) fn call_now<I: DeserializeOwned>(
    context: ToolContext,
    input: Value,
    run: fn(&ToolContext, I) -> ToolResult,
) -> BoxFuture<'static, ToolOutput> {
    let result = parse(input).and_then(|input| run(&context, input));
    Box::pin(std::future::ready(output(result)))
}

/// Parses the input of a call and runs the tool's function on a thread on which it may block. Invalid input or a panic
/// gives an error result.
pub(super) fn call_blocking<I: DeserializeOwned + 'static>(
    context: ToolContext,
    input: Value,
    run: fn(&ToolContext, I) -> ToolResult,
) -> BoxFuture<'static, ToolOutput> {
    Box::pin(async move { output(on_thread(move || run(&context, parse(input)?)).await) })
}

/// Runs blocking work of a call on a separate thread. If the work panics, the result is an error.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolOutput> + Send + 'static,
) -> Result<T, ToolOutput> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error_output(format!("the tool failed: {error}"))))
}

/// Returns the text in field `field` of the input, as one line. The result is empty if the field is missing or is not a
/// text.
pub(super) fn format_field(input: &Value, field: &str) -> String {
    let text = input.get(field).and_then(Value::as_str);
    crate::domain::text::one_line(text.unwrap_or_default())
}

//! Floor 3: the tools of the agents. One file a tool; a new one adds its line to [`table`].

mod ask_user;
mod background_run;
mod bash;
mod broadcast;
mod check_background;
pub mod claim_task;
mod compact;
mod decide_request;
mod diff;
mod edit_file;
pub mod file_snapshots;
mod glob;
mod grep;
pub mod host;
mod letters;
mod list_teammates;
mod load_skill;
mod loose;
mod marks;
mod merge_worktree;
mod plan_approval;
pub mod policy;
pub mod reach;
mod read_file;
mod read_inbox;
pub mod replace;
mod send_message;
mod shutdown_request;
mod shutdown_response;
mod spawn_teammate;
mod stop_background;
pub mod table;
mod task;
mod task_create;
mod task_get;
mod task_list;
mod task_ref;
mod task_update;
mod todo;
mod walk;
mod workspace;
mod write_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, Name};
use crate::domain::redact::Redactor;
use crate::domain::stamp::Stamp;
use crate::domain::subagent::SubagentKind;
pub use crate::process::guard::Guard;
use crate::store::{Board, Skills};
use file_snapshots::FileSnapshots;
use host::Host;

/// What a tool touches; the policy and the plan gate decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads only: several of them may run side by side.
    Read,
    /// Changes files in the work directory.
    Write,
    /// Runs programs.
    Run,
    /// Changes the crew's own state: todo, board, mail, team.
    Crew,
    /// Sends somebody out whose own calls are judged one by one: several may run side by side.
    Delegate,
}

/// Who is given a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The lead, every teammate, and their subagents as far as those may write and run.
    Everyone,
    /// The lead and every teammate.
    Members,
    /// The lead alone.
    Lead,
    /// Teammates alone.
    Teammates,
}

/// Who has tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The lead.
    Lead,
    /// A teammate.
    Teammate,
    /// A subagent of either.
    Subagent(SubagentKind),
}

impl Tool {
    /// Whether `caller` is given this tool.
    pub fn is_for(&self, caller: Caller) -> bool {
        match (self.audience, caller) {
            (Audience::Everyone, Caller::Subagent(SubagentKind::Explore)) => {
                self.access == Access::Read
            }
            (Audience::Everyone, Caller::Subagent(SubagentKind::General))
            | (Audience::Everyone | Audience::Members, Caller::Lead | Caller::Teammate)
            | (Audience::Lead, Caller::Lead)
            | (Audience::Teammates, Caller::Teammate) => true,
            (Audience::Members | Audience::Lead | Audience::Teammates, Caller::Subagent(_))
            | (Audience::Lead, Caller::Teammate)
            | (Audience::Teammates, Caller::Lead) => false,
        }
    }
}

/// What a call gives back to the model and the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// How it ended. An error is data for the model and never ends the turn.
    pub outcome: Outcome,
    /// The text for the model, bounded by the tool.
    pub text: String,
    /// A unified diff of what changed, for the screen; empty: none.
    pub diff: String,
}

impl ToolOutput {
    /// It worked.
    pub fn ok(text: impl Into<String>) -> ToolOutput {
        ToolOutput {
            outcome: Outcome::Ok,
            text: text.into(),
            diff: String::new(),
        }
    }

    /// It did not; `text` says why and what to do.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput {
            outcome: Outcome::Error,
            text: text.into(),
            diff: String::new(),
        }
    }
}

/// What a call works with.
#[derive(Clone)]
pub struct ToolContext {
    /// Who calls.
    pub agent: Name,
    /// The call.
    pub call: CallId,
    /// The root of the crew: here lie the state folders.
    pub root: PathBuf,
    /// The crew's board.
    pub board: Board,
    /// Where the agent works; its file tools stay inside.
    pub workdir: PathBuf,
    /// The skills that can be loaded.
    pub skills: Skills,
    /// The floors above.
    pub host: Arc<dyn Host>,
    /// Ends the call.
    pub cancel: CancellationToken,
    /// How long a program may run.
    pub timeout: Duration,
    /// Takes secrets out of what comes back.
    pub redactor: Redactor,
    /// What stands between crewdeck and a program; `None`: nothing.
    pub guard: Option<Arc<Guard>>,
    /// The files as the caller last saw them.
    pub snapshots: Arc<FileSnapshots>,
    /// The time, asked when needed.
    pub clock: fn() -> Stamp,
}

impl ToolContext {
    /// Where the agent works, below the root; empty: the root itself.
    fn place(&self) -> String {
        place_below(&self.root, &self.workdir)
    }
}

/// Where `workdir` lies below `root`; empty: it is the root. One that lies elsewhere comes back whole.
pub fn place_below(root: &Path, workdir: &Path) -> String {
    let below = workdir.strip_prefix(root).unwrap_or(workdir);
    below.to_string_lossy().into_owned()
}

/// A tool: everything that the rest of the program knows of it.
pub struct Tool {
    /// Its name on the wire.
    pub name: &'static str,
    /// What the model reads about it.
    pub text: &'static str,
    /// The JSON schema of its input.
    pub schema: fn() -> Value,
    /// What it touches.
    pub access: Access,
    /// Who is given it.
    pub audience: Audience,
    /// What a call works on, in one line, for rows and cards.
    pub show: fn(&Value) -> String,
    /// Carries a call out.
    pub run: fn(ToolContext, Value) -> BoxFuture<'static, ToolOutput>,
}

/// The JSON schema of an input type, as the model servers want it: no `$schema`, no title, inline.
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

/// Reads a call's input as `T`; the error tells the model what is wrong with it. `null` is as good as missing: the strict
/// schemas that models are given name every field.
pub fn parse<T: DeserializeOwned>(input: Value) -> Result<T, ToolOutput> {
    serde_json::from_value(without_nulls(input))
        .map_err(|e| ToolOutput::error(format!("Error: the input does not fit the tool: {e}")))
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

/// Carries a blocking tool out off the async threads.
async fn blocking(
    context: ToolContext,
    input: Value,
    run: fn(&ToolContext, Value) -> Result<ToolOutput, ToolOutput>,
) -> ToolOutput {
    match tokio::task::spawn_blocking(move || run(&context, input)).await {
        Ok(Ok(output) | Err(output)) => output,
        Err(error) => ToolOutput::error(format!("Error: the tool failed: {error}")),
    }
}

/// A text of the input, in one line: what most calls work on.
fn shown(input: &Value, field: &str) -> String {
    let text = input.get(field).and_then(Value::as_str);
    crate::domain::text::one_line(text.unwrap_or_default())
}

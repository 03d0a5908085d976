//! Converts the tool calls of an external agent to calls of crewdeck's own tools, for the policy and the screen, and to
//! the events that publish them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::super::permission_card::RUNS;
use super::super::published_calls::started_event;
pub use super::call_paths::paths;
use super::call_paths::{command_dirs, is_inside};
use super::crew_tools::CrewToolNames;
use crate::domain::agent_update::{
    AgentToolCall, AgentToolKind, AgentToolStatus, ContextUsage, FileDiff,
};
use crate::domain::chat::{Outcome, ToolCall, valid_tool_name};
use crate::domain::ids::{CallId, Name};
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::protocol::event::{AgentEvent, EventKind};
use crate::tools::format_diff;

/// Maximum number of running calls of one prompt that are tracked. While so many run, a further call is not shown.
const OPEN_MAX: usize = 256;
/// Maximum size, in bytes, of the output in the event of an ended call, and of the diff in that event. The middle of a
/// longer text is left out.
const OUTPUT_MAX: usize = 64 * 1024;
/// Maximum size, in bytes, of the output in one event of a running call. The middle of a longer text is left out.
const CHUNK_MAX: usize = 4 * 1024;
/// Maximum length, in characters, of a call's title when it is used as the name of the tool.
const NAME_MAX: usize = 64;

/// Returns crewdeck's name of the tool that an external agent calls through crewdeck's MCP server. The tool is
/// recognised by the call's title, for which agents use different forms. `None` if the title has none of these forms,
/// or if the agent reports a call of a tool of its own, such as one that runs a command or changes a file.
pub fn crew_tool<'a>(call: &AgentToolCall, tools: &'a CrewToolNames) -> Option<&'a str> {
    let acts_itself = matches!(
        call.kind,
        AgentToolKind::Execute
            | AgentToolKind::Edit
            | AgentToolKind::Delete
            | AgentToolKind::Move
            | AgentToolKind::Fetch
            | AgentToolKind::SwitchMode
    );
    if acts_itself || !call.diffs.is_empty() || has_command(call) {
        return None;
    }
    let title = call.title.trim();
    let before = [
        "mcp__crew__",
        "mcp_crew_",
        "crew_",
        "crew.",
        "crew/",
        "Tool: crew/",
    ];
    let named = before.iter().filter_map(|form| title.strip_prefix(form));
    let mut named = named.chain(title.strip_suffix(" (crew MCP Server)"));
    named.find_map(|name| tools.find(name))
}

/// Returns whether the arguments of a call contain a command, even one in a form that [`command`] cannot read.
pub fn has_command(call: &AgentToolCall) -> bool {
    let input = call.raw_input.as_ref();
    input.is_some_and(|input| {
        let found = ["command", "cmd"].iter().filter_map(|name| input.get(name));
        found.into_iter().any(|found| !found.is_null())
    })
}

/// Returns the shell command of a call as the agent reports it in its arguments; `None` if it reports none, or one in
/// an unknown form.
pub fn command(call: &AgentToolCall) -> Option<String> {
    let input = call.raw_input.as_ref()?;
    let found = input.get("command").or_else(|| input.get("cmd"))?;
    match found {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words
                .filter(|words| !words.is_empty())
                .map(|words| joined(&words))
        }
        _ => None,
    }
}

/// Returns the shell command of a call that the agent reports as reading, searching or thinking; `None` if the call has
/// another kind or no command.
pub fn reading_command(call: &AgentToolCall) -> Option<String> {
    let reads = matches!(
        call.kind,
        AgentToolKind::Read | AgentToolKind::Search | AgentToolKind::Think
    );
    command(call).filter(|_| reads)
}

/// Returns the words of a command as one command line, quoted for a shell. For a shell that gets its command as an
/// argument, such as `bash -lc TEXT`, returns only `TEXT`.
fn joined(words: &[&str]) -> String {
    if let [shell, option, text] = words {
        let name = shell.rsplit('/').next().unwrap_or(shell);
        if matches!(name, "sh" | "bash" | "zsh" | "dash") && matches!(*option, "-c" | "-lc") {
            return (*text).to_string();
        }
    }
    let quote = |word: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            (*word).to_string()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Returns an external agent's call as a call of the crewdeck tool that does the same, so that the screen can show it
/// like a call of that tool. If there is no such tool, forms the name of the tool from the title of the call.
pub fn as_tool_call(call: &AgentToolCall, tools: &CrewToolNames) -> ToolCall {
    let input = || call.raw_input.clone().filter(Value::is_object);
    let (name, input) = match call.kind {
        _ if crew_tool(call, tools).is_some() => {
            let name = crew_tool(call, tools).unwrap_or_default();
            (name.to_string(), input().unwrap_or_else(|| json!({})))
        }
        AgentToolKind::Execute => {
            let command = command(call).unwrap_or_else(|| call.title.trim_matches('`').into());
            ("bash".into(), json!({ "command": command }))
        }
        AgentToolKind::Read => ("read_file".into(), path_input(call)),
        AgentToolKind::Edit => ("edit_file".into(), path_input(call)),
        AgentToolKind::Search => ("grep".into(), json!({ "pattern": call.title })),
        AgentToolKind::Delete
        | AgentToolKind::Move
        | AgentToolKind::Think
        | AgentToolKind::Fetch
        | AgentToolKind::SwitchMode
        | AgentToolKind::Other => {
            let title = clip(&one_line(&call.title), NAME_MAX);
            let name = valid_tool_name(title.trim()).into_owned();
            (name, input().unwrap_or_else(|| json!({})))
        }
    };
    ToolCall {
        id: CallId(format!("external-{}", call.id)),
        name,
        input,
        broken: None,
    }
}

/// Returns a call as its approval request shows it: with everything that the agent reports about it. `workdir` is the
/// directory in which the agent works. Unlike [`as_tool_call`], never takes the title for a command, because the title
/// is written by a model. The name of the result is `bash` only if the call does nothing but run a known command in
/// `workdir`. It is never the name of an MCP server's tool: permissions for the tools of crewdeck's servers do not
/// apply to servers that the agent itself has started.
pub fn as_asked_call(call: &AgentToolCall, workdir: &Path) -> ToolCall {
    let id = CallId(format!("external-{}", call.id));
    let command = command(call);
    let is_plain = call.kind == AgentToolKind::Execute
        && call.diffs.is_empty()
        && command_dirs(call).iter().all(|dir| is_inside(workdir, dir));
    let name = match call.kind {
        AgentToolKind::Execute if is_plain && command.is_some() => "bash",
        AgentToolKind::Execute => "command",
        AgentToolKind::Read => "read_file",
        AgentToolKind::Edit => "edit_file",
        AgentToolKind::Search => "grep",
        AgentToolKind::Delete => "delete",
        AgentToolKind::Move => "move",
        AgentToolKind::Fetch => "fetch",
        AgentToolKind::SwitchMode => "switch_mode",
        AgentToolKind::Think | AgentToolKind::Other => "external_tool",
    };
    ToolCall {
        id,
        name: name.into(),
        input: match command {
            Some(command) if name == "bash" => json!({ "command": command }),
            command => asked_input(call, command),
        },
        broken: None,
    }
}

fn asked_input(call: &AgentToolCall, command: Option<String>) -> Value {
    let mut input = Map::new();
    input.insert("title".into(), call.title.clone().into());
    let paths = paths(call);
    if let Some(first) = paths.first() {
        input.insert("path".into(), (*first).into());
    }
    if paths.len() > 1 {
        input.insert("paths".into(), json!(paths));
    }
    if let Some(command) = command {
        input.insert(RUNS.into(), command.into());
    }
    if !call.diffs.is_empty() {
        input.insert("diff".into(), diff_of(call).into());
    } else if let Some(arguments) = &call.raw_input {
        input.insert("arguments".into(), arguments.clone());
    } else {
        // The id keeps an approval from applying to another call with the same title.
        input.insert("call".into(), call.id.clone().into());
    }
    Value::Object(input)
}

fn diff_of(call: &AgentToolCall) -> String {
    let diff = |diff: &FileDiff| {
        let old = diff.old.as_deref().unwrap_or_default();
        format_diff(&one_line(&diff.path), old, &diff.new)
    };
    call.diffs.iter().map(diff).collect()
}

fn path_input(call: &AgentToolCall) -> Value {
    let mut input = Map::new();
    let path = paths(call).first().map_or(call.title.as_str(), |path| path);
    input.insert("path".into(), path.into());
    Value::Object(input)
}

/// The tool calls that an external agent makes in one prompt, and how much of each call's output is already published.
#[derive(Debug, Default)]
pub struct ExternalCalls {
    open: BTreeMap<String, OpenCall>,
    /// Number of calls that have ended.
    ended: usize,
    /// The agent's last report of how full its context window is; `None` if there was none.
    pub context: Option<ContextUsage>,
}

#[derive(Debug)]
struct OpenCall {
    call: AgentToolCall,
    since: Instant,
    /// The number of bytes of the output that are already published.
    shown: usize,
}

impl ExternalCalls {
    /// Returns whether the call `id` is not tracked as running, because it is new or has ended.
    pub fn is_new(&self, id: &str) -> bool {
        !self.open.contains_key(id)
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the number of all tracked calls so far, running or ended.
    pub fn count(&self) -> usize {
        self.ended + self.open.len()
    }

    /// Records the state of a call, and returns the events that publish the change.
    pub fn record(
        &mut self,
        agent: &Name,
        call: AgentToolCall,
        tools: &CrewToolNames,
        now: Instant,
    ) -> Vec<EventKind> {
        let mut events = Vec::new();
        let tool_call = as_tool_call(&call, tools);
        let is_full = self.open.len() >= OPEN_MAX;
        match self.open.get_mut(&call.id) {
            Some(open) => {
                if as_tool_call(&open.call, tools) != tool_call {
                    events.push(started_event(agent, &tool_call));
                }
                let more = call.text.get(open.shown..).unwrap_or_default();
                if !more.is_empty() && !call.status.is_final() {
                    let chunk = head_and_tail(more, CHUNK_MAX);
                    let id = tool_call.id.clone();
                    events.push(AgentEvent::ToolOutput { call: id, chunk }.of(agent.clone()));
                    open.shown = call.text.len();
                }
                open.call = call;
            }
            None if !is_full => {
                events.push(started_event(agent, &tool_call));
                let open = OpenCall {
                    shown: 0,
                    since: now,
                    call: call.clone(),
                };
                self.open.insert(call.id.clone(), open);
            }
            None => return events,
        }
        let id = tool_call.id.0.trim_start_matches("external-").to_string();
        let is_final = self.open.get(&id).is_some_and(|o| o.call.status.is_final());
        if is_final && let Some(open) = self.open.remove(&id) {
            events.push(self.finish(agent, &open, tools, now));
        }
        events
    }

    /// Ends the open calls, because the turn has ended, and returns the events that publish their end.
    pub fn end_all(&mut self, agent: &Name, tools: &CrewToolNames, now: Instant) -> Vec<EventKind> {
        let open = std::mem::take(&mut self.open);
        let ended = open
            .into_values()
            .map(|open| self.finish(agent, &open, tools, now));
        ended.collect()
    }

    fn finish(
        &mut self,
        agent: &Name,
        open: &OpenCall,
        tools: &CrewToolNames,
        now: Instant,
    ) -> EventKind {
        self.ended += 1;
        let call = as_tool_call(&open.call, tools);
        let output = match open.call.status {
            AgentToolStatus::Completed | AgentToolStatus::Failed => open.call.text.clone(),
            AgentToolStatus::Pending | AgentToolStatus::InProgress => {
                format!("{}\n[The turn ended before this call did.]", open.call.text)
            }
        };
        let took = now.duration_since(open.since);
        AgentEvent::ToolFinished {
            call: call.id,
            tool: call.name,
            outcome: match open.call.status {
                AgentToolStatus::Completed => Outcome::Ok,
                AgentToolStatus::Failed
                | AgentToolStatus::Pending
                | AgentToolStatus::InProgress => Outcome::Error,
            },
            output: head_and_tail(output.trim_start(), OUTPUT_MAX),
            diff: head_and_tail(&diff_of(&open.call), OUTPUT_MAX),
            took_ms: milliseconds(took),
        }
        .of(agent.clone())
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::table;

    #[test]
    fn calls_of_the_tools_of_the_crew_are_recognised_by_their_titles() {
        let own: Vec<_> = table::find("task_list").into_iter().collect();
        let tools = CrewToolNames::new(&own, None);
        let mut call = AgentToolCall::new("1");
        for title in [
            "mcp__crew__task_list",
            "mcp_crew_task_list",
            "crew_task_list",
            "crew.task_list",
            "crew/task_list",
            "Tool: crew/task_list",
            "task_list (crew MCP Server)",
        ] {
            call.title = title.into();
            assert_eq!(crew_tool(&call, &tools), Some("task_list"), "{title}");
        }
        for title in ["task_list", "crew_other", "mcp__other__task_list"] {
            call.title = title.into();
            assert_eq!(crew_tool(&call, &tools), None, "{title}");
        }
        call.title = "crew_task_list".into();
        call.kind = AgentToolKind::Execute;
        assert_eq!(crew_tool(&call, &tools), None, "a command");
        call.kind = AgentToolKind::Other;
        call.raw_input = Some(json!({"command": 1}));
        assert_eq!(crew_tool(&call, &tools), None, "a command of unknown form");
    }
}

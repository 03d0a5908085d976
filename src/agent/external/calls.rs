//! Tool calls of an external agent: as calls of crewdeck's own tools, for the policy and the screen, and as events.

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

/// Maximum number of calls of one prompt whose events are tracked. Further calls are not shown.
const OPEN_MAX: usize = 256;
/// Maximum size of the output of a call in its event, in bytes.
const OUTPUT_MAX: usize = 64 * 1024;
/// Maximum size of one piece of output, in bytes.
const CHUNK_MAX: usize = 4 * 1024;
/// Maximum length of a title in the name of a tool, in characters.
const NAME_MAX: usize = 64;

/// Returns the name in crewdeck of the tool that an external agent calls through crewdeck's MCP server; `None` if the call
/// is another one. Agents form the title of such a call in different ways.
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

/// Returns whether the arguments of a call contain a command, also one whose form is not known.
pub fn has_command(call: &AgentToolCall) -> bool {
    let input = call.raw_input.as_ref();
    input.is_some_and(|input| {
        let found = ["command", "cmd"].iter().filter_map(|name| input.get(name));
        found.into_iter().any(|found| !found.is_null())
    })
}

/// Returns the shell command of a call as the agent reports it in its arguments; `None` if it reports none.
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

/// Returns the shell command of a call that the agent reports as reading or thinking; `None` if the call has another kind
/// or no command.
pub fn reading_command(call: &AgentToolCall) -> Option<String> {
    let reads = matches!(
        call.kind,
        AgentToolKind::Read | AgentToolKind::Search | AgentToolKind::Think
    );
    command(call).filter(|_| reads)
}

/// Returns the command line for the words of a command. A shell that gets its command as an argument is left out.
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

/// Returns a call as one of crewdeck's own tools, which have views for it, as far as there is one that does the same.
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

/// Returns a call as its approval request shows it, with everything that the agent, which works in `workdir`, reports about
/// it. Unlike [`as_tool_call`], never takes the title for a command: it is the text of a model. The name is `bash` only if
/// the command is all that the call does, and never that of an MCP server's tool: the permissions for the tools of
/// crewdeck's servers do not apply to those of the agent.
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

/// The calls of one prompt, as far as their events are published.
#[derive(Debug, Default)]
pub struct ExternalCalls {
    open: BTreeMap<String, OpenCall>,
    /// Number of calls that have ended.
    ended: usize,
    /// How full the agent's context window is, as it has reported last.
    pub context: Option<ContextUsage>,
}

#[derive(Debug)]
struct OpenCall {
    call: AgentToolCall,
    since: Instant,
    /// The number of bytes of the output that are published.
    shown: usize,
}

impl ExternalCalls {
    /// Returns whether the call `id` is not known yet.
    pub fn is_new(&self, id: &str) -> bool {
        !self.open.contains_key(id)
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the number of all calls so far.
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

    /// Returns the events that end the open calls, because the turn has ended.
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

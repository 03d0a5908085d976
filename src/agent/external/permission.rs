//! Decides the permission requests of an external agent by the same rules as the calls of crewdeck's own agents, and
//! with the same approvers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::calls::{self, as_tool_call, command, crew_tool, reading_command};
use super::crew_tools::CrewToolNames;
use super::hooked_calls::as_hook_calls;
use crate::acp::{AskedPermission, PermissionAnswer};
use crate::agent::driver::run_blocking;
use crate::agent::hooks::{AgentHooks, HookPermission, RequestHook};
use crate::agent::server_tools::ServerTools;
use crate::agent::tool_hooks::Notes;
use crate::agent::tool_runner::ToolRunner;
use crate::domain::agent_update::{AgentToolCall, AgentToolKind};
use crate::domain::chat::ToolCall;
use crate::domain::hook::{HookEvent, external_call};
use crate::domain::ids::Name;
use crate::domain::mcp::server_of;
use crate::domain::path::without_dots;
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::protocol::event::NoticeLevel;
use crate::tools::policy::{self, PlanGate, Ruling};
use crate::tools::{Access, table};

/// Maximum size, in bytes, of the reason of a decision in the next prompt.
const REASON_MAX: usize = 4 * 1024;
/// Maximum length, in characters, of the title of a call in the next prompt.
const TITLE_MAX: usize = 100;

/// Decides the permission requests of one external agent.
#[derive(Clone)]
pub struct ExternalPermissions {
    pub agent: Name,
    /// Must have no MCP servers: the permissions that the user has granted for their tools do not apply to calls that
    /// the agent makes over connections of its own.
    pub runner: ToolRunner,
    /// The tools of the crew's MCP servers, which crewdeck's MCP server offers to the agent.
    pub servers: Option<Arc<ServerTools>>,
}

impl ExternalPermissions {
    pub fn gate(&self) -> PlanGate {
        self.runner.mailbox.gate()
    }

    /// Returns the names of the crew's tools that the agent has.
    pub fn crew_tools(&self) -> CrewToolNames {
        CrewToolNames::new(&self.runner.tools, self.servers.as_deref())
    }

    /// Decides a request of the agent, which works in `workdir`. Asks the approver if the rules or a hook require it. The
    /// protocol has no place for the reason of a decision, so the agent gets it with its next prompt.
    pub async fn decide(mut self, workdir: PathBuf, asked: AskedPermission) -> PermissionAnswer {
        self.runner.workdir = workdir;
        let decided = self.permit(&asked.call).await;
        let (answer, why) = match decided {
            Ok(note) => (PermissionAnswer::AllowOnce, note),
            Err(why) => (PermissionAnswer::Reject, why),
        };
        let why = head_and_tail(why.trim().trim_start_matches("Error: "), REASON_MAX);
        if !why.is_empty() {
            let title = clip(&one_line(&asked.call.title), TITLE_MAX);
            let text = format!("<crew>About your call '{title}': {why}</crew>");
            self.runner.mailbox.add_text(text);
        }
        answer
    }

    /// Decides a call: first the hooks before it, then the rules, then the approver. Returns what the hooks and the
    /// approver say about it.
    ///
    /// # Errors
    /// Returns the reason if the call may not run.
    async fn permit(&self, asked: &AgentToolCall) -> Result<String, String> {
        let tools = self.crew_tools();
        let (mut hooked, mut notes) = (HookPermission::Rules, String::new());
        // The hooks of a call of the crew's tools run when the call arrives.
        let hooks = self.runner.hooks.as_ref();
        let hooks = hooks.filter(|_| crew_tool(asked, &tools).is_none());
        let mut calls = Vec::new();
        if let Some(hooks) = hooks.filter(|hooks| decide_permissions(hooks)) {
            calls = as_hook_calls(asked, &tools).map_err(|why| format!("not allowed: {why}"))?;
            (hooked, notes) = self.run_hooks_before(hooks, &calls).await?;
        }
        let is_in_checkout = self.works_in_checkout().await;
        let why = match hooked.apply(self.rule(asked, &tools, is_in_checkout)) {
            Ruling::Allow => return Ok(notes),
            Ruling::Deny { why } => return Err(format!("not allowed: {why}")),
            Ruling::Ask { why } => why,
        };
        if self.run_request_hooks(&calls).await? {
            return Ok(notes);
        }
        let call = match reading_command(asked) {
            Some(command) => ToolCall {
                name: "bash".into(),
                input: json!({ "command": command }),
                ..as_tool_call(asked, &tools)
            },
            None => as_tool_call(asked, &tools),
        };
        let is_ruled = is_ruled_like_own(asked, &call.name, is_in_checkout);
        let may_store = is_ruled && !matches!(hooked, HookPermission::MustAsk(_));
        let stored = self.runner.asked_call(&call, &why).filter(|_| may_store);
        let note = self.runner.ask(&self.agent, &call, &why, stored).await?;
        Ok(notes + &note)
    }

    /// Runs the hooks before `calls`, which are the parts of one call. Returns their decision and their texts for the
    /// agent.
    ///
    /// # Errors
    /// Returns the reason if the call may not run.
    async fn run_hooks_before(
        &self,
        hooks: &AgentHooks,
        calls: &[ToolCall],
    ) -> Result<(HookPermission, String), String> {
        let (mut all, mut texts) = (None, String::new());
        for call in calls {
            let hooked = self.runner.run_before(hooks, &self.agent, call).await?;
            self.check_unchanged(call, &hooked.call.input)?;
            texts.push_str(&hooked.notes.text());
            all = Some(match (all, hooked.permission) {
                (None, decided) => decided,
                (Some(asks @ HookPermission::MustAsk(_)), _) => asks,
                (Some(_), asks @ HookPermission::MustAsk(_)) => asks,
                (Some(HookPermission::Allowed), HookPermission::Allowed) => HookPermission::Allowed,
                (Some(_), _) => HookPermission::Rules,
            });
        }
        Ok((all.unwrap_or_default(), texts))
    }

    /// Runs the hooks of the approval request for `calls`, which are the parts of one call. Returns whether they approve
    /// each of them.
    ///
    /// # Errors
    /// Returns the reason if they deny one of them.
    async fn run_request_hooks(&self, calls: &[ToolCall]) -> Result<bool, String> {
        let mut approves = !calls.is_empty();
        for call in calls {
            match self.runner.run_request_hooks(&self.agent, call).await {
                RequestHook::Ask => approves = false,
                RequestHook::Denied(why) => return Err(why),
                RequestHook::Approved(None) => {}
                RequestHook::Approved(Some(input)) => self.check_unchanged(call, &input)?,
            }
        }
        Ok(approves)
    }

    /// Checks that a hook which has set `input` has not changed the input of the call.
    ///
    /// # Errors
    /// Returns the reason why the call may not run, with the input to use instead.
    fn check_unchanged(&self, call: &ToolCall, input: &Value) -> Result<(), String> {
        let shown = |input| external_call(&call.name, input, &self.runner.workdir).input;
        let input = shown(input);
        if input == shown(&call.input) {
            return Ok(());
        }
        Err(changed_input(&input))
    }

    /// Returns whether hooks run after the calls of the agent.
    pub fn has_hooks_after(&self) -> bool {
        let hooks = self.runner.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.caller.has_hooks(HookEvent::PostToolUse))
    }

    /// Runs the hooks after a call that has succeeded after the time `took`. The agent, which works in `workdir`, gets
    /// their texts with its next prompt. Does nothing for a call of the crew's tools, whose hooks have run already.
    pub async fn run_hooks_after(mut self, workdir: PathBuf, call: AgentToolCall, took: Duration) {
        self.runner.workdir = workdir;
        let tools = self.crew_tools();
        let hooks = self.runner.hooks.clone();
        let Some(hooks) = hooks.filter(|_| crew_tool(&call, &tools).is_none()) else {
            return;
        };
        let mut notes = Notes::default();
        let files = match as_hook_calls(&call, &tools) {
            Ok(files) => files,
            Err(why) => {
                let text = format!(
                    "No PostToolUse hook runs after a call of {}: {why}",
                    self.agent
                );
                hooks.caller.notice(NoticeLevel::Warn, text).await;
                return;
            }
        };
        for done in files {
            let result = (call.text.as_str(), took);
            self.runner
                .run_after(&hooks, &self.agent, &done, result, &mut notes)
                .await;
        }
        let text = self.runner.redactor.text(notes.text().trim()).into_owned();
        if !text.is_empty() {
            let title = clip(&one_line(&call.title), TITLE_MAX);
            let text = format!("<crew>About your call '{title}': {text}</crew>");
            self.runner.mailbox.add_text(text);
        }
    }

    /// Returns whether a hook has stopped the agent, so that its prompt must end.
    pub fn is_stopped(&self) -> bool {
        let hooks = self.runner.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.stop_reason().is_some())
    }

    /// Returns whether the agent works in the user's checkout without a task: whatever it changes there, no task asks
    /// for it.
    async fn works_in_checkout(&self) -> bool {
        self.runner.workdir == self.runner.root && !self.has_task().await
    }

    /// Returns whether the agent has an open task. False if the board cannot be read.
    pub async fn has_task(&self) -> bool {
        let (board, agent) = (self.runner.board.clone(), self.agent.clone());
        let open = run_blocking(move || board.query(|graph| graph.open_task_of(&agent).is_some()));
        open.await.unwrap_or(false)
    }

    /// Returns what the permission rules say about a call.
    fn rule(&self, call: &AgentToolCall, tools: &CrewToolNames, is_in_checkout: bool) -> Ruling {
        // The crew checks the calls of its own tools when they arrive.
        if crew_tool(call, tools).is_some() {
            return Ruling::Allow;
        }
        let is_closed = self.gate() == PlanGate::Closed;
        if is_closed && !only_reads(call) {
            return Ruling::Deny {
                why: "a plan must be approved first: submit it with plan_approval".into(),
            };
        }
        match call.kind {
            AgentToolKind::Execute => self.rule_command(call, is_in_checkout),
            AgentToolKind::Edit if is_in_checkout => ask("changes your checkout without a task"),
            AgentToolKind::Edit => self.rule_paths(call, "changes"),
            AgentToolKind::Think if only_reads(call) => Ruling::Allow,
            AgentToolKind::Read | AgentToolKind::Search if !call.diffs.is_empty() => {
                ask("is reported as reading, but changes a file")
            }
            AgentToolKind::Read | AgentToolKind::Search => match self.rule_reading(call) {
                // Codex reports a command as reading if it recognises what the command reads.
                Ruling::Allow if reading_command(call).is_some() && !is_closed => {
                    self.rule_command(call, is_in_checkout)
                }
                ruling => ruling,
            },
            AgentToolKind::Delete => ask("deletes a file"),
            AgentToolKind::Move => ask("moves a file"),
            AgentToolKind::Fetch => ask("uses the network"),
            AgentToolKind::SwitchMode => ask("changes the mode of the agent"),
            AgentToolKind::Think | AgentToolKind::Other => {
                ask("what it does is not known to crewdeck")
            }
        }
    }

    fn rule_command(&self, call: &AgentToolCall, is_in_checkout: bool) -> Ruling {
        let Some(command) = command(call) else {
            return ask("the agent does not report the command");
        };
        let Some(bash) = table::find("bash") else {
            return ask("the command cannot be checked");
        };
        let input = json!({ "command": command });
        let ruling = self
            .runner
            .with_policy_context(|standing| policy::decide(bash, &input, standing));
        match ruling {
            Ruling::Allow if is_in_checkout && !policy::only_reads(&command) => {
                ask("may change your checkout without a task")
            }
            ruling => ruling,
        }
    }

    fn rule_paths(&self, call: &AgentToolCall, what: &str) -> Ruling {
        let paths = calls::paths(call);
        if paths.is_empty() {
            return ask("the agent does not report the file");
        }
        match paths
            .iter()
            .find(|path| !is_inside(&self.runner.workdir, path))
        {
            Some(path) => ask(&format!(
                "{what} {path}, which is outside of its work directory"
            )),
            None => Ruling::Allow,
        }
    }

    /// Reading is allowed in the whole project, as for crewdeck's own agents.
    fn rule_reading(&self, call: &AgentToolCall) -> Ruling {
        let root = &self.runner.root;
        let is_known =
            |path: &&&str| is_inside(root, path) || is_inside(&self.runner.workdir, path);
        let paths = calls::paths(call);
        match paths.iter().find(|path| !is_known(path)) {
            Some(path) => ask(&format!("reads {path}, which is outside of the project")),
            None => Ruling::Allow,
        }
    }
}

/// Returns whether a call only reads: by its kind, and by the command and the changes that the agent reports.
fn only_reads(call: &AgentToolCall) -> bool {
    let is_kind = matches!(
        call.kind,
        AgentToolKind::Read | AgentToolKind::Search | AgentToolKind::Think
    );
    let runs_reader = || command(call).is_none_or(|command| policy::only_reads(&command));
    is_kind && call.diffs.is_empty() && runs_reader()
}

/// Returns whether hooks may decide about a call of the agent before it runs.
fn decide_permissions(hooks: &AgentHooks) -> bool {
    let events = [HookEvent::PreToolUse, HookEvent::PermissionRequest];
    events.iter().any(|event| hooks.caller.has_hooks(*event)) || hooks.stop_reason().is_some()
}

/// Returns whether the rules decide about a call as about the call of `tool` by one of crewdeck's own agents, so that
/// session permissions may approve it. They may not if the command is unknown or if another reason than the command
/// requires approval, and never for a tool of an MCP server that the agent itself has started.
fn is_ruled_like_own(call: &AgentToolCall, tool: &str, is_in_checkout: bool) -> bool {
    let is_command = table::find(tool).is_some_and(|tool| tool.access == Access::Run);
    let is_judged = call.kind == AgentToolKind::Execute && command(call).is_some();
    server_of(tool).is_none() && (!is_command || is_judged && !is_in_checkout)
}

/// Returns the reason why a call whose input a hook has changed may not run.
fn changed_input(input: &Value) -> String {
    let input = head_and_tail(&input.to_string(), REASON_MAX / 2);
    format!(
        "not allowed: a hook changes the input of this call, which crewdeck cannot do for a call of yours. Make the call \
         with this input instead: {input}"
    )
}

fn ask(why: &str) -> Ruling {
    Ruling::Ask { why: why.into() }
}

/// Returns whether `path`, absolute or relative to `dir`, is below `dir`, also after symbolic links are resolved, and
/// not in a folder of git or of crewdeck.
fn is_inside(dir: &Path, path: &str) -> bool {
    let path = without_dots(&dir.join(path));
    let Ok(rest) = path.strip_prefix(dir) else {
        return false;
    };
    let guarded = [
        ".git",
        ".tasks",
        ".team",
        ".worktrees",
        ".transcripts",
        ".crewdeck",
    ];
    let first = rest.components().next();
    let is_guarded = first.is_some_and(|first| {
        let first = first.as_os_str().to_string_lossy();
        guarded.iter().any(|name| first.eq_ignore_ascii_case(name))
    });
    if is_guarded {
        return false;
    }
    let existing = path.ancestors().find_map(|part| part.canonicalize().ok());
    let dir = dir.canonicalize();
    matches!((existing, dir), (Some(existing), Ok(dir)) if existing.starts_with(&dir))
}

#[cfg(test)]
mod tests;

//! Decides the permission requests of an external agent by the same rules as the calls of crewdeck's own agents, and
//! with the same approvers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::call_paths::{command_dirs, is_inside, is_writable, paths};
use super::calls::{as_asked_call, command, crew_tool, has_command};
use super::crew_tools::CrewToolNames;
use super::hooked_calls::as_hook_calls;
use super::own_tools::OwnTools;
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
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::protocol::event::NoticeLevel;
use crate::tools::policy::{self, PlanGate, Ruling};
use crate::tools::{Access, table};

/// Maximum size, in bytes, of the reason for a decision about a call. The agent gets the reason with its next prompt.
const REASON_MAX: usize = 4 * 1024;
/// Maximum length, in characters, of a call's title in the text that gives the agent the reason for a decision.
const TITLE_MAX: usize = 100;

/// The reason why a call needs approval if crewdeck does not know all files of the call.
const MORE_FILES: &str = "it has more files than crewdeck can check";

/// Decides the permission requests of one external agent.
#[derive(Clone)]
pub struct ExternalPermissions {
    pub agent: Name,
    /// Checks calls by the permission rules and asks the approver. It must have no MCP servers. Otherwise, the user's
    /// permissions for a server's tool would also apply to calls that the agent makes over a connection of its own.
    pub runner: ToolRunner,
    /// The tools of the crew's MCP servers, which crewdeck's MCP server offers to the agent.
    pub servers: Option<Arc<ServerTools>>,
    /// Which of its own tools the agent may use.
    pub own_tools: OwnTools,
}

impl ExternalPermissions {
    pub fn gate(&self) -> PlanGate {
        self.runner.mailbox.gate()
    }

    /// Returns the names of the crew's tools that the agent has.
    pub fn crew_tools(&self) -> CrewToolNames {
        CrewToolNames::new(&self.runner.tools, self.servers.as_deref())
    }

    /// Decides a request of the agent, which works in `workdir`. Asks the approver if the rules or a hook require it.
    /// The protocol has no place for the reason of a decision, so the agent gets it with its next prompt.
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

    /// Decides about a call: first by the PreToolUse hooks, then by the rules, and if these require approval, by the
    /// PermissionRequest hooks and the approver. Returns the texts of the hooks and the approver for the agent; may be
    /// empty.
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
        // Hooks that have not seen all of a call can refuse it, but cannot allow it.
        let is_known = is_whole_known(asked);
        if !is_known && matches!(hooked, HookPermission::Allowed) {
            hooked = HookPermission::Rules;
        }
        let is_in_checkout = self.works_in_checkout().await;
        let why = match hooked.apply(self.rule(asked, &tools, is_in_checkout)) {
            Ruling::Allow => return Ok(notes),
            Ruling::Deny { why } => return Err(format!("not allowed: {why}")),
            Ruling::Ask { why } => why,
        };
        if self.run_request_hooks(&calls).await? && is_known {
            return Ok(notes);
        }
        let call = as_asked_call(asked, &self.runner.workdir);
        let is_ruled = is_ruled_like_own(asked, &call.name, is_in_checkout);
        let may_store = is_ruled && !matches!(hooked, HookPermission::MustAsk(_));
        let stored = self.runner.asked_call(&call, &why).filter(|_| may_store);
        let note = self.runner.ask(&self.agent, &call, &why, stored).await?;
        Ok(notes + &note)
    }

    /// Runs the PreToolUse hooks for `calls`, which are the parts of one call. Returns their decision about the whole
    /// call, which is the strictest one, and their texts for the agent.
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
                (Some(asks @ HookPermission::MustAsk(_)), _)
                | (Some(_), asks @ HookPermission::MustAsk(_)) => asks,
                (Some(HookPermission::Allowed), HookPermission::Allowed) => HookPermission::Allowed,
                (Some(_), _) => HookPermission::Rules,
            });
        }
        Ok((all.unwrap_or_default(), texts))
    }

    /// Runs the PermissionRequest hooks for `calls`, which are the parts of one call. Returns whether the hooks approve
    /// every part; false if `calls` is empty.
    ///
    /// # Errors
    /// Returns the reason if the hooks deny a part or change its input.
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

    /// Checks that `input`, which a hook has set, is the same as the input of `call`: crewdeck cannot change the input
    /// of an external agent's call.
    ///
    /// # Errors
    /// Returns why the call may not run, with the input that the agent should use instead.
    fn check_unchanged(&self, call: &ToolCall, input: &Value) -> Result<(), String> {
        let shown = |input| external_call(&call.name, input, &self.runner.workdir).input;
        let input = shown(input);
        if input == shown(&call.input) {
            return Ok(());
        }
        Err(changed_input(&input))
    }

    /// Returns whether a PostToolUse hook is configured.
    pub fn has_hooks_after(&self) -> bool {
        let hooks = self.runner.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.caller.has_hooks(HookEvent::PostToolUse))
    }

    /// Runs the PostToolUse hooks for a call that has succeeded. `took` is the run time of the call, and `workdir` is
    /// the directory in which the agent works. The agent gets the texts of the hooks with its next prompt. Does nothing
    /// for a call of the crew's tools, whose hooks have run already.
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

    /// Returns whether the agent works in the user's checkout without a task. No task asks for changes there, so they
    /// need approval.
    async fn works_in_checkout(&self) -> bool {
        self.runner.workdir == self.runner.root && !self.has_task().await
    }

    /// Returns whether the agent has an open task. False if the board cannot be read.
    pub async fn has_task(&self) -> bool {
        let (board, agent) = (self.runner.stores.board.clone(), self.agent.clone());
        let open = run_blocking(move || board.query(|graph| graph.open_task_of(&agent).is_some()));
        open.await.unwrap_or(false)
    }

    /// Returns the ruling about a call by the permission rules: the strictest of the rulings about its kind, its
    /// command and its changed files. The command and the files are checked for every kind of call, because crewdeck
    /// knows the kind only from the agent's report.
    fn rule(&self, call: &AgentToolCall, tools: &CrewToolNames, is_in_checkout: bool) -> Ruling {
        // The crew checks the calls of its own tools when they arrive.
        if crew_tool(call, tools).is_some() {
            return Ruling::Allow;
        }
        if let Some(why) = self.own_tools.refusal(call) {
            return Ruling::Deny { why };
        }
        if self.gate() == PlanGate::Closed && !only_reads(call) {
            return Ruling::Deny {
                why: "a plan must be approved first: submit it with plan_approval".into(),
            };
        }
        let mut rulings = vec![self.rule_kind(call, is_in_checkout)];
        if has_command(call) {
            rulings.push(self.rule_command(call, is_in_checkout));
        }
        if !call.diffs.is_empty() {
            rulings.push(self.rule_change(call, is_in_checkout));
        }
        let strictness = |ruling: &Ruling| match ruling {
            Ruling::Allow => 0,
            Ruling::Ask { .. } => 1,
            Ruling::Deny { .. } => 2,
        };
        let strictest = rulings.into_iter().rev().max_by_key(strictness);
        strictest.unwrap_or(Ruling::Allow)
    }

    fn rule_kind(&self, call: &AgentToolCall, is_in_checkout: bool) -> Ruling {
        match call.kind {
            AgentToolKind::Execute => self.rule_command(call, is_in_checkout),
            AgentToolKind::Read | AgentToolKind::Search if !call.diffs.is_empty() => {
                ask("is reported as reading, but changes a file")
            }
            AgentToolKind::Read | AgentToolKind::Search => self.rule_reading(call),
            AgentToolKind::Think if !call.diffs.is_empty() || may_change(call) => {
                ask("is reported as thinking, but changes a file or runs a command")
            }
            AgentToolKind::Think if paths(call).is_empty() && !call.has_more_files => Ruling::Allow,
            AgentToolKind::Edit | AgentToolKind::Think => self.rule_change(call, is_in_checkout),
            AgentToolKind::Delete => ask("deletes a file"),
            AgentToolKind::Move => ask("moves a file"),
            AgentToolKind::Fetch => ask("uses the network"),
            AgentToolKind::SwitchMode => ask("changes the mode of the agent"),
            AgentToolKind::Other => ask("what it does is not known to crewdeck"),
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
        let workdir = &self.runner.workdir;
        let dirs = command_dirs(call);
        let outside = dirs.iter().find(|dir| !is_inside(workdir, dir));
        match (ruling, outside) {
            (Ruling::Allow, Some(dir)) => ask(&format!(
                "runs in {dir}, which is outside of its work directory"
            )),
            (Ruling::Allow, None) if is_in_checkout && !policy::only_reads(&command) => {
                ask("may change files in your checkout, and the agent has no task")
            }
            (ruling, _) => ruling,
        }
    }

    fn rule_change(&self, call: &AgentToolCall, is_in_checkout: bool) -> Ruling {
        if is_in_checkout {
            return ask("changes files in your checkout, and the agent has no task");
        }
        let paths = paths(call);
        if paths.is_empty() {
            return ask("the agent does not report the file");
        }
        if call.has_more_files {
            return ask(MORE_FILES);
        }
        let workdir = &self.runner.workdir;
        match paths.iter().find(|path| !is_writable(workdir, path)) {
            Some(path) if is_inside(workdir, path) => {
                ask(&format!("changes {path}, which are settings of an agent"))
            }
            Some(path) => ask(&format!(
                "changes {path}, which is outside of its work directory"
            )),
            None => Ruling::Allow,
        }
    }

    /// Returns the ruling about a call that reads. Reading is allowed in the whole project and in the work directory,
    /// as for crewdeck's own agents. If the files are elsewhere or not all known, the call needs approval.
    fn rule_reading(&self, call: &AgentToolCall) -> Ruling {
        let root = &self.runner.root;
        let is_known =
            |path: &&&str| is_inside(root, path) || is_inside(&self.runner.workdir, path);
        let paths = paths(call);
        match paths.iter().find(|path| !is_known(path)) {
            Some(path) => ask(&format!("reads {path}, which is outside of the project")),
            None if paths.is_empty() && !has_command(call) => {
                ask("the agent does not report the file")
            }
            None if call.has_more_files => ask(MORE_FILES),
            None => Ruling::Allow,
        }
    }
}

/// Returns whether a call certainly only reads: the agent reports it as reading, searching or thinking, and it neither
/// changes a file nor runs a command.
fn only_reads(call: &AgentToolCall) -> bool {
    let is_kind = matches!(
        call.kind,
        AgentToolKind::Read | AgentToolKind::Search | AgentToolKind::Think
    );
    is_kind && call.diffs.is_empty() && !has_command(call)
}

/// Returns whether a call runs a command that may do more than read. This includes a command whose form is unknown.
fn may_change(call: &AgentToolCall) -> bool {
    has_command(call) && !command(call).is_some_and(|command| policy::only_reads(&command))
}

/// Returns whether the agent reports all that a call does: its command, if it runs one, and all its files.
fn is_whole_known(call: &AgentToolCall) -> bool {
    let runs = call.kind == AgentToolKind::Execute || has_command(call);
    !call.has_more_files && (!runs || command(call).is_some())
}

/// Returns whether hooks decide about the agent's calls before they run: a PreToolUse or PermissionRequest hook is
/// configured, or a hook has stopped the agent.
fn decide_permissions(hooks: &AgentHooks) -> bool {
    let events = [HookEvent::PreToolUse, HookEvent::PermissionRequest];
    events.iter().any(|event| hooks.caller.has_hooks(*event)) || hooks.stop_reason().is_some()
}

/// Returns whether session permissions may approve a call. They may if the rules judge it like a call of `tool` by one
/// of crewdeck's own agents: `tool` runs commands, and the agent reports the call as a command with the command's text.
/// False if the agent works in the user's checkout without a task (`is_in_checkout`). This is a further reason for
/// approval, which session permissions do not cover.
fn is_ruled_like_own(call: &AgentToolCall, tool: &str, is_in_checkout: bool) -> bool {
    let is_command = table::find(tool).is_some_and(|tool| tool.access == Access::Run);
    let is_judged = call.kind == AgentToolKind::Execute && command(call).is_some();
    is_command && is_judged && !is_in_checkout
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

#[cfg(test)]
mod tests;

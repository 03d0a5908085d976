//! Decides the permission requests of an external agent by the same rules as the calls of crewdeck's own agents, and
//! with the same approvers.

use std::path::PathBuf;

use serde_json::json;

use super::call_paths::{command_dirs, is_inside, is_writable, paths};
use super::calls::{as_asked_call, command, crew_tool, has_command};
use super::own_tools::OwnTools;
use crate::acp::{AskedPermission, PermissionAnswer};
use crate::agent::hooks::HookPermission;
use crate::agent::tool_runner::ToolRunner;
use crate::domain::agent_update::{AgentToolCall, AgentToolKind};
use crate::domain::ids::Name;
use crate::tools::policy::{self, PlanGate, Ruling};
use crate::tools::table;

/// The reason for asking about a call whose files are not all known.
const MORE_FILES: &str = "it has more files than crewdeck can check";

/// Decides the permission requests of one external agent.
#[derive(Clone)]
pub struct ExternalPermissions {
    pub agent: Name,
    pub runner: ToolRunner,
    pub own_tools: OwnTools,
}

impl ExternalPermissions {
    pub fn gate(&self) -> PlanGate {
        self.runner.mailbox.gate()
    }

    /// Returns the names of the crew's tools that the agent has.
    pub fn crew_tools(&self) -> Vec<&'static str> {
        self.runner.tools.iter().map(|tool| tool.name).collect()
    }

    /// Decides a request of the agent, which works in `workdir`. Asks the approver if the rules require it.
    pub async fn decide(mut self, workdir: PathBuf, asked: AskedPermission) -> PermissionAnswer {
        self.runner.workdir = workdir;
        let tools = self.crew_tools();
        let ruling = self.rule(&asked.call, &tools);
        let call = as_asked_call(&asked.call, &self.runner.workdir);
        let permit = self.runner.permit(
            &self.agent,
            &call,
            |_| ruling.clone(),
            &HookPermission::Rules,
        );
        match permit.await {
            Ok(_) => PermissionAnswer::AllowOnce,
            Err(_) => PermissionAnswer::Reject,
        }
    }

    /// Returns what the permission rules say about a call. Its kind is what the agent says it is, so a command and the
    /// paths of a change are judged whatever the kind is.
    fn rule(&self, call: &AgentToolCall, tools: &[&str]) -> Ruling {
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
        let mut rulings = vec![self.rule_kind(call)];
        if has_command(call) {
            rulings.push(self.rule_command(call));
        }
        if !call.diffs.is_empty() {
            rulings.push(self.rule_change(call));
        }
        let is_allowed = |ruling: &Ruling| *ruling == Ruling::Allow;
        let strictest = rulings.into_iter().find(|ruling| !is_allowed(ruling));
        strictest.unwrap_or(Ruling::Allow)
    }

    fn rule_kind(&self, call: &AgentToolCall) -> Ruling {
        match call.kind {
            AgentToolKind::Execute => self.rule_command(call),
            AgentToolKind::Edit => self.rule_change(call),
            AgentToolKind::Read | AgentToolKind::Search => self.rule_reading(call),
            AgentToolKind::Think if paths(call).is_empty() && !call.has_more_files => Ruling::Allow,
            AgentToolKind::Think => self.rule_change(call),
            AgentToolKind::Delete => ask("deletes a file"),
            AgentToolKind::Move => ask("moves a file"),
            AgentToolKind::Fetch => ask("uses the network"),
            AgentToolKind::SwitchMode => ask("changes the mode of the agent"),
            AgentToolKind::Other => ask("what it does is not known to crewdeck"),
        }
    }

    fn rule_command(&self, call: &AgentToolCall) -> Ruling {
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
        match (ruling, dirs.iter().find(|dir| !is_inside(workdir, dir))) {
            (Ruling::Allow, Some(dir)) => ask(&format!(
                "runs in {dir}, which is outside of its work directory"
            )),
            (ruling, _) => ruling,
        }
    }

    fn rule_change(&self, call: &AgentToolCall) -> Ruling {
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

    /// Reading is allowed in the whole project, as for crewdeck's own agents.
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

fn only_reads(call: &AgentToolCall) -> bool {
    let kinds = [
        AgentToolKind::Read,
        AgentToolKind::Search,
        AgentToolKind::Think,
    ];
    kinds.contains(&call.kind) && call.diffs.is_empty() && !has_command(call)
}

fn ask(why: &str) -> Ruling {
    Ruling::Ask { why: why.into() }
}

//! Decides the permission requests of an external agent by the same rules as the calls of crewdeck's own agents, and
//! with the same approvers.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::calls::{self, as_tool_call, command, crew_tool};
use crate::acp::{AskedPermission, PermissionAnswer};
use crate::agent::hooks::HookPermission;
use crate::agent::tool_runner::ToolRunner;
use crate::domain::agent_update::{AgentToolCall, AgentToolKind};
use crate::domain::ids::Name;
use crate::domain::path::without_dots;
use crate::tools::policy::{self, PlanGate, Ruling};
use crate::tools::table;

/// Decides the permission requests of one external agent.
#[derive(Clone)]
pub struct ExternalPermissions {
    pub agent: Name,
    pub runner: ToolRunner,
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
        let call = as_tool_call(&asked.call, &tools);
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

    /// Returns what the permission rules say about a call.
    fn rule(&self, call: &AgentToolCall, tools: &[&str]) -> Ruling {
        // The crew checks the calls of its own tools when they arrive.
        if crew_tool(call, tools).is_some() || call.kind == AgentToolKind::Think {
            return Ruling::Allow;
        }
        if self.gate() == PlanGate::Closed && !only_reads(call.kind) {
            return Ruling::Deny {
                why: "a plan must be approved first: submit it with plan_approval".into(),
            };
        }
        match call.kind {
            AgentToolKind::Execute => self.rule_command(call),
            AgentToolKind::Edit => self.rule_paths(call, "changes"),
            AgentToolKind::Read | AgentToolKind::Search => self.rule_reading(call),
            AgentToolKind::Delete => ask("deletes a file"),
            AgentToolKind::Move => ask("moves a file"),
            AgentToolKind::Fetch => ask("uses the network"),
            AgentToolKind::SwitchMode => ask("changes the mode of the agent"),
            AgentToolKind::Think | AgentToolKind::Other => {
                ask("what it does is not known to crewdeck")
            }
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
        self.runner
            .with_policy_context(|standing| policy::decide(bash, &input, standing))
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

fn only_reads(kind: AgentToolKind) -> bool {
    matches!(
        kind,
        AgentToolKind::Read | AgentToolKind::Search | AgentToolKind::Think
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
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_directory_are_inside() {
        let dir = tempfile::tempdir().unwrap();
        let (work, other) = (dir.path().join("work"), dir.path().join("other"));
        std::fs::create_dir_all(work.join("src")).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, work.join("link")).unwrap();
        let absolute = work.join("src/new.rs");
        for (path, expected) in [
            ("src/a.rs", true),
            ("new/folder/a.rs", true),
            (absolute.to_str().unwrap(), true),
            ("../other/a.rs", false),
            ("src/../../other/a", false),
            ("link/a.rs", false),
            ("/etc/passwd", false),
            (".git/config", false),
            (".Git/config", false),
            (".tasks/task_1.json", false),
        ] {
            assert_eq!(is_inside(&work, path), expected, "{path}");
        }
    }
}

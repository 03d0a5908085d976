//! The permission policy: decides whether a tool call runs, needs approval, or is refused. Does no I/O.
//!
//! Too many approval requests annoy users; with too few, work is lost. A command is therefore allowed if it stays
//! inside the work directory and its effect can be undone or repeated. It needs approval if it has an effect outside,
//! destroys something, or cannot be analysed. Commands are split into words as a shell would split them; the policy
//! never searches the raw text.

mod addresses;
mod commands;
mod git;
mod here_document;
mod paths;
mod reading;
mod scopes;
#[cfg(test)]
mod scopes_tests;
pub mod servers;
#[cfg(test)]
mod tests;
mod words;
mod wrappers;

use std::path::Path;

pub use reading::only_reads;
use serde_json::Value;

use super::{Access, Tool};
use crate::domain::permission::PermissionScope;
use crate::domain::sandbox::ASKS_FOR_NETWORK;
use crate::process::sandbox::HistoryReach;

/// Whether an agent may already write files and run commands, or first needs an approved plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanGate {
    /// The agent may write and run: no plan is required, or its plan is approved.
    #[default]
    Open,
    /// The agent may only read until its plan is approved.
    Closed,
}

/// Permissions granted in advance: by the settings, and by the user for the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionRules {
    /// What needs no approval. An entry is the first words of a command, such as `docker compose`, or a pattern for
    /// tools of MCP servers, such as `mcp__git__*`.
    pub allow: Vec<String>,
    /// Permissions that the user granted until crewdeck ends.
    pub session: Vec<PermissionScope>,
}

/// Returns whether `command` does nothing but change the directory of its own shell. Such a change has no effect on
/// later calls. Returns false for an empty command and for one that cannot be parsed.
pub fn only_changes_directory(command: &str) -> bool {
    let changes = |simple: &words::SimpleCommand| {
        let name = simple.words.first().map(|word| word.text.as_str());
        simple.redirects.is_empty() && matches!(name, Some("cd" | "pushd" | "popd"))
    };
    words::parse(command).is_ok_and(|all| !all.is_empty() && all.iter().all(changes))
}

/// What a [`Ruling`] depends on in addition to the tool call.
#[derive(Debug, Clone, Copy)]
pub struct PolicyContext<'a> {
    pub rules: &'a PermissionRules,
    pub gate: PlanGate,
    pub workdir: &'a Path,
}

/// The policy's decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    Ask {
        /// The reason, for the user.
        why: String,
    },
    /// The call does not run, and the user is not asked.
    Deny {
        /// The reason and what to do instead, as text for the model.
        why: String,
    },
}

/// The reason for refusing a call of an agent whose plan is not approved.
const NO_PLAN: &str = "your plan is not approved yet, so you can only read. Submit it with plan_approval, which waits \
                       for the decision";

/// Applies the policy to the call of a built-in tool. While the plan gate is closed, writing and running are refused.
/// Otherwise, only shell commands can need approval.
pub fn decide(tool: &Tool, input: &Value, standing: &PolicyContext<'_>) -> Ruling {
    match (tool.access, standing.gate) {
        (Access::Write | Access::Run, PlanGate::Closed) => Ruling::Deny {
            why: NO_PLAN.into(),
        },
        // File tools need no approval, because they cannot access files outside the work directory.
        (Access::Read | Access::Crew | Access::Delegate | Access::Write, _) => Ruling::Allow,
        (Access::Run, PlanGate::Open) => {
            let command = input
                .get("command")
                .and_then(Value::as_str)
                .unwrap_or_default();
            judge(command, standing)
        }
    }
}

/// Returns the session permissions that the user can grant for a shell command. Empty if the user can only allow this
/// one call.
pub fn scopes(command: &str, standing: &PolicyContext<'_>) -> Vec<PermissionScope> {
    let Ok(parsed) = words::parse(command) else {
        return Vec::new();
    };
    let dir = paths::CommandDir {
        workdir: standing.workdir,
    };
    let asked: Vec<&words::SimpleCommand> = flagged_commands(&parsed, standing.rules, &dir)
        .map(|(simple, _)| simple)
        .collect();
    let mut offered = scopes::offered_scopes(command, &parsed, &asked);
    offered.retain(scopes::is_valid);
    offered
}

/// Returns the simple commands in a shell command that need approval, as text without duplicates. The text contains the
/// words, and `> FILE` for each output redirection, without the parts that are known only at run time. Empty if the
/// shell command cannot be parsed.
pub fn flagged_parts(command: &str, standing: &PolicyContext<'_>) -> Vec<String> {
    let Ok(parsed) = words::parse(command) else {
        return Vec::new();
    };
    let dir = paths::CommandDir {
        workdir: standing.workdir,
    };
    let mut out: Vec<String> = Vec::new();
    for (simple, _) in flagged_commands(&parsed, standing.rules, &dir) {
        let words = simple.words.iter().map(|word| word.text.clone());
        let redirects = simple
            .redirects
            .iter()
            .map(|word| format!("> {}", word.text));
        let part = words.chain(redirects).collect::<Vec<_>>().join(" ");
        if !out.contains(&part) {
            out.push(part);
        }
    }
    out
}

/// Decides whether a shell command runs or needs approval. A command that cannot be parsed needs approval. Never
/// returns [`Ruling::Deny`]: [`decide`] checks the plan gate.
pub fn judge(command: &str, standing: &PolicyContext<'_>) -> Ruling {
    let parsed = match words::parse(command) {
        Ok(parsed) => parsed,
        Err(why) => {
            return Ruling::Ask {
                why: format!("crewdeck cannot tell what the command does: {why}"),
            };
        }
    };
    let dir = paths::CommandDir {
        workdir: standing.workdir,
    };
    let mut asked = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for (simple, why) in flagged_commands(&parsed, standing.rules, &dir) {
        asked.push(simple);
        // The user decides about the whole command, so the reasons of all parts are listed.
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let session = &standing.rules.session;
    if reasons.is_empty() || scopes::cover(session, command, &parsed, &asked, &dir) {
        Ruling::Allow
    } else {
        Ruling::Ask {
            why: reasons.join("; "),
        }
    }
}

/// Returns where a command that runs in `workdir` writes the git history. If every simple command in it is a git
/// command that can change the history and needs approval (see `git::is_single_flagged_command`), it writes to the
/// repository. Otherwise it writes to a private copy, also if it cannot be parsed. Ignores the prefix
/// [`ASKS_FOR_NETWORK`] of the command.
pub fn history_reach(command: &str, workdir: &Path) -> HistoryReach {
    let command = command.trim_start();
    let command = command.strip_prefix(ASKS_FOR_NETWORK).unwrap_or(command);
    let Ok(parsed) = words::parse(command) else {
        return HistoryReach::Private;
    };
    let dir = paths::CommandDir { workdir };
    let is_decided = |simple: &words::SimpleCommand| git::is_single_flagged_command(simple, &dir);
    if !parsed.is_empty() && parsed.iter().all(is_decided) {
        HistoryReach::Repository
    } else {
        HistoryReach::Private
    }
}

/// Returns the simple commands of `parsed` that need approval, each with the reason, except those that an entry of
/// `rules.allow` allows.
fn flagged_commands<'a>(
    parsed: &'a [words::SimpleCommand],
    rules: &'a PermissionRules,
    dir: &'a paths::CommandDir<'a>,
) -> impl Iterator<Item = (&'a words::SimpleCommand, String)> {
    parsed
        .iter()
        .filter(|simple| !is_allowed(simple, rules))
        .filter_map(|simple| commands::approval_reason(simple, dir).map(|why| (simple, why)))
}

/// Returns whether the command begins with the words of an entry of `rules.allow`. Returns false for a command with
/// redirections or assignments, because an assignment such as `PATH=x` or `DOCKER_HOST=x` would change what the allowed
/// command does.
fn is_allowed(simple: &words::SimpleCommand, rules: &PermissionRules) -> bool {
    simple.redirects.is_empty()
        && !simple.assigns
        && rules.allow.iter().any(|rule| {
            let mut wanted = rule.split_whitespace().peekable();
            wanted.peek().is_some()
                && wanted
                    .zip(simple.words.iter().map(Some).chain(std::iter::repeat(None)))
                    .all(|(want, have)| have.is_some_and(|w| w.is_plain() && w.text == want))
        })
}

//! The policy: may this call run, must somebody be asked, or is it refused. Pure.
//!
//! Being asked about everything is what people complain about most, and being asked about nothing is how
//! work gets lost. So the rule is: what stays inside the work directory and can be undone or made again is
//! allowed; what reaches further, destroys, or can not be understood is asked about. A command is judged by
//! its words, as a shell would read them, and never by parts of its text.

mod body;
mod commands;
mod git;
mod paths;
mod scopes;
#[cfg(test)]
mod scopes_tests;
#[cfg(test)]
mod tests;
mod words;

use std::path::Path;

use serde_json::Value;

use super::{Access, Tool};
use crate::domain::rule::Scope;
use crate::domain::sandbox::ASKS_FOR_NETWORK;
use crate::process::confine::HistoryReach;

/// Whether an agent's plan lets it write and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanGate {
    /// It may; no plan is required, or it was approved.
    #[default]
    Open,
    /// It may only read until its plan is approved.
    Closed,
}

/// Standing rules: those of the settings and those of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// Commands that need no asking, by their first words: `docker compose`.
    pub allow: Vec<String>,
    /// What the person allowed until crewdeck ends.
    pub session: Vec<Scope>,
}

/// Whether a command does nothing but change the directory of its own shell.
pub fn only_changes_directory(command: &str) -> bool {
    let changes = |simple: &words::Simple| {
        let name = simple.words.first().map(|word| word.text.as_str());
        simple.redirects.is_empty() && matches!(name, Some("cd" | "pushd" | "popd"))
    };
    words::parse(command).is_ok_and(|all| !all.is_empty() && all.iter().all(changes))
}

/// What a ruling depends on besides the call.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The standing rules.
    pub rules: &'a Rules,
    /// The caller's plan.
    pub gate: PlanGate,
    /// The caller's work directory.
    pub workdir: &'a Path,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask {
        /// Why, for the person.
        why: String,
    },
    /// It does not run.
    Deny {
        /// Why, and what to do instead, for the model.
        why: String,
    },
}

/// Rules on one call.
pub fn decide(tool: &Tool, input: &Value, standing: &Standing<'_>) -> Ruling {
    match (tool.access, standing.gate) {
        (Access::Write | Access::Run, PlanGate::Closed) => Ruling::Deny {
            why:
                "your plan is not approved yet; submit it with plan_approval, which waits for the \
                  decision. Until then you can only read"
                    .into(),
        },
        // File tools can not leave the work directory.
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

/// How far a permission for a shell command can reach beyond this call; empty: this one time.
pub fn scopes(command: &str, standing: &Standing<'_>) -> Vec<Scope> {
    let Ok(parsed) = words::parse(command) else {
        return Vec::new();
    };
    let place = paths::Place {
        workdir: standing.workdir,
    };
    let asked: Vec<&words::Simple> = dangers(&parsed, standing.rules, &place)
        .map(|(simple, _)| simple)
        .collect();
    let mut offered = scopes::offered(command, &parsed, &asked);
    offered.retain(scopes::is_possible);
    offered
}

/// The parts of a shell command that it is asked about, as its words are; empty where it cannot be parsed.
pub fn flagged(command: &str, standing: &Standing<'_>) -> Vec<String> {
    let Ok(parsed) = words::parse(command) else {
        return Vec::new();
    };
    let place = paths::Place {
        workdir: standing.workdir,
    };
    let mut out: Vec<String> = Vec::new();
    for (simple, _) in dangers(&parsed, standing.rules, &place) {
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

/// Rules on a shell command.
pub fn judge(command: &str, standing: &Standing<'_>) -> Ruling {
    let parsed = match words::parse(command) {
        Ok(parsed) => parsed,
        Err(why) => {
            return Ruling::Ask {
                why: format!("crewdeck can not tell what it does: {why}"),
            };
        }
    };
    let place = paths::Place {
        workdir: standing.workdir,
    };
    let mut asked = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for (simple, why) in dangers(&parsed, standing.rules, &place) {
        asked.push(simple);
        // The person decides on all of it at once, so all of it is told.
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let session = &standing.rules.session;
    if reasons.is_empty() || scopes::cover(session, command, &parsed, &asked, &place) {
        Ruling::Allow
    } else {
        Ruling::Ask {
            why: reasons.join("; "),
        }
    }
}

/// What of the repository's history a command in `workdir` writes, once it runs: the repository itself only where all of
/// it are git commands that the user is asked about, so that nothing else comes with them. It may ask for the network.
pub fn history_reach(command: &str, workdir: &Path) -> HistoryReach {
    let command = command.trim_start();
    let command = command.strip_prefix(ASKS_FOR_NETWORK).unwrap_or(command);
    let Ok(parsed) = words::parse(command) else {
        return HistoryReach::Private;
    };
    let place = paths::Place { workdir };
    let is_decided = |simple: &words::Simple| git::is_decided_alone(simple, &place);
    if !parsed.is_empty() && parsed.iter().all(is_decided) {
        HistoryReach::Repository
    } else {
        HistoryReach::Private
    }
}

/// The programs that need somebody's word, with the reason.
fn dangers<'a>(
    parsed: &'a [words::Simple],
    rules: &'a Rules,
    place: &'a paths::Place<'a>,
) -> impl Iterator<Item = (&'a words::Simple, String)> {
    parsed
        .iter()
        .filter(|simple| !is_allowed(simple, rules))
        .filter_map(|simple| commands::danger(simple, place).map(|why| (simple, why)))
}

/// Whether a standing rule names the command's first words. What it redirects is still looked at.
fn is_allowed(simple: &words::Simple, rules: &Rules) -> bool {
    simple.redirects.is_empty()
        && rules.allow.iter().any(|rule| {
            let mut wanted = rule.split_whitespace().peekable();
            wanted.peek().is_some()
                && wanted
                    .zip(simple.words.iter().map(Some).chain(std::iter::repeat(None)))
                    .all(|(want, have)| have.is_some_and(|w| w.is_plain() && w.text == want))
        })
}

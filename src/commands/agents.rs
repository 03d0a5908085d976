//! The `crewdeck agents` subcommands.

use anyhow::{Result, anyhow, bail};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::table::lines;
use super::{CommandContext, CommandOutcome};
use crate::cli::AgentsVerb;
use crate::domain::external_agent::ExternalAgentInfo;
use crate::domain::role::{AgentRole, RoleCatalog};
use crate::domain::text::clip;

/// Maximum length of a role's description in the list of roles, in characters.
const DESCRIPTION_MAX: usize = 100;

pub fn run(verb: &AgentsVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let catalog = context.roles.read();
    match verb {
        AgentsVerb::List => {
            let (external, problems) = (context.external_agents)();
            CommandContext::warn(&problems);
            let all = AgentList {
                roles: &catalog.roles,
                external: &external,
            };
            context.print(&all, || list(&catalog, &external))?;
            let broken = catalog.broken.iter();
            let notices: Vec<String> = broken.map(|b| format!("{}: {}", b.path, b.why)).collect();
            CommandContext::warn(&notices);
        }
        AgentsVerb::Show { name } => {
            let found = catalog.resolve(name).map_err(|why| anyhow!(why))?;
            if let Some(role) = found {
                context.print(&ListedRole::new(role), || show(role))?;
                return Ok(CommandOutcome::Done);
            }
            let (external, problems) = (context.external_agents)();
            CommandContext::warn(&problems);
            let Some(agent) = external.iter().find(|agent| agent.name == *name) else {
                bail!(
                    "there is no role or external agent '{name}': crewdeck agents list shows all"
                );
            };
            context.print(agent, || show_external(agent))?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// The roles and the external agents as one list.
struct AgentList<'a> {
    roles: &'a [AgentRole],
    external: &'a [ExternalAgentInfo],
}

impl Serialize for AgentList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.roles.len() + self.external.len()))?;
        for role in self.roles {
            list.serialize_element(&ListedRole::new(role))?;
        }
        for agent in self.external {
            list.serialize_element(agent)?;
        }
        list.end()
    }
}

/// A role in the JSON output, with the field `type`, which distinguishes roles from external agents.
#[derive(Serialize)]
struct ListedRole<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    role: &'a AgentRole,
}

impl<'a> ListedRole<'a> {
    fn new(role: &'a AgentRole) -> ListedRole<'a> {
        ListedRole { kind: "role", role }
    }
}

fn list(catalog: &RoleCatalog, external: &[ExternalAgentInfo]) -> String {
    let roles = catalog.roles.iter().map(|role| {
        let notices = match role.notices.len() {
            0 => String::new(),
            1 => ", 1 notice".into(),
            more => format!(", {more} notices"),
        };
        let description = clip(&role.description, DESCRIPTION_MAX);
        format!(
            "{} ({}{notices}): {description}",
            role.name,
            role.source.label()
        )
    });
    let external = external.iter().map(|agent| {
        let title = match agent.title.as_str() {
            "" => clip(&agent.command.join(" "), DESCRIPTION_MAX),
            title => title.to_string(),
        };
        let state = state(agent);
        format!("{} (external agent): {title}; {state}", agent.name)
    });
    lines(roles.chain(external))
}

/// Returns the path of an external agent's program, or why the agent cannot be used, with the command that installs it
/// if that is known.
fn state(agent: &ExternalAgentInfo) -> String {
    match (&agent.path, agent.problem.as_str()) {
        (_, problem) if !problem.is_empty() => format!("cannot be used: {problem}"),
        (Some(path), _) => path.clone(),
        (None, _) if agent.install.is_empty() => {
            let program = agent.command.first().map_or("", String::as_str);
            format!("not installed: there is no program {program}")
        }
        (None, _) => format!("not installed: {}", agent.install),
    }
}

fn show_external(agent: &ExternalAgentInfo) -> String {
    let unknown = || "unknown".to_string();
    let mut out = vec![
        format!("{}: {}", agent.name, agent.title),
        format!("program: {}", state(agent)),
        format!("command: {}", agent.command.join(" ")),
        format!(
            "mode in which it asks before it acts: {}",
            agent.ask_mode.clone().unwrap_or_else(unknown)
        ),
        format!(
            "mode in which it only plans: {}",
            agent.plan_mode.clone().unwrap_or_else(unknown)
        ),
        format!(
            "sessions can be resumed after a crash: {}",
            match agent.loads_after_kill {
                Some(true) => "yes",
                Some(false) => "no",
                None => "unknown",
            }
        ),
    ];
    out.extend(agent.notes.iter().map(|note| format!("note: {note}")));
    out.join("\n")
}

fn show(role: &AgentRole) -> String {
    let joined = |names: &[String]| {
        if names.is_empty() {
            "none".into()
        } else {
            names.join(", ")
        }
    };
    let or = |text: &str, other: &str| {
        if text.is_empty() {
            other.to_string()
        } else {
            text.to_string()
        }
    };
    let word =
        |value: Option<serde_json::Value>| value.and_then(|v| v.as_str().map(str::to_string));
    let mut out = vec![
        format!("{}: {}", role.name, role.description),
        format!("file: {}", or(&role.path, "built in")),
        format!(
            "tools: {}",
            role.tools
                .allowed
                .as_ref()
                .map_or("all".into(), |list| joined(list))
        ),
    ];
    if !role.tools.denied.is_empty() {
        out.push(format!("denied tools: {}", joined(&role.tools.denied)));
    }
    out.push(format!("model: {}", or(&role.model, "same as the lead")));
    if let Some(effort) = word(role.effort.and_then(|e| serde_json::to_value(e).ok())) {
        out.push(format!("effort: {effort}"));
    }
    if !role.skills.is_empty() {
        out.push(format!("skills: {}", joined(&role.skills)));
    }
    if let Some(servers) = &role.servers {
        let names: Vec<String> = servers.iter().map(|s| s.name().to_string()).collect();
        out.push(format!("MCP servers: {}", joined(&names)));
    }
    if let Some(most) = role.rounds_max {
        out.push(format!("model calls in one turn: at most {most}"));
    }
    if let Some(color) = word(role.color.and_then(|c| serde_json::to_value(c).ok())) {
        out.push(format!("color: {color}"));
    }
    for notice in &role.notices {
        out.push(format!(
            "notice: {}:{}: {}",
            or(&role.path, "built in"),
            notice.line,
            notice.text
        ));
    }
    if !role.prompt.is_empty() {
        out.push(format!("\n{}", role.prompt));
    }
    out.join("\n")
}

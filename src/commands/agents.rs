//! The `crewdeck agents` subcommands.

use anyhow::{Result, anyhow, bail};

use super::{CommandContext, CommandOutcome};
use crate::cli::AgentsVerb;
use crate::domain::role::{AgentRole, RoleCatalog};
use crate::domain::text::clip;

/// Maximum length of a role's description in the list of roles, in characters.
const DESCRIPTION_MAX: usize = 100;

pub fn run(verb: &AgentsVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let catalog = context.roles.read();
    match verb {
        AgentsVerb::List => {
            context.print(&catalog.roles, || list(&catalog))?;
            let broken = catalog.broken.iter();
            let notices: Vec<String> = broken.map(|b| format!("{}: {}", b.path, b.why)).collect();
            CommandContext::warn(&notices);
        }
        AgentsVerb::Show { name } => {
            let found = catalog.resolve(name).map_err(|why| anyhow!(why))?;
            let Some(role) = found else {
                bail!("there is no role '{name}': crewdeck agents list shows all roles");
            };
            context.print(role, || show(role))?;
        }
    }
    Ok(CommandOutcome::Done)
}

fn list(catalog: &RoleCatalog) -> String {
    let lines = catalog.roles.iter().map(|role| {
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
    lines.collect::<Vec<_>>().join("\n")
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

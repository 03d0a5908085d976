//! Roles: prompt, tools, model and limits that a Markdown file gives to a teammate or subagent.

mod file;
#[cfg(test)]
mod file_tests;
mod limits;
mod tools;
mod values;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

pub use super::agent_color::RoleColor;
use super::team::DEFAULT_ROLE;

pub use file::{RoleError, RoleFile, is_model_alias};
pub use tools::{ToolSelection, ToolUse};

/// Maximum number of roles. Further roles cannot be used and are reported in [`RoleCatalog::broken`].
pub const ROLES_MAX: usize = 200;
/// Maximum length of a role's description, in characters. A longer one is cut and ends in `…`.
pub const DESCRIPTION_MAX: usize = 4096;
/// Maximum number of entries in each list of a role. Further skills and servers are dropped; further tools are an
/// error.
pub const LIST_MAX: usize = 128;
/// Maximum size, in bytes, of the list of roles in a prompt. The names of the roles that do not fit follow the list and
/// are not counted.
const PROMPT_LIST_MAX: usize = 2 * 1024;
/// Maximum length, in characters, of the names that follow the list of roles in a prompt because their roles do not fit
/// into the list.
const PROMPT_NAMES_MAX: usize = 1024;
/// Maximum length of a description in the list of roles in a prompt, in characters.
const PROMPT_DESCRIPTION_MAX: usize = 160;

/// The origin of a role. If two sources contain a role of the same name, the source that is declared first here is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleSource {
    /// The user's own folder, whose roles are available in all projects. It comes first, so that a repository cannot
    /// replace a role of the user by one with weaker limits.
    User,
    /// The folder `.crewdeck/agents/` of the project.
    Project,
    /// The folder `.claude/agents/` of the project.
    Claude,
    /// The role is part of crewdeck.
    BuiltIn,
}

impl RoleSource {
    pub fn label(self) -> &'static str {
        match self {
            RoleSource::Project | RoleSource::Claude => "project",
            RoleSource::User => "yours",
            RoleSource::BuiltIn => "built in",
        }
    }
}

/// The reasoning effort that a role sets for its agents, from the lowest to the highest level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleEffort {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl RoleEffort {
    /// Returns the name of the effort, such as `high`, as users see it and as requests to the model's server contain
    /// it. The only exception: requests to the APIs of OpenAI contain `xhigh` for `Max`.
    pub fn word(self) -> &'static str {
        match self {
            RoleEffort::Low => "low",
            RoleEffort::Medium => "medium",
            RoleEffort::High => "high",
            RoleEffort::Xhigh => "xhigh",
            RoleEffort::Max => "max",
        }
    }
}

/// An MCP server that a role names.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleServer {
    /// A server that is configured outside of the role.
    Named(String),
    /// A server whose configuration is part of the role's file. Only agents with this role have its tools. The server
    /// may be a program, so it does not start before the user has approved it.
    Inline { name: String, config: Value },
}

impl RoleServer {
    pub fn name(&self) -> &str {
        match self {
            RoleServer::Named(name) | RoleServer::Inline { name, .. } => name,
        }
    }
}

/// Serializes a named server as its name, and an inline server as a map from its name to `inline`. Leaves out the
/// configuration, which can contain secrets.
impl Serialize for RoleServer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RoleServer::Named(name) => serializer.serialize_str(name),
            RoleServer::Inline { name, .. } => serializer.collect_map([(name, "inline")]),
        }
    }
}

/// A warning about a role's file. The role can be used, but part of the file has no effect, or another effect than its
/// author may expect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RoleNotice {
    /// The line in the file, from 1.
    pub line: usize,
    /// The problem and what to do, on one line.
    pub text: String,
}

/// A role. All strings except the prompt are on one line, with control characters escaped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentRole {
    /// The name that identifies the role when an agent is started. Unique regardless of case.
    pub name: String,
    /// When to use the role.
    pub description: String,
    pub source: RoleSource,
    /// The path of the file as shown in messages; empty for a built-in role.
    pub path: String,
    #[serde(flatten)]
    pub tools: ToolSelection,
    /// The name of the model; empty for the lead's model.
    pub model: String,
    /// The reasoning effort of the agent; `None` for the effort that is configured for its model.
    pub effort: Option<RoleEffort>,
    /// The names of the skills whose text becomes part of the agent's system prompt.
    pub skills: Vec<String>,
    /// The MCP servers whose tools the agent may use. `None` means all servers of the crew.
    #[serde(rename = "mcpServers")]
    pub servers: Option<Vec<RoleServer>>,
    /// Maximum number of model calls in one turn. `None` means the default for teammates or for subagents.
    #[serde(rename = "maxTurns")]
    pub rounds_max: Option<u32>,
    pub color: Option<RoleColor>,
    /// The text that the role's file adds to the system prompt.
    pub prompt: String,
    pub notices: Vec<RoleNotice>,
}

impl AgentRole {
    /// Returns the limits on the agent's tools: the role's own selection and, if the role names servers, a selection of
    /// all built-in tools and the tools of these servers. The agent has a tool only if all limits permit the tool.
    pub fn limits(&self) -> Vec<ToolSelection> {
        let named = self.servers.as_ref().map(|servers| {
            let names: Vec<&str> = servers.iter().map(RoleServer::name).collect();
            ToolSelection::with_servers(&names)
        });
        std::iter::once(self.tools.clone()).chain(named).collect()
    }
}

/// A role's file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BrokenRole {
    /// The path of the file, or of a folder that cannot be read, as shown in messages.
    pub path: String,
    /// The problem and what to do, on one line. Names the line of the file if the problem is in one line.
    pub why: String,
    #[serde(skip)]
    pub source: RoleSource,
    /// The names that the role in the unusable file could have. Empty if the names are unknown, or if another file
    /// defines a role with one of them.
    #[serde(skip)]
    pub names: Vec<String>,
}

impl BrokenRole {
    /// Returns whether the file could define the role `name`. Case and surrounding blanks do not matter.
    pub fn has_name(&self, name: &str) -> bool {
        let name = name.trim().to_lowercase();
        self.names.iter().any(|n| n.trim().to_lowercase() == name)
    }
}

/// All roles, and the files that cannot be used.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RoleCatalog {
    /// The roles, sorted by name, at most [`ROLES_MAX`].
    pub roles: Vec<AgentRole>,
    /// The files that cannot be used, at most [`ROLES_MAX`].
    pub broken: Vec<BrokenRole>,
    /// Why some folders or files with roles could not be read, or that more than [`ROLES_MAX`] files cannot be used;
    /// `None` if `roles` and `broken` are complete.
    #[serde(skip)]
    pub incomplete: Option<String>,
}

impl RoleCatalog {
    /// Returns the role `name`; `None` if there is none. Case and surrounding blanks do not matter.
    pub fn find(&self, name: &str) -> Option<&AgentRole> {
        let name = name.trim().to_lowercase();
        self.roles.iter().find(|r| r.name.to_lowercase() == name)
    }

    /// Returns the role that `text` names; `None` if `text` is a free description of what an agent does. The text names
    /// a role if it equals the role's name, regardless of case and surrounding blanks.
    ///
    /// # Errors
    /// Fails if the text is the name of a role that cannot be used. If [`RoleCatalog::incomplete`] is set, also fails
    /// for every other text except [`DEFAULT_ROLE`], because the text could be the name of a role that was not read. As
    /// a free description, it would give the agent all tools, without the limits of the role.
    pub fn resolve(&self, text: &str) -> Result<Option<&AgentRole>, String> {
        if let Some(role) = self.find(text) {
            return Ok(Some(role));
        }
        if let Some(broken) = self.broken.iter().find(|b| b.has_name(text)) {
            return Err(format!("{}: {}", broken.path, broken.why));
        }
        match &self.incomplete {
            Some(why) if text != DEFAULT_ROLE => Err(format!(
                "some roles cannot be read: {why}. Omit role, or name a role that can be read"
            )),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the list of roles for the lead's prompt, built-in roles last. Empty if only built-in roles exist. The
    /// list with descriptions has at most 2 KiB. The names of the roles that do not fit follow the list, cut to about
    /// 1000 characters.
    pub fn prompt_list(&self) -> String {
        let is_own = |role: &AgentRole| role.source != RoleSource::BuiltIn;
        if !self.roles.iter().any(is_own) {
            return String::new();
        }
        let mut out = String::from(
            "Roles for spawn_teammate and task (pass the name as role; it sets prompt, tools and model):",
        );
        let mut left_out: Vec<&str> = Vec::new();
        // List built-in roles last, so that they are left out first if the list is too long.
        let (own, built_in): (Vec<&AgentRole>, Vec<&AgentRole>) =
            self.roles.iter().partition(|r| is_own(r));
        for role in own.into_iter().chain(built_in) {
            let description = super::text::clip(&role.description, PROMPT_DESCRIPTION_MAX);
            let line = format!("\n  - {}: {description}", role.name);
            if !left_out.is_empty() || out.len() + line.len() > PROMPT_LIST_MAX {
                left_out.push(&role.name);
            } else {
                out.push_str(&line);
            }
        }
        if !left_out.is_empty() {
            let names = super::text::clip(&left_out.join(", "), PROMPT_NAMES_MAX);
            out.push_str(&format!(
                "\n  [… {} more, without descriptions: {names} …]",
                left_out.len()
            ));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, source: RoleSource) -> AgentRole {
        let file = RoleFile::parse("---\ndescription: Does it\n---\nDo it.", name, &[]).unwrap();
        file.into_role(source, String::new())
    }

    #[test]
    fn prompt_lists_roles_only_if_one_is_defined() {
        let mut catalog = RoleCatalog {
            roles: vec![role("reviewer", RoleSource::BuiltIn)],
            ..RoleCatalog::default()
        };
        assert_eq!(catalog.prompt_list(), "");
        catalog.roles.push(role("zed", RoleSource::Claude));
        let list = catalog.prompt_list();
        assert!(
            list.ends_with("\n  - zed: Does it\n  - reviewer: Does it"),
            "{list}"
        );
        for n in 0..150 {
            catalog
                .roles
                .push(role(&format!("role-{n}"), RoleSource::Project));
        }
        let list = catalog.prompt_list();
        assert!(
            list.len() < PROMPT_LIST_MAX + PROMPT_NAMES_MAX + 100
                && list.contains(" more, without descriptions: ")
                && list.contains(", role-149, reviewer"),
            "{list}"
        );
    }

    #[test]
    fn inline_servers_are_printed_without_their_values() {
        let text = "---\ndescription: x\nmcpServers:\n  - a\n  - b: {command: run, env: {TOKEN: secret}}\n---\nDo it.";
        let role = RoleFile::parse(text, "x", &[])
            .unwrap()
            .into_role(RoleSource::User, String::new());
        let printed = serde_json::to_value(&role).unwrap();
        assert_eq!(
            printed["mcpServers"],
            serde_json::json!(["a", {"b": "inline"}])
        );
        assert!(!printed.to_string().contains("secret"));
        let permits = |tool: &str| role.limits().iter().all(|l| l.permits(tool, ToolUse::Work));
        assert!(permits("mcp__a__x") && permits("bash") && permits("mcp__b__x"));
        assert!(!permits("mcp__c__x"));
    }
}

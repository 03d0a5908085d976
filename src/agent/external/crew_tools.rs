//! The names of the tools that crewdeck's MCP server offers to an external agent: the crew's own, and those of the
//! crew's MCP servers.

use std::collections::BTreeMap;

use crate::agent::server_tools::ServerTools;
use crate::domain::mcp::{TOOL_PREFIX, server_of, tool_name};
use crate::tools::Tool;

/// The name of crewdeck's MCP server, as external agents see it.
pub const CREW_SERVER: &str = "crew";

/// The names of the tools that crewdeck's MCP server offers to one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrewToolNames {
    /// For each name under which a tool is offered, the tool's name in crewdeck.
    by_offered: BTreeMap<String, String>,
}

impl CrewToolNames {
    /// Returns the names of the tools in `own`. If `servers` is given, adds the names of the MCP servers' tools that
    /// the agent may use and that their servers have already reported.
    pub fn new(own: &[&'static Tool], servers: Option<&ServerTools>) -> CrewToolNames {
        let own = own.iter().map(|tool| (tool.name.into(), tool.name.into()));
        let of_servers = servers.map_or_else(Vec::new, ServerTools::names);
        let of_servers = of_servers.into_iter().map(|name| (offered(&name), name));
        CrewToolNames {
            by_offered: of_servers.chain(own).collect(),
        }
    }

    /// Returns the name in crewdeck of the tool that is offered as `name`; `None` if there is no such tool.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.by_offered.get(name).map(String::as_str)
    }

    /// Returns the name in crewdeck of the tool that an external agent calls as `name`. If no tool is offered under
    /// this name, for example because its MCP server is not ready yet, a name of the form `SERVER__TOOL` gets the
    /// prefix `mcp__`, and any other name is returned unchanged.
    pub fn resolve(&self, name: &str) -> String {
        let is_full = || server_of(name).is_some();
        match self.find(name) {
            Some(found) => found.to_string(),
            None if is_of_server(name) && !is_full() => format!("{TOOL_PREFIX}{name}"),
            None => name.to_string(),
        }
    }
}

/// Returns whether a tool that is offered as `name` belongs to an MCP server. Only such names contain `__`.
pub fn is_of_server(name: &str) -> bool {
    name.contains("__")
}

/// Returns the name under which crewdeck's MCP server offers the tool `name` (`mcp__SERVER__TOOL`) of another server:
/// `SERVER__TOOL`. A long name is shortened, so that it is still valid if the agent puts `mcp__crew__` before it.
pub fn offered(name: &str) -> String {
    let short = name.strip_prefix(TOOL_PREFIX).unwrap_or(name);
    let whole = tool_name(CREW_SERVER, short);
    let prefix = tool_name(CREW_SERVER, "");
    whole.strip_prefix(&prefix).unwrap_or(short).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::mcp::TOOL_NAME_MAX;

    #[test]
    fn offered_names_stay_valid_with_the_prefix_of_the_agent() {
        assert_eq!(offered("mcp__git__log"), "git__log");
        let long = tool_name("git", &"x".repeat(200));
        let longer = tool_name("git", &"x".repeat(201));
        assert_eq!(
            format!("mcp__crew__{}", offered(&long)).len(),
            TOOL_NAME_MAX
        );
        assert_ne!(offered(&long), offered(&longer));
    }

    #[test]
    fn names_of_servers_that_are_not_ready_are_completed() {
        let names = CrewToolNames {
            by_offered: [("short__x".into(), "mcp__short__xyz".into())].into(),
        };
        assert_eq!(names.resolve("short__x"), "mcp__short__xyz");
        assert_eq!(names.resolve("late__echo"), "mcp__late__echo");
        assert_eq!(names.resolve("mcp__late__echo"), "mcp__late__echo");
        assert_eq!(names.resolve("task_list"), "task_list");
    }
}

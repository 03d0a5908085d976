//! The tools of a role. Resolves the entries in the role's lists of tools, which are names of tools in Claude Code or
//! crewdeck, and decides which tools an agent has.

use serde::Serialize;

use crate::domain::hook::own_tools;
use crate::domain::mcp::{TOOL_PREFIX, matches_server, matches_tool};
use crate::domain::text::closest_match;

/// What a tool is used for. This decides whether a role's list of allowed tools applies to the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolUse {
    /// Reads, changes or runs something. If a role has a list of tools, its agents have this tool only if the list
    /// names it.
    Work,
    /// Works with other agents, the board or the user. Agents have this tool even if their role's list does not name
    /// it, unless `disallowedTools` does.
    Coordination,
}

/// Entry of a [`ToolSelection`] that stands for all tools.
pub(super) const ALL: &str = "*";

/// Entry of a [`ToolSelection`] that stands for all built-in tools.
const BUILT_IN: &str = "built-in";

/// Further names of tools in Claude Code, some of them from older versions, each with crewdeck's tools for the same
/// purpose. [`own_tools`] does not know these names.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("LS", &["glob"]),
    ("BashOutput", &["check_background"]),
    ("TaskOutput", &["check_background"]),
    ("KillShell", &["stop_background"]),
    ("KillBash", &["stop_background"]),
    ("TaskStop", &["stop_background"]),
    ("TodoRead", &["todo"]),
];

/// Tools of Claude Code that crewdeck does not have, each with what to use instead.
const MISSING: &[(&str, &str)] = &[
    ("WebFetch", "use an MCP server that fetches pages"),
    ("WebSearch", "use an MCP server that searches the web"),
    ("NotebookEdit", "edit_file edits notebooks as text"),
    ("NotebookRead", "read_file reads notebooks as text"),
    ("ExitPlanMode", "plan_approval submits plans"),
    ("EnterPlanMode", "spawn the teammate with plan: required"),
    ("SlashCommand", "load_skill loads skills"),
    ("ToolSearch", "crewdeck adds tool_search where it is needed"),
    ("LSP", "grep finds definitions"),
    (
        "Monitor",
        "check_background shows the output of background jobs",
    ),
    (
        "ListMcpResourcesTool",
        "agents get tools of MCP servers, not resources",
    ),
    (
        "ReadMcpResourceTool",
        "agents get tools of MCP servers, not resources",
    ),
];

/// Tools that are added when a list of tools in a role contains `bash`.
const WITH_BASH: &[&str] = &["background_run", "check_background", "stop_background"];

/// Returns whether `entry`, an entry of a [`ToolSelection`], stands for `tool`, alone or together with other tools.
fn names(entry: &str, tool: &str) -> bool {
    match entry {
        ALL => true,
        BUILT_IN => !tool.starts_with(TOOL_PREFIX),
        _ => entry == tool || matches_tool(entry, tool),
    }
}

/// The allowed and denied tools of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ToolSelection {
    /// The allowed tools: crewdeck's names of built-in tools, names or patterns of MCP servers' tools as in
    /// [`matches_tool`], `built-in` for all built-in tools, or `*` for all tools. `None` allows all; an empty list
    /// allows only tools of [`ToolUse::Coordination`].
    #[serde(rename = "tools")]
    pub allowed: Option<Vec<String>>,
    /// The denied tools, written as in `allowed`. A tool in both lists is denied.
    #[serde(rename = "disallowedTools")]
    pub denied: Vec<String>,
}

impl ToolSelection {
    /// Returns whether an agent with this selection has the tool. A denied tool is never permitted. Any other tool is
    /// permitted if the selection allows it, or if it is used for [`ToolUse::Coordination`]. `used_for` is
    /// [`ToolUse::Work`] for all tools of MCP servers.
    pub fn permits(&self, tool: &str, used_for: ToolUse) -> bool {
        let has = |list: &[String]| list.iter().any(|entry| names(entry, tool));
        if has(&self.denied) {
            return false;
        }
        match &self.allowed {
            None => true,
            Some(list) => used_for == ToolUse::Coordination || has(list),
        }
    }

    /// Returns whether the selection may permit a tool of the MCP server. Can return true although no tool is
    /// permitted, because the names of the server's tools are unknown here.
    pub fn permits_server(&self, server: &str) -> bool {
        let all_tools = format!("{TOOL_PREFIX}{server}__*");
        let is_denied = self.denied.iter().any(|entry| names(entry, &all_tools));
        let allowed = self.allowed.as_ref();
        !is_denied
            && allowed.is_none_or(|list| list.iter().any(|entry| matches_server(entry, server)))
    }

    /// Returns the selection of an agent that only reads files and works with other agents.
    pub fn reading() -> ToolSelection {
        let names = ["read_file", "glob", "grep"];
        ToolSelection {
            allowed: Some(names.map(String::from).to_vec()),
            denied: Vec::new(),
        }
    }

    /// Returns the selection of a lead that delegates all work: without tools that change files, run commands or call
    /// MCP servers.
    pub fn delegating() -> ToolSelection {
        let names = [
            "write_file",
            "edit_file",
            "bash",
            "background_run",
            "mcp__*",
        ];
        ToolSelection {
            allowed: None,
            denied: names.map(String::from).to_vec(),
        }
    }

    /// Returns the selection of all built-in tools and all tools of the MCP servers in `servers`.
    pub fn with_servers(servers: &[&str]) -> ToolSelection {
        let servers = servers
            .iter()
            .map(|server| format!("{TOOL_PREFIX}{server}"));
        ToolSelection {
            allowed: Some(std::iter::once(BUILT_IN.into()).chain(servers).collect()),
            denied: Vec::new(),
        }
    }
}

/// What an entry of a list of tools in a role's file stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolEntry {
    /// Names of crewdeck's tools, or a name or pattern of MCP servers' tools.
    Tools(Vec<String>),
    All,
    /// A tool of Claude Code that crewdeck does not have; the text says what to use instead.
    Missing(String),
    /// Neither crewdeck nor Claude Code has a tool of that name; the text says what to do.
    Unknown(String),
}

/// Resolves an entry such as `Read`, `read_file`, `Bash(git *)` or `mcp__github__*`. Also returns the pattern in
/// parentheses, for the caller to check, or `None` without parentheses. The pattern does not influence which tools are
/// returned. `built_in` are the names of all built-in tools.
pub(super) fn resolve<'a>(entry: &'a str, built_in: &[&str]) -> (ToolEntry, Option<&'a str>) {
    let (name, pattern) = match entry.split_once('(') {
        Some((name, pattern)) => (name.trim(), Some(pattern.trim_end_matches(')'))),
        None => (entry, None),
    };
    (resolve_name(name, built_in), pattern)
}

fn resolve_name(name: &str, built_in: &[&str]) -> ToolEntry {
    if name == ALL {
        return ToolEntry::All;
    }
    let own = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
        if names.iter().any(|n| n == "bash") {
            names.extend(WITH_BASH.iter().map(ToString::to_string));
            names.sort();
            names.dedup();
        }
        ToolEntry::Tools(names)
    };
    if name.starts_with(TOOL_PREFIX) {
        return ToolEntry::Tools(vec![name.into()]);
    }
    if built_in.contains(&name) {
        return own(&[name]);
    }
    let elsewhere = own_tools(name);
    if !elsewhere.is_empty() {
        return own(&elsewhere);
    }
    if let Some((_, names)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        return own(names);
    }
    if let Some((_, instead)) = MISSING.iter().find(|(other, _)| *other == name) {
        return ToolEntry::Missing(format!("crewdeck has no tool {name}: {instead}"));
    }
    let elsewhere = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task"];
    let known: Vec<&str> = built_in.iter().copied().chain(elsewhere).collect();
    ToolEntry::Unknown(match closest_match(name, &known) {
        Some(close) => format!("there is no tool {name}: did you mean {close}?"),
        None => format!("there is no tool {name}: remove it"),
    })
}

/// Names of some built-in tools, for tests.
#[cfg(test)]
pub(super) const SOME_TOOLS: &[&str] = &[
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "task",
    "task_create",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> ToolEntry {
        ToolEntry::Tools(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn names_of_claude_code_are_translated() {
        let bash = [
            "background_run",
            "bash",
            "check_background",
            "stop_background",
        ];
        for (entry, expected) in [
            ("Read", tools(&["read_file"])),
            ("read_file", tools(&["read_file"])),
            ("MultiEdit", tools(&["edit_file"])),
            ("Bash", tools(&bash)),
            ("Bash(git log *)", tools(&bash)),
            ("Task", tools(&["task"])),
            ("Agent(reviewer)", tools(&["task"])),
            ("KillShell", tools(&["stop_background"])),
            ("mcp__github__*", tools(&["mcp__github__*"])),
            ("*", ToolEntry::All),
        ] {
            assert_eq!(resolve(entry, SOME_TOOLS).0, expected, "{entry}");
        }
        for (entry, text) in [
            (
                "WebSearch",
                "crewdeck has no tool WebSearch: use an MCP server that searches the web",
            ),
            (
                "read_fiel",
                "there is no tool read_fiel: did you mean read_file?",
            ),
            ("Grpe", "there is no tool Grpe: did you mean Grep?"),
            ("Zzz9", "there is no tool Zzz9: remove it"),
        ] {
            let (found, _) = resolve(entry, SOME_TOOLS);
            let is_expected = match found {
                ToolEntry::Missing(found) => entry == "WebSearch" && found == text,
                ToolEntry::Unknown(found) => entry != "WebSearch" && found == text,
                ToolEntry::Tools(_) | ToolEntry::All => false,
            };
            assert!(is_expected, "{entry}");
        }
    }

    #[test]
    fn selection_permits_by_name_server_and_kind() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let permits = |selection: &ToolSelection, tool: &str| {
            let is_for_team = tool.starts_with("task_");
            let used_for = if is_for_team {
                ToolUse::Coordination
            } else {
                ToolUse::Work
            };
            selection.permits(tool, used_for)
        };
        let all = ToolSelection::default();
        assert!(permits(&all, "bash") && permits(&all, "mcp__a__b"));
        let some = ToolSelection {
            allowed: Some(list(&["read_file", "mcp__a", "mcp__b__*", "mcp__c__one"])),
            denied: list(&["task_create", "mcp__b__two"]),
        };
        for (tool, expected) in [
            ("read_file", true),
            ("bash", false),
            ("task_update", true),
            ("task_create", false),
            ("mcp__a__x", true),
            ("mcp__ab__x", false),
            ("mcp__b__one", true),
            ("mcp__b__two", false),
            ("mcp__c__one", true),
            ("mcp__c__two", false),
        ] {
            assert_eq!(permits(&some, tool), expected, "{tool}");
        }
        let none = ToolSelection {
            allowed: None,
            denied: list(&["mcp__*"]),
        };
        assert!(permits(&none, "bash") && !permits(&none, "mcp__a__b"));
        for (server, expected) in [("a", true), ("b", true), ("c", true), ("d", false)] {
            assert_eq!(some.permits_server(server), expected, "{server}");
            assert!(all.permits_server(server) && !none.permits_server(server));
        }
        let limited = ToolSelection::with_servers(&["a"]);
        assert!(permits(&limited, "bash") && permits(&limited, "mcp__a__b"));
        assert!(!permits(&limited, "mcp__b__x") && !limited.permits_server("b"));
    }
}

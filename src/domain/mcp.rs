//! MCP servers: how each is started or reached, in which state it is, and how its tools are named.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum length of a server's name, in bytes.
pub const SERVER_NAME_MAX: usize = 32;
/// Maximum length of a tool's name, in bytes. The model vendors refuse longer names.
pub const TOOL_NAME_MAX: usize = 64;
/// The beginning of the name of each tool of a server.
pub const TOOL_PREFIX: &str = "mcp__";

/// Where the configuration of a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSource {
    /// `.mcp.json` or a role of the project. Its servers are started only if the user has approved them.
    Project,
    /// `mcp.json` or a role of the user's settings folder.
    User,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program that reads requests from its standard input.
    Program {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// The work directory; `None` for the project directory.
        dir: Option<PathBuf>,
    },
    /// A server at a URL (streamable HTTP).
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// The configuration of one server. All variables are expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Letters, digits, `-` and `_`, which is not the last; at most [`SERVER_NAME_MAX`] bytes.
    pub name: String,
    pub source: ServerSource,
    /// The role that describes the server, and whose agents alone see it; `None` for a server of all agents.
    pub role: Option<String>,
    pub transport: ServerTransport,
    /// Maximum time of one call; `None` for the default.
    pub call_timeout: Option<Duration>,
    /// Whether the server starts with the crew, and its tools are never deferred. Other servers start before the first
    /// model call of an agent that sees them.
    pub is_always_loaded: bool,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// The user must approve its configuration first.
    WaitsForApproval,
    /// The user has disabled it.
    Disabled,
    /// It was not needed yet.
    Idle,
    Starting,
    Ready,
    /// The user must log in.
    NeedsLogin,
    /// It ended or could not be reached, and is started again at `retry_in_ms` after this event.
    Restarting {
        why: String,
        retry_in_ms: u64,
    },
    /// It is not started again by itself.
    Failed {
        why: String,
    },
}

/// What the screen shows of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    pub name: String,
    pub source: ServerSource,
    /// The role that describes the server, and whose agents alone see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(flatten)]
    pub state: ServerState,
    /// What is started or called, on one line and without secrets.
    pub target: String,
    pub tools: usize,
    pub calls: u64,
    /// The last error; empty if there was none.
    #[serde(default)]
    pub last_error: String,
}

/// All tools of all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCatalog {
    /// Increases with each change.
    pub generation: u64,
    /// Sorted by name.
    pub tools: Arc<[McpTool]>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The name for agents: `mcp__SERVER__TOOL`.
    pub name: String,
    pub server: String,
    /// The name that the server uses.
    pub tool: String,
    /// A name for the user; empty if the server gives none.
    pub title: String,
    /// At most 2 KiB and a mark if it is cut.
    pub description: String,
    /// An object schema that all model vendors accept, without references; at most 32 KiB.
    pub input_schema: Value,
    /// Whether the server says that the tool changes nothing (`readOnlyHint`).
    pub is_read_only: bool,
    /// Whether the tool may destroy something (`destructiveHint`). Tools do, unless they say otherwise.
    pub is_destructive: bool,
    /// Whether its definition is never deferred.
    pub is_always_loaded: bool,
}

impl McpTool {
    /// Returns a fingerprint of everything that the server says about the tool. The user grants a permission for the tool on
    /// the ground of this, so a tool with another fingerprint needs a new one. It is valid in one process only.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.tool, &self.title, &self.description).hash(&mut hasher);
        (self.is_read_only, self.is_destructive).hash(&mut hasher);
        self.input_schema.to_string().hash(&mut hasher);
        hasher.finish()
    }
}

/// Returns whether `name` can be the name of a server.
pub fn is_server_name(name: &str) -> bool {
    (1..=SERVER_NAME_MAX).contains(&name.len())
        && name.bytes().all(is_name_byte)
        && !name.contains("__")
        && !name.ends_with('_')
}

/// Returns the server in the name of a tool, `mcp__SERVER__TOOL`; `None` if this is no tool of a server.
pub fn server_of(tool: &str) -> Option<&str> {
    let (server, _) = tool.strip_prefix(TOOL_PREFIX)?.split_once("__")?;
    Some(server)
}

/// Returns the name of a tool for users: `SERVER · TOOL` for a tool of a server, other names unchanged.
pub fn shown_name(tool: &str) -> String {
    let parts = server_of(tool).and_then(|server| {
        let own = tool.get(TOOL_PREFIX.len() + server.len() + 2..)?;
        Some(format!("{server} · {own}"))
    });
    parts.unwrap_or_else(|| tool.into())
}

/// Returns whether `pattern` names the tool `tool` of a server: `mcp__SERVER` names all tools of a server,
/// `mcp__SERVER__TOOL` one. `*` stands for any characters.
pub fn matches_tool(pattern: &str, tool: &str) -> bool {
    pattern.starts_with(TOOL_PREFIX)
        && (matches(pattern.as_bytes(), tool.as_bytes())
            || matches(format!("{pattern}__*").as_bytes(), tool.as_bytes()))
}

/// Returns whether `pattern` may name a tool of `server`.
pub fn matches_server(pattern: &str, server: &str) -> bool {
    pattern.strip_prefix(TOOL_PREFIX).is_some_and(|rest| {
        let named = rest.split_once("__").map_or(rest, |(named, _)| named);
        matches(named.as_bytes(), server.as_bytes())
    })
}

/// Matches a pattern with `*`, in time proportional to the product of the lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // The last `*`, and where the text that it stands for ends.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(byte) if *byte == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((start, end)) = &mut star else {
                    return false;
                };
                *end += 1;
                (at, from) = (*start + 1, *end);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Returns the name under which agents call the tool `tool` of `server`, `mcp__SERVER__TOOL`. Characters that the model
/// vendors refuse become `_`. A name that is changed or too long ends with a hash of the original, so that two tools never
/// share a name.
pub fn tool_name(server: &str, tool: &str) -> String {
    let whole = format!("{TOOL_PREFIX}{server}__{tool}");
    let clean: String = whole
        .bytes()
        .map(|byte| {
            if is_name_byte(byte) {
                char::from(byte)
            } else {
                '_'
            }
        })
        .collect();
    if clean == whole && clean.len() <= TOOL_NAME_MAX {
        return clean;
    }
    let mark = format!("_{:08x}", fnv(whole.as_bytes()));
    let kept = clean.len().min(TOOL_NAME_MAX - mark.len());
    format!("{}{mark}", &clean[..kept])
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the FNV-1a hash. It must be the same in every version: transcripts contain the names.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_are_valid_and_unique() {
        assert_eq!(tool_name("git", "git_log"), "mcp__git__git_log");
        let long = "x".repeat(200);
        let names = [
            tool_name("git", "a.b"),
            tool_name("git", "a/b"),
            tool_name("git", "a_b"),
            tool_name("git", &long),
            tool_name("git", &format!("{long}y")),
            tool_name("git", "über"),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() <= TOOL_NAME_MAX, "{name}");
            assert!(name.bytes().all(is_name_byte), "{name}");
            assert!(!names[..at].contains(name), "{name}");
        }
    }

    #[test]
    fn patterns_name_tools_and_servers() {
        let tool = "mcp__git__git_log";
        for pattern in [
            "mcp__git",
            "mcp__git__git_log",
            "mcp__git__*_log",
            "mcp__*",
            "mcp__g*t",
        ] {
            assert!(matches_tool(pattern, tool), "{pattern}");
            assert!(matches_server(pattern, "git"), "{pattern}");
        }
        for pattern in [
            "git",
            "*",
            "mcp__gi",
            "mcp__git__git",
            "mcp__github",
            "mcp__git__*x",
        ] {
            assert!(!matches_tool(pattern, tool), "{pattern}");
        }
        assert!(!matches_server("mcp__gi", "git"));
        assert_eq!(server_of(tool), Some("git"));
        assert_eq!(server_of("mcp__a___b"), Some("a"));
        assert_eq!(server_of("bash"), None);
        assert_eq!(shown_name("mcp__git__git__log"), "git · git__log");
        assert_eq!(shown_name("bash"), "bash");
    }

    #[test]
    fn server_names_contain_no_separator() {
        for name in ["git", "my-server", "a_b", "1"] {
            assert!(is_server_name(name), "{name}");
        }
        for name in ["", "a__b", "a_", "a b", "é", &"x".repeat(33)] {
            assert!(!is_server_name(name), "{name}");
        }
    }
}

//! MCP servers: their configuration, their states, and their tools with the names and patterns for them.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum length of a server's name, in bytes.
pub const SERVER_NAME_MAX: usize = 32;
/// Maximum length, in bytes, of the name of any tool in a request. Model vendors reject longer names.
pub const TOOL_NAME_MAX: usize = 64;
/// The first part of the names of MCP servers' tools, as agents call them: `mcp__SERVER__TOOL`.
pub const TOOL_PREFIX: &str = "mcp__";

/// Where the configuration of a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSource {
    /// The project's `.mcp.json`, or a role of the project. The server starts only if the user has approved it.
    Project,
    /// The file `mcp.json` in the user's settings folder, or a role in that folder.
    User,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program that reads requests from its standard input and writes responses to its standard output.
    Program {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// The work directory; `None` stands for the project directory.
        dir: Option<PathBuf>,
    },
    /// A server at a URL (streamable HTTP).
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// The OAuth client as which the user logs in to a server over HTTP.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuthClient {
    /// The id of a client that is registered with the server. With `None`, crewdeck registers a client itself.
    pub id: Option<String>,
    /// The secret of the registered client; `None` if the client has no secret.
    pub secret: Option<String>,
    /// The port in `http://localhost:PORT/callback`, the address to which the browser returns after the login. With
    /// `None`, crewdeck uses any free port.
    pub callback_port: Option<u16>,
}

/// Prints whether there is a secret, but not its value.
impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("has_secret", &self.secret.is_some())
            .field("callback_port", &self.callback_port)
            .finish()
    }
}

/// The configuration of one server. Environment variables in it are already replaced by their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The server's name: ASCII letters, digits, `-` and `_`, without `__` and without `_` at the end; at most
    /// [`SERVER_NAME_MAX`] bytes.
    pub name: String,
    pub source: ServerSource,
    /// The role whose file declares the server. Only agents with this role can use the server. `None` if all agents
    /// can.
    pub role: Option<String>,
    pub transport: ServerTransport,
    /// Maximum time that a call may take without a progress report; `None` for the default of 60 s.
    pub call_timeout: Option<Duration>,
    /// Maximum time from the start until the server has sent its list of tools; `None` for the default of 30 s.
    pub start_timeout: Option<Duration>,
    pub oauth: OAuthClient,
    /// Whether the server starts with the crew. If true, the model requests of all agents that may use its tools
    /// contain the definitions of these tools. If false, the server starts before the first model call of an agent that
    /// may use its tools. The tools may then be deferred: an agent finds them with the tool `tool_search`.
    pub is_always_loaded: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// The user has not approved the server's configuration yet.
    WaitsForApproval,
    /// The user has disabled the server.
    Disabled,
    /// The server was not needed yet, or has ended with the crew.
    Idle,
    Starting,
    Ready,
    /// The user must log in to the server.
    NeedsLogin,
    /// The server ended or could not be reached. It restarts `retry_in_ms` milliseconds after it entered this state.
    Restarting {
        why: String,
        retry_in_ms: u64,
    },
    /// The server cannot be used, and only the user can restart it.
    Failed {
        why: String,
    },
}

/// A server as the screen shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    pub name: String,
    pub source: ServerSource,
    /// The role whose file declares the server. Only agents with this role can use the server. `None` if all agents
    /// can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(flatten)]
    pub state: ServerState,
    /// The command line, or the URL, of the server on one line and without secrets.
    pub target: String,
    /// The number of the server's tools.
    pub tools: usize,
    /// The number of calls of the server's tools since the crew started.
    pub calls: u64,
    /// The text of the last error; empty if there was none.
    #[serde(default)]
    pub last_error: String,
}

impl ServerStatus {
    /// Returns whether a login may make the server usable: the server asks for one, or crewdeck reaches the server over
    /// HTTP and the server has failed.
    pub fn offers_login(&self) -> bool {
        match self.state {
            ServerState::NeedsLogin => true,
            ServerState::Failed { .. } => self.is_http(),
            _ => false,
        }
    }

    /// Returns whether tokens of a login may be stored for the server: crewdeck reaches the server over HTTP, and the
    /// server does not ask for a login.
    pub fn offers_logout(&self) -> bool {
        self.is_http() && self.state != ServerState::NeedsLogin
    }

    fn is_http(&self) -> bool {
        ["http://", "https://"]
            .iter()
            .any(|start| self.target.starts_with(start))
    }
}

/// All tools that MCP servers have listed. A server that has failed or is disabled contributes no tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCatalog {
    /// A number that increases with each change of the tools; 0 before the first change.
    pub generation: u64,
    /// All tools, sorted by name.
    pub tools: Arc<[McpTool]>,
}

/// A tool of an MCP server, with the texts that the server has sent.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The name under which agents call the tool: `mcp__SERVER__TOOL`. It may differ from `server` and `tool` in
    /// characters that model vendors reject and in length, see [`tool_name`].
    pub name: String,
    pub server: String,
    /// The name that the server itself uses for the tool.
    pub tool: String,
    /// The name that the server wants users to see; empty if the server provides none.
    pub title: String,
    /// The first 2 KiB of the server's description of the tool. If it was longer, a note at the end says how many bytes
    /// were cut.
    pub description: String,
    /// The JSON schema of the tool's input, at most 32 KiB. Its type is an object, references are resolved, and it uses
    /// only keywords that all model vendors accept.
    pub input_schema: Value,
    /// Whether the server says that the tool changes nothing (`readOnlyHint`).
    pub is_read_only: bool,
    /// Whether the tool may destroy something (`destructiveHint`). False if the server says so, or if the tool changes
    /// nothing; otherwise true.
    pub is_destructive: bool,
    /// Whether the model requests of all agents that may use the tool contain its definition, even if other tools are
    /// deferred. Set from [`ServerConfig::is_always_loaded`].
    pub is_always_loaded: bool,
}

impl McpTool {
    /// Returns a hash of everything that the server says about the tool. Session permissions contain the hash, so that
    /// they no longer apply after the server has changed the tool. Must not be stored, because another version of
    /// crewdeck may compute another hash.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.tool, &self.title, &self.description).hash(&mut hasher);
        (self.is_read_only, self.is_destructive).hash(&mut hasher);
        self.input_schema.to_string().hash(&mut hasher);
        hasher.finish()
    }
}

/// Returns whether `name` is a valid server name, see [`ServerConfig::name`].
pub fn is_server_name(name: &str) -> bool {
    (1..=SERVER_NAME_MAX).contains(&name.len())
        && name.bytes().all(is_name_byte)
        && !name.contains("__")
        && !name.ends_with('_')
}

/// Returns the `SERVER` part of a tool name `mcp__SERVER__TOOL`; `None` if `tool` has another form. Does not check
/// whether such a server exists.
pub fn server_of(tool: &str) -> Option<&str> {
    let (server, _) = tool.strip_prefix(TOOL_PREFIX)?.split_once("__")?;
    Some(server)
}

/// Returns the name of a tool as users see it: `SERVER · TOOL` for `mcp__SERVER__TOOL`, and any other name unchanged.
pub fn shown_name(tool: &str) -> String {
    let parts = server_of(tool).and_then(|server| {
        let own = tool.get(TOOL_PREFIX.len() + server.len() + 2..)?;
        Some(format!("{server} · {own}"))
    });
    parts.unwrap_or_else(|| tool.into())
}

/// Returns whether `pattern` matches `tool`, the name of a tool of an MCP server. `mcp__SERVER` matches all tools of a
/// server, `mcp__SERVER__TOOL` matches one tool. `*` stands for any characters, including none. Case matters. A pattern
/// that does not start with `mcp__` matches nothing.
pub fn matches_tool(pattern: &str, tool: &str) -> bool {
    let Some(rest) = pattern.strip_prefix(TOOL_PREFIX) else {
        return false;
    };
    // The name of a tool may contain `__`, so `__*` is only appended to a pattern that names no tool.
    let names_server = !rest.contains("__");
    matches_wildcards(pattern.as_bytes(), tool.as_bytes())
        || (names_server && matches_wildcards(format!("{pattern}__*").as_bytes(), tool.as_bytes()))
}

/// Returns whether `pattern`, in the form that [`matches_tool`] describes, may match the name of some tool of `server`.
/// Compares only the part of the pattern before the first `*`, so it can return true although the pattern matches no
/// tool of the server.
pub fn matches_server(pattern: &str, server: &str) -> bool {
    pattern.strip_prefix(TOOL_PREFIX).is_some_and(|rest| {
        let named = rest.split_once("__").map_or(rest, |(named, _)| named);
        match named.split_once('*') {
            // The `*` may also stand for the end of the server's name together with the beginning of the tool's name.
            Some((start, _)) => format!("{server}__").starts_with(start),
            None => named == server,
        }
    })
}

/// Returns whether `pattern` matches all of `text`. `*` stands for any bytes. The run time is at most proportional to
/// the product of the lengths of both.
pub(super) fn matches_wildcards(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // The position of the last `*` in `pattern`, and the end of the part of `text` that the `*` currently stands for.
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

/// Returns the name under which agents call the tool `tool` of `server`: `mcp__SERVER__TOOL`. Characters that model
/// vendors reject become `_`, and a name above [`TOOL_NAME_MAX`] bytes is cut. A name that was changed ends with a hash
/// of the original, so that it differs from the names of other tools.
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

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the FNV-1a hash of `bytes`. The function must not change, because stored conversations contain tool names
/// that end with this hash.
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
            "mcp__*log",
            "mcp__g*t__git_log",
            "mcp__git_*",
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
        assert!(!matches_tool("mcp__git__git", "mcp__git__git__delete"));
        for pattern in ["mcp__gi", "mcp__x*log", "mcp__gi__*", "mcp__git_x*"] {
            assert!(!matches_server(pattern, "git"), "{pattern}");
        }
        assert_eq!(server_of(tool), Some("git"));
        assert_eq!(server_of("mcp__a___b"), Some("a"));
        assert_eq!(server_of("bash"), None);
        assert_eq!(shown_name("mcp__git__git__log"), "git · git__log");
        assert_eq!(shown_name("bash"), "bash");
    }

    #[test]
    fn login_is_offered_to_failed_servers_over_http() {
        let failed = || ServerState::Failed { why: "x".into() };
        for (target, state, expected) in [
            ("https://example.com/mcp", failed(), true),
            ("uvx mcp-server-time", failed(), false),
            ("https://example.com/mcp", ServerState::Ready, false),
            ("https://example.com/mcp", ServerState::NeedsLogin, true),
        ] {
            let status = ServerStatus {
                name: "a".into(),
                source: ServerSource::User,
                role: None,
                state,
                target: target.into(),
                tools: 0,
                calls: 0,
                last_error: String::new(),
            };
            assert_eq!(status.offers_login(), expected, "{status:?}");
        }
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

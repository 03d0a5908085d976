//! Session permissions: commands and calls of MCP servers' tools that the user has allowed for the whole team until
//! crewdeck ends. Also the entries of the setting `allow`, in the form in which they are shown to the user.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::mcp::shown_name;
use super::text::{clip, one_line};
use super::timestamp::Timestamp;

/// Maximum number of session permissions. If there are this many, the user must revoke one before granting another.
pub const PERMISSIONS_MAX: usize = 100;

/// The commands, or the calls of MCP servers' tools, that a permission covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum PermissionScope {
    /// Only this exact command.
    Exact { command: String },
    /// Commands in which every simple command that needs approval begins with `words`. Commands with pipes,
    /// redirections, assignments, expansions or file name patterns are excluded, and so are commands that leave the
    /// work directory.
    Begins {
        /// The program and its subcommand, such as `git push`.
        words: String,
    },
    /// Every tool of an MCP server, including tools that the server adds or changes later.
    Server { server: String },
    /// Every call of one tool of an MCP server; `tool` is its name `mcp__SERVER__TOOL`. As in all scopes with a field
    /// `definition`, the permission applies only until the server changes the tool:
    /// [`crate::domain::mcp::McpTool::fingerprint`] must still equal `definition`.
    ServerTool {
        tool: String,
        #[serde(default)]
        definition: u64,
    },
    /// Calls of one tool of an MCP server in which the argument named `field` is a path below `folder`.
    ServerFolder {
        tool: String,
        #[serde(default)]
        definition: u64,
        field: String,
        /// The path of the folder, with a slash at its end.
        folder: String,
    },
    /// Calls of one tool of an MCP server with exactly this input.
    ServerCall {
        tool: String,
        #[serde(default)]
        definition: u64,
        /// The input as JSON.
        input: String,
    },
}

impl fmt::Display for PermissionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PermissionScope::Exact { command } => write!(f, "exactly `{command}`"),
            PermissionScope::Begins { words } => {
                write!(f, "every command that begins with `{words}`")
            }
            PermissionScope::Server { server } => {
                write!(f, "every tool of the MCP server `{server}`, also new ones")
            }
            PermissionScope::ServerTool { tool, .. } => {
                write!(f, "every call of `{}`", shown_name(tool))
            }
            PermissionScope::ServerFolder {
                tool,
                field,
                folder,
                ..
            } => write!(
                f,
                "every call of `{}` with `{field}` below `{folder}`",
                shown_name(tool)
            ),
            PermissionScope::ServerCall { tool, input, .. } => {
                write!(f, "`{}` with exactly `{input}`", shown_name(tool))
            }
        }
    }
}

/// A permission that the user has granted the whole team until crewdeck ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionPermission {
    /// A consecutive number, never reused in a session.
    pub number: u64,
    pub scope: PermissionScope,
    pub by: Name,
    /// The agent whose request led to the permission.
    pub asked_by: Name,
    pub since: Timestamp,
}

/// Maximum number of entries of the setting `allow` that are shown.
const SHOWN_ENTRIES_MAX: usize = 200;
/// Maximum length of a shown entry, in characters. A longer entry is cut.
const SHOWN_ENTRY_MAX: usize = 200;

/// The commands and calls that the setting `allow` lets run without asking, as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SettingsPermissions {
    /// The first 200 entries, each on one line and cut to 200 characters.
    pub entries: Vec<String>,
    /// The number of further entries, which are not shown.
    #[serde(default)]
    pub left_out: usize,
    /// The settings file with the entries, as shown to the user.
    pub file: String,
}

impl SettingsPermissions {
    /// Creates the permissions of the settings file `file`, with the `entries` of its setting `allow`.
    pub fn new(entries: &[String], file: String) -> SettingsPermissions {
        let shown = entries.iter().take(SHOWN_ENTRIES_MAX);
        SettingsPermissions {
            entries: shown
                .map(|entry| clip(&one_line(entry), SHOWN_ENTRY_MAX))
                .collect(),
            left_out: entries.len().saturating_sub(SHOWN_ENTRIES_MAX),
            file,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_entries_of_the_settings_are_bounded() {
        let entries = vec!["make ".repeat(100); SHOWN_ENTRIES_MAX + 7];
        let many = SettingsPermissions::new(&entries, "config.toml".into());
        assert_eq!((many.entries.len(), many.left_out), (SHOWN_ENTRIES_MAX, 7));
        assert_eq!(many.entries[0].chars().count(), SHOWN_ENTRY_MAX);
        let few = SettingsPermissions::new(&["make".into()], "config.toml".into());
        assert_eq!((few.entries, few.left_out), (vec!["make".to_string()], 0));
    }
}

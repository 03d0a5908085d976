//! Decides which calls of MCP servers' tools run and which need approval. Also returns the session permissions that the
//! user can grant for a call. Does no I/O.

use std::path::{Component, Path};

use serde_json::Value;

use super::{NO_PLAN, PermissionRules, PlanGate, PolicyContext, Ruling};
use crate::domain::call_pattern::CallPattern;
use crate::domain::mcp::{McpTool, server_of};
use crate::domain::permission::PermissionScope;
use crate::domain::text::{clip, one_line};

/// Maximum length, in bytes, of the input of a call for which the user can grant [`PermissionScope::ServerCall`].
const EXACT_MAX: usize = 4 * 1024;
/// Maximum length of the title and description of a tool in the reason why a call needs approval, in characters. A
/// longer text is cut.
const WORDS_MAX: usize = 200;
/// Names of arguments that usually contain the file or folder that a call changes. If an input contains several of
/// them, the one that is first in this list is used.
const PATH_FIELDS: &[&str] = &["path", "file_path", "filePath", "file", "filename", "uri"];

/// Decides whether the call of an MCP tool runs. A call of a tool that only reads always runs. Calls of other tools are
/// refused while the plan gate is closed, which means that the agent's plan is not approved yet. While the gate is
/// open, a call runs if the settings or a session permission allow it; otherwise it needs approval.
pub fn decide(tool: &McpTool, input: &Value, standing: &PolicyContext<'_>) -> Ruling {
    if tool.is_read_only {
        return Ruling::Allow;
    }
    if standing.gate == PlanGate::Closed {
        return Ruling::Deny {
            why: NO_PLAN.into(),
        };
    }
    let definition = tool.fingerprint();
    if is_allowed(&tool.name, definition, &input.to_string(), standing.rules) {
        return Ruling::Allow;
    }
    let server = &tool.server;
    let effect = if tool.is_destructive {
        "may change or delete data"
    } else {
        "may add data"
    };
    Ruling::Ask {
        why: format!(
            "the tool {effect}. The MCP server {server} runs with your rights, outside of the sandbox and the agent's \
             worktree{}",
            words_of(tool)
        ),
    }
}

/// Returns the title of a tool and the first sentence of its description as a quotation of the server, to be appended
/// to the reason why a call needs approval. Empty if the tool has neither.
fn words_of(tool: &McpTool) -> String {
    let description = tool.description.trim_start();
    let line = description.lines().next().unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    let parts = [tool.title.trim(), line[..end].trim()];
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if said.is_empty() {
        return String::new();
    }
    // A quotation mark of the server must not end the quotation.
    let said = one_line(&said.join(": ")).replace('"', "'");
    format!(
        ". The server says about the tool: \"{}\"",
        clip(&said, WORDS_MAX)
    )
}

/// Returns whether the settings or a session permission allow a call of `tool`. `definition` is the fingerprint of the
/// tool's definition, and `input` is the input of the call as JSON. Returns false if `tool` is not the tool of an MCP
/// server.
pub fn is_allowed(tool: &str, definition: u64, input: &str, rules: &PermissionRules) -> bool {
    let mut session = rules.session.iter();
    let covers_call =
        |rule: &String| CallPattern::parse(rule).is_ok_and(|pattern| pattern.matches(tool, input));
    server_of(tool).is_some()
        && (rules.allow.iter().any(covers_call)
            || session.any(|scope| covers(scope, tool, definition, input)))
}

/// Returns the session permissions that the user can grant for a call, the narrowest first: for this call, for the
/// folder of the file in the input, for the tool, for the server. The first is missing if the input is longer than
/// `EXACT_MAX`, the second if the input has no plain path with a folder. Empty if `tool` is not the tool of a server.
pub fn offered_scopes(tool: &str, definition: u64, input: &str) -> Vec<PermissionScope> {
    let Some(server) = server_of(tool) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if input.len() <= EXACT_MAX {
        out.push(PermissionScope::ServerCall {
            tool: tool.into(),
            definition,
            input: input.into(),
        });
    }
    let parsed: Option<Value> = serde_json::from_str(input).ok();
    let folder = parsed.as_ref().and_then(|input| {
        PATH_FIELDS
            .iter()
            .find_map(|field| Some((*field, input.get(field)?.as_str()?)))
    });
    if let Some((field, path)) = folder
        && is_plain_path(path)
        && let Some((folder, _)) = path.rsplit_once('/')
        && !folder.is_empty()
    {
        out.push(PermissionScope::ServerFolder {
            tool: tool.into(),
            definition,
            field: field.into(),
            folder: format!("{folder}/"),
        });
    }
    out.push(PermissionScope::ServerTool {
        tool: tool.into(),
        definition,
    });
    out.push(PermissionScope::Server {
        server: server.into(),
    });
    out
}

fn covers(scope: &PermissionScope, tool: &str, present: u64, input: &str) -> bool {
    match scope {
        PermissionScope::Server { server } => server_of(tool) == Some(server),
        PermissionScope::ServerTool {
            tool: allowed,
            definition,
        } => allowed == tool && *definition == present,
        PermissionScope::ServerFolder {
            tool: allowed,
            definition,
            field,
            folder,
        } => {
            let parsed: Option<Value> = serde_json::from_str(input).ok();
            let path = parsed.as_ref().and_then(|input| input.get(field)?.as_str());
            allowed == tool
                && *definition == present
                && path.is_some_and(|path| is_plain_path(path) && path.starts_with(folder.as_str()))
        }
        PermissionScope::ServerCall {
            tool: allowed,
            definition,
            input: same,
        } => allowed == tool && *definition == present && same == input,
        PermissionScope::Exact { .. } | PermissionScope::Begins { .. } => false,
    }
}

/// Returns whether the text of a path shows which file it names: the path does not begin with `./` and contains no
/// `..`, `%`, backslash or NUL. The path can still lead elsewhere through a symbolic link.
fn is_plain_path(path: &str) -> bool {
    !path.contains(['%', '\\', '\0'])
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::RootDir))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn tool(is_read_only: bool) -> McpTool {
        McpTool {
            name: "mcp__fs__write".into(),
            server: "fs".into(),
            tool: "write".into(),
            title: String::new(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            is_read_only,
            is_destructive: true,
            is_always_loaded: false,
        }
    }

    fn ruling(tool: &McpTool, input: &Value, rules: &PermissionRules, gate: PlanGate) -> Ruling {
        let workdir = Path::new("/w");
        decide(
            tool,
            input,
            &PolicyContext {
                rules,
                gate,
                workdir,
            },
        )
    }

    #[test]
    fn only_read_only_tools_run_without_asking() {
        let none = PermissionRules::default();
        for gate in [PlanGate::Open, PlanGate::Closed] {
            assert_eq!(ruling(&tool(true), &json!({}), &none, gate), Ruling::Allow);
        }
        let asked = ruling(&tool(false), &json!({}), &none, PlanGate::Open);
        assert!(matches!(&asked, Ruling::Ask { why } if why.ends_with("and the agent's worktree")));
        let refused = ruling(&tool(false), &json!({}), &none, PlanGate::Closed);
        assert!(matches!(refused, Ruling::Deny { .. }));
        let allow = PermissionRules {
            allow: vec!["mcp__fs__w*".into()],
            ..PermissionRules::default()
        };
        assert_eq!(
            ruling(&tool(false), &json!({}), &allow, PlanGate::Open),
            Ruling::Allow
        );
    }

    #[test]
    fn settings_allow_calls_by_their_arguments() {
        let rules = PermissionRules {
            allow: vec!["mcp__fs__write(path:docs/*)".into()],
            ..PermissionRules::default()
        };
        let ruled = |path: &str| {
            ruling(
                &tool(false),
                &json!({ "path": path }),
                &rules,
                PlanGate::Open,
            )
        };
        assert_eq!(ruled("docs/a.md"), Ruling::Allow);
        assert!(matches!(ruled("src/a.rs"), Ruling::Ask { .. }));
        assert!(matches!(ruled("docs/../src/a.rs"), Ruling::Ask { .. }));
    }

    #[test]
    fn approval_request_quotes_what_the_server_says() {
        let quoted = |title: &str, description: &str| {
            let tool = McpTool {
                title: title.into(),
                description: description.into(),
                ..tool(false)
            };
            let none = PermissionRules::default();
            match ruling(&tool, &json!({}), &none, PlanGate::Open) {
                Ruling::Ask { why } => why
                    .split_once(" the agent's worktree")
                    .unwrap()
                    .1
                    .to_string(),
                other => panic!("{other:?}"),
            }
        };
        let begin = ". The server says about the tool: ";
        for (title, description, expected) in [
            (
                "Write",
                "Writes v1.2 files. Be careful.",
                "\"Write: Writes v1.2 files.\"",
            ),
            ("", "\nFirst line\nsecond", "\"First line\""),
            ("Only title", "", "\"Only title\""),
            ("", "It is \"safe\". \u{1b}[31mApprove", "\"It is 'safe'.\""),
            ("\u{1b}[2J\u{202e}x", "", "\"␛[2J\u{fffd}x\""),
        ] {
            assert_eq!(quoted(title, description), format!("{begin}{expected}"));
        }
        let long = quoted("", &"x".repeat(3000));
        assert!(
            long.ends_with("x…\"") && long.chars().count() < 250,
            "{long}"
        );
        assert_eq!(quoted("", " "), "");
    }

    #[test]
    fn session_permission_covers_what_it_says() {
        let input = json!({"path": "src/a.rs", "content": "x"}).to_string();
        let scopes = offered_scopes("mcp__fs__write", 1, &input);
        let covered = |scope: &PermissionScope| {
            let path = |path: &str| json!({"path": path, "content": "y"}).to_string();
            [
                ("mcp__fs__write", 1, input.clone()),
                ("mcp__fs__write", 1, path("src/b/c.rs")),
                ("mcp__fs__write", 1, path("src/../x")),
                ("mcp__fs__write", 1, path("srcs/x")),
                ("mcp__fs__write", 2, input.clone()),
                ("mcp__fs__read", 1, input.clone()),
                ("mcp__fsx__write", 1, input.clone()),
            ]
            .iter()
            .map(|(tool, definition, input)| covers(scope, tool, *definition, input))
            .collect::<Vec<_>>()
        };
        let all: Vec<_> = scopes.iter().map(covered).collect();
        assert_eq!(
            all,
            [
                [true, false, false, false, false, false, false],
                [true, true, false, false, false, false, false],
                [true, true, true, true, false, false, false],
                [true, true, true, true, true, true, false],
            ]
        );
        assert_eq!(offered_scopes("write_file", 0, "{}"), []);
        assert!(!is_allowed("bash", 0, "{}", &PermissionRules::default()));
    }
}

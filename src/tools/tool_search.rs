//! `tool_search`: finds tools of MCP servers whose definitions are not in the requests to the model. It is not in the
//! tool table, because an agent has it only if all definitions together would be too long. Does no I/O: the caller
//! stores which tools were found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::nearest::nearest;
use super::{ToolOutput, parse, schema_of};
use crate::domain::mcp::McpTool;
use crate::domain::text::{clip, one_line};

pub const NAME: &str = "tool_search";
/// Maximum number of tools in a result. Further matches are left out.
pub const MATCHES_MAX: usize = 5;
/// Maximum length of the list of names in the description, in bytes. Further names are only counted.
const NAMES_MAX: usize = 4 * 1024;
/// Maximum length of the list of servers in the description, in characters. A longer list is cut.
const SERVERS_MAX: usize = 300;
/// Maximum length of the query that an error quotes, in characters. A longer query is cut.
const QUERY_MAX: usize = 80;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What the tool should do, or names of tools.
    query: String,
}

pub fn schema() -> Value {
    schema_of::<Input>()
}

/// Returns the description for models. It lists the servers and, at the end, the names of `tools`. If a vendor cuts the
/// long description, only names are lost, and a search still finds those tools.
pub fn text(tools: &[McpTool]) -> String {
    let mut out = include_str!("tool_search.md").trim().to_string();
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in tools {
        *servers.entry(&tool.server).or_default() += 1;
    }
    let servers = servers
        .iter()
        .map(|(name, count)| format!("{name} ({count})"));
    out.push_str(" Servers (number of tools): ");
    out.push_str(&clip(&servers.collect::<Vec<_>>().join(", "), SERVERS_MAX));
    out.push_str(". Names: ");
    let start = out.len();
    for (at, tool) in tools.iter().enumerate() {
        if out.len() + tool.name.len() > start + NAMES_MAX {
            out.push_str(&format!(" and {} more", tools.len() - at));
            break;
        }
        let comma = if at == 0 { "" } else { ", " };
        out.push_str(&format!("{comma}{}", tool.name));
    }
    out
}

/// Returns the query of a `tool_search` call in one line, for the screen; empty if the input has none.
pub fn format_query(input: &Value) -> String {
    super::format_field(input, "query")
}

/// Runs a call of `tool_search`. Returns the names of the found tools, and the result for the model. If no tool matches
/// or the input is invalid, there are no names, and the result is an error.
pub fn run(tools: &[McpTool], input: &Value) -> (Vec<String>, ToolOutput) {
    let query = match parse::<Input>(input.clone()) {
        Ok(input) => input.query,
        Err(error) => return (Vec::new(), error),
    };
    let found = search(tools, &query);
    if found.is_empty() {
        let query = clip(&one_line(&query), QUERY_MAX);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let hint = match nearest(&query, &names) {
            Some(near) => format!("Did you mean {near}?"),
            None => "Try other words, or a name from the description of this tool.".into(),
        };
        return (
            Vec::new(),
            ToolOutput::error(format!("No tool matches \"{query}\". {hint}")),
        );
    }
    let mut text = String::from("You can call these tools from your next answer on:\n");
    for tool in &found {
        text.push_str(&format!(
            "\n{}\n{}\nInput: {}\n",
            tool.name, tool.description, tool.input_schema
        ));
    }
    let names = found.iter().map(|tool| tool.name.clone()).collect();
    (names, ToolOutput::ok(text))
}

/// Returns at most [`MATCHES_MAX`] tools whose name, title or description contains words of the query, the best match
/// first. A word in the name counts more than a word in the title or description. In the title and description, words
/// of 1 or 2 bytes do not count.
fn search<'a>(tools: &'a [McpTool], query: &str) -> Vec<&'a McpTool> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .filter(|word| !word.is_empty())
        .collect();
    let score = |tool: &McpTool| -> usize {
        let name = tool.name.to_lowercase();
        let own = tool.tool.to_lowercase();
        let text = format!("{} {}", tool.title, tool.description).to_lowercase();
        words
            .iter()
            .map(|word| match word {
                word if **word == name || **word == own => 100,
                word if own.contains(*word) => 10,
                word if name.contains(*word) => 4,
                word if word.len() > 2 && text.contains(*word) => 2,
                _ => 0,
            })
            .sum()
    };
    let mut scored: Vec<(usize, &McpTool)> = tools.iter().map(|tool| (score(tool), tool)).collect();
    scored.retain(|(score, _)| *score > 0);
    // The sort is stable: tools with the same score stay in the order of their names.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.truncate(MATCHES_MAX);
    scored.into_iter().map(|(_, tool)| tool).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::domain::chat::Outcome;

    fn tool(server: &str, name: &str, description: &str) -> McpTool {
        McpTool {
            name: format!("mcp__{server}__{name}"),
            server: server.into(),
            tool: name.into(),
            title: String::new(),
            description: description.into(),
            input_schema: json!({"type": "object"}),
            is_read_only: true,
            is_destructive: false,
            is_always_loaded: false,
        }
    }

    #[test]
    fn best_matches_come_first_and_near_names_are_suggested() {
        let tools = [
            tool("fs", "read_file", "Reads a file."),
            tool("git", "log", "Shows the history of a file."),
            tool("git", "status", "Shows what has changed."),
        ];
        let names = |query: &str| run(&tools, &json!({ "query": query })).0;
        assert_eq!(names("file"), ["mcp__fs__read_file", "mcp__git__log"]);
        assert_eq!(names("mcp__git__status, log").len(), 2);
        assert_eq!(names("history")[0], "mcp__git__log");
        let (found, output) = run(&tools, &json!({"query": "mcp_git_statsu"}));
        assert_eq!((found.len(), output.outcome), (0, Outcome::Error));
        assert!(output.text.contains("mcp__git__status"), "{}", output.text);
        let many: Vec<McpTool> = (0..9).map(|n| tool("s", &format!("file{n}"), "")).collect();
        assert_eq!(run(&many, &json!({"query": "file"})).0.len(), MATCHES_MAX);
        let (_, error) = run(&tools, &json!({}));
        assert_eq!(error.outcome, Outcome::Error);
    }

    #[test]
    fn description_lists_a_bounded_number_of_names() {
        let many: Vec<McpTool> = (0..900).map(|n| tool("s", &format!("t{n}"), "")).collect();
        let text = text(&many);
        assert!(
            text.len() < NAMES_MAX + 1024 && text.ends_with(" more"),
            "{text}"
        );
    }
}

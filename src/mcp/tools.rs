//! Converts the tools that an MCP server lists to the form that agents use, with limits on number and size. Does
//! no I/O.

use std::collections::BTreeSet;

use rmcp::model::Tool;

use super::schema;
use super::types::McpTool;
use crate::domain::mcp::{ServerConfig, tool_name};
use crate::domain::text::{clip, one_line};

/// Maximum number of tools of one server. Further tools are left out.
pub const TOOLS_MAX: usize = 256;
/// Maximum length of a description in bytes, without the note that says how much was cut. A longer description is cut
/// at its end.
pub const DESCRIPTION_MAX: usize = 2 * 1024;
/// Maximum length of the name that a server gives to a tool, in bytes. A tool with a longer name is left out.
const NAME_MAX: usize = 256;
/// Maximum length of a title, in characters. A longer title is cut.
const TITLE_MAX: usize = 100;
/// Maximum number of tools that a notice names. Further ones are only counted.
const NAMED_MAX: usize = 5;

/// The usable tools of a server.
#[derive(Debug, Default, PartialEq)]
pub struct ListedTools {
    /// The tools, sorted by name.
    pub tools: Vec<McpTool>,
    /// Says which tools were left out and why; `None` if none were.
    pub notice: Option<String>,
}

/// Converts the tools that the server of `config` lists, at most [`TOOLS_MAX`]. Leaves out tools that are listed twice,
/// whose name is empty or too long, or whose schema has no form that all model vendors accept.
pub fn convert(config: &ServerConfig, listed: Vec<Tool>) -> ListedTools {
    let mut tools: Vec<McpTool> = Vec::new();
    let mut left_out = Vec::new();
    let mut names = BTreeSet::new();
    let surplus = listed.len().saturating_sub(TOOLS_MAX);
    for tool in listed.into_iter().take(TOOLS_MAX) {
        let shown = clip(&one_line(&tool.name), 60);
        match convert_one(config, tool) {
            Ok(tool) if names.insert(tool.name.clone()) => tools.push(tool),
            Ok(_) => left_out.push(format!("{shown} (listed twice)")),
            Err(why) => left_out.push(format!("{shown} ({why})")),
        }
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let count = left_out.len() + surplus;
    let notice = (count > 0).then(|| {
        let mut shown = left_out[..left_out.len().min(NAMED_MAX)].join(", ");
        if surplus > 0 {
            shown = format!(
                "all beyond the first {TOOLS_MAX}{}{shown}",
                if shown.is_empty() { "" } else { ", " }
            );
        } else if left_out.len() > NAMED_MAX {
            shown.push_str(" and others");
        }
        let what = if count == 1 { "tool is" } else { "tools are" };
        format!("{count} {what} left out: {shown}")
    });
    ListedTools { tools, notice }
}

fn convert_one(config: &ServerConfig, tool: Tool) -> Result<McpTool, String> {
    if tool.name.is_empty() || tool.name.len() > NAME_MAX {
        return Err(format!("its name is empty or longer than {NAME_MAX} bytes"));
    }
    let annotations = tool.annotations.unwrap_or_default();
    let is_read_only = annotations.read_only_hint.unwrap_or(false);
    let title = tool.title.or(annotations.title).unwrap_or_default();
    Ok(McpTool {
        name: tool_name(&config.name, &tool.name),
        server: config.name.clone(),
        title: clip(&one_line(&title), TITLE_MAX),
        description: cut_end(
            tool.description.as_deref().unwrap_or_default(),
            DESCRIPTION_MAX,
        ),
        input_schema: schema::for_vendors(&tool.input_schema)?,
        is_read_only,
        is_destructive: !is_read_only && annotations.destructive_hint.unwrap_or(true),
        is_always_loaded: config.is_always_loaded,
        tool: tool.name.into_owned(),
    })
}

/// Returns the first `max` bytes of `text`, with a note that says how many bytes were cut. A shorter text is unchanged.
pub fn cut_end(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.into();
    }
    let end = text.floor_char_boundary(max);
    format!("{} [… {} bytes cut here …]", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::mcp::{OAuthClient, ServerSource, ServerTransport};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn config() -> ServerConfig {
        ServerConfig {
            name: "s".into(),
            source: ServerSource::User,
            role: None,
            transport: ServerTransport::Http {
                url: String::new(),
                headers: std::collections::BTreeMap::new(),
            },
            call_timeout: None,
            start_timeout: None,
            oauth: OAuthClient::default(),
            is_always_loaded: true,
        }
    }

    fn convert_tools(tools: serde_json::Value) -> ListedTools {
        convert(&config(), serde_json::from_value(tools).unwrap())
    }

    #[test]
    fn hints_and_bounds_are_applied() {
        let found = convert_tools(json!([
            {"name": "write", "description": "d".repeat(3000), "inputSchema": {"type": "object"}},
            {"name": "a.read", "title": "Read\n it", "inputSchema": {}, "annotations": {"readOnlyHint": true, "destructiveHint": true}},
            {"name": "add", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": false}},
        ]));
        assert_eq!(found.notice, None);
        let flags: Vec<_> = found
            .tools
            .iter()
            .map(|t| {
                (
                    t.tool.as_str(),
                    t.is_read_only,
                    t.is_destructive,
                    t.is_always_loaded,
                )
            })
            .collect();
        assert_eq!(
            flags,
            [
                ("a.read", true, false, true),
                ("add", false, false, true),
                ("write", false, true, true)
            ]
        );
        let description = &found.tools[2].description;
        assert!(
            description.ends_with("[… 952 bytes cut here …]"),
            "{description}"
        );
        assert_eq!(found.tools[1].name, "mcp__s__add");
        assert!(!found.tools[0].title.contains('\n'));
    }

    #[test]
    fn unusable_tools_are_left_out_with_one_notice() {
        let found = convert_tools(json!([
            {"name": "", "inputSchema": {}},
            {"name": "ok", "inputSchema": {}},
            {"name": "ok", "inputSchema": {}},
            {"name": "text", "inputSchema": {"type": "string"}},
        ]));
        assert_eq!(found.tools.len(), 1);
        let notice = found.notice.unwrap();
        assert!(notice.starts_with("3 tools are left out: "), "{notice}");
        assert!(
            notice.contains("ok (listed twice), text (its input schema is not of type object)"),
            "{notice}"
        );
        let many: Vec<_> = (0..300)
            .map(|n| json!({"name": format!("t{n}"), "inputSchema": {}}))
            .collect();
        let found = convert_tools(json!(many));
        assert_eq!(found.tools.len(), TOOLS_MAX);
        assert_eq!(
            found.notice.unwrap(),
            "44 tools are left out: all beyond the first 256"
        );
    }
}

//! `todo`: replaces the agent's own todo list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    lenient, schema_of,
};
use crate::domain::todo::{TodoItem, TodoList, TodoStatus};

pub const TOOL: Tool = Tool {
    name: "todo",
    text: include_str!("todo.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    // An external agent keeps its own plan, which it reports over ACP.
    audience: Audience::OwnMembers,
    used_for: ToolUse::Coordination,
    show: |input| {
        let items = input
            .get("items")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        format!("{items} items")
    },
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The whole list, in order. It replaces the previous list.
    items: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    /// Id of the item; null for its position in the list.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "Option<String>")]
    id: Option<String>,
    /// The step, in a few words.
    #[serde(alias = "content")]
    text: String,
    /// State of the item; null for pending.
    #[serde(default)]
    status: TodoStatus,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let items = input
        .items
        .into_iter()
        .enumerate()
        .map(|(at, item)| TodoItem {
            id: item.id.unwrap_or_else(|| (at + 1).to_string()),
            text: item.text,
            status: item.status,
        })
        .collect();
    let list = TodoList::new(items).map_err(error_output)?;
    let text = list.render();
    context.host.todo(&context.agent, list).await;
    Ok(ToolOutput::ok(text))
}

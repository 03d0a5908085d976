//! `compact`: requests a summary of the conversation before the next model call.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of};
use crate::domain::text::one_line;

pub const TOOL: Tool = Tool {
    name: "compact",
    text: include_str!("compact.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    show: |input| {
        let focus = input.get("focus").and_then(Value::as_str);
        one_line(focus.unwrap_or_default())
    },
    run: |context, input| Box::pin(std::future::ready(run(&context, input))),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What the summary should cover in most detail.
    focus: Option<String>,
}

fn run(context: &ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let focus = input.focus.unwrap_or_default();
    context.host.compact(&context.agent, focus);
    ToolOutput::ok("Compressing... A summary replaces the conversation before your next step.")
}

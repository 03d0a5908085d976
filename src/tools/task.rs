//! `task`: starts a subagent and returns its final answer.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::host::SubagentSpec;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    schema_of,
};
use crate::domain::subagent::SubagentKind;
use crate::domain::text::{clip, one_line};

pub const TOOL: Tool = Tool {
    name: "task",
    text: include_str!("task.md"),
    schema: schema_of::<Input>,
    access: Access::Delegate,
    audience: Audience::Members,
    used_for: ToolUse::Work,
    show: |input| {
        let text = |key| input.get(key).and_then(Value::as_str);
        let words = text("description").or_else(|| text("prompt"));
        one_line(&clip(words.unwrap_or_default(), 120))
    },
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The full assignment.
    prompt: String,
    /// Title of a few words, shown to the user.
    #[expect(dead_code, reason = "shown to the user, not used by the tool")]
    description: Option<String>,
    /// null for explore, or with a role for general.
    #[serde(alias = "agent_type")]
    kind: Option<SubagentKind>,
    /// Name of a role.
    role: Option<String>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    if input.prompt.trim().is_empty() {
        let why = "the prompt is empty: say what the subagent should find out or do";
        return Err(error_output(why));
    }
    let role = input.role.map(|r| r.trim().to_string());
    let role = role.filter(|r| !r.is_empty());
    let kind = match role {
        Some(_) => SubagentKind::General,
        None => SubagentKind::default(),
    };
    let order = SubagentSpec {
        parent: context.agent.clone(),
        call: context.call.clone(),
        kind: input.kind.unwrap_or(kind),
        role,
        prompt: input.prompt,
        workdir: context.workdir.clone(),
    };
    let answer = context.host.delegate(order).await;
    answer.map(ToolOutput::ok).map_err(error_output)
}

//! `spawn_teammate`: starts a teammate.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    schema_of,
};
use crate::domain::external_agent::AGENT_NAME_MAX;
use crate::domain::ids::Name;
use crate::domain::team::{DEFAULT_ROLE, Member, PlanRule};
use crate::domain::text::{clip, one_line};

/// Maximum length of a model name, in characters. A longer name is cut.
const MODEL_MAX: usize = 200;
/// Maximum length of a role, in characters. A longer role is cut.
const ROLE_MAX: usize = 80;

pub const TOOL: Tool = Tool {
    name: "spawn_teammate",
    text: include_str!("spawn_teammate.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Lead,
    used_for: ToolUse::Coordination,
    show: |input| {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let details = [text("role"), text("agent")];
        let details: Vec<&str> = details
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        let name = text("name");
        if details.is_empty() {
            return one_line(name);
        }
        one_line(&format!("{name} ({})", details.join(", ")))
    },
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Unique name of at most 32 letters, digits, - and _, for example alice.
    name: String,
    /// Role: implementer, reviewer, tester, one of your list, or a few words.
    #[serde(default)]
    role: Option<String>,
    /// First instruction: what holds for all its tasks. The work itself belongs on the board.
    #[serde(default)]
    prompt: Option<String>,
    /// Tags for its skills, for example "rust". It can claim a task only if it has all tags of the task.
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// Name of its model; null for your model.
    #[serde(default)]
    model: Option<String>,
    /// An external agent such as codex.
    #[serde(default)]
    agent: Option<String>,
    /// required: changes nothing until its plan is approved. null: no plan.
    #[serde(default)]
    plan: Option<PlanRule>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let name = Name::member(input.name.trim()).map_err(error_output)?;
    let role = input
        .role
        .as_deref()
        .map(str::trim)
        .filter(|r| !r.is_empty())
        .unwrap_or(DEFAULT_ROLE);
    let role = clip(&one_line(role), ROLE_MAX);
    let mut member = Member::new(name.clone(), &role);
    member.tags = input.tags.unwrap_or_default();
    member.plan = input.plan.unwrap_or_default();
    member.model = clip(
        one_line(input.model.as_deref().unwrap_or_default()).trim(),
        MODEL_MAX,
    );
    member.agent = clip(
        one_line(input.agent.as_deref().unwrap_or_default()).trim(),
        AGENT_NAME_MAX,
    );
    let prompt = input
        .prompt
        .filter(|p| !p.trim().is_empty())
        .unwrap_or_else(|| {
            "Say in one sentence that you are ready, then end your turn: tasks from the board are assigned to you automatically.".into()
        });
    let spawned = context.host.spawn(context.agent, member, prompt).await;
    spawned.map_err(error_output)?;
    Ok(ToolOutput::ok(format!("Spawned '{name}' (role: {role})")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::TOOL;

    #[test]
    fn call_shows_name_role_and_agent() {
        let shown = |input| (TOOL.show)(&input);
        assert_eq!(shown(json!({"name": "ann"})), "ann");
        assert_eq!(
            shown(json!({"name": "ann", "agent": "codex"})),
            "ann (codex)"
        );
        let all = json!({"name": "ann", "role": "reviewer", "agent": "codex"});
        assert_eq!(shown(all), "ann (reviewer, codex)");
    }
}

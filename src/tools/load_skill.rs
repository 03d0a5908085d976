//! `load_skill`: returns the text of a skill.

use schemars::JsonSchema;
use serde::Deserialize;

use super::nearest::nearest;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    format_field, schema_of,
};
use crate::domain::skill::{NAME_MAX, SkillCatalog};
use crate::domain::text::{clip, one_line};

pub const TOOL: Tool = Tool {
    name: "load_skill",
    text: include_str!("load_skill.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Everyone,
    used_for: ToolUse::Work,
    show: |input| format_field(input, "name"),
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Name of the skill, as the system prompt lists it.
    #[serde(alias = "skill")]
    name: String,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let name = input.name.trim();
    let loaded = context
        .skills
        .load(name)
        .map_err(|there| ToolOutput::error(unknown(name, &there)))?;
    let mut text = format!(
        "<skill name=\"{}\">\n{}\n</skill>",
        loaded.skill.name, loaded.body
    );
    // Name the folder of the skill only if the work directory contains it. A worktree contains it only if it is under
    // version control.
    let beside = loaded
        .folder
        .filter(|f| context.workdir.join(f).is_dir())
        .map(|f| one_line(&f.to_string_lossy()));
    if let Some(folder) = beside {
        text.push_str(&format!(
            "\nThe skill's other files are in {folder}: read them with read_file when the skill refers to them."
        ));
    }
    Ok(ToolOutput::ok(text))
}

/// Returns the error for an unknown skill, in the wording of learn-claude-code. The error names the closest known
/// skill. If the skill exists but cannot be used, the error also says why.
fn unknown(name: &str, there: &SkillCatalog) -> String {
    let names: Vec<&str> = there.skills.iter().map(|s| s.name.as_str()).collect();
    let shown = one_line(&clip(name, NAME_MAX));
    let available = if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    };
    let mut text = format!("Error: Unknown skill '{shown}'. Available: {available}");
    if let Some(nearest) = nearest(name, &names) {
        text.push_str(&format!(". Did you mean '{nearest}'?"));
    }
    let folder = format!("/{}/", name.to_lowercase());
    let broken = there
        .broken
        .iter()
        .find(|b| format!("/{}", b.path.to_lowercase()).contains(&folder));
    if let Some(broken) = broken {
        text.push_str(&format!(". {} cannot be used: {}", broken.path, broken.why));
    }
    text
}

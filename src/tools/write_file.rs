//! `write_file`: writes a whole file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::workspace::Workspace;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking, diff,
    error_output, format_field, redaction_guard, schema_of,
};

pub const TOOL: Tool = Tool {
    name: "write_file",
    text: include_str!("write_file.md"),
    schema: schema_of::<Input>,
    access: Access::Write,
    audience: Audience::Everyone,
    used_for: ToolUse::Work,
    show: |input| format_field(input, "path"),
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Path of the file, relative to the work directory.
    path: String,
    /// The whole new content of the file, which replaces the old one.
    content: String,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let space = Workspace::open(&context.workdir).map_err(ToolOutput::error)?;
    // A file whose text cannot be read, so that no diff can be shown, can still be replaced.
    let there = space.text(&input.path).ok().flatten();
    space
        .check_approved(&input.path, &context.approved_files())
        .map_err(ToolOutput::error)?;
    let key = space.key(&input.path).map_err(ToolOutput::error)?;
    if let Some(there) = &there {
        let checked = context.snapshots.check(&key, &input.path, there);
        checked.map_err(error_output)?;
    }
    if there.as_ref() == Some(&input.content) {
        context.snapshots.record(key, input.content.as_bytes());
        return Ok(ToolOutput::ok(format!(
            "{} already has exactly this content. Nothing was changed.",
            input.path
        )));
    }
    let is_known = there.is_some();
    let before = there.unwrap_or_default();
    if let Some(why) =
        redaction_guard::overwrites_secret(&context.redactor, &before, &input.content)
    {
        return Err(error_output(why));
    }
    let written = if is_known {
        space.replace(&input.path, &before, &input.content)
    } else {
        space.write(&input.path, &input.content)
    };
    written.map_err(ToolOutput::error)?;
    context.snapshots.record(key, input.content.as_bytes());
    let bytes = input.content.len();
    Ok(ToolOutput {
        diff: diff::format_diff(&input.path, &before, &input.content),
        ..ToolOutput::ok(format!("Wrote {bytes} bytes to {}", input.path))
    })
}

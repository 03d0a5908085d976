//! `glob`: finds files by name.

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;

use super::walk::{self, FileList};
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, format_field, schema_of,
};
use crate::domain::text::clip;

/// Maximum number of paths in one result. Further paths are only counted.
const PATHS_MAX: usize = 500;
/// Maximum length, in bytes, of a pattern of `glob` or `grep`. A longer one is an error.
pub const PATTERN_MAX: usize = 4000;
/// Maximum nesting depth of braces in a pattern. A deeper one is an error: building the matcher is recursive and could
/// overflow the stack.
const BRACES_MAX: usize = 16;

pub const TOOL: Tool = Tool {
    name: "glob",
    text: include_str!("glob.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Everyone,
    used_for: ToolUse::Work,
    show: |input| format_field(input, "pattern"),
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The glob pattern, such as **/*.rs or src/*.py, relative to path.
    pattern: String,
    /// Directory to search in; null for the work directory.
    path: Option<String>,
}

/// Compiles a glob pattern that matches paths relative to the searched directory. A pattern without a slash matches
/// file names at any depth. `./` at the start is ignored.
///
/// # Errors
/// Fails with text for the model if the pattern is not valid, is longer than [`PATTERN_MAX`], or has braces that are
/// nested more than 16 levels deep.
pub fn matcher(pattern: &str) -> Result<GlobMatcher, ToolOutput> {
    let refused = |why: &str| {
        let shown = clip(pattern, 80);
        error_output(format!("'{shown}' is not a valid glob pattern: {why}"))
    };
    if pattern.len() > PATTERN_MAX {
        return Err(refused("it is longer than 4000 bytes"));
    }
    if braces(pattern) > BRACES_MAX {
        return Err(refused("braces are nested more than 16 levels deep"));
    }
    let deep = if pattern.contains('/') {
        pattern.to_string()
    } else {
        format!("**/{pattern}")
    };
    let glob = GlobBuilder::new(deep.trim_start_matches("./"))
        .literal_separator(true)
        .build();
    glob.map(|g| g.compile_matcher())
        .map_err(|e| refused(&e.kind().to_string()))
}

/// Returns the nesting depth of the braces in `pattern`.
fn braces(pattern: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for c in pattern.chars() {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let matcher = matcher(&input.pattern)?;
    let FileList { files, note } = walk::files(context, input.path.as_deref())?;
    let found: Vec<String> = files
        .iter()
        .filter(|f| matcher.is_match(&f.below))
        .map(|f| f.shown.display().to_string())
        .collect();
    if found.is_empty() {
        return Ok(ToolOutput::ok(format!(
            "No files match '{}'.",
            input.pattern
        )));
    }
    let mut text = found
        .iter()
        .take(PATHS_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    if found.len() > PATHS_MAX {
        text.push_str(&format!(
            "\n... ({} more files: narrow the pattern or set path)",
            found.len() - PATHS_MAX
        ));
    }
    text.push_str(note);
    Ok(ToolOutput::ok(text))
}

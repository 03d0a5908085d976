//! `grep`: searches files for a regular expression, with ripgrep's searcher.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::walk::{self, FileList};
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, format_field, glob, schema_of,
};
use crate::domain::text::clip;

/// Maximum number of lines in one result. Further matching lines are only counted.
const LINES_MAX: usize = 300;
/// Maximum length of a shown line, in characters. The rest is cut.
const LINE_MAX: usize = 300;

pub const TOOL: Tool = Tool {
    name: "grep",
    text: include_str!("grep.md"),
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
    /// A regular expression in Rust syntax, for single lines.
    pattern: String,
    /// File or directory to search in; null for the work directory.
    path: Option<String>,
    /// Search only files that match this glob pattern, such as *.rs.
    glob: Option<String>,
    /// Ignore upper and lower case.
    ignore_case: Option<bool>,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let matcher = matcher(&input)?;
    let only = input.glob.as_deref().map(glob::matcher).transpose()?;
    let FileList { files, note } = walk::files(context, input.path.as_deref())?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .build();
    let (mut lines, mut more) = (Vec::new(), 0);
    for file in files
        .iter()
        .filter(|f| only.as_ref().is_none_or(|g| g.is_match(&f.below)))
    {
        if context.cancel.is_cancelled() {
            return Err(ToolOutput::error("interrupted"));
        }
        let path = file.shown.display().to_string();
        let sink = Lossy(|number, line| {
            if lines.len() < LINES_MAX {
                lines.push(format!(
                    "{path}:{number}:{}",
                    clip(line.trim_end(), LINE_MAX)
                ));
            } else {
                more += 1;
            }
            Ok(true)
        });
        // Ignore errors: a file that cannot be read (deleted in the meantime, no permission) must not hide the matches
        // in other files.
        let _ = searcher.search_path(&matcher, &file.path, sink);
    }
    if lines.is_empty() {
        return Ok(ToolOutput::ok(format!(
            "No lines match '{}'.",
            input.pattern
        )));
    }
    let mut text = lines.join("\n");
    if more > 0 {
        text.push_str(&format!(
            "\n... ({more} more lines: narrow the search with path or glob)"
        ));
    }
    text.push_str(note);
    Ok(ToolOutput::ok(text))
}

fn matcher(input: &Input) -> Result<RegexMatcher, ToolOutput> {
    let refused = |why: &str| {
        let shown = clip(&input.pattern, 80);
        error_output(format!(
            "'{shown}' is not a valid regular expression: {why}"
        ))
    };
    if input.pattern.len() > glob::PATTERN_MAX {
        return Err(refused("it is longer than 4000 bytes"));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(input.ignore_case == Some(true))
        .size_limit(10 * 1024 * 1024)
        .build(&input.pattern)
        .map_err(|e| refused(&e.to_string()))
}

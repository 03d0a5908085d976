//! `read_file`: reads a text file or a part of it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::workspace::Workspace;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, format_field, schema_of,
};

/// Maximum size of one result, in bytes, as in learn-claude-code. A first line that is longer is cut.
const RESULT_MAX: usize = 50_000;
/// Default number of lines in one result.
const LINES: usize = 2000;
/// Maximum number of bytes to read from a file. If the file is larger, the result says so.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

pub const TOOL: Tool = Tool {
    name: "read_file",
    text: include_str!("read_file.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
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
    /// First line to read, counted from 1; null for 1.
    offset: Option<usize>,
    /// Number of lines to read; null for 2000.
    limit: Option<usize>,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let space = Workspace::open(&context.workdir).map_err(ToolOutput::error)?;
    let (bytes, size) = space
        .read(&input.path, BYTES_MAX)
        .map_err(ToolOutput::error)?;
    if bytes[..bytes.len().min(8000)].contains(&0) {
        return Err(error_output(format!(
            "{} is a binary file of {size} bytes: inspect it with bash (file, xxd, strings)",
            input.path
        )));
    }
    if size <= BYTES_MAX {
        let key = space.key(&input.path).map_err(ToolOutput::error)?;
        context.snapshots.record(key, &bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut out = part(
        &text,
        input.offset.unwrap_or(1).max(1),
        input.limit.unwrap_or(LINES),
    )
    .map_err(ToolOutput::error)?;
    if size > BYTES_MAX {
        out.push_str(&format!(
            "\n... (only the first {BYTES_MAX} of {size} bytes were read; use grep or bash for the rest)"
        ));
    }
    Ok(ToolOutput::ok(if out.is_empty() {
        "(empty file)".into()
    } else {
        out
    }))
}

/// Returns lines of `text`, beginning with line `offset` (counted from 1, so never 0): at most `limit` lines and about
/// [`RESULT_MAX`] bytes. If more lines follow, adds a line that says how to continue. Returns an empty text for an
/// empty `text`; otherwise fails if `text` has fewer than `offset` lines.
fn part(text: &str, offset: usize, limit: usize) -> Result<String, String> {
    let total = text.lines().count();
    if total > 0 && offset > total {
        return Err(format!(
            "Error: offset {offset} is past the end: the file has only {total} lines"
        ));
    }
    let mut out = String::new();
    let mut shown = 0;
    for line in text.lines().skip(offset - 1).take(limit) {
        if out.len() + line.len() + 1 > RESULT_MAX {
            if shown == 0 {
                let cut = &line[..line.floor_char_boundary(RESULT_MAX)];
                out.push_str(&format!(
                    "{cut}\n... (this line of {} bytes is cut after {} bytes)\n",
                    line.len(),
                    cut.len()
                ));
                shown = 1;
            }
            break;
        }
        out.push_str(line);
        out.push('\n');
        shown += 1;
    }
    let next = offset + shown;
    let left = total.saturating_sub(next - 1);
    if left > 0 {
        out.push_str(&format!(
            "... ({left} more lines; continue with offset {next})"
        ));
    }
    Ok(out.trim_end_matches('\n').to_string())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn partial_result_says_how_to_continue() {
        let text = "a\nb\nc\nd\n";
        let part = |offset, limit| part(text, offset, limit);
        assert_eq!(part(1, 2000).unwrap(), "a\nb\nc\nd");
        assert_eq!(
            part(2, 2).unwrap(),
            "b\nc\n... (1 more lines; continue with offset 4)"
        );
        assert_eq!(
            part(9, 2).unwrap_err(),
            "Error: offset 9 is past the end: the file has only 4 lines"
        );
        assert_eq!(super::part("", 1, 10).unwrap(), "");
    }

    #[test]
    fn long_line_is_cut_with_a_note() {
        let text = "x".repeat(200_000);
        let out = part(&text, 1, 10).unwrap();
        assert!(out.len() < 51_000 && out.contains("is cut"));
        let many = "y".repeat(999).lines().next().unwrap().to_string() + "\n";
        let out = part(&many.repeat(200), 1, 2000).unwrap();
        assert!(
            out.len() <= 50_100 && out.contains("more lines; continue with offset 51"),
            "{}",
            &out[out.len() - 60..]
        );
    }
}

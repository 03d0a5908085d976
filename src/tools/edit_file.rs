//! `edit_file`: replaces one exact piece of text in a file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::workspace::Workspace;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, blocking, diff, marks, parse, schema_of, shown,
};

/// Most characters of a line that are compared with what was looked for.
const COMPARED_MAX: usize = 200;

/// The tool.
pub const TOOL: Tool = Tool {
    name: "edit_file",
    text: include_str!("edit_file.md"),
    schema: schema_of::<Input>,
    access: Access::Write,
    audience: Audience::Everyone,
    show: |input| shown(input, "path"),
    run: |context, input| Box::pin(blocking(context, input, run)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the work directory.
    path: String,
    /// The text to replace, exactly as it stands in the file.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
    /// Replace every place where it stands; without it the text must stand there once.
    replace_all: Option<bool>,
}

fn run(context: &ToolContext, input: Value) -> Result<ToolOutput, ToolOutput> {
    let input: Input = parse(input)?;
    let space = Workspace::open(&context.workdir).map_err(ToolOutput::error)?;
    let before = space
        .text(&input.path)
        .map_err(ToolOutput::error)?
        .ok_or_else(|| {
            ToolOutput::error(format!(
                "Error: {} does not exist: write_file makes it",
                input.path
            ))
        })?;
    let which = if input.replace_all == Some(true) {
        Which::All
    } else {
        Which::Only
    };
    let after = replaced(&before, &input.old_text, &input.new_text, which).map_err(|why| {
        let hint = marks::hint(&context.redactor, &before, &input.old_text);
        ToolOutput::error(format!("Error: {why} in {}{hint}", input.path))
    })?;
    if let Some(why) = marks::destroys(&context.redactor, &before, &after) {
        return Err(ToolOutput::error(format!("Error: {why}")));
    }
    space
        .write(&input.path, &after)
        .map_err(ToolOutput::error)?;
    Ok(ToolOutput {
        diff: diff::unified(&input.path, &before, &after),
        ..ToolOutput::ok(format!("Edited {}", input.path))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Only,
    All,
}

/// `text` with `old` replaced by `new`. Line ends follow the file: models write `\n` also for files with
/// `\r\n`.
fn replaced(text: &str, old: &str, new: &str, which: Which) -> Result<String, String> {
    if old.is_empty() {
        return Err("old_text is empty: give the text to replace".into());
    }
    if old == new {
        return Err("old_text and new_text are the same, nothing to do".into());
    }
    let is_crlf = text.contains("\r\n") && !old.contains('\r');
    let (old, new) = if is_crlf {
        (
            old.replace('\n', "\r\n"),
            new.replace("\r\n", "\n").replace('\n', "\r\n"),
        )
    } else {
        (old.to_string(), new.to_string())
    };
    match (text.matches(&old).count(), which) {
        (0, _) => Err(format!("Text not found{}", nearest(text, &old))),
        (1, _) | (_, Which::All) => Ok(text.replace(&old, &new)),
        (n, Which::Only) => Err(format!(
            "old_text stands {n} times: add lines around it until it stands once, or set replace_all,"
        )),
    }
}

/// The line of the file that is most like the first line that was looked for.
///
/// Comparing takes the product of both lengths, so only the beginnings of lines are compared.
fn nearest(text: &str, old: &str) -> String {
    let begin = |line: &str| line.trim().chars().take(COMPARED_MAX).collect::<String>();
    let wanted = begin(old.trim().lines().next().unwrap_or_default());
    let best = text
        .lines()
        .take(5000)
        .enumerate()
        .map(|(at, line)| (strsim::jaro_winkler(&begin(line), &wanted), at, line))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(alike, ..)| *alike > 0.8);
    match best {
        Some((_, at, line)) => format!(
            " (line {} is nearest: {:?})",
            at + 1,
            crate::domain::text::clip(line, 120)
        ),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_exactly_or_all_on_wish() {
        let text = "a = 1\nb = 1\n";
        assert_eq!(
            replaced(text, "a = 1", "a = 2", Which::Only).unwrap(),
            "a = 2\nb = 1\n"
        );
        assert!(
            replaced(text, "= 1", "= 2", Which::Only)
                .unwrap_err()
                .contains("2 times")
        );
        assert_eq!(
            replaced(text, "= 1", "= 2", Which::All).unwrap(),
            "a = 2\nb = 2\n"
        );
        assert!(
            replaced(text, "", "x", Which::Only)
                .unwrap_err()
                .contains("empty")
        );
        let lost = replaced(text, "a = 11", "x", Which::Only).unwrap_err();
        assert!(
            lost.contains("Text not found") && lost.contains("line 1"),
            "{lost}"
        );
    }

    #[test]
    fn lines_without_end_are_compared_by_their_beginnings() {
        let line = |end: &str| format!("let table = [{}{end}", "1, ".repeat(100_000));
        let lost = replaced(&line("2]"), &line("3]"), "x", Which::Only).unwrap_err();
        assert!(lost.contains("line 1 is nearest"), "{lost}");
        assert!(lost.len() < 400, "{lost}");
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        let text = "one\r\ntwo\r\nthree\r\n";
        let out = replaced(text, "one\ntwo", "1\n2", Which::Only).unwrap();
        assert_eq!(out, "1\r\n2\r\nthree\r\n");
    }
}

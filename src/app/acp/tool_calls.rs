//! Tool calls as the editor shows them: title, kind, files, diffs and output.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    Content, Diff, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use crate::domain::chat::Outcome;
use crate::domain::mcp::shown_name;
use crate::domain::text::{bytes_cut, clip, head_and_tail, one_line};

/// Maximum length of the title of a tool call or card, in characters. A longer title is cut.
const TITLE_MAX: usize = 300;
/// Maximum size of a text in a card, such as the output of a call, in bytes. A longer text is cut in the middle.
pub const BODY_MAX: usize = 64 * 1024;
/// Maximum number of changes of a file that are sent as separate diffs. If there are more, the diff is sent as text.
const HUNKS_MAX: usize = 50;

/// Returns the message that announces a call of `tool` with the input `input`. `on` names what the call works on, such
/// as a path; it can be empty. `root` is the directory to which paths in the input are relative.
pub fn started(id: &str, tool: &str, on: &str, input: &Value, root: &Path) -> ToolCall {
    let kind = kind(tool);
    let on = one_line(on);
    let title = match (kind, on.is_empty()) {
        (ToolKind::Execute, false) => on,
        (_, true) => shown_name(tool),
        (_, false) => format!("{} {on}", shown_name(tool)),
    };
    ToolCall::new(id.to_string(), clip(&title, TITLE_MAX))
        .name(tool.to_string())
        .kind(kind)
        .status(ToolCallStatus::InProgress)
        .locations(locations(tool, input, root))
        .raw_input(input.clone())
}

/// Returns the message that ends a call and shows its result. `diff` is the change of a file as a unified diff; empty
/// if there is none. `root` is the directory to which the path in the diff is relative.
pub fn finished(
    id: &str,
    outcome: Outcome,
    output: &str,
    diff: &str,
    root: &Path,
) -> ToolCallUpdate {
    let status = match outcome {
        Outcome::Ok => ToolCallStatus::Completed,
        Outcome::Error => ToolCallStatus::Failed,
    };
    let mut content = Vec::new();
    if !diff.is_empty() {
        match diffs(diff, root) {
            Some(diffs) => content.extend(diffs.into_iter().map(ToolCallContent::Diff)),
            None => content.push(fenced(diff, "diff")),
        }
    }
    // The output of a successful edit only repeats the diff.
    if content.is_empty() && !output.trim().is_empty() {
        content.push(fenced(output, ""));
    }
    let fields = ToolCallUpdateFields::new().status(status).content(content);
    ToolCallUpdate::new(id.to_string(), fields)
}

/// Returns a card on which the user decides a request. For the editor, it is a tool call, although no tool is called.
/// `body` is what the user decides about.
pub fn card(id: &str, title: &str, kind: ToolKind, body: ToolCallContent) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .title(clip(&one_line(title), TITLE_MAX))
        .kind(kind)
        .status(ToolCallStatus::Pending)
        .content(vec![body]);
    ToolCallUpdate::new(id.to_string(), fields)
}

/// Returns text that the editor shows unchanged, cut to [`BODY_MAX`] bytes.
pub fn code(text: &str) -> ToolCallContent {
    fenced(text, "")
}

/// Returns text that the editor shows as Markdown, cut to [`BODY_MAX`] bytes.
pub fn markdown(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Content::new(head_and_tail(text, BODY_MAX)))
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" => ToolKind::Read,
        "write_file" | "edit_file" => ToolKind::Edit,
        "glob" | "grep" | "tool_search" => ToolKind::Search,
        "bash" | "background_run" => ToolKind::Execute,
        "todo" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn locations(tool: &str, input: &Value, root: &Path) -> Vec<ToolCallLocation> {
    if !matches!(kind(tool), ToolKind::Read | ToolKind::Edit) {
        return Vec::new();
    }
    let Some(path) = input.get("path").and_then(Value::as_str) else {
        return Vec::new();
    };
    let line = input.get("offset").and_then(Value::as_u64);
    let line = line.and_then(|line| u32::try_from(line).ok());
    vec![ToolCallLocation::new(root.join(path)).line(line)]
}

/// Returns text in a code block, so that the editor does not read it as Markdown. Cut to [`BODY_MAX`] bytes.
fn fenced(text: &str, language: &str) -> ToolCallContent {
    let text = head_and_tail(text.trim_end_matches('\n'), BODY_MAX);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    ToolCallContent::Content(Content::new(format!("{fence}{language}\n{text}\n{fence}")))
}

/// Converts a unified diff of one file to one diff per hunk. Returns `None` if the text is no complete diff, for example
/// because it was cut, or if there are more than [`HUNKS_MAX`] hunks.
fn diffs(text: &str, root: &Path) -> Option<Vec<Diff>> {
    if bytes_cut(text) > 0 {
        return None;
    }
    let mut lines = text.split_inclusive('\n').peekable();
    lines.next()?.strip_prefix("--- ")?;
    let path = lines.next()?.strip_prefix("+++ ")?.trim_end_matches('\n');
    let mut all = Vec::new();
    while let Some(header) = lines.next() {
        let is_new_file = header.strip_prefix("@@ ")?.starts_with("-0,0 ");
        let (mut old, mut new) = (String::new(), String::new());
        while let Some(line) = lines.next_if(|line| !line.starts_with("@@ ")) {
            // `\ No newline at end of file` is about the line before it, which has its line break only in the diff.
            let has_break = !lines.peek().is_some_and(|next| next.starts_with('\\'));
            let mut chars = line.chars();
            let mark = chars.next()?;
            let rest = chars.as_str();
            let rest = if has_break {
                rest
            } else {
                rest.trim_end_matches('\n')
            };
            match mark {
                ' ' => {
                    old.push_str(rest);
                    new.push_str(rest);
                }
                '-' => old.push_str(rest),
                '+' => new.push_str(rest),
                '\\' => {}
                _ => return None,
            }
        }
        all.push(Diff::new(root.join(path), new).old_text((!is_new_file).then_some(old)));
    }
    (1..=HUNKS_MAX).contains(&all.len()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn diff_of(before: &str, after: &str) -> String {
        let diff = similar::TextDiff::from_lines(before, after);
        let mut diff = diff.unified_diff();
        diff.context_radius(1).header("a.txt", "a.txt").to_string()
    }

    fn texts(diff: &str) -> Option<Vec<(Option<String>, String)>> {
        let all = diffs(diff, Path::new("/p"))?;
        assert!(all.iter().all(|diff| diff.path == Path::new("/p/a.txt")));
        Some(all.into_iter().map(|d| (d.old_text, d.new_text)).collect())
    }

    #[test]
    fn each_hunk_of_a_diff_has_its_old_and_new_text() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let after = "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n";
        let hunks = texts(&diff_of(before, after)).unwrap();
        let expected = [("1\n2\n3\n", "1\ntwo\n3\n"), ("8\n9", "8\nnine\n")];
        let expected = expected.map(|(old, new)| (Some(old.to_string()), new.to_string()));
        assert_eq!(hunks, expected);
        // A removed line can look like the header of a diff.
        let hunks = texts(&diff_of("-- a\nb\n", "b\n")).unwrap();
        assert_eq!(hunks, [(Some("-- a\nb\n".into()), "b\n".into())]);
        let new = texts(&diff_of("", "a\nb\n")).unwrap();
        assert_eq!(new, [(None, "a\nb\n".into())]);
    }

    #[test]
    fn text_that_is_no_whole_diff_is_shown_as_text() {
        for text in ["a.txt: 1 bytes → 2 bytes\n", "", "--- a.txt\n"] {
            assert_eq!(texts(text), None, "{text}");
        }
        let long = "x\n".repeat(3000);
        let cut = head_and_tail(&diff_of("", &long), 1000);
        assert_eq!(texts(&cut), None);
        let update = finished("1", Outcome::Ok, "edited", &cut, Path::new("/p"));
        let content = serde_json::to_value(update.fields.content).unwrap();
        let text = content[0]["content"]["text"].as_str().unwrap();
        assert!(text.starts_with("```diff\n--- a.txt"), "{text}");
    }

    #[test]
    fn output_is_shown_as_code_that_it_cannot_end() {
        let update = finished("1", Outcome::Error, "a\n````\nb\n", "", Path::new("/p"));
        let content = serde_json::to_value(update.fields.content).unwrap();
        assert_eq!(content[0]["content"]["text"], "`````\na\n````\nb\n`````");
        assert_eq!(update.fields.status, Some(ToolCallStatus::Failed));
    }

    #[test]
    fn files_of_a_call_are_absolute_with_the_line_that_is_read() {
        let input = json!({ "path": "src/a.rs", "offset": 7 });
        let call = started("1", "read_file", "src/a.rs", &input, Path::new("/p"));
        let shown = (call.title.as_str(), call.kind, call.locations);
        let location = ToolCallLocation::new("/p/src/a.rs").line(7);
        assert_eq!(
            shown,
            ("read_file src/a.rs", ToolKind::Read, vec![location])
        );
        let input = json!({ "command": "cargo test" });
        let call = started("1", "bash", "cargo test", &input, Path::new("/p"));
        assert_eq!(
            (call.title.as_str(), call.locations.len()),
            ("cargo test", 0)
        );
    }
}

//! Formats the text of a permission request: the tool call and the reason why it needs approval. The reason comes after
//! a short call, but before a long call, because the user could overlook it at the end of a long text. The parts of a
//! long command that need approval come before the call too. Pure.

use serde_json::Value;

use crate::domain::mcp::{server_of, shown_name};
use crate::domain::text::{clip, head_and_tail, one_line};

/// Maximum size, in bytes, of a tool call's input in an event.
pub(super) const SHOWN_MAX: usize = 16 * 1024;
/// Maximum length, in characters, of a tool call that an approval request shows above the reason why approval is
/// needed. A longer call is shown below the reason.
const SHORT_CHARS: usize = 240;
/// Maximum number of lines of a tool call that an approval request shows above the reason. A longer call is shown below
/// the reason.
const SHORT_LINES: usize = 4;
/// Maximum number of parts of a long command that an approval request quotes. A part is one command of a compound shell
/// command; only the parts that need approval are quoted.
const PARTS_MAX: usize = 5;
/// Maximum length, in characters, of each quoted part of a long command.
const PART_MAX: usize = 400;
/// The name of the input field that contains the command of an external agent's call if the call may do more than run
/// the command. For a call that only runs a command, the field is `command`.
pub(super) const RUNS: &str = "runs";
/// The line above the text of a long call. The lines above this line summarise the call.
pub const FULL_TEXT: &str = "Full text:\n";

/// Returns the text of the approval request for a call of the tool `name`: the tool, its input up to `SHOWN_MAX`
/// bytes, and `why` it needs approval. `parts` are the commands in a compound shell command that need approval; only
/// the text for a long call quotes them.
pub fn body(name: &str, input: &Value, why: &str, parts: &[String]) -> String {
    // A tool of an MCP server may have an input named `command` that is not a shell command.
    let command = input.get("command").filter(|_| server_of(name).is_none());
    let diff = input.get("diff").filter(|_| server_of(name).is_none());
    let text = match (command, diff) {
        (Some(Value::String(command)), _) => format!("$ {command}"),
        (_, Some(Value::String(diff))) => {
            let mut rest = input.clone();
            if let Some(fields) = rest.as_object_mut() {
                fields.remove("diff");
            }
            let rest = serde_json::to_string_pretty(&rest).unwrap_or_default();
            format!("{rest}\n{diff}")
        }
        _ => serde_json::to_string_pretty(input).unwrap_or_default(),
    };
    let name = shown_name(name);
    if text.chars().count() <= SHORT_CHARS && text.lines().count() <= SHORT_LINES {
        return format!("{name}\n{text}\n\n{why}");
    }
    let mut out = format!("{name} needs approval: {}\n", one_line(why));
    for part in parts.iter().take(PARTS_MAX) {
        out.push_str(&format!("  it runs: {}\n", clip(&one_line(part), PART_MAX)));
    }
    if let Some(more) = parts.len().checked_sub(PARTS_MAX).filter(|more| *more > 0) {
        out.push_str(&format!("  and {more} more such commands\n"));
    }
    out.push_str(FULL_TEXT);
    out.push_str(&head_and_tail(&text, SHOWN_MAX));
    out
}

/// Returns the input of a call, shortened to about [`SHOWN_MAX`] bytes if it is longer. If the input is an object, the
/// long texts in its fields are cut. If that is not enough, or for other input, the result is a JSON string: the JSON
/// text of the input, with its middle cut out.
pub(super) fn shorten_input(input: &Value) -> Value {
    let whole = input.to_string();
    if whole.len() <= SHOWN_MAX {
        return input.clone();
    }
    if let Value::Object(fields) = input {
        // Escapes can double the length of a text in JSON, and the cut notes take some space.
        let each = SHOWN_MAX / (2 * fields.len().max(1));
        let mut short = fields.clone();
        for value in short.values_mut() {
            if let Value::String(text) = value {
                *text = head_and_tail(text, each);
            }
        }
        let short = Value::Object(short);
        if short.to_string().len() <= SHOWN_MAX {
            return short;
        }
    }
    Value::String(head_and_tail(&whole, SHOWN_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn card(command: &str) -> String {
        let parts = ["rm -rf /srv/data".to_string()];
        body(
            "bash",
            &json!({ "command": command }),
            "it deletes files",
            &parts,
        )
    }

    #[test]
    fn short_command_comes_before_its_reason() {
        assert_eq!(card("rm -rf x"), "bash\n$ rm -rf x\n\nit deletes files");
    }

    #[test]
    fn tools_of_servers_have_readable_names() {
        let card = |text: &str| body("mcp__git__log", &json!({ "text": text }), "why", &[]);
        assert!(card("x").starts_with("git · log\n{"), "{}", card("x"));
        let long = card(&"x".repeat(SHORT_CHARS));
        assert!(long.starts_with("git · log needs approval: why"), "{long}");
    }

    #[test]
    fn cut_request_text_is_marked_as_cut() {
        use crate::domain::text::bytes_cut;
        let long = "x".repeat(2 * SHOWN_MAX);
        assert!(bytes_cut(&card(&long)) > SHOWN_MAX / 2);
        assert_eq!(bytes_cut(&card(&long[..SHOWN_MAX / 2])), 0);
        let card = body(
            "write_file",
            &json!({ "path": "x", "content": long }),
            "why",
            &[],
        );
        assert!(bytes_cut(&card) > SHOWN_MAX / 2);
    }

    #[test]
    fn long_command_comes_after_its_dangerous_part() {
        for hiding in ["\n".repeat(300), format!("# {}\n", "x".repeat(3000))] {
            let card = card(&format!("echo hello {hiding}rm -rf /srv/data"));
            let begin = "bash needs approval: it deletes files\n  it runs: rm -rf /srv/data\nFull text:\n$ echo hello";
            assert!(card.starts_with(begin), "{card}");
        }
    }
}

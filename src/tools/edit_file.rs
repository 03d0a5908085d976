//! `edit_file`: replaces text in a file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::replace::{self, Edit, Occurrences, Refusal};
use super::workspace::Workspace;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking, diff,
    error_output, format_field, lenient, redaction_guard, schema_of,
};

const EDITS_MAX: usize = 100;
/// Maximum size, in bytes, of the diff that is returned after an inexact match. A longer diff is cut in the middle.
const SHOWN_MAX: usize = 4 * 1024;

pub const TOOL: Tool = Tool {
    name: "edit_file",
    text: include_str!("edit_file.md"),
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
    /// The text to replace, copied exactly from the file.
    old_text: Option<String>,
    /// The replacement; empty deletes old_text.
    new_text: Option<String>,
    /// Replace every occurrence, not exactly one.
    replace_all: Option<bool>,
    /// Several replacements in order, instead of the three fields above; at most 100.
    #[serde(default, deserialize_with = "lenient::list")]
    #[schemars(with = "Option<Vec<One>>")]
    edits: Vec<One>,
}

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    old_text: String,
    new_text: String,
    replace_all: Option<bool>,
}

impl Input {
    /// Returns the path and all replacements in order. Some models send a single replacement in addition to a list. The
    /// single replacement then comes first, unless its `old_text` is empty or the list already contains it.
    ///
    /// # Errors
    /// Fails if there is no replacement, if `old_text` or `new_text` is missing, or if there are more than
    /// [`EDITS_MAX`] replacements.
    fn edits(self) -> Result<(String, Vec<One>), String> {
        let mut edits = self.edits;
        let single = match (self.old_text, self.new_text) {
            (Some(old_text), Some(new_text)) => Some(One {
                old_text,
                new_text,
                replace_all: self.replace_all,
            }),
            (None, None) => None,
            (None, Some(new_text)) if new_text.is_empty() && !edits.is_empty() => None,
            (Some(old_text), None) if old_text.is_empty() && !edits.is_empty() => None,
            (Some(_), None) => return Err("new_text is missing".into()),
            (None, Some(_)) => return Err("old_text is missing".into()),
        };
        if let Some(single) = single
            && (!single.old_text.is_empty() || edits.is_empty())
            && !edits.contains(&single)
        {
            edits.insert(0, single);
        }
        match edits.len() {
            0 => Err("pass old_text and new_text, or edits".into()),
            1..=EDITS_MAX => Ok((self.path, edits)),
            n => Err(format!(
                "pass at most {EDITS_MAX} edits in one call, not {n}"
            )),
        }
    }
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let (path, edits) = input.edits().map_err(error_output)?;
    let space = Workspace::open(&context.workdir).map_err(ToolOutput::error)?;
    space
        .check_approved(&path, &context.approved_files())
        .map_err(ToolOutput::error)?;
    let before = space
        .text(&path)
        .map_err(ToolOutput::error)?
        .ok_or_else(|| error_output(format!("{path} does not exist: create it with write_file")))?;
    let key = space.key(&path).map_err(ToolOutput::error)?;
    context
        .snapshots
        .check(&key, &path, &before)
        .map_err(error_output)?;
    let mut after = before.clone();
    let mut ignored: Vec<&str> = Vec::new();
    for (nth, one) in edits.iter().enumerate() {
        let places = match one.replace_all {
            Some(true) => Occurrences::All,
            Some(false) | None => Occurrences::One,
        };
        let edit = Edit {
            old: &one.old_text,
            new: &one.new_text,
            occurrences: places,
        };
        let done = replace::replace(&after, &edit).map_err(|why| {
            let hint = redaction_guard::hint(&context.redactor, &before, &one.old_text);
            error_output(refusal_text(&why, &path, &hint, nth + 1, edits.len()))
        })?;
        after = done.text;
        ignored.extend(done.ignored);
    }
    if let Some(why) = redaction_guard::overwrites_secret(&context.redactor, &before, &after) {
        return Err(error_output(why));
    }
    space
        .replace(&path, &before, &after)
        .map_err(ToolOutput::error)?;
    context.snapshots.record(key, after.as_bytes());
    Ok(ToolOutput {
        diff: diff::format_diff(&path, &before, &after),
        ..ToolOutput::ok(success_text(&path, &before, &after, ignored))
    })
}

/// Returns the error text for a refused edit. `nth` is the number of the edit among the `of` edits of the call, counted
/// from 1. If one edit is refused, none is applied.
fn refusal_text(why: &Refusal, path: &str, hint: &str, nth: usize, of: usize) -> String {
    let which = match of {
        1 => String::new(),
        _ => format!(", edit {nth} of {of}. Nothing was changed"),
    };
    format!("{} in {path}{which}{hint}. {}", why.why, why.help)
        .trim_end()
        .to_string()
}

/// Returns the text of a successful result. `ignored` lists the differences between old texts and the file that were
/// ignored. If there are any, the text names them and includes the diff, cut to about [`SHOWN_MAX`] bytes.
fn success_text(path: &str, before: &str, after: &str, mut ignored: Vec<&str>) -> String {
    if ignored.is_empty() {
        return format!("Edited {path}");
    }
    ignored.sort_unstable();
    ignored.dedup();
    let (diff, _) = diff::format_limited(path, before, after, SHOWN_MAX);
    format!(
        "Edited {path}. old_text did not match exactly; ignored differences: {}. Check the change:\n{diff}",
        ignored.join("; ")
    )
}

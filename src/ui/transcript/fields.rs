//! Renders JSON inputs and outputs of tools as readable fields, each with a name and a value. Tasks are rendered as a
//! sentence and timestamps as dates. No I/O.
//!
//! The number and the length of the fields are limited. Apart from that, only these fields are left out:
//!
//! - fields with the value `null`
//! - fields of a task that are empty or add nothing, such as a single attempt
//! - fields of an output that repeat the input

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::{count_noun, head_and_tail};
use crate::domain::timestamp::Timestamp;

/// Maximum number of fields of one input or output that are shown. If there are more, a note says how many are missing.
const FIELDS_MAX: usize = 100;
/// Maximum nesting depth of objects that are shown as fields. Objects at a greater depth are shown as JSON.
const DEPTH_MAX: usize = 3;
/// Range of numbers that can be times, in seconds since the epoch (the years 2001 to 2286). Such a number is shown as a
/// time if the name of its field says that it is one.
const TIMES: std::ops::Range<f64> = 1e9..1e10;
/// The fields of a list item whose values are shown without the names of the fields.
const PLAIN: [&str; 6] = ["id", "text", "name", "subject", "content", "status"];

/// A field of an input or output. The name is empty if the value is a whole sentence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field {
    /// The name of the field, with blanks instead of underscores, and indented by two blanks per nesting level.
    pub name: String,
    /// The value of the field; may have several lines.
    pub value: String,
}

impl Field {
    pub fn new(name: &str, value: impl Into<String>) -> Field {
        Field {
            name: name.replace('_', " "),
            value: value.into(),
        }
    }

    /// Creates a field without a name.
    pub fn words(value: impl Into<String>) -> Field {
        Field::new("", value)
    }
}

/// The output of a tool, rendered as fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputFields {
    /// A summary for the row of the folded call; may be empty.
    pub summary: String,
    pub fields: Vec<Field>,
}

/// Renders the input of a tool as fields, cut to [`FIELDS_MAX`] fields and about `max` bytes of values in total. The
/// value that exceeds `max` is cut in the middle. Each value after it is replaced by a marker that gives the number of
/// cut bytes. A text in the field `command` comes first, as `$ command`. Returns no field for `null`.
pub fn of_input(input: &Value, zone: &TimeZone, max: usize) -> Vec<Field> {
    let fields = match input {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Field::words(text.as_str())],
        Value::Object(fields) => match fields.get("command").and_then(Value::as_str) {
            Some(command) => {
                let mut all = vec![Field::words(format!("$ {command}"))];
                let rest = fields.iter().filter(|(name, _)| *name != "command");
                of_fields(rest, zone, 0, &mut all);
                all
            }
            None => of_object(fields, zone),
        },
        other => vec![Field::words(one_value("", other, zone))],
    };
    limit_fields(fields, max)
}

/// Renders the output of a tool as fields, cut to [`FIELDS_MAX`] fields and about `max` bytes of values in total.
/// Leaves out the fields that have a name and occur in `input` with the same value. Returns `None` if the output is not
/// a JSON object or array.
pub fn of_output(
    output: &str,
    input: &[Field],
    zone: &TimeZone,
    max: usize,
) -> Option<OutputFields> {
    let text = output.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let mut output = match serde_json::from_value::<Task>(value.clone()) {
        Ok(task) => of_task(&task, zone),
        Err(_) => OutputFields {
            summary: String::new(),
            fields: match &value {
                Value::Object(fields) => of_object(fields, zone),
                Value::Array(items) if items.is_empty() => vec![Field::words("none")],
                Value::Array(items) => items.iter().map(|i| Field::words(item(i, zone))).collect(),
                other => vec![Field::words(other.to_string())],
            },
        },
    };
    output
        .fields
        .retain(|field| field.name.is_empty() || !input.contains(field));
    output.fields = limit_fields(output.fields, max);
    Some(output)
}

/// Renders a task as the sentence `#4 Write the manual: pending, waits for #1`, followed by the other fields of the
/// task.
fn of_task(task: &Task, zone: &TimeZone) -> OutputFields {
    let ids = |all: &[TaskId]| {
        let all: Vec<String> = all.iter().map(TaskId::to_string).collect();
        all.join(", ")
    };
    let status = match task.status {
        TaskStatus::Pending if task.blocked_by.is_empty() => "pending".to_string(),
        TaskStatus::Pending => format!("pending, waits for {}", ids(&task.blocked_by)),
        TaskStatus::InProgress => "in progress".into(),
        TaskStatus::Completed => "completed".into(),
    };
    let by = if task.owner.is_empty() {
        String::new()
    } else {
        format!(" by {}", task.owner)
    };
    let mut fields = vec![Field::words(format!(
        "{} {}: {status}{by}",
        task.id, task.subject
    ))];
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            fields.push(Field::new(name, value));
        }
    };
    put("description", task.description.clone());
    put("tags", task.tags.join(", "));
    put("worktree", task.worktree.clone());
    if task.status != TaskStatus::Pending {
        put("waits for", ids(&task.blocked_by));
    }
    put("blocks", ids(&task.blocks));
    if task.attempts > 1 {
        put("claimed", format!("{} times", task.attempts));
    }
    let time = |at: Timestamp| {
        if at.0 == 0.0 {
            String::new()
        } else {
            time(at.0, zone)
        }
    };
    let (created, updated) = (time(task.created_at), time(task.updated_at));
    if updated != created {
        put("changed", updated);
    }
    put("created", created);
    of_fields(task.extra.iter(), zone, 0, &mut fields);
    let summary = match task.status {
        TaskStatus::Pending => format!("{} {status}", task.id),
        TaskStatus::InProgress | TaskStatus::Completed => format!("{} {status}{by}", task.id),
    };
    OutputFields { summary, fields }
}

fn of_object(fields: &Map<String, Value>, zone: &TimeZone) -> Vec<Field> {
    let mut out = Vec::new();
    of_fields(fields.iter(), zone, 0, &mut out);
    out
}

fn of_fields<'a>(
    fields: impl Iterator<Item = (&'a String, &'a Value)>,
    zone: &TimeZone,
    depth: usize,
    out: &mut Vec<Field>,
) {
    let indent = "  ".repeat(depth);
    for (name, value) in fields {
        let label = format!("{indent}{name}");
        match value {
            Value::Null => {}
            Value::Object(inner) if depth < DEPTH_MAX && !inner.is_empty() => {
                out.push(Field::new(&label, ""));
                of_fields(inner.iter(), zone, depth + 1, out);
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let lines: Vec<String> = items.iter().map(|i| item(i, zone)).collect();
                out.push(Field::new(&label, lines.join("\n")));
            }
            Value::Array(items) if !items.is_empty() => {
                let all: Vec<String> = items.iter().map(|i| one_value(name, i, zone)).collect();
                // Long values, and values with commas, get one line each.
                let is_short = all.iter().all(|one| one.len() < 20 && !one.contains(','));
                out.push(Field::new(
                    &label,
                    all.join(if is_short { ", " } else { "\n" }),
                ));
            }
            other => out.push(Field::new(&label, one_value(name, other, zone))),
        }
    }
}

/// Renders a list item in one line, such as `1 · Read it · completed`.
fn item(item: &Value, zone: &TimeZone) -> String {
    let Value::Object(fields) = item else {
        return one_value("", item, zone);
    };
    let one = |(name, value): (&String, &Value)| match value {
        Value::Null => None,
        value => {
            let words = one_value(name, value, zone).replace('\n', " ");
            Some(if PLAIN.contains(&name.as_str()) {
                words
            } else {
                format!("{} {words}", name.replace('_', " "))
            })
        }
    };
    fields
        .iter()
        .filter_map(one)
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Renders the value of the field `name`. Numbers are shown as a time, a task number such as `#4` or a plain number,
/// depending on `name`. Booleans become `yes` or `no`, and an empty list becomes `none`. All values other than these
/// and text are rendered as JSON.
fn one_value(name: &str, value: &Value, zone: &TimeZone) -> String {
    let is_time = name == "timestamp" || name.ends_with("_at");
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Number(number) => match number.as_f64() {
            Some(at) if is_time && TIMES.contains(&at) => time(at, zone),
            Some(_) | None if names_tasks(name) => format!("#{number}"),
            Some(_) | None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Returns whether numbers in a field with this name, such as `task_id` or `blocked_by`, are task numbers. Ignores
/// case.
fn names_tasks(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "task"
        || name == "task_id"
        || name == "blocks"
        || name.ends_with("blocked_by")
        || name.ends_with("blockedby")
}

/// Formats a time, in seconds since 1970, as `2026-11-21 16:52:28` in `zone`. Returns the number itself if it is not a
/// valid time.
fn time(at: f64, zone: &TimeZone) -> String {
    #[allow(clippy::cast_possible_truncation)] // saturates at a value that is not a valid time
    let seconds = at as i64;
    let Ok(at) = jiff::Timestamp::from_second(seconds) else {
        return at.to_string();
    };
    at.to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}

/// Keeps the first [`FIELDS_MAX`] fields and adds a note if there are more. Cuts each name to 80 characters, and the
/// values to about `max` bytes in total.
fn limit_fields(mut fields: Vec<Field>, max: usize) -> Vec<Field> {
    let more = fields.len().saturating_sub(FIELDS_MAX);
    fields.truncate(FIELDS_MAX);
    let mut room = max;
    for field in &mut fields {
        field.name = crate::domain::text::clip(&field.name, 80);
        field.value = head_and_tail(&field.value, room);
        room = room.saturating_sub(field.value.len());
    }
    if more > 0 {
        let more = count_noun(more, "more field");
        fields.push(Field::words(format!("… and {more}")));
    }
    fields
}

/// Returns the fields as plain text for the clipboard: `name: value` for each, or only the value if the name is empty.
/// Each field begins on a new line.
pub fn text(fields: &[Field]) -> String {
    let line = |field: &Field| match (field.name.as_str(), field.value.as_str()) {
        ("", value) => value.to_string(),
        (name, "") => format!("{name}:"),
        (name, value) => format!("{name}: {value}"),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    const MAX: usize = 16 * 1024;

    fn input(value: &Value) -> String {
        text(&of_input(value, &TimeZone::UTC, MAX))
    }

    #[test]
    fn input_is_one_field_per_line() {
        let cases = [
            (
                json!({"command": "ls\npwd", "timeout_s": 5}),
                "$ ls\npwd\ntimeout s: 5",
            ),
            (json!({"path": "a", "limit": 5}), "path: a\nlimit: 5"),
            (json!(null), ""),
            (json!({}), ""),
            (json!("odd"), "odd"),
            (json!([1, 2]), "[1,2]"),
            (
                json!({"subject": "Write it", "description": "a\nb", "blocked_by": [1, 2], "tags": [], "owner": null}),
                "subject: Write it\ndescription: a\nb\nblocked by: #1, #2\ntags: none",
            ),
            (
                json!({"items": [{"id": "1", "text": "Read", "status": "completed", "note": "x"}, 7]}),
                "items: 1 · Read · completed · note x\n7",
            ),
            (
                json!({"choices": ["a, or b", "the one that is in the middle"], "plan": true}),
                "choices: a, or b\nthe one that is in the middle\nplan: yes",
            ),
            (
                json!({"deep": {"b_c": {"d": {"e": {"f": 1}}}}, "sent_at": 1_700_049_600.25, "count_at": 3}),
                "deep:\n  b c:\n    d:\n      e: {\"f\":1}\nsent at: 2023-11-15 12:00:00\ncount at: 3",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(input(&value), expected, "{value}");
        }
    }

    #[test]
    fn task_output_is_a_sentence_without_repeated_input() {
        let asked = of_input(
            &json!({"subject": "Write it", "description": "All of it."}),
            &TimeZone::UTC,
            MAX,
        );
        let record = json!({
            "id": 4, "subject": "Write it", "description": "All of it.", "status": "pending", "blockedBy": [1, 3], "blocks": [],
            "owner": "", "worktree": "", "tags": ["docs"], "created_at": 1_700_049_600.5, "updated_at": 1_700_049_600.5, "attempts": 0,
            "points": 3
        });
        let output = serde_json::to_string_pretty(&record).unwrap();
        let output = of_output(&output, &asked, &TimeZone::UTC, MAX).unwrap();
        assert_eq!(output.summary, "#4 pending, waits for #1, #3");
        assert_eq!(
            text(&output.fields),
            "#4 Write it: pending, waits for #1, #3\ntags: docs\ncreated: 2023-11-15 12:00:00\npoints: 3"
        );
        let done = json!({"id": 4, "subject": "Write it", "status": "completed", "owner": "bob", "attempts": 2, "blocks": [5]});
        let output = of_output(&done.to_string(), &[], &TimeZone::UTC, MAX).unwrap();
        assert_eq!(
            (output.summary.as_str(), text(&output.fields).as_str()),
            (
                "#4 completed by bob",
                "#4 Write it: completed by bob\nblocks: #5\nclaimed: 2 times"
            )
        );
    }

    #[test]
    fn json_output_is_fields_and_other_text_is_not() {
        let cases = [
            (
                r#"{"ok": true, "names": ["a", "b"]}"#,
                Some("ok: yes\nnames: a, b"),
            ),
            (r#"[{"id": 1, "text": "a"}, {"id": 2}]"#, Some("1 · a\n2")),
            ("[]", Some("none")),
            ("{} and more", None),
            ("Error: no", None),
            ("", None),
            ("12", None),
        ];
        for (json, expected) in cases {
            let output = of_output(json, &[], &TimeZone::UTC, MAX);
            let output = output.map(|output| text(&output.fields));
            assert_eq!(output.as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn fields_are_bounded_and_cuts_are_marked() {
        let many: Map<String, Value> = (0..500)
            .map(|n| (format!("n{n}"), "x".repeat(999).into()))
            .collect();
        let fields = of_input(&Value::Object(many), &TimeZone::UTC, MAX);
        assert_eq!(fields.len(), FIELDS_MAX + 1);
        assert_eq!(fields[FIELDS_MAX].value, "… and 400 more fields");
        let bytes: usize = fields.iter().map(|f| f.value.len()).sum();
        assert!(bytes < MAX + 100 * FIELDS_MAX, "{bytes}");
        assert!(
            fields[50].value.contains("bytes cut here"),
            "{:?}",
            fields[50]
        );
    }
}

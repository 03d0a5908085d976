//! Reads tasks in the JSON form that `crewdeck task list --json` prints.

use std::collections::HashMap;

use serde_json::Value;

use super::super::task::{Task, TaskStatus};
use super::super::text::{clip, one_line};
use super::item::{ImportError, ImportItem, ItemOrigin, ItemRef, KEY_MAX, clean_tags, content_key};

/// Maximum number of tasks in one text, completed ones included.
const TASKS_MAX: usize = 10_000;
/// Maximum length of a quoted error of the JSON parser, in characters.
const REASON_MAX: usize = 200;

/// Reads an array of tasks.
pub(super) fn parse_array(text: &str) -> Result<Vec<ImportItem>, ImportError> {
    let values: Vec<Value> = serde_json::from_str(text).map_err(|e| invalid(&e))?;
    read_tasks(element_lines(text).into_iter().zip(values))
}

/// Reads tasks one after the other. Each is an object, which may extend over several lines.
pub(super) fn parse_lines(text: &str) -> Result<Vec<ImportItem>, ImportError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    loop {
        // The next value begins behind the blanks after the last one.
        let rest = text.get(values.byte_offset()..).unwrap_or_default();
        let start = text.len() - rest.trim_start().len();
        line += newlines(text, counted, start);
        counted = start;
        match values.next() {
            Some(Ok(value)) => found.push((line, value)),
            Some(Err(error)) => return Err(invalid(&error)),
            None => break,
        }
    }
    read_tasks(found.into_iter())
}

/// Returns the number of line ends in a part of `text`.
fn newlines(text: &str, from: usize, to: usize) -> usize {
    let part = text.get(from..to).unwrap_or_default();
    part.matches('\n').count()
}

/// Returns the line in which each element of a JSON array begins, counted from 1. `text` must be valid JSON.
fn element_lines(text: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut line, mut depth) = (1, 0_usize);
    let (mut is_in_string, mut is_escaped, mut is_before_element) = (false, false, false);
    for byte in text.bytes() {
        let is_blank = byte.is_ascii_whitespace();
        if is_before_element && !is_blank && byte != b']' {
            lines.push(line);
            is_before_element = false;
        }
        match byte {
            b'\n' => line += 1,
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
            b'[' | b'{' => {
                depth += 1;
                is_before_element |= depth == 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => is_before_element = depth == 1,
            _ => {}
        }
    }
    lines
}

fn invalid(error: &serde_json::Error) -> ImportError {
    let reason = clip(&one_line(&error.to_string()), REASON_MAX);
    format!(
        "line {}: the JSON cannot be read ({reason}): fix it, or choose another format with --format",
        error.line()
    )
    .into()
}

/// Reads tasks from JSON values, each with the line in which it begins.
fn read_tasks(
    values: impl Iterator<Item = (usize, Value)>,
) -> Result<Vec<ImportItem>, ImportError> {
    let mut items = Vec::new();
    let mut problems = Vec::new();
    let mut lines: HashMap<u64, usize> = HashMap::new();
    let mut occurrences: HashMap<(String, String), usize> = HashMap::new();
    for (line, value) in values {
        if items.len() + problems.len() >= TASKS_MAX {
            let problem =
                format!("line {line}: there are more than {TASKS_MAX} tasks: split the file");
            return Err(problem.into());
        }
        let task = match read_task(value) {
            Ok(task) => task,
            Err(why) => {
                problems.push(format!("line {line}: {why}"));
                continue;
            }
        };
        let number = Some(task.id.0).filter(|number| *number > 0);
        if let Some(number) = number
            && let Some(first) = lines.insert(number, line)
        {
            problems.push(format!(
                "line {line}: the task in line {first} already has the number #{number}: give it another one"
            ));
        }
        // A board may have several tasks with the same text.
        let text = (task.subject.clone(), task.description.clone());
        let occurrence = occurrences.entry(text).or_default();
        let key = content_key(&task.subject, &task.description, *occurrence);
        *occurrence += 1;
        items.push(to_item(task, line, number, key));
    }
    ImportError::check(problems)?;
    Ok(items)
}

/// Reads one task. The error says what is wrong with it.
fn read_task(value: Value) -> Result<Task, String> {
    if !value.is_object() {
        return Err("a task must be an object, such as {\"subject\": \"Write the parser\"}".into());
    }
    let is_issue = value.get("subject").is_none()
        && ["number", "iid"]
            .iter()
            .any(|name| value.get(*name).is_some());
    if is_issue {
        // The text of an issue must be marked as such, which a task in JSON is not.
        return Err("this is an issue: import issues with --from github or --from gitlab".into());
    }
    serde_json::from_value(value).map_err(|e| clip(&one_line(&e.to_string()), REASON_MAX))
}

/// Converts a task of another board. `key` identifies the task by its content. It is used unless the task was imported
/// there and has a key from that import.
fn to_item(task: Task, line: usize, number: Option<u64>, key: String) -> ImportItem {
    let is_usable =
        |key: &str| !key.is_empty() && key.len() <= KEY_MAX && !key.contains(char::is_control);
    let is_url = task.imported_from.starts_with("http");
    ImportItem {
        origin: ItemOrigin::Line(line),
        number,
        url: Some(task.imported_from.clone()).filter(|url| is_url && is_usable(url)),
        subject: task.subject,
        description: task.description,
        tags: clean_tags(task.tags.iter().map(String::as_str)),
        waits_for: task
            .blocked_by
            .iter()
            .map(|id| ItemRef::Number(id.0))
            .collect(),
        is_done: task.status == TaskStatus::Completed,
        key: Some(task.imported_from)
            .filter(|key| is_usable(key))
            .unwrap_or(key),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Formats each item as `line number subject references`, with `done` if it is completed.
    fn shown(items: &[ImportItem]) -> Vec<String> {
        let format = |item: &ImportItem| {
            let refs: Vec<String> = item.waits_for.iter().map(ToString::to_string).collect();
            let number = item.number.map(|n| n.to_string()).unwrap_or_default();
            let done = if item.is_done { "done" } else { "" };
            format!(
                "{} {number} {} {} {done}",
                item.origin,
                item.subject,
                refs.join(",")
            )
        };
        items.iter().map(format).collect()
    }

    #[test]
    fn arrays_and_lines_are_read_with_their_lines() {
        let first =
            r#"{"id": 3, "subject": "a, [\"b\"]", "blockedBy": [4, "7"], "tags": ["x", "X"]}"#;
        let second = "{\n \"title\": \"c\",\n \"status\": \"done\", \"id\": 4}";
        let expected = ["line 2 3 a, [\"b\"] #4,#7 ", "line 4 4 c  done"];
        let array = format!("[\n {first} ,\n\n{second}\n]\n");
        let items = parse_array(&array).unwrap();
        assert_eq!(shown(&items), expected);
        assert_eq!(items[0].tags, ["x"]);
        let lines = format!("\n{first}\n\n {second}\n");
        assert_eq!(shown(&parse_lines(&lines).unwrap()), expected);
        assert!(parse_array("[ ]").unwrap().is_empty());
    }

    #[test]
    fn key_of_an_earlier_import_is_kept() {
        let text = r#"{"subject": "a"}
            {"subject": "a"}
            {"subject": "a", "imported_from": "https://a.example/issues/1"}
            {"subject": "a", "imported_from": "sha256:00"}
            {"subject": "a", "imported_from": "https://\u001b"}"#;
        let items = parse_lines(text).unwrap();
        let keys: Vec<&str> = items.iter().map(|item| item.key.as_str()).collect();
        assert!(keys[0].starts_with("sha256:") && keys[0] != keys[1]);
        assert_eq!(&keys[2..4], ["https://a.example/issues/1", "sha256:00"]);
        assert!(keys[4].starts_with("sha256:"));
        assert_eq!(items[2].url.as_deref(), Some("https://a.example/issues/1"));
        assert_eq!((&items[3].url, &items[4].url), (&None, &None));
    }

    #[test]
    fn problems_name_their_lines() {
        for (text, expected) in [
            (
                "{\"subject\": \"a\"}\n{\"subject\"",
                "line 2: the JSON cannot be read",
            ),
            (
                "{\"subject\": \"a\"}\n[1]",
                "line 2: a task must be an object",
            ),
            (
                "{\"subject\": \"a\"}\n\n{\"id\": 1}",
                "line 3: missing field `subject`",
            ),
            (
                "{\"subject\": \"a\", \"status\": \"banana\"}",
                "line 1: unknown variant `banana`",
            ),
            (
                "{\"id\": 2, \"subject\": \"a\"}\n{\"id\": 2, \"subject\": \"b\"}",
                "line 2: the task in line 1 already has the number #2",
            ),
            (
                "{\"number\": 2, \"title\": \"a\", \"body\": \"b\"}",
                "line 1: this is an issue",
            ),
        ] {
            let error = parse_lines(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let error = parse_array("[\n{\"subject\": \"a\"},\n{}]").unwrap_err();
        assert!(error.to_string().starts_with("line 3: missing"), "{error}");
        let error = parse_array("[\n{\"subject\": \"a\"}").unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
        let error = parse_array("{}").unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}

//! The fuzz target of files and issues that become tasks.

use super::{CheckResult, check_size, check_visible, check_visible_lines, ensure};
use crate::domain::code_host::CodeHost;
use crate::domain::graph::{DESCRIPTION_MAX, SUBJECT_MAX, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task_import::{
    DependencyMode, ImportError, ImportFormat, ImportItem, parse_issues, plan,
};
use crate::domain::timestamp::Timestamp;

/// Checks the readers of imports and the plan: the first byte selects the reader. Every plan can be added to a board, a
/// second import of the same text adds nothing, and the text of an issue stays in its quotation.
pub fn import(bytes: &[u8]) -> CheckResult {
    let Some((first, rest)) = bytes.split_first() else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(rest);
    let read = match first % 6 {
        0 => ImportFormat::Markdown.parse(&text),
        1 => ImportFormat::Json.parse(&text),
        2 => ImportFormat::JsonLines.parse(&text),
        3 => parse_issues(CodeHost::GitHub, &text),
        4 => parse_issues(CodeHost::GitLab, &text),
        _ => ImportFormat::detect(&text).parse(&text),
    };
    let is_issue = matches!(first % 6, 3 | 4);
    let items = match read {
        Ok(items) => items,
        Err(error) => return check_error(&error),
    };
    if is_issue {
        items.iter().try_for_each(check_issue)?;
    } else {
        let size = items.iter().map(|item| item.subject.len()).sum::<usize>();
        check_size("the subjects", size, text.len(), 1)?;
    }
    for mode in [
        DependencyMode::All,
        DependencyMode::Known,
        DependencyMode::Off,
    ] {
        check_plan(&items, mode)?;
    }
    Ok(())
}

fn check_error(error: &ImportError) -> CheckResult {
    let text = error.to_string();
    check_visible("the error", &text)?;
    check_size("the error", text.len(), 0, 1)
}

fn check_issue(item: &ImportItem) -> CheckResult {
    check_visible("the subject", &item.subject)?;
    check_visible_lines("the description", &item.description)?;
    item.tags
        .iter()
        .try_for_each(|tag| check_visible("a tag", tag))?;
    let is_quoted = item.description.ends_with("\n</issue>")
        && item.description.matches("</").count() == 1
        && item.subject.matches('"').count() == 2;
    ensure(is_quoted, || "the text leaves its quotation".into())?;
    let is_short =
        item.subject.chars().count() <= SUBJECT_MAX && item.description.len() <= DESCRIPTION_MAX;
    ensure(is_short, || "the task is too long".into())
}

fn check_plan(items: &[ImportItem], mode: DependencyMode) -> CheckResult {
    let mut graph = TaskGraph::default();
    let planned = match plan(items, mode, &graph) {
        Ok(planned) => planned,
        Err(error) => return check_error(&error),
    };
    let added = graph.create_all(TaskId(1), &planned.tasks, Timestamp(1.0));
    added.map_err(|e| format!("a plan cannot be added: {e}"))?;
    let again = plan(items, mode, &graph).map_err(|e| format!("not planned again: {e}"))?;
    ensure(again.tasks.is_empty(), || {
        "a second import adds tasks".into()
    })
}

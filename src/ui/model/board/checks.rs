//! How the results of a task's checks are shown. Pure.

use ratatui::style::Style;

use crate::domain::checks::{CheckOutcome, CheckRecord, summary};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::ui::theme::Theme;

/// The symbol of a task that is in progress and has a red check.
const RED: &str = "✗";
/// The symbol of a completed task that is not green: a check was overridden, or nothing was changed.
const NOT_GREEN: &str = "!";

/// Returns what the checks of a task say that its status does not, such as `checks red: test`. Returns `None` if there
/// are no results or all are green.
pub fn words(task: &Task) -> Option<String> {
    let words = summary(&task.checks)?;
    (words != "checks green").then(|| one_line(&words))
}

/// Returns the symbol that takes the place of the symbol of the task's status, if its checks are not green; `None` if
/// the symbol of the status stays.
pub fn symbol(task: &Task, theme: &Theme) -> Option<(&'static str, Style)> {
    let is_any = |is_so: fn(&CheckRecord) -> bool| task.checks.iter().any(is_so);
    match task.status {
        TaskStatus::InProgress if is_any(CheckRecord::is_failed) => Some((RED, theme.error)),
        TaskStatus::Completed
            if is_any(|record| {
                record.is_overridden() || record.outcome == CheckOutcome::NoChanges
            }) =>
        {
            Some((NOT_GREEN, theme.warn))
        }
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Completed => None,
    }
}

/// Returns the symbol and the style of one result.
pub fn record_symbol(record: &CheckRecord, theme: &Theme) -> (&'static str, Style) {
    match record.outcome {
        _ if record.is_overridden() => (NOT_GREEN, theme.warn),
        CheckOutcome::Green => ("✓", theme.ok),
        CheckOutcome::Running => ("●", theme.working),
        CheckOutcome::NoChanges => (NOT_GREEN, theme.warn),
        CheckOutcome::Unknown => ("?", theme.dim),
        CheckOutcome::Red
        | CheckOutcome::TimedOut
        | CheckOutcome::Stopped
        | CheckOutcome::NotStarted => (RED, theme.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::ui::fixture::board;

    #[test]
    fn only_what_is_not_green_is_marked() {
        let theme = Theme::default();
        let mut task = board().tasks().next().cloned().unwrap_or_else(|| panic!());
        let record = |outcome, reason: &str| CheckRecord {
            outcome,
            override_reason: reason.into(),
            ..CheckRecord::running("test", "bob", Timestamp(1.0), "t")
        };
        for (status, record, expected) in [
            (
                TaskStatus::InProgress,
                record(CheckOutcome::Running, ""),
                None,
            ),
            (
                TaskStatus::InProgress,
                record(CheckOutcome::Red, ""),
                Some(RED),
            ),
            (TaskStatus::Pending, record(CheckOutcome::Red, ""), None),
            (TaskStatus::Completed, record(CheckOutcome::Green, ""), None),
            (
                TaskStatus::Completed,
                record(CheckOutcome::Red, "known"),
                Some(NOT_GREEN),
            ),
            (
                TaskStatus::Completed,
                record(CheckOutcome::NoChanges, ""),
                Some(NOT_GREEN),
            ),
        ] {
            let is_green = record.outcome == CheckOutcome::Green;
            (task.status, task.checks) = (status, vec![record]);
            assert_eq!(symbol(&task, &theme).map(|(shape, _)| shape), expected);
            assert_eq!(words(&task).is_none(), is_green);
        }
    }
}

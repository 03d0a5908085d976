//! What the text of a pull request says about the checks of the task.
//!
//! The results in the file of a task can be changed by everyone who can write the file. A check therefore counts as green
//! only if crewdeck's own results, which agents cannot write, have its command on the content that is pushed.

use crate::domain::checks::{
    ACCEPTANCE, CHANGES, CheckOutcome, CheckRecord, CheckSpec, applicable,
};
use crate::domain::redact::Redactor;
use crate::domain::task::Task;
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;

/// Maximum length of the names of a check and of the one who ran it, in characters.
const NAME_MAX: usize = 60;
/// Maximum length of the reason why the user has completed a task although a check failed, in characters.
const REASON_MAX: usize = 200;

/// A check of a task, and how it ended on the content that is pushed.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// The result in the file of the task, with what crewdeck's own result says; `None` if the check applies to the task and
    /// has no result.
    record: Option<CheckRecord>,
    name: String,
    /// Whether crewdeck has a result of its own for the content that is pushed.
    is_confirmed: bool,
    /// Whether the result in the file is about other content than is pushed.
    is_outdated: bool,
}

/// Returns the checks of a task on the content with the hash `tree`. `specs` are the checks of the settings. `stored` returns
/// crewdeck's own result of a command on that content, with its end and duration in seconds. `is_set_by_user` returns
/// whether the user has set the acceptance command of the task.
pub fn check_reports(
    task: &Task,
    tree: &str,
    specs: &[CheckSpec],
    stored: impl Fn(&str) -> Option<(CheckOutcome, Timestamp, f64)>,
    is_set_by_user: impl Fn(&str) -> bool,
) -> Vec<CheckReport> {
    let command = |name: &str| {
        if name == ACCEPTANCE {
            let acceptance = task.acceptance.as_str();
            return Some(acceptance).filter(|run| !run.is_empty() && is_set_by_user(run));
        }
        let spec = specs.iter().find(|spec| spec.name == name)?;
        Some(spec.run.as_str())
    };
    // Whether the branch changes something is seen from its commits.
    let known = task.checks.iter().filter(|record| record.name != CHANGES);
    let mut reports: Vec<CheckReport> = known
        .map(|record| {
            let own = command(&record.name).and_then(&stored);
            let mut report = CheckReport {
                name: record.name.clone(),
                is_confirmed: false,
                is_outdated: record.tree != tree,
                record: Some(record.clone()),
            };
            report.confirm(own);
            report
        })
        .collect();
    // Checks that apply only to changes of some files are left out: without a result, it is not known whether they apply.
    for spec in applicable(specs, &task.tags, Some(&[])) {
        if reports.iter().all(|report| report.name != spec.name) {
            let mut report = CheckReport {
                name: spec.name.clone(),
                is_confirmed: false,
                is_outdated: false,
                record: None,
            };
            report.confirm(stored(&spec.run));
            reports.push(report);
        }
    }
    reports
}

impl CheckReport {
    /// Takes over crewdeck's own result, if there is one.
    fn confirm(&mut self, own: Option<(CheckOutcome, Timestamp, f64)>) {
        let Some((outcome, at, seconds)) = own else {
            return;
        };
        self.is_confirmed = true;
        let record = self.record.get_or_insert_with(CheckRecord::default);
        record.outcome = outcome;
        record.at = at;
        record.seconds = seconds;
    }

    pub fn is_green(&self) -> bool {
        let outcome = self.record.as_ref().map(|record| record.outcome);
        self.is_confirmed && outcome == Some(CheckOutcome::Green)
    }

    /// Describes the check on one line: outcome, duration, who ran it and when, and whether that holds for what is pushed.
    pub fn line(&self, redactor: &Redactor) -> String {
        let word = |text: &str, max: usize| clip(&one_line(&redactor.text(text)), max);
        let name = word(&self.name, NAME_MAX);
        let Some(record) = &self.record else {
            return format!("{name}: did not run");
        };
        let mut line = format!("{name}: {}", record.outcome);
        if record.outcome != CheckOutcome::Running && record.seconds > 0.0 {
            line.push_str(&format!(" after {:.1} s", record.seconds));
        }
        if !record.by.trim().is_empty() {
            line.push_str(&format!(", run by {}", word(record.by.trim(), NAME_MAX)));
        }
        if let Some(time) = utc(record.at) {
            line.push_str(&format!(", {time}"));
        }
        if self.is_confirmed {
            // The result is about what is pushed, whatever the file of the task says.
        } else if self.is_outdated && !record.tree.is_empty() {
            line.push_str(", on other content than these commits");
        } else if record.outcome == CheckOutcome::Green {
            line.push_str(", not confirmed: crewdeck has no such result for these commits");
        }
        if record.is_overridden() {
            let reason = word(&record.override_reason, REASON_MAX);
            line.push_str(&format!(", overridden: {reason}"));
        }
        line
    }
}

/// Returns a time as `2026-11-30 14:05 UTC`; `None` if it is unknown.
#[allow(clippy::cast_possible_truncation)] // whole seconds; jiff checks the range
fn utc(at: Timestamp) -> Option<String> {
    let time = jiff::Timestamp::from_second(at.0 as i64).ok()?;
    (at.0 > 0.0).then(|| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    fn task(checks: &Value) -> Task {
        let task = json!({"id": 3, "subject": "x", "acceptance": "make accept", "checks": checks});
        serde_json::from_value(task).unwrap()
    }

    fn spec(name: &str) -> CheckSpec {
        let spec = json!({"name": name, "run": format!("make {name}")});
        serde_json::from_value(spec).unwrap()
    }

    fn lines(reports: &[CheckReport]) -> Vec<String> {
        let lines = reports
            .iter()
            .map(|report| report.line(&Redactor::default()));
        lines.collect()
    }

    #[test]
    fn line_says_outcome_duration_author_and_time() {
        let task = task(&json!([
            {"name": "tests", "outcome": "red", "tree": "old", "by": "alice", "at": 5.0},
            {"name": "lint", "outcome": "timed_out", "seconds": 60, "tree": "t", "override": "slow\nmachine"},
            {"name": "docs", "outcome": "running", "by": "bob"},
            {"name": "changes", "outcome": "no_changes"},
        ]));
        let stored = |run: &str| {
            let own = (CheckOutcome::Green, Timestamp(1_790_000_000.0), 12.34);
            (run == "make tests").then_some(own)
        };
        let specs = [spec("tests"), spec("lint"), spec("format")];
        let reports = check_reports(&task, "t", &specs, stored, |_| false);
        assert_eq!(
            lines(&reports),
            [
                "tests: green after 12.3 s, run by alice, 2026-09-21 14:13 UTC",
                "lint: timed out after 60.0 s, overridden: slow⏎machine",
                "docs: running, run by bob",
                "format: did not run",
            ]
        );
        let green: Vec<bool> = reports.iter().map(CheckReport::is_green).collect();
        assert_eq!(green, [true, false, false, false]);
    }

    #[test]
    fn result_that_only_the_task_has_is_not_green() {
        let forged = task(&json!([
            {"name": "tests", "outcome": "green", "seconds": 3.5, "tree": "t"},
            {"name": "lint", "outcome": "green", "tree": "other"},
            {"name": "acceptance", "outcome": "green", "tree": "t"},
        ]));
        let specs = [spec("tests"), spec("lint")];
        let green = |_: &str| Some((CheckOutcome::Green, Timestamp(0.0), 1.0));
        let reports = check_reports(&forged, "t", &specs, |_| None, |_| true);
        assert_eq!(
            lines(&reports),
            [
                "tests: green after 3.5 s, not confirmed: crewdeck has no such result for these commits",
                "lint: green, on other content than these commits",
                "acceptance: green, not confirmed: crewdeck has no such result for these commits",
            ]
        );
        assert!(reports.iter().all(|report| !report.is_green()));
        // An acceptance command that the user has not set says nothing, whatever results crewdeck has of it.
        let reports = check_reports(&forged, "t", &specs, green, |_| false);
        let found: Vec<bool> = reports.iter().map(CheckReport::is_green).collect();
        assert_eq!(found, [true, true, false]);
        let reports = check_reports(&forged, "t", &specs, green, |run| run == "make accept");
        assert!(reports.iter().all(CheckReport::is_green));
    }
}

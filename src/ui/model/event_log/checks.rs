//! Log lines about the checks of a task: that they run, how they ended, and that the user has overridden them. Pure.

use crate::domain::checks::{CheckOutcome, CheckRecord};
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::ui::model::event_log::format::task as titled;
use crate::ui::model::event_log::{About, LogSeverity, NewLogLine, Topic};

/// Adds a line for each result that `after` has and `before` has not. All checks that begin to run share one line.
pub fn push_lines(before: &Task, after: &Task, out: &mut Vec<NewLogLine>) {
    let is_new = |record: &&CheckRecord| !before.checks.contains(record);
    let new: Vec<&CheckRecord> = after.checks.iter().filter(is_new).collect();
    let task = titled(after.id, &after.subject);
    let line = |words: String| {
        NewLogLine::new(Topic::Task, words)
            .by(&after.owner)
            .about(About::Task(after.id))
    };
    let running = new.iter().filter(|r| r.outcome == CheckOutcome::Running);
    let running: Vec<String> = running.map(|record| one_line(&record.name)).collect();
    if !running.is_empty() {
        out.push(line(format!("{task}: checks run: {}", running.join(", "))));
    }
    for record in new {
        let (name, words) = (one_line(&record.name), one_line(&record.words()));
        let log = match record.log.as_str() {
            "" => String::new(),
            log => format!(" ({})", one_line(log)),
        };
        let (text, tone) = match record.outcome {
            CheckOutcome::Running | CheckOutcome::Unknown => continue,
            _ if record.is_overridden() => (
                format!("{task}: check {name} is {words}"),
                LogSeverity::Warn,
            ),
            CheckOutcome::Green if record.log.is_empty() && record.seconds <= 0.0 => continue,
            CheckOutcome::Green => (
                format!("{task}: check {name} is {words}"),
                LogSeverity::Good,
            ),
            CheckOutcome::NoChanges => (
                format!("{task}: its branch changes nothing"),
                LogSeverity::Warn,
            ),
            CheckOutcome::Red
            | CheckOutcome::TimedOut
            | CheckOutcome::Stopped
            | CheckOutcome::NotStarted => (
                format!("{task}: check {name}: {words}{log}"),
                LogSeverity::Warn,
            ),
        };
        out.push(line(text).tone(tone));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::ui::fixture::board;

    #[test]
    fn each_new_result_gets_a_line() {
        let task = board().tasks().next().cloned().unwrap_or_else(|| panic!());
        let record = |name: &str, outcome| CheckRecord {
            outcome,
            seconds: 2.0,
            log: ".crewdeck/checks/a.log".into(),
            ..CheckRecord::running(name, "bob", Timestamp(1.0), "t")
        };
        let count = |before: &[CheckRecord], after: &[CheckRecord]| {
            let with = |checks: &[CheckRecord]| Task {
                checks: checks.to_vec(),
                ..task.clone()
            };
            let mut out = Vec::new();
            push_lines(&with(before), &with(after), &mut out);
            out.len()
        };
        let (a, b) = ("test", "lint");
        let running = [
            record(a, CheckOutcome::Running),
            record(b, CheckOutcome::Running),
        ];
        let ended = [record(a, CheckOutcome::Green), record(b, CheckOutcome::Red)];
        assert_eq!(count(&[], &running), 1);
        assert_eq!(count(&running, &ended), 2);
        assert_eq!(count(&ended, &ended), 0);
        let mut overridden = ended.clone();
        overridden[1].override_reason = "known".into();
        assert_eq!(count(&ended, &overridden), 1);
    }
}

//! The steps of a completion: the checks run, a green task is completed, a red one goes back to its owner, and after
//! three red completions in a row the user decides.

use super::record::{CheckOutcome, CheckRecord, REDS_MAX};

/// The state of one check for the current content of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckState {
    /// The check has no result for this content.
    Pending,
    Green,
    Red,
    /// The user has completed the task in spite of this check.
    Overridden,
}

/// What happens next with a task that its owner wants to complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStep {
    /// Checks without a result run.
    Run,
    /// The task is completed.
    Complete,
    /// The task stays with its owner, who gets the failing part of the output.
    SendBack,
    /// The user decides whether the owner tries again or the task is completed in spite of the checks.
    AskUser,
}

/// Returns the state of a check with the stored result `record` for the content `tree`. A result of other content does
/// not count, and neither does a result that says nothing about the content, such as a time-out. If the content has no
/// hash (`tree` is empty), no result counts.
pub fn state_of(record: Option<&CheckRecord>, tree: &str) -> CheckState {
    let Some(record) = record.filter(|record| !tree.is_empty() && record.tree == tree) else {
        return CheckState::Pending;
    };
    match record.outcome {
        _ if record.is_overridden() => CheckState::Overridden,
        CheckOutcome::Green => CheckState::Green,
        CheckOutcome::Red => CheckState::Red,
        CheckOutcome::Running
        | CheckOutcome::TimedOut
        | CheckOutcome::Stopped
        | CheckOutcome::NotStarted
        | CheckOutcome::NoChanges
        | CheckOutcome::Unknown => CheckState::Pending,
    }
}

/// Returns the state of a check that has just ended with the result `record`. Whatever is not green counts as red.
pub fn result_state(record: &CheckRecord) -> CheckState {
    match record.outcome {
        _ if record.is_overridden() => CheckState::Overridden,
        CheckOutcome::Green => CheckState::Green,
        CheckOutcome::Running => CheckState::Pending,
        CheckOutcome::Red
        | CheckOutcome::TimedOut
        | CheckOutcome::Stopped
        | CheckOutcome::NotStarted
        | CheckOutcome::NoChanges
        | CheckOutcome::Unknown => CheckState::Red,
    }
}

/// Returns the next step of a task whose checks have the states `states`. `reds` is the number of red completions in a
/// row, this one included.
pub fn next_step(states: &[CheckState], reds: u32) -> CheckStep {
    if states.contains(&CheckState::Pending) {
        CheckStep::Run
    } else if !states.contains(&CheckState::Red) {
        CheckStep::Complete
    } else if reds >= REDS_MAX {
        CheckStep::AskUser
    } else {
        CheckStep::SendBack
    }
}

/// Returns the number of red completions in a row that `records` have counted so far.
pub fn red_rounds(records: &[CheckRecord]) -> u32 {
    records.iter().map(|record| record.reds).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;

    #[test]
    fn step_table_of_a_completion() {
        use CheckState::{Green, Overridden, Pending, Red};
        for (states, reds, expected) in [
            // No check applies.
            (&[][..], 0, CheckStep::Complete),
            (&[Pending][..], 0, CheckStep::Run),
            (&[Green, Pending][..], 0, CheckStep::Run),
            (&[Red, Pending][..], 3, CheckStep::Run),
            (&[Green, Green][..], 2, CheckStep::Complete),
            (&[Red][..], 1, CheckStep::SendBack),
            (&[Green, Red][..], 2, CheckStep::SendBack),
            (&[Red][..], 3, CheckStep::AskUser),
            (&[Red, Green][..], 4, CheckStep::AskUser),
            (&[Overridden][..], 3, CheckStep::Complete),
            (&[Overridden, Red][..], 3, CheckStep::AskUser),
            (&[Overridden, Green][..], 0, CheckStep::Complete),
        ] {
            assert_eq!(next_step(states, reds), expected, "{states:?} {reds}");
        }
    }

    #[test]
    fn only_results_of_the_same_content_count() {
        use CheckOutcome::{Green, NotStarted, Red, Running, Stopped, TimedOut, Unknown};
        for (outcome, stored, ended) in [
            (Running, CheckState::Pending, CheckState::Pending),
            (Unknown, CheckState::Pending, CheckState::Red),
            (Green, CheckState::Green, CheckState::Green),
            (Red, CheckState::Red, CheckState::Red),
            // These say nothing about the content, so the check runs again.
            (TimedOut, CheckState::Pending, CheckState::Red),
            (Stopped, CheckState::Pending, CheckState::Red),
            (NotStarted, CheckState::Pending, CheckState::Red),
        ] {
            let record = CheckRecord {
                outcome,
                ..CheckRecord::running("test", "bob", Timestamp(1.0), "tree-1")
            };
            assert_eq!(state_of(Some(&record), "tree-1"), stored, "{outcome}");
            assert_eq!(result_state(&record), ended, "{outcome}");
            assert_eq!(state_of(Some(&record), "tree-2"), CheckState::Pending);
        }
        assert_eq!(state_of(None, "tree-1"), CheckState::Pending);
        let without_hash = CheckRecord::running("test", "bob", Timestamp(1.0), "");
        assert_eq!(state_of(Some(&without_hash), ""), CheckState::Pending);
    }

    #[test]
    fn a_whole_course_from_pending_to_override() {
        let mut record = CheckRecord::running("test", "bob", Timestamp(1.0), "t1");
        let step = |record: &CheckRecord, tree: &str| {
            let reds = red_rounds(std::slice::from_ref(record));
            next_step(&[state_of(Some(record), tree)], reds)
        };
        assert_eq!(step(&record, "t1"), CheckStep::Run);
        record.outcome = CheckOutcome::Red;
        for (round, expected) in [
            (1, CheckStep::SendBack),
            (2, CheckStep::SendBack),
            (3, CheckStep::AskUser),
        ] {
            record.reds = round;
            assert_eq!(step(&record, "t1"), expected);
        }
        // The owner changes something: the check runs again, whatever the count is.
        assert_eq!(step(&record, "t2"), CheckStep::Run);
        record.override_reason = "a known failure".into();
        assert_eq!(step(&record, "t1"), CheckStep::Complete);
        // An override counts only for the content that the user saw.
        assert_eq!(step(&record, "t2"), CheckStep::Run);
    }
}

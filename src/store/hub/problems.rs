//! Reports of stored records that cannot be used, each once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::super::notices::limit_notices;

/// The problems that were already reported.
#[derive(Debug, Default)]
pub(super) struct ReportedProblems(Mutex<ReportedLines>);

#[derive(Debug, Default)]
struct ReportedLines {
    lines: BTreeSet<String>,
    /// The state of the copy that was searched last.
    state: Option<(u64, u64)>,
}

impl ReportedProblems {
    /// Returns the problems that this function has not returned before, as limited by [`limit_notices`]. A problem that was
    /// solved and comes again is returned again. `state` changes with the records; `find` is called only if it has changed.
    pub fn unreported(&self, state: (u64, u64), find: impl FnOnce() -> Vec<String>) -> Vec<String> {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.state == Some(state) {
            return Vec::new();
        }
        let found = find();
        let is_new = |line: &&String| !reported.lines.contains(*line);
        let new: Vec<String> = found.iter().filter(is_new).cloned().collect();
        *reported = ReportedLines {
            lines: found.into_iter().collect(),
            state: Some(state),
        };
        limit_notices(new)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::super::notices::NOTICES_MAX;
    use super::*;

    #[test]
    fn each_problem_is_reported_once_until_it_is_solved() {
        let reported = ReportedProblems::default();
        let found = |lines: &[&str]| -> Vec<String> {
            lines.iter().map(|line| (*line).to_string()).collect()
        };
        assert_eq!(reported.unreported((1, 1), || found(&["a"])), ["a"]);
        assert_eq!(reported.unreported((1, 2), || found(&["a", "b"])), ["b"]);
        let not_searched = reported.unreported((1, 2), || unreachable!("same state"));
        assert_eq!(not_searched, Vec::<String>::new());
        assert_eq!(reported.unreported((1, 3), || found(&["b"])).len(), 0);
        assert_eq!(reported.unreported((1, 4), || found(&["a", "b"])), ["a"]);
    }

    #[test]
    fn number_of_reported_lines_is_bounded() {
        let lines = (0..50).map(|n| n.to_string()).collect();
        let lines = ReportedProblems::default().unreported((1, 1), || lines);
        assert_eq!(lines.len(), NOTICES_MAX + 1);
        assert_eq!(lines[NOTICES_MAX], "... and 30 more notices");
    }
}

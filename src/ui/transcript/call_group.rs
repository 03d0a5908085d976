//! A group of consecutive calls of the same tool, which can be folded into one header line.
//!
//! The header is a cell before the cell of the first call. It is not drawn while the group has fewer than [`GROUP_MIN`]
//! calls. Its counts are updated when a call starts or ends, so that drawing the header does not need the calls.

use crate::ui::text::wrap::{fit, width};
use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::run::{ToolCallState, ToolRun};

/// Minimum number of calls at which the header of a group is drawn.
pub const GROUP_MIN: usize = 3;
/// What separates what the first and the last call act on.
const BETWEEN: &str = " … ";

/// The header of a group of consecutive calls of the same tool, with the numbers that it shows.
#[derive(Debug, Default, Clone)]
pub struct CallGroup {
    pub tool: String,
    pub len: usize,
    pub running: usize,
    pub failed: usize,
    /// Number of calls whose turn ended before their result arrived.
    pub abandoned: usize,
    /// What the first call acts on, such as a path or a command.
    pub first: String,
    /// What the last call acts on, such as a path or a command.
    pub last: String,
    /// Whether all calls so far act on the same path, command or other subject.
    pub is_same: bool,
    /// Error of the first failed call whose output has one; empty if there is no such call. On one line.
    pub first_error: String,
    /// Whether only the header is shown (folded), or the header and the calls.
    pub fold: Fold,
}

impl CallGroup {
    pub fn of(tool: &str) -> CallGroup {
        CallGroup {
            tool: tool.into(),
            ..CallGroup::default()
        }
    }

    /// Returns whether the header is drawn, that is, whether the group has at least [`GROUP_MIN`] calls.
    pub fn is_shown(&self) -> bool {
        self.len >= GROUP_MIN
    }

    /// Returns whether the header is drawn in place of the calls.
    pub fn hides(&self) -> bool {
        self.is_shown() && self.fold == Fold::Folded
    }

    /// Adds a new call to the group's counts.
    pub fn add(&mut self, run: &ToolRun) {
        self.len += 1;
        self.count(run.state, |n| n + 1);
        if self.len == 1 {
            self.first.clone_from(&run.subject);
            self.is_same = true;
        }
        self.is_same &= self.first == run.subject;
        self.last.clone_from(&run.subject);
    }

    /// Updates the counts after the state of the call `run` has changed from `before`. If the call has failed, also
    /// stores its error as the group's `first_error`, unless there is one already.
    pub fn update(&mut self, before: ToolCallState, run: &ToolRun) {
        self.count(before, |n| n.saturating_sub(1));
        self.count(run.state, |n| n + 1);
        if run.state == ToolCallState::Failed && self.first_error.is_empty() {
            self.first_error = run.error_line();
        }
    }

    fn count(&mut self, progress: ToolCallState, change: impl FnOnce(usize) -> usize) {
        let count = match progress {
            ToolCallState::Running => &mut self.running,
            ToolCallState::Failed => &mut self.failed,
            ToolCallState::Abandoned => &mut self.abandoned,
            ToolCallState::Done => return,
        };
        *count = change(*count);
    }

    /// Returns the state that the header shows: the first one of running, failed and abandoned that any of the calls
    /// has; done if all calls are done.
    pub fn progress(&self) -> ToolCallState {
        if self.running > 0 {
            ToolCallState::Running
        } else if self.failed > 0 {
            ToolCallState::Failed
        } else if self.abandoned > 0 {
            ToolCallState::Abandoned
        } else {
            ToolCallState::Done
        }
    }

    /// Returns how many calls are running, failed or not finished, such as `2 running · 1 failed`; empty if all calls
    /// are done.
    pub fn result(&self) -> String {
        let words = [
            (self.running, "running"),
            (self.failed, "failed"),
            (self.abandoned, "not finished"),
        ];
        let nonzero = words.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = nonzero
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        parts.join(" · ")
    }

    /// Returns what the first and the last call act on, as a text of at most `columns` columns. If there is too little
    /// room for both, cuts each of them before its first ` (`.
    pub fn subjects(&self, columns: usize) -> String {
        let (first, last) = (self.first.as_str(), self.last.as_str());
        if width(first) + width(last) + width(BETWEEN) <= columns {
            return join(first, last, columns);
        }
        let [first, last] = [first, last].map(|on| on.split_once(" (").map_or(on, |(on, _)| on));
        join(first, last, columns)
    }

    pub fn bytes(&self) -> usize {
        self.tool.len() + self.first.len() + self.last.len() + self.first_error.len()
    }
}

/// Joins two texts to one of at most `room` columns. If both do not fit, they share the columns equally; if one needs
/// less, the other gets the rest.
fn join(first: &str, last: &str, room: usize) -> String {
    let columns = room.saturating_sub(width(BETWEEN));
    let share = |columns: usize| columns.saturating_sub(width(last)).max(columns / 2);
    let both = if width(first) <= share(columns) {
        let last = fit(last, columns - width(first));
        format!("{first}{BETWEEN}{last}")
    } else {
        // The mark at the end of a cut text also separates it from the other one.
        let columns = room.saturating_sub(1);
        let first = fit(first, share(columns).min(width(first) - 1));
        let last = fit(last, columns.saturating_sub(width(&first)));
        format!("{first} {last}")
    };
    both.trim().to_string()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn pair_uses_all_columns() {
        let cases = [
            (
                "Write lib/words.sh",
                "Write the manual",
                37,
                "Write lib/words.sh … Write the manual",
            ),
            (
                "Write lib/words.sh",
                "Write the manual",
                36,
                "Write lib/words.… Write the manual",
            ),
            (
                "Write lib/words.sh",
                "Write the manual",
                30,
                "Write lib/wor… Write the manu…",
            ),
            (
                "Write lib/words.sh",
                "Write the manual",
                24,
                "Write lib/… Write the m…",
            ),
            ("a", "Write the manual", 12, "a … Write t…"),
            ("Write the manual", "b", 12, "Write the… b"),
            ("a", "b", 0, ""),
        ];
        for (first, last, room, expected) in cases {
            let joined = join(first, last, room);
            assert_eq!(joined, expected, "{room}");
            assert!(width(&joined) <= room);
        }
    }
}

//! A group of consecutive calls of the same tool, which can be folded into one header line.
//!
//! The header is a cell of its own, before the first call. It is hidden while the group is small. Its counts are
//! updated as calls start and end, so that drawing it does not visit the calls.

use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::run::{ToolCallState, ToolRun};

/// Minimum number of calls for which the group has a visible header.
pub const GROUP_MIN: usize = 3;

/// The header of a group of consecutive calls of the same tool, with the counts that it shows.
#[derive(Debug, Default, Clone)]
pub struct CallGroup {
    pub tool: String,
    pub len: usize,
    pub running: usize,
    pub failed: usize,
    /// Number of calls whose turn ended before their result arrived.
    pub abandoned: usize,
    /// Subject of the first call, such as a path or a command.
    pub first: String,
    /// Subject of the last call.
    pub last: String,
    /// Whether all calls so far have the same subject.
    pub is_same: bool,
    /// Error of the first call that failed; empty if none failed or the error is unknown.
    pub first_error: String,
    /// Whether only the header is shown, or the header and the calls.
    pub fold: Fold,
}

impl CallGroup {
    pub fn of(tool: &str) -> CallGroup {
        CallGroup {
            tool: tool.into(),
            ..CallGroup::default()
        }
    }

    /// Returns whether the group has enough calls for a visible header: at least [`GROUP_MIN`].
    pub fn is_shown(&self) -> bool {
        self.len >= GROUP_MIN
    }

    /// Returns whether the header is shown and the calls are hidden.
    pub fn hides(&self) -> bool {
        self.is_shown() && self.fold == Fold::Folded
    }

    /// Counts a new call of the group.
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

    /// Updates the counts after the progress of a call changed from `before`.
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

    /// Returns the progress of the group: running if any call runs, else failed if any call failed, else abandoned if
    /// any call was abandoned, else done.
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

    /// Returns the numbers of calls that are not done, such as `2 running · 1 failed`; empty if all are done.
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

    pub fn bytes(&self) -> usize {
        self.tool.len() + self.first.len() + self.last.len() + self.first_error.len()
    }
}

//! Calls of the same tool, one behind the other: they fold into one line that stands before them.
//!
//! The line is a cell of its own, which comes before the first of them and shows nothing while there are too few. What
//! it says is counted as its calls begin and end: nobody looks through them to draw it.

use super::cell::Fold;
use super::run::{Progress, ToolRun};

/// Fewest calls that fold into one line: two lines are read as fast as one.
pub const LEAST: usize = 3;

/// The line before the calls.
#[derive(Debug, Default, Clone)]
pub struct Calls {
    /// The tool.
    pub tool: String,
    /// How many there are.
    pub len: usize,
    /// How many of them run.
    pub running: usize,
    /// How many of them failed.
    pub failed: usize,
    /// How many of them will have no result.
    pub abandoned: usize,
    /// What the first one works on.
    pub first: String,
    /// What the last one works on.
    pub last: String,
    /// Whether all of them work on the same.
    pub is_same: bool,
    /// Why the one failed that failed first; empty: none did, or it did not say.
    pub why: String,
    /// Whether the calls are shown one by one.
    pub fold: Fold,
}

impl Calls {
    /// No call yet of that tool.
    pub fn of(tool: &str) -> Calls {
        Calls {
            tool: tool.into(),
            ..Calls::default()
        }
    }

    /// Whether there are enough of them for a line.
    pub fn is_shown(&self) -> bool {
        self.len >= LEAST
    }

    /// Whether the line stands for the calls, which are not shown.
    pub fn hides(&self) -> bool {
        self.is_shown() && self.fold == Fold::Folded
    }

    /// One more begins.
    pub fn join(&mut self, run: &ToolRun) {
        self.len += 1;
        self.count(run.progress, |n| n + 1);
        if self.len == 1 {
            self.first.clone_from(&run.on);
            self.is_same = true;
        }
        self.is_same &= self.first == run.on;
        self.last.clone_from(&run.on);
    }

    /// One of them has come further.
    pub fn came(&mut self, before: Progress, run: &ToolRun) {
        self.count(before, |n| n.saturating_sub(1));
        self.count(run.progress, |n| n + 1);
        if run.progress == Progress::Failed && self.why.is_empty() {
            self.why = run.why();
        }
    }

    fn count(&mut self, progress: Progress, change: impl FnOnce(usize) -> usize) {
        let count = match progress {
            Progress::Running => &mut self.running,
            Progress::Failed => &mut self.failed,
            Progress::Abandoned => &mut self.abandoned,
            Progress::Done => return,
        };
        *count = change(*count);
    }

    /// How far they have come together.
    pub fn progress(&self) -> Progress {
        if self.running > 0 {
            Progress::Running
        } else if self.failed > 0 {
            Progress::Failed
        } else if self.abandoned > 0 {
            Progress::Abandoned
        } else {
            Progress::Done
        }
    }

    /// How many are not done, in a few words; empty: all are.
    pub fn result(&self) -> String {
        let words = [
            (self.running, "running"),
            (self.failed, "failed"),
            (self.abandoned, "not finished"),
        ];
        let some = words.iter().filter(|(count, _)| *count > 0);
        let said: Vec<String> = some
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        said.join(" · ")
    }

    /// The bytes of text in it.
    pub fn bytes(&self) -> usize {
        self.tool.len() + self.first.len() + self.last.len() + self.why.len()
    }
}

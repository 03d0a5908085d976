//! Whether a turn gets anywhere: the same calls over and over, and compactions with nothing done in between.

use std::collections::{HashSet, VecDeque};

/// How often the same calls with the same results may come within [`LOOP_WINDOW`] rounds.
pub(super) const LOOP_MAX: usize = 5;
/// From this many on, the model is told that it repeats itself.
const REPEATED_MIN: usize = 3;
/// Rounds that the loop detection looks back, from now and from the last compaction.
const LOOP_WINDOW: usize = 12;

/// Most parts of files that a turn remembers as read. What it reads beyond them counts as nothing new.
const READS_MAX: usize = 10_000;

/// What the last round of tool calls means for the turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Round {
    Progress,
    /// The same calls gave the same results before. The model can still try something else.
    Repeated {
        times: usize,
    },
    /// That happened [`LOOP_MAX`] times: the turn ends.
    Loop,
}

/// What one turn did so far, as far as loops show in it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Marks of the last rounds since the conversation was compacted, oldest first.
    recent: VecDeque<u64>,
    /// Marks of the last rounds before that: the model does not remember them, so it may repeat them.
    before: VecDeque<u64>,
    /// The state of files, board and messages at the last compaction, where it is known.
    work: Option<u64>,
    /// Whether something was said to the agent since then, or it read what the turn had not read before.
    has_news: bool,
    /// Marks of the parts of files that the turn has read. There is an end to them, so reading alone is no loop.
    reads: HashSet<u64>,
}

impl Progress {
    /// Records a round of tool calls. `mark` is a hash of the calls and their results.
    pub(super) fn round(&mut self, mark: u64) -> Round {
        push(&mut self.recent, mark);
        let marks = self.recent.iter().chain(&self.before);
        match marks.filter(|m| **m == mark).count() {
            times if times >= LOOP_MAX => Round::Loop,
            times if times >= REPEATED_MIN => Round::Repeated { times },
            _ => Round::Progress,
        }
    }

    /// Something was said to the agent: there is a reason to go on.
    pub(super) fn note_message(&mut self) {
        self.has_news = true;
    }

    /// A part of a file was read.
    pub(super) fn note_read(&mut self, mark: u64) {
        if self.reads.len() < READS_MAX {
            self.has_news |= self.reads.insert(mark);
        }
    }

    /// The conversation was compacted in the middle of the turn, with files, board and messages in the state `work`. The
    /// reason, if nothing changed since it was compacted before.
    pub(super) fn compacted(&mut self, work: Option<u64>) -> Option<String> {
        let is_stuck = work.is_some() && work == self.work && !self.has_news;
        self.work = work;
        self.has_news = false;
        for mark in std::mem::take(&mut self.recent) {
            push(&mut self.before, mark);
        }
        is_stuck.then(|| {
            "the conversation was compacted twice, and in between no file, task or message changed and nothing new was read"
                .into()
        })
    }
}

fn push(marks: &mut VecDeque<u64>, mark: u64) {
    marks.push_back(mark);
    if marks.len() > LOOP_WINDOW {
        marks.pop_front();
    }
}

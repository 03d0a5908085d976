//! Detects turns without progress: repeated calls, and compactions without any work in between.

use std::collections::{HashSet, VecDeque};

/// Number of rounds with the same calls and the same results at which the turn ends. See [`LOOP_WINDOW`] for what a
/// round is and which rounds are compared.
pub(super) const LOOP_MAX: usize = 5;
/// Number of rounds with the same calls and the same results at which the model gets a reminder.
const REPEATED_MIN: usize = 3;
/// Maximum number of rounds that the loop detection remembers from before the last summary in the turn, and again from
/// after it. A round is the tool calls of one answer.
const LOOP_WINDOW: usize = 12;

/// Maximum number of file parts that a turn remembers as read. If there are more, reading another part does not count
/// as progress.
const READS_MAX: usize = 10_000;

/// Whether the last round of tool calls repeated earlier rounds, and so whether the turn continues.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Round {
    Progress,
    /// The same calls gave the same results `times` times, at least [`REPEATED_MIN`] and fewer than [`LOOP_MAX`]. The
    /// model is reminded and can try something else.
    Repeated {
        times: usize,
    },
    /// The same calls gave the same results [`LOOP_MAX`] times. The turn ends.
    Loop,
}

/// The part of the history of one turn that shows whether the model is in a loop. "Summary" here means a compaction
/// that replaces the conversation while the turn continues; replacing old tool results does not count.
#[derive(Debug, Default)]
pub(super) struct LoopDetector {
    /// Hashes of the newest rounds of tool calls since the last summary in this turn, or since the start of the turn,
    /// oldest first, at most [`LOOP_WINDOW`].
    recent: VecDeque<u64>,
    /// Hashes of the newest rounds of tool calls before the last summary in this turn, oldest first, at most
    /// [`LOOP_WINDOW`]. The model does not remember these rounds, so it may repeat them.
    before: VecDeque<u64>,
    /// The fingerprint of files, board and messages at the last summary. `None` if there was no summary in this turn,
    /// if the user requested the summary, or if the fingerprint is unknown.
    work: Option<u64>,
    /// Whether the agent has received a message or read something new since the last summary in this turn, or since the
    /// start of the turn.
    has_news: bool,
    /// Hashes of the file parts that were read in this turn, at most [`READS_MAX`]. Reading a part for the first time
    /// counts as progress.
    reads: HashSet<u64>,
}

impl LoopDetector {
    /// Records a round of tool calls, and returns whether it repeats earlier rounds. `mark` is a hash of the calls and
    /// their results.
    pub(super) fn round(&mut self, mark: u64) -> Round {
        push(&mut self.recent, mark);
        let marks = self.recent.iter().chain(&self.before);
        match marks.filter(|m| **m == mark).count() {
            times if times >= LOOP_MAX => Round::Loop,
            times if times >= REPEATED_MIN => Round::Repeated { times },
            _ => Round::Progress,
        }
    }

    /// Records that the agent received a message, which counts as progress.
    pub(super) fn note_message(&mut self) {
        self.has_news = true;
    }

    /// Records that a part of a file was read. `mark` is a hash of the call that read it. Reading a part for the first
    /// time counts as progress.
    pub(super) fn note_read(&mut self, mark: u64) {
        if self.reads.len() < READS_MAX {
            self.has_news |= self.reads.insert(mark);
        }
    }

    /// Records a summary in the middle of the turn. `work` is the fingerprint of files, board and messages; `None` if
    /// it is unknown or if the user requested the summary. Returns the reason to end the turn if the agent has made no
    /// progress since the previous summary: the fingerprint is known and the same, no message has arrived, and nothing
    /// new was read. Otherwise returns `None`.
    pub(super) fn note_compaction(&mut self, work: Option<u64>) -> Option<String> {
        let is_stuck = work.is_some() && work == self.work && !self.has_news;
        self.work = work;
        self.has_news = false;
        for mark in std::mem::take(&mut self.recent) {
            push(&mut self.before, mark);
        }
        is_stuck.then(|| {
            "no progress between two compactions: no file, task or message changed, and nothing new was read"
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

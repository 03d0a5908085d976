//! Decides when an agent makes no progress: many model calls in a row without a change of files, board or messages.
//! Does no I/O.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::chat::ToolCall;

/// The weight of a model call without progress that brings no new information. The lower weight [`NEWS`] is for a call
/// without progress that brings new information, such as a part of a file that was not read before. An agent can
/// therefore read and test for a long time before this counts as a lack of progress.
const REPETITION: u32 = 4;
const NEWS: u32 = 1;
/// The total weight of model calls without progress at which the fingerprint of the files is taken. Most agents change
/// something before this weight is reached, so the fingerprint is rarely computed.
const FINGERPRINT_AT: u32 = 16;
/// Maximum number of pairs of a tool call and its result that are remembered. Further pairs count as repetitions.
const SEEN_MAX: usize = 4096;
/// The number of tool calls that are listed in the question to the user whether the agent may go on.
const LAST_MAX: usize = 3;

/// The effect of one tool call of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEffect {
    /// The call has changed a file, the board, a request or the team, or has sent a message.
    Change,
    /// It is unknown whether the call has changed any of these, or it has changed none.
    Unknown,
}

/// What must be done before the next model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StallStep {
    Call,
    /// The fingerprint of the files is needed for a later comparison: pass it to [`StallDetector::set_fingerprint`].
    TakeFingerprint,
    /// If the fingerprint of the files is still this one, the agent has made no progress.
    Compare(u64),
}

/// Counts the model calls of one agent without progress.
#[derive(Debug, Default)]
pub struct StallDetector {
    /// The number of model calls without progress after which the user is asked; 0 for no limit. A call that brings new
    /// information counts only as the fraction [`NEWS`] / [`REPETITION`] of a call.
    limit: u32,
    /// The total weight of the model calls without progress: [`REPETITION`] or [`NEWS`] for each. Starts again from 0
    /// when the fingerprint of the files is taken.
    weight: u32,
    /// The number of the model calls that `weight` contains.
    calls: u32,
    /// The greatest effect of the tool calls in the last answer of the model. `None` if there is no answer yet, or if
    /// `weight` already counts the answer.
    round: Option<RoundEffect>,
    /// Hashes of the tool calls since the last progress, with their results.
    seen: HashSet<u64>,
    /// Descriptions of the last tool calls, oldest first.
    last: VecDeque<String>,
    /// The fingerprint of the files when `weight` reached [`FINGERPRINT_AT`]; `None` before.
    fingerprint: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RoundEffect {
    Nothing,
    News,
    Change,
}

impl StallDetector {
    pub fn new(limit: u32) -> StallDetector {
        StallDetector {
            limit,
            ..StallDetector::default()
        }
    }

    /// Starts to count again, because of progress, a message to the agent, or the user's answer.
    pub fn reset(&mut self) {
        *self = StallDetector::new(self.limit);
    }

    /// Records that the model has answered a call.
    pub fn note_answer(&mut self) {
        self.settle_round();
        self.round = Some(RoundEffect::Nothing);
    }

    /// Records a tool call of the last answer and its result. `shown` describes the call for the user.
    pub fn note_call(&mut self, call: &ToolCall, result: &str, effect: CallEffect, shown: String) {
        if self.limit == 0 {
            return;
        }
        let mut hash = DefaultHasher::new();
        call.name.hash(&mut hash);
        call.input.to_string().hash(&mut hash);
        result.hash(&mut hash);
        let is_new = self.seen.len() < SEEN_MAX && self.seen.insert(hash.finish());
        let brought = match effect {
            CallEffect::Change => RoundEffect::Change,
            CallEffect::Unknown if is_new => RoundEffect::News,
            CallEffect::Unknown => RoundEffect::Nothing,
        };
        self.round = self.round.max(Some(brought));
        self.last.push_back(shown);
        if self.last.len() > LAST_MAX {
            self.last.pop_front();
        }
    }

    /// Returns what must be done before the next model call.
    pub fn step(&mut self) -> StallStep {
        if self.limit == 0 {
            return StallStep::Call;
        }
        self.settle_round();
        match self.fingerprint {
            None if self.weight >= FINGERPRINT_AT => StallStep::TakeFingerprint,
            Some(fingerprint) if self.weight >= self.limit.saturating_mul(REPETITION) => {
                StallStep::Compare(fingerprint)
            }
            None | Some(_) => StallStep::Call,
        }
    }

    /// Sets the fingerprint of the files, and starts to count the model calls from 0.
    pub fn set_fingerprint(&mut self, fingerprint: u64) {
        self.fingerprint = Some(fingerprint);
        self.weight = 0;
        self.calls = 0;
    }

    /// Returns the number of model calls without progress since the fingerprint was taken, and the last tool calls,
    /// oldest first.
    pub fn standstill(&self) -> (u32, Vec<String>) {
        (self.calls, self.last.iter().cloned().collect())
    }

    fn settle_round(&mut self) {
        let weight = match self.round.take() {
            None => return,
            Some(RoundEffect::Change) => return self.reset(),
            Some(RoundEffect::News) => NEWS,
            Some(RoundEffect::Nothing) => REPETITION,
        };
        self.weight = self.weight.saturating_add(weight);
        self.calls = self.calls.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::CallId;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    /// What the model does after one of its calls was answered.
    #[derive(Debug, Clone, Copy)]
    enum Does {
        Reads(u32),
        RunsSameTest,
        Edits,
        Talks,
    }

    fn answer(detector: &mut StallDetector, does: Does) {
        detector.note_answer();
        let (name, input, result, effect) = match does {
            Does::Reads(part) => (
                "read_file",
                json!({ "offset": part }),
                "text",
                CallEffect::Unknown,
            ),
            Does::RunsSameTest => (
                "bash",
                json!({"command": "make"}),
                "failed",
                CallEffect::Unknown,
            ),
            Does::Edits => ("edit_file", json!({}), "edited", CallEffect::Change),
            Does::Talks => return,
        };
        let call = ToolCall {
            id: CallId("c".into()),
            name: name.into(),
            input,
            broken: None,
        };
        detector.note_call(&call, result, effect, name.into());
    }

    /// Returns after how many model calls the files are compared; `None` if not within 1000 calls.
    fn calls_until_compare(limit: u32, does: impl Fn(u32) -> Does) -> Option<u32> {
        let mut detector = StallDetector::new(limit);
        (0..1000).find(|n| {
            match detector.step() {
                StallStep::Call => {}
                StallStep::TakeFingerprint => detector.set_fingerprint(7),
                StallStep::Compare(fingerprint) => {
                    assert_eq!(fingerprint, 7);
                    return true;
                }
            }
            answer(&mut detector, does(*n));
            false
        })
    }

    #[test]
    fn only_calls_without_any_change_are_too_many() {
        type Script = fn(u32) -> Does;
        let cases: [(&str, u32, Script, Option<u32>); 9] = [
            ("off", 0, |_| Does::RunsSameTest, None),
            // The first run of the test is news. The fingerprint is taken after 4 further calls.
            ("same test", 30, |_| Does::RunsSameTest, Some(35)),
            ("same test, small limit", 1, |_| Does::RunsSameTest, Some(6)),
            // A call that reads something new counts a quarter.
            ("long reading", 30, Does::Reads, Some(136)),
            ("reading again", 30, |n| Does::Reads(n % 3), Some(37)),
            ("only text", 30, |_| Does::Talks, Some(34)),
            (
                "edit and test",
                30,
                |n| {
                    if n % 25 == 24 {
                        Does::Edits
                    } else {
                        Does::RunsSameTest
                    }
                },
                None,
            ),
            (
                "rare edit in a long reading",
                30,
                |n| {
                    if n % 100 == 99 {
                        Does::Edits
                    } else {
                        Does::Reads(n)
                    }
                },
                None,
            ),
            (
                "edit, then standstill",
                30,
                |n| {
                    if n < 10 {
                        Does::Edits
                    } else {
                        Does::RunsSameTest
                    }
                },
                Some(45),
            ),
        ];
        for (name, limit, does, expected) in cases {
            assert_eq!(calls_until_compare(limit, does), expected, "{name}");
        }
    }

    #[test]
    fn count_starts_again_after_a_reset() {
        let mut detector = StallDetector::new(2);
        for _ in 0..4 {
            answer(&mut detector, Does::Talks);
        }
        assert_eq!(detector.step(), StallStep::TakeFingerprint);
        detector.set_fingerprint(1);
        for n in 0..2 {
            assert_eq!(detector.step(), StallStep::Call, "{n}");
            answer(&mut detector, Does::RunsSameTest);
            answer(&mut detector, Does::Talks);
        }
        assert_eq!(detector.step(), StallStep::Compare(1));
        let (calls, last) = detector.standstill();
        assert_eq!((calls, last), (4, vec!["bash".to_string(), "bash".into()]));
        detector.reset();
        assert_eq!(detector.step(), StallStep::Call);
        assert_eq!(detector.standstill(), (0, vec![]));
    }

    #[test]
    fn memory_is_bounded() {
        let mut detector = StallDetector::new(1000);
        for part in 0..5000 {
            answer(&mut detector, Does::Reads(part));
        }
        assert_eq!(detector.seen.len(), SEEN_MAX);
        assert_eq!(detector.last.len(), LAST_MAX);
    }
}

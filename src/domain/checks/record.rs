//! The results of checks that are stored with a task, in the field `checks` of its file.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::text::clip;
use crate::domain::timestamp::Timestamp;

/// The name of the record that says that a task's branch changes nothing. No check can have this name.
pub const CHANGES: &str = "changes";
/// The name of the record of a task's own acceptance command. No check can have this name.
pub const ACCEPTANCE: &str = "acceptance";
/// Number of red completions in a row after which the user is asked.
pub const REDS_MAX: u32 = 3;
/// Maximum number of results that are stored with a task: the last one of each check. If there are more, the oldest are
/// dropped.
pub const CHECK_RECORDS_MAX: usize = 48;

/// Maximum length of the reason of an override, in characters. A longer one in a file is cut when it is shown.
pub const REASON_MAX: usize = 300;
/// Maximum length of [`summary`], in characters.
const SUMMARY_MAX: usize = 120;

/// How a check has ended, or that it is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The check is running, or its run was cut off by a crash.
    Running,
    /// The command has ended with exit code 0.
    Green,
    /// The command has failed.
    Red,
    /// The command was killed, because it ran too long.
    TimedOut,
    /// The command was killed for another reason: a limit, a disk that was almost full, or an interrupt.
    Stopped,
    /// The command could not be started, or must not run.
    NotStarted,
    /// The branch of the task changes nothing, although the task asks for a change.
    NoChanges,
    /// An outcome that another version of crewdeck or another program has written.
    #[default]
    #[serde(other)]
    Unknown,
}

impl fmt::Display for CheckOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CheckOutcome::Running => "running",
            CheckOutcome::Green => "green",
            CheckOutcome::Red => "red",
            CheckOutcome::TimedOut => "timed out",
            CheckOutcome::Stopped => "stopped",
            CheckOutcome::NotStarted => "not started",
            CheckOutcome::NoChanges => "no changes",
            CheckOutcome::Unknown => "unknown",
        })
    }
}

/// The result of one check on the content of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CheckRecord {
    pub name: String,
    /// The agent or user that wanted to complete the task.
    #[serde(default)]
    pub by: String,
    /// When the check ended; while it runs, when it began.
    #[serde(default)]
    pub at: Timestamp,
    /// How long the check took. It stays as it was if the result comes from an earlier run on the same content.
    #[serde(default)]
    pub seconds: f64,
    pub outcome: CheckOutcome,
    /// The hash of the content (the git tree) that was checked; empty if it is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tree: String,
    /// The file with the output, relative to the project root; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// How many completions in a row were sent back because a check failed, this one included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reds: u32,
    /// Why the user has completed the task although this check is not green; empty if the user has not.
    #[serde(rename = "override", default, skip_serializing_if = "String::is_empty")]
    pub override_reason: String,
    /// Fields written by other programs, which crewdeck preserves.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde needs
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl CheckRecord {
    /// Returns a record of a check that now begins to run.
    pub fn running(name: &str, by: &str, at: Timestamp, tree: &str) -> CheckRecord {
        CheckRecord {
            name: name.into(),
            by: by.into(),
            at,
            outcome: CheckOutcome::Running,
            tree: tree.into(),
            ..CheckRecord::default()
        }
    }

    pub fn is_overridden(&self) -> bool {
        !self.override_reason.is_empty()
    }

    /// Returns whether the check has failed and the user has not overridden it.
    pub fn is_failed(&self) -> bool {
        let is_bad = match self.outcome {
            CheckOutcome::Red
            | CheckOutcome::TimedOut
            | CheckOutcome::Stopped
            | CheckOutcome::NotStarted => true,
            CheckOutcome::Running
            | CheckOutcome::Green
            | CheckOutcome::NoChanges
            | CheckOutcome::Unknown => false,
        };
        is_bad && !self.is_overridden()
    }

    /// Describes the result in a few words, such as `red after 3.2 s, 2 of 3`. The words may contain what another
    /// program has written.
    pub fn words(&self) -> String {
        let mut words = self.outcome.to_string();
        if self.outcome != CheckOutcome::Running && self.seconds > 0.0 {
            words.push_str(&format!(" after {:.1} s", self.seconds));
        }
        if self.reds > 0 {
            words.push_str(&format!(", {} of {REDS_MAX}", self.reds));
        }
        if self.is_overridden() {
            let reason = clip(&self.override_reason, REASON_MAX);
            words.push_str(&format!(", overridden: {reason}"));
        }
        words
    }
}

/// Replaces in `records` the results with the names of `new`, and adds the others. Keeps at most
/// [`CHECK_RECORDS_MAX`] results.
pub fn merge(records: &mut Vec<CheckRecord>, new: &[CheckRecord]) {
    for record in new {
        let is_same = |known: &&mut CheckRecord| known.name == record.name;
        match records.iter_mut().find(is_same) {
            Some(known) => {
                let extra = std::mem::take(&mut known.extra);
                known.clone_from(record);
                if known.extra.is_empty() {
                    known.extra = extra;
                }
            }
            None => records.push(record.clone()),
        }
    }
    let surplus = records.len().saturating_sub(CHECK_RECORDS_MAX);
    records.drain(..surplus);
}

/// Summarises the results of a task in a few words: what runs, what has failed, what was overridden, and whether nothing
/// was changed. Returns `None` if there are no results, and `checks green` if there is nothing else to say.
pub fn summary(records: &[CheckRecord]) -> Option<String> {
    let names = |is_in: fn(&CheckRecord) -> bool| -> Vec<&str> {
        let found = records.iter().filter(|record| is_in(record));
        found.map(|record| record.name.as_str()).collect()
    };
    let running = names(|record| record.outcome == CheckOutcome::Running);
    let failed = names(CheckRecord::is_failed);
    let overridden = names(CheckRecord::is_overridden);
    let mut parts = Vec::new();
    for (words, names) in [
        ("running", running),
        ("red", failed),
        ("overridden", overridden),
    ] {
        if !names.is_empty() {
            parts.push(format!("{words}: {}", names.join(", ")));
        }
    }
    let is_unchanged = |record: &CheckRecord| record.outcome == CheckOutcome::NoChanges;
    let has_no_changes = records.iter().any(is_unchanged);
    match (parts.is_empty(), records.is_empty()) {
        (_, true) => None,
        (true, false) if has_no_changes => Some("no changes".into()),
        (true, false) => Some("checks green".into()),
        (false, false) => {
            if has_no_changes {
                parts.push("no changes".into());
            }
            Some(clip(&format!("checks {}", parts.join("; ")), SUMMARY_MAX))
        }
    }
}

/// Parses the field `checks` of a task file; `None` if another program uses this field for something else.
pub fn from_json(value: &Value) -> Option<Vec<CheckRecord>> {
    match value {
        Value::Null => Some(Vec::new()),
        other => Vec::deserialize(other).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn record_keeps_unknown_fields_and_reads_unknown_outcomes() {
        let value = json!([{"name": "test", "outcome": "purple", "zeta": {"deep": 1}}]);
        let records = from_json(&value).unwrap();
        assert_eq!(records[0].outcome, CheckOutcome::Unknown);
        assert!(!records[0].is_failed());
        let back = serde_json::to_value(&records).unwrap();
        assert_eq!(back[0]["zeta"]["deep"], 1);
        assert_eq!(from_json(&json!("all good")), None);
        assert_eq!(from_json(&Value::Null), Some(Vec::new()));
    }

    #[test]
    fn merge_replaces_by_name_and_is_bounded() {
        let record = |name: &str, outcome| CheckRecord {
            outcome,
            ..CheckRecord::running(name, "bob", Timestamp(1.0), "t")
        };
        let mut records = vec![
            record("a", CheckOutcome::Red),
            record("b", CheckOutcome::Red),
        ];
        records[0].extra.insert("zeta".into(), json!(1));
        merge(&mut records, &[record("a", CheckOutcome::Green)]);
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].outcome, CheckOutcome::Green);
        assert_eq!(records[0].extra["zeta"], 1);
        let many: Vec<CheckRecord> = (0..50)
            .map(|n| record(&n.to_string(), CheckOutcome::Green))
            .collect();
        merge(&mut records, &many);
        assert_eq!(records.len(), CHECK_RECORDS_MAX);
        assert_eq!(records[CHECK_RECORDS_MAX - 1].name, "49");
    }

    #[test]
    fn summary_names_what_is_not_green() {
        let record = |name: &str, outcome, reason: &str| CheckRecord {
            outcome,
            override_reason: reason.into(),
            ..CheckRecord::running(name, "bob", Timestamp(1.0), "t")
        };
        let green = record("a", CheckOutcome::Green, "");
        let red = record("b", CheckOutcome::Red, "");
        let over = record("c", CheckOutcome::Red, "known");
        let running = record("d", CheckOutcome::Running, "");
        let none = record("changes", CheckOutcome::NoChanges, "");
        for (records, expected) in [
            (vec![], None),
            (vec![green.clone()], Some("checks green")),
            (vec![green.clone(), red.clone()], Some("checks red: b")),
            (
                vec![running, red, over.clone()],
                Some("checks running: d; red: b; overridden: c"),
            ),
            (
                vec![over, none.clone()],
                Some("checks overridden: c; no changes"),
            ),
            (vec![green, none], Some("no changes")),
        ] {
            assert_eq!(summary(&records).as_deref(), expected);
        }
    }

    #[test]
    fn words_say_outcome_time_round_and_reason() {
        let mut record = CheckRecord {
            outcome: CheckOutcome::Red,
            seconds: 3.24,
            reds: 2,
            ..CheckRecord::running("a", "bob", Timestamp(1.0), "t")
        };
        assert_eq!(record.words(), "red after 3.2 s, 2 of 3");
        assert!(record.is_failed());
        record.override_reason = "flaky network".into();
        assert_eq!(
            record.words(),
            "red after 3.2 s, 2 of 3, overridden: flaky network"
        );
        assert!(!record.is_failed());
    }
}

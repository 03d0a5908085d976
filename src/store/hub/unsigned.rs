//! Reports of messages without a valid signature. They are not part of the result of the read that finds them.

use std::collections::BTreeSet;
use std::mem;

use super::ignored_records::unsigned_text;

/// Maximum number of subjects that are reported.
const SUBJECTS_MAX: usize = 100;

/// Reports each subject with an unsigned message once.
#[derive(Debug, Default)]
pub(super) struct UnsignedReports {
    reported: BTreeSet<String>,
    /// The reports that were not taken yet, one line each.
    waiting: Vec<String>,
}

impl UnsignedReports {
    pub fn add(&mut self, subject: &str) {
        if self.reported.len() >= SUBJECTS_MAX || self.reported.contains(subject) {
            return;
        }
        self.waiting.push(unsigned_text(subject));
        self.reported.insert(subject.into());
        if self.reported.len() == SUBJECTS_MAX {
            let text = "the hub has more messages that are not signed with the secret of this crew; they are ignored and not reported";
            self.waiting.push(text.into());
        }
    }

    /// Returns the new reports.
    pub fn take(&mut self) -> Vec<String> {
        mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn each_subject_is_reported_once_up_to_a_limit() {
        let mut reports = UnsignedReports::default();
        reports.add("crewdeck.web.mail.bob");
        reports.add("crewdeck.web.mail.bob");
        reports.add("crewdeck.web.mail.al\u{7}ice");
        let taken = reports.take();
        assert_eq!(taken.len(), 2);
        assert!(taken[1].starts_with("a message to alice"), "{taken:?}");
        reports.add("crewdeck.web.mail.bob");
        assert_eq!(reports.take(), Vec::<String>::new());
        for number in 0..SUBJECTS_MAX * 2 {
            reports.add(&format!("crewdeck.web.mail.{number}"));
        }
        let taken = reports.take();
        assert_eq!(taken.len(), SUBJECTS_MAX - 2 + 1);
        assert!(taken.last().unwrap().contains("not reported"));
    }
}

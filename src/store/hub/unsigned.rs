//! Reports of messages without a valid signature. They are not part of the result of the read that finds them.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::notices::NOTICES_MAX;
use super::ignored_records::unsigned_text;

/// Reports each subject with an unsigned message once. Clones share what was reported.
#[derive(Debug, Clone, Default)]
pub struct UnsignedReports(Arc<Mutex<UnsignedSubjects>>);

#[derive(Debug, Default)]
struct UnsignedSubjects {
    reported: BTreeSet<String>,
    /// The reports that were not taken yet, one line each.
    waiting: Vec<String>,
}

impl UnsignedReports {
    fn subjects(&self) -> MutexGuard<'_, UnsignedSubjects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a subject, unless it was reported before or there are too many.
    pub(super) fn add(&self, subject: &str) {
        let mut subjects = self.subjects();
        if subjects.reported.len() >= NOTICES_MAX || !subjects.reported.insert(subject.into()) {
            return;
        }
        subjects.waiting.push(unsigned_text(subject));
        if subjects.reported.len() == NOTICES_MAX {
            let text = "the hub has more messages that are not signed with the secret of this crew; they are ignored and not reported";
            subjects.waiting.push(text.into());
        }
    }

    /// Returns the new reports.
    pub(super) fn take(&self) -> Vec<String> {
        mem::take(&mut self.subjects().waiting)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn each_subject_is_reported_once_up_to_a_limit() {
        let reports = UnsignedReports::default();
        reports.add("crewdeck.web.mail.bob");
        reports.add("crewdeck.web.mail.bob");
        reports.add("crewdeck.web.mail.al\u{7}ice");
        let taken = reports.take();
        assert_eq!(taken.len(), 2);
        assert!(taken[1].starts_with("a message to alice"), "{taken:?}");
        // Another connection of the same process.
        let again = reports.clone();
        again.add("crewdeck.web.mail.bob");
        assert_eq!(again.take(), Vec::<String>::new());
        for number in 0..NOTICES_MAX * 2 {
            again.add(&format!("crewdeck.web.mail.{number}"));
        }
        let taken = reports.take();
        assert_eq!(taken.len(), NOTICES_MAX - 2 + 1);
        assert!(taken.last().unwrap().contains("not reported"));
    }
}

//! Reports errors of the state files: each error once when it occurs, and once when it has ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::context::{CrewContext, lock};
use crate::protocol::event::NoticeLevel;
use crate::store::StoreError;

/// Informs the user when state files can no longer be read, and when they can be read again.
pub struct FileErrors {
    context: Arc<CrewContext>,
    reported: Reported,
}

/// The last reported error and notices for each kind of state file. The kinds are named as in the notices, for example
/// "The board".
#[derive(Default)]
struct Reported {
    errors: Mutex<BTreeMap<&'static str, String>>,
    notices: Mutex<BTreeMap<&'static str, Vec<String>>>,
}

impl Reported {
    /// Records the result of a read of the state files `what`, such as "The board". `error` is `None` if the read
    /// succeeded. Returns a notice if the read fails with a new error, or succeeds after an error; otherwise `None`.
    fn change(
        &self,
        what: &'static str,
        error: Option<&StoreError>,
    ) -> Option<(NoticeLevel, String)> {
        let mut errors = lock(&self.errors);
        let Some(error) = error else {
            let is_over = errors.remove(what).is_some();
            return is_over.then(|| (NoticeLevel::Info, format!("{what} can be read again.")));
        };
        let text = format!("{what} cannot be read: {error}");
        let before = errors.insert(what, text.clone());
        (before.as_ref() != Some(&text)).then_some((NoticeLevel::Error, text))
    }

    /// Records the notices `lines` of a read of `what`. Returns the notices that the previous read of `what` did not
    /// have.
    fn news(&self, what: &'static str, lines: Vec<String>) -> Vec<String> {
        let before = lock(&self.notices).insert(what, lines.clone());
        let before = before.unwrap_or_default();
        let is_new = |line: &String| !before.contains(line);
        lines.into_iter().filter(is_new).collect()
    }
}

impl FileErrors {
    pub fn new(context: Arc<CrewContext>) -> FileErrors {
        FileErrors {
            context,
            reported: Reported::default(),
        }
    }

    /// Returns whether some kind of state file could not be read at the last attempt.
    pub fn any(&self) -> bool {
        !lock(&self.reported.errors).is_empty()
    }

    /// Returns the value of `read`; `None` if it has failed. Publishes a notice if the read has failed with a new
    /// error, or has succeeded after an error of the previous read of `what`. `what` is the beginning of the notice,
    /// for example "The board".
    pub async fn check<T>(&self, what: &'static str, read: Result<T, StoreError>) -> Option<T> {
        if let Some((level, text)) = self.reported.change(what, read.as_ref().err()) {
            self.context.notice(level, text).await;
        }
        read.ok()
    }

    /// Publishes the notices `lines` of a read of `what` as warnings, except notices that the previous read of `what`
    /// had too.
    pub async fn warn(&self, what: &'static str, lines: Vec<String>) {
        for line in self.reported.news(what, lines) {
            self.context.warn_here(line).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::hub_test_support::lead_on_hub;
    use crate::crew::test_support::TestCrew;
    use crate::protocol::event::EventKind;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn notices_about_shared_state_are_not_sent_to_other_hosts() {
        let mut crew = TestCrew::new();
        let (relay, mut relayed) = tokio::sync::mpsc::channel(8);
        let mut context = lead_on_hub(&crew);
        Arc::get_mut(&mut context).unwrap().event_sender = crew
            .context
            .event_sender
            .clone()
            .with_relay(|_| true, relay, Arc::default());
        let errors = FileErrors::new(context.clone());
        errors.warn("The requests", vec!["damaged".into()]).await;
        context.notice(NoticeLevel::Warn, "full disk").await;
        let full_disk = EventKind::notice(NoticeLevel::Warn, "full disk");
        assert_eq!(relayed.recv().await, Some(full_disk));
        assert_eq!(crew.notices(), ["damaged", "full disk"]);
    }

    #[test]
    fn file_error_is_reported_on_start_change_and_end() {
        let reported = Reported::default();
        let error = |text: &str| StoreError::TooLong(text.into());
        let texts = [
            Some(error("a")),
            Some(error("a")),
            Some(error("b")),
            None,
            None,
        ]
        .map(|e| {
            reported
                .change("The board", e.as_ref())
                .map(|(_, text)| text)
        });
        let expected = [
            Some("The board cannot be read: a".to_string()),
            None,
            Some("The board cannot be read: b".into()),
            Some("The board can be read again.".into()),
            None,
        ];
        assert_eq!(texts, expected);
        let news = [vec!["x"], vec!["x", "y"], vec![], vec!["x"]]
            .map(|l| reported.news("Mail", l.into_iter().map(String::from).collect()));
        assert_eq!(news, [vec!["x"], vec!["y"], vec![], vec!["x"]]);
    }
}

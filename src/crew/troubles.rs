//! What is wrong with the state files: told when it begins and when it ends, and not at every look.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{Shared, lock};
use crate::protocol::event::Level;
use crate::store::StoreError;

/// What was told last of each kind of files.
#[derive(Default)]
pub struct Troubles {
    errors: Mutex<BTreeMap<&'static str, String>>,
    notices: Mutex<BTreeMap<&'static str, Vec<String>>>,
}

impl Troubles {
    /// What is to be said of a look at `what`.
    fn looked(&self, what: &'static str, error: Option<&StoreError>) -> Option<(Level, String)> {
        let mut errors = lock(&self.errors);
        let Some(error) = error else {
            let is_over = errors.remove(what).is_some();
            return is_over.then(|| (Level::Info, format!("{what} can be read again.")));
        };
        let text = format!("{what} can not be read: {error}");
        let before = errors.insert(what, text.clone());
        (before.as_ref() != Some(&text)).then_some((Level::Error, text))
    }

    /// Whether something can not be read.
    pub(super) fn are_there(&self) -> bool {
        !lock(&self.errors).is_empty()
    }

    /// Those of the lines that the last look at `what` did not have.
    fn news(&self, what: &'static str, lines: Vec<String>) -> Vec<String> {
        let before = lock(&self.notices).insert(what, lines.clone());
        let before = before.unwrap_or_default();
        let is_new = |line: &String| !before.contains(line);
        lines.into_iter().filter(is_new).collect()
    }
}

impl Shared {
    /// Tells what came of a look at `what`, where that is news: it can not be read, or can be read again.
    pub(super) async fn looked<T>(
        &self,
        what: &'static str,
        looked: Result<T, StoreError>,
    ) -> Option<T> {
        if let Some((level, text)) = self.troubles.looked(what, looked.as_ref().err()) {
            self.notice(level, text).await;
        }
        looked.ok()
    }

    /// Tells those lines of a look at `what` that the last look did not have.
    pub(super) async fn warn(&self, what: &'static str, lines: Vec<String>) {
        for line in self.troubles.news(what, lines) {
            self.notice(Level::Warn, line).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_trouble_is_told_when_it_begins_when_it_changes_and_when_it_is_over() {
        let troubles = Troubles::default();
        let error = |text: &str| StoreError::TooLong(text.into());
        let told = [
            Some(error("a")),
            Some(error("a")),
            Some(error("b")),
            None,
            None,
        ]
        .map(|e| {
            troubles
                .looked("The board", e.as_ref())
                .map(|(_, text)| text)
        });
        let texts = [
            Some("The board can not be read: a".to_string()),
            None,
            Some("The board can not be read: b".into()),
            Some("The board can be read again.".into()),
            None,
        ];
        assert_eq!(told, texts);
        let news = [vec!["x"], vec!["x", "y"], vec![], vec!["x"]]
            .map(|l| troubles.news("Mail", l.into_iter().map(String::from).collect()));
        assert_eq!(news, [vec!["x"], vec!["y"], vec![], vec!["x"]]);
    }
}

//! How the panes lie, remembered beside the project's sessions.

use std::path::Path;

use crate::domain::screen::ScreenChoice;
use crate::store::{atomic, plain, words};

/// Where it is kept, below the project's root.
const FILE: &str = ".crewdeck/screen.toml";
/// Largest file that is read, in bytes.
const FILE_MAX: u64 = 4096;

/// What is remembered, and what there is to say when it can not be read: the screen is the usual one then.
pub fn recall(root: &Path) -> (ScreenChoice, Option<String>) {
    let usual = |why: &dyn std::fmt::Display| {
        let words = format!("The layout is the usual one: {FILE} can not be read: {why}.");
        (ScreenChoice::default(), Some(words))
    };
    match plain::read_text(&root.join(FILE), FILE_MAX) {
        Ok(text) => match toml::from_str(&text) {
            Ok(choice) => (choice, None),
            Err(error) => usual(&error.message()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => (ScreenChoice::default(), None),
        Err(e) => usual(&words::why(&e)),
    }
}

/// Remembers it. What there is to say when it can not be written comes back.
pub fn keep(root: &Path, choice: ScreenChoice) -> Option<String> {
    let failed =
        |why: &dyn std::fmt::Display| Some(format!("The layout is not remembered: {why}."));
    let text = match toml::to_string(&choice) {
        Ok(text) => text,
        Err(error) => return failed(&error),
    };
    atomic::write(&root.join(FILE), text.as_bytes())
        .err()
        .and_then(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::screen::{Arrangement, TodoPane};

    #[test]
    fn what_is_kept_is_recalled_and_a_broken_file_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(recall(dir.path()), (ScreenChoice::default(), None));
        let folder = dir.path().join(".crewdeck");
        assert!(
            keep(dir.path(), ScreenChoice::default()).is_some_and(|w| w.contains("not remembered"))
        );
        std::fs::create_dir(&folder).unwrap();
        let mut choice = ScreenChoice {
            layout: Arrangement::Board,
            todo: TodoPane::Hidden,
            ..ScreenChoice::default()
        };
        choice.set_left(66);
        assert_eq!(keep(dir.path(), choice), None);
        assert_eq!(recall(dir.path()), (choice, None));
        for text in ["layout = 'tower'", "= = =", "colour = 3"] {
            std::fs::write(folder.join("screen.toml"), text).unwrap();
            let (choice, said) = recall(dir.path());
            assert_eq!(choice, ScreenChoice::default());
            assert!(
                said.is_some_and(|s| s.contains("screen.toml can not be read")),
                "{text}"
            );
        }
    }
}

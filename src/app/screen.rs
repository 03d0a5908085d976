//! Saves and loads the pane layout of a project.

use std::path::Path;

use crate::domain::screen::ScreenChoice;
use crate::store::{atomic, plain, words};

/// The layout file, relative to the project root.
const FILE: &str = ".crewdeck/screen.toml";
/// Largest accepted file, in bytes.
const FILE_MAX: u64 = 4096;

/// Loads the layout. If the file cannot be read, returns the default layout and a warning.
pub fn load(root: &Path) -> (ScreenChoice, Option<String>) {
    let usual = |why: &dyn std::fmt::Display| {
        let warning = format!("The default layout is used: {FILE} cannot be read: {why}.");
        (ScreenChoice::default(), Some(warning))
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

/// Saves the layout. Returns a warning if that fails.
pub fn save(root: &Path, choice: ScreenChoice) -> Option<String> {
    let failed = |why: &dyn std::fmt::Display| Some(format!("The layout was not saved: {why}."));
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
    fn saved_layout_is_loaded_and_a_broken_file_reported() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path()), (ScreenChoice::default(), None));
        let folder = dir.path().join(".crewdeck");
        assert!(save(dir.path(), ScreenChoice::default()).is_some_and(|w| w.contains("not saved")));
        std::fs::create_dir(&folder).unwrap();
        let mut choice = ScreenChoice {
            layout: Arrangement::Board,
            todo: TodoPane::Hidden,
            ..ScreenChoice::default()
        };
        choice.set_left(66);
        assert_eq!(save(dir.path(), choice), None);
        assert_eq!(load(dir.path()), (choice, None));
        for text in ["layout = 'tower'", "= = =", "colour = 3"] {
            std::fs::write(folder.join("screen.toml"), text).unwrap();
            let (choice, warning) = load(dir.path());
            assert_eq!(choice, ScreenChoice::default());
            assert!(
                warning.is_some_and(|s| s.contains("screen.toml cannot be read")),
                "{text}"
            );
        }
    }
}

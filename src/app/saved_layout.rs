//! Saves and loads the pane layout of a project.

use std::path::Path;

use crate::domain::screen::ScreenSettings;
use crate::store::{atomic, os_errors, regular_file};

/// The path of the layout file, relative to the project directory.
const FILE: &str = ".crewdeck/screen.toml";
/// Maximum size of the layout file, in bytes.
const FILE_MAX: u64 = 4096;

/// Loads the layout. Returns the default layout if the file is missing. If the file is invalid or cannot be read,
/// returns the default layout and a warning.
pub fn load(root: &Path) -> (ScreenSettings, Option<String>) {
    let usual = |why: &dyn std::fmt::Display| {
        let warning = format!("{FILE} cannot be read: {why}. The default layout is used.");
        (ScreenSettings::default(), Some(warning))
    };
    match regular_file::read_text(&root.join(FILE), FILE_MAX) {
        Ok(text) => match toml::from_str(&text) {
            Ok(choice) => (choice, None),
            Err(error) => usual(&error.message()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => (ScreenSettings::default(), None),
        Err(e) => usual(&os_errors::explain(&e)),
    }
}

/// Saves the layout. Returns a warning if that fails, else `None`.
pub fn save(root: &Path, choice: ScreenSettings) -> Option<String> {
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
    use crate::domain::screen::{BoardShape, PaneLayout, TeamSort, TodoPane};

    #[test]
    fn saved_layout_is_loaded_and_a_broken_file_reported() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path()), (ScreenSettings::default(), None));
        let folder = dir.path().join(".crewdeck");
        assert!(
            save(dir.path(), ScreenSettings::default()).is_some_and(|w| w.contains("not saved"))
        );
        std::fs::create_dir(&folder).unwrap();
        let mut choice = ScreenSettings {
            layout: PaneLayout::Board,
            todo: TodoPane::Hidden,
            team_sort: TeamSort::Context,
            board: BoardShape::List,
            ..ScreenSettings::default()
        };
        choice.set_left(66);
        assert_eq!(save(dir.path(), choice), None);
        assert_eq!(load(dir.path()), (choice, None));
        for text in ["layout = 'tower'", "= = =", "colour = 3"] {
            std::fs::write(folder.join("screen.toml"), text).unwrap();
            let (choice, warning) = load(dir.path());
            assert_eq!(choice, ScreenSettings::default());
            assert!(
                warning.is_some_and(|s| s.contains("screen.toml cannot be read")),
                "{text}"
            );
        }
    }
}

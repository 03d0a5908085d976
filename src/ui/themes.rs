//! Pure: the list of themes, and which of them the screen has. While one is chosen it has the selected one, so
//! that leaving the list leaves the theme as it was.

use super::popup::{Choice, Popup};
use super::rows::{Does, Pick, picks};
use super::state::UiState;
use crate::domain::theme::ThemeName;

impl UiState {
    /// The theme that the screen has now: the one that is looked at while one is chosen, else the kept one.
    pub fn theme(&self) -> ThemeName {
        previewed(self).unwrap_or(self.theme)
    }

    /// Keeps a theme, as the settings say.
    pub fn set_theme(&mut self, name: ThemeName) {
        self.theme = name;
        self.dirty = true;
    }
}

/// The rows of the list.
pub fn rows(state: &UiState) -> Vec<Pick> {
    let mark = |name| if name == state.theme { "in use" } else { "" };
    ThemeName::ALL
        .into_iter()
        .map(|name| Pick {
            words: format!("{:<9} {}", name.word(), name.about()),
            marked: Vec::new(),
            aside: mark(name).into(),
            does: Does::Theme(name),
        })
        .collect()
}

/// The theme of the selected row, while one is chosen.
fn previewed(state: &UiState) -> Option<ThemeName> {
    let picker = state.popups.iter().rev().find_map(|popup| match popup {
        Popup::Picker(picker) if picker.choice == Choice::Themes => Some(picker),
        Popup::Picker(_)
        | Popup::Reader(_)
        | Popup::Comment(_)
        | Popup::Task(_)
        | Popup::Jobs { .. }
        | Popup::EventLog(_)
        | Popup::Confirm(_) => None,
    })?;
    match picks(state, picker).into_iter().nth(picker.row)?.does {
        Does::Theme(name) => Some(name),
        Does::Action(_)
        | Does::In(..)
        | Does::Address(_)
        | Does::Model(_)
        | Does::Allow(_)
        | Does::TakeBack(_)
        | Does::Copy(_) => None,
    }
}

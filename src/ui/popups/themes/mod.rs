//! Pure: the theme picker. The selected theme is previewed; closing the picker restores the saved one.

pub(in crate::ui) mod update;

use std::sync::Arc;

use crate::domain::custom_theme::{CustomTheme, ThemeChoice};
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::popup::{Choice, Popup};
use crate::ui::frame::pick::{PickEffect, PickerRow};
use crate::ui::popups::picker::rows::picker_rows;

impl App {
    /// Returns the theme in effect: the previewed one while the picker is open, else the saved one.
    pub fn theme(&self) -> ThemeChoice {
        previewed(self).unwrap_or_else(|| self.prefs.theme.clone())
    }

    /// Sets the theme from the settings.
    pub fn set_theme(&mut self, theme: impl Into<ThemeChoice>) {
        self.prefs.theme = theme.into();
        self.dirty = true;
    }

    /// Sets the user's custom themes.
    pub fn set_own_themes(&mut self, themes: Vec<Arc<CustomTheme>>) {
        self.prefs.own_themes = themes;
        self.dirty = true;
    }
}

/// Returns the rows of the picker.
pub fn rows(prefs: &Preferences) -> Vec<PickerRow> {
    let all = ThemeChoice::all(&prefs.own_themes);
    let widest = all.iter().map(|theme| theme.word().chars().count()).max();
    let widest = widest.unwrap_or_default() + 1;
    all.into_iter()
        .map(|theme| PickerRow {
            words: format!("{:<widest$} {}", theme.word(), theme.about()),
            marked: Vec::new(),
            aside: if theme == prefs.theme { "in use" } else { "" }.into(),
            does: PickEffect::Theme(theme),
        })
        .collect()
}

/// Returns the theme selected in the open picker.
fn previewed(app: &App) -> Option<ThemeChoice> {
    let picker = app.popups.iter().rev().find_map(|popup| {
        let Popup::Picker(picker) = popup else {
            return None;
        };
        (picker.choice == Choice::Themes).then_some(picker)
    })?;
    match picker_rows(app, picker).into_iter().nth(picker.row)?.does {
        PickEffect::Theme(theme) => Some(theme),
        PickEffect::Action(_)
        | PickEffect::In(..)
        | PickEffect::Address(_)
        | PickEffect::Model(_)
        | PickEffect::Allow(_)
        | PickEffect::TakeBack(_)
        | PickEffect::Copy(_) => None,
    }
}

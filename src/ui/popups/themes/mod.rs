//! The picker of the theme. While it is open, the screen is drawn in the selected theme. If the picker is closed
//! without a choice, the screen is drawn in the saved theme again.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::custom_theme::{CustomTheme, ThemeChoice};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::popups::picker::{Choices, Picker, PickerRow, low_area};

const ROWS_MAX: u16 = 10;

/// The content of the theme picker: the built-in themes and the user's own ones.
#[derive(Debug)]
pub struct ThemeChoices;

/// Opens the theme picker with the saved theme selected; with the first theme selected if the saved one no longer
/// exists.
pub fn open(app: &mut App) {
    let all = ThemeChoice::all(&app.prefs.own_themes);
    let row = all.iter().position(|theme| *theme == app.prefs.theme);
    open_popup(app, Picker::new(ThemeChoices, row.unwrap_or(0)));
}

impl App {
    /// Returns the theme in which the screen is drawn: the selected theme while the theme picker is open and a theme matches
    /// its search text, otherwise the saved theme.
    pub fn theme(&self) -> ThemeChoice {
        let picker = self.popups.find::<Picker<ThemeChoices>>();
        let previewed = picker.and_then(|picker| picker.selected_item(self));
        previewed.unwrap_or_else(|| self.prefs.theme.clone())
    }

    /// Sets the saved theme. While the theme picker is open, the screen is still drawn in the theme that is selected
    /// there.
    pub fn set_theme(&mut self, theme: impl Into<ThemeChoice>) {
        self.prefs.theme = theme.into();
        self.apply_image_drawing();
        self.dirty = true;
    }

    /// Returns whether the saved theme is the default one. If so, crewdeck replaces it by the built-in theme that fits
    /// the background of the terminal.
    pub fn has_default_theme(&self) -> bool {
        self.prefs.theme == ThemeChoice::default()
    }

    pub fn set_own_themes(&mut self, themes: Vec<Arc<CustomTheme>>) {
        self.prefs.own_themes = themes;
        self.dirty = true;
    }
}

impl Choices for ThemeChoices {
    type Item = ThemeChoice;

    const TIP: &'static str = "A live preview of the selected theme";

    fn title(&self, _app: &App) -> String {
        "Theme".into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<ThemeChoice>> {
        let all = ThemeChoice::all(&app.prefs.own_themes);
        let widest = all.iter().map(|theme| theme.word().chars().count()).max();
        let widest = widest.unwrap_or_default() + 1;
        let row = |theme: ThemeChoice| {
            let words = format!("{:<widest$} {}", theme.word(), theme.about());
            let is_saved = theme == app.prefs.theme;
            let aside = if is_saved { "in use" } else { "" };
            PickerRow::new(words, aside.into(), theme)
        };
        all.into_iter().map(row).collect()
    }

    fn choose(&mut self, app: &mut App, theme: ThemeChoice, out: &mut Vec<Effect>) -> Next {
        app.say(format!("Theme: {}.", theme.word()));
        app.prefs.theme = theme.clone();
        app.apply_image_drawing();
        out.push(Effect::SaveTheme(theme));
        Next::Close
    }

    fn area(&self, app: &App, screen: Rect) -> Rect {
        // The picker has few rows, so that the user sees the selected theme on the panes around it.
        let all = ThemeChoice::all(&app.prefs.own_themes);
        low_area(screen, all.len(), ROWS_MAX)
    }

    fn dims(&self) -> bool {
        false
    }
}

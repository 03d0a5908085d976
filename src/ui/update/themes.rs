//! The theme picker. The preview is computed in [`UiState::theme`].

use super::Do;
use crate::domain::own_theme::ThemeChoice;
use crate::protocol::event::Level;
use crate::ui::popup::{Choice, Picker, Popup};
use crate::ui::state::UiState;
use crate::ui::writing::line_input::LineInput;

/// Opens the theme picker with the current theme selected.
pub fn open(state: &mut UiState) {
    let all = ThemeChoice::all(&state.own_themes);
    let row = all.iter().position(|theme| *theme == state.theme);
    let picker = Picker {
        choice: Choice::Themes,
        search: LineInput::default(),
        row: row.unwrap_or(0),
    };
    super::popups::push(state, Popup::Picker(picker));
}

/// Applies a theme and saves it.
pub fn keep(state: &mut UiState, theme: ThemeChoice, out: &mut Vec<Do>) {
    state.popups.pop();
    state.say(Level::Info, format!("Theme: {}.", theme.word()));
    state.theme = theme.clone();
    out.push(Do::SaveTheme(theme));
}

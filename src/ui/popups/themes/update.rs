//! The choice of a theme; what the screen has meanwhile: [`UiState::theme`].

use crate::domain::own_theme::ThemeChoice;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::app::effect::Do;
use crate::ui::app::popup::{Choice, Picker, Popup};
use crate::ui::widgets::line_input::LineInput;

/// Shows the themes, the one in use selected.
pub fn open(state: &mut UiState) {
    let all = ThemeChoice::all(&state.prefs.own_themes);
    let row = all.iter().position(|theme| *theme == state.prefs.theme);
    let picker = Picker {
        choice: Choice::Themes,
        search: LineInput::default(),
        row: row.unwrap_or(0),
    };
    crate::ui::app::popup::push(state, Popup::Picker(picker));
}

/// Keeps a theme and has it remembered.
pub fn keep(state: &mut UiState, theme: ThemeChoice, out: &mut Vec<Do>) {
    state.popups.pop();
    state.say(
        Level::Info,
        format!("The theme is {} from now on.", theme.word()),
    );
    state.prefs.theme = theme.clone();
    out.push(Do::SaveTheme(theme));
}

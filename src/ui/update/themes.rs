//! The choice of a theme; what the screen has meanwhile: [`UiState::theme`].

use super::Do;
use crate::domain::theme::ThemeName;
use crate::protocol::event::Level;
use crate::ui::line_input::LineInput;
use crate::ui::popup::{Choice, Picker, Popup};
use crate::ui::state::UiState;

/// Shows the themes, the one in use selected.
pub fn open(state: &mut UiState) {
    let used = state.theme;
    let row = ThemeName::ALL.iter().position(|name| *name == used);
    let picker = Picker {
        choice: Choice::Themes,
        search: LineInput::default(),
        row: row.unwrap_or(0),
    };
    super::popups::push(state, Popup::Picker(picker));
}

/// Keeps a theme and has it remembered.
pub fn keep(state: &mut UiState, name: ThemeName, out: &mut Vec<Do>) {
    state.popups.pop();
    state.theme = name;
    state.say(
        Level::Info,
        format!("The theme is {} from now on.", name.word()),
    );
    out.push(Do::SaveTheme(name));
}

//! The choice of a theme; what the screen has meanwhile: [`App::theme`](crate::ui::app::App::theme).

use crate::domain::own_theme::ThemeChoice;
use crate::protocol::event::Level;
use crate::ui::app::App;
use crate::ui::app::effect::Do;
use crate::ui::app::popup::{Choice, Picker, Popup};
use crate::ui::widgets::line_input::LineInput;

/// Shows the themes, the one in use selected.
pub fn open(app: &mut App) {
    let all = ThemeChoice::all(&app.prefs.own_themes);
    let row = all.iter().position(|theme| *theme == app.prefs.theme);
    let picker = Picker {
        choice: Choice::Themes,
        search: LineInput::default(),
        row: row.unwrap_or(0),
    };
    crate::ui::app::popup::push(app, Popup::Picker(picker));
}

/// Keeps a theme and has it remembered.
pub fn keep(app: &mut App, theme: ThemeChoice, out: &mut Vec<Do>) {
    app.popups.pop();
    app.say(
        Level::Info,
        format!("The theme is {} from now on.", theme.word()),
    );
    app.prefs.theme = theme.clone();
    out.push(Do::SaveTheme(theme));
}

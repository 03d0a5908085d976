//! The theme picker. The preview is computed in [`App::theme`](crate::ui::app::App::theme).

use crate::domain::custom_theme::ThemeChoice;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Choice, Picker, Popup};
use crate::ui::widgets::line_input::LineInput;

/// Opens the theme picker with the current theme selected.
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

/// Applies a theme and saves it.
pub fn keep(app: &mut App, theme: ThemeChoice, out: &mut Vec<Effect>) {
    app.popups.pop();
    app.say(NoticeLevel::Info, format!("Theme: {}.", theme.word()));
    app.prefs.theme = theme.clone();
    out.push(Effect::SaveTheme(theme));
}

//! The theme at the edge: what the settings and the surroundings say, and what the person keeps.

use crate::config::{self, Settings};
use crate::protocol::event::Level;
use crate::ui::{ColorDepth, Theme, ThemeChoice, UiState};

/// How many colours the surroundings promise.
pub fn color_depth() -> ColorDepth {
    let var = |name: &str| std::env::var(name).ok();
    let (no_color, colorterm, term) = (var("NO_COLOR"), var("COLORTERM"), var("TERM"));
    ColorDepth::of(no_color.as_deref(), colorterm.as_deref(), term.as_deref())
}

/// Gives the screen the themes of the settings, and the one of them that was chosen.
pub fn take(settings: &Settings, depth: ColorDepth, state: &mut UiState) {
    // That there is one of that name was looked at when the settings were read.
    let chosen = settings.chosen_theme().unwrap_or_default();
    if let Some(words) = hidden(&chosen, depth) {
        state.say(Level::Warn, words);
    }
    state.set_own_themes(settings.themes.clone());
    state.set_theme(chosen);
}

/// What of a theme could not be read here, and that it has other colours.
pub fn hidden(theme: &ThemeChoice, depth: ColorDepth) -> Option<String> {
    let hidden = Theme::hidden(theme, depth);
    let words: Vec<&str> = hidden.iter().map(|meaning| meaning.word()).collect();
    (!words.is_empty()).then(|| {
        format!(
            "Theme {}: {} could not be told from the ground under it, and has another colour.",
            theme.word(),
            words.join(", ")
        )
    })
}

/// Writes the theme into the person's settings. What there is to say about it comes back: that it could not be
/// written is no reason to end.
pub fn keep(theme: &ThemeChoice, depth: ColorDepth) -> Option<String> {
    match (config::save_theme(theme.word()), depth) {
        (Err(error), _) => Some(format!("The theme is not remembered: {error:#}.")),
        (Ok(()), ColorDepth::None) => {
            Some("NO_COLOR is set: the theme shows its colours where it is not.".into())
        }
        (Ok(()), ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True) => {
            hidden(theme, depth)
        }
    }
}

//! Selects the theme from settings and environment, and saves the user's choice.

use crate::config::{self, Settings};
use crate::ui::{ColorDepth, Theme, ThemeChoice, UiState};

/// Returns the terminal's colour depth according to `NO_COLOR`, `COLORTERM` and `TERM`.
pub fn color_depth() -> ColorDepth {
    let var = |name: &str| std::env::var(name).ok();
    let (no_color, colorterm, term) = (var("NO_COLOR"), var("COLORTERM"), var("TERM"));
    ColorDepth::of(no_color.as_deref(), colorterm.as_deref(), term.as_deref())
}

/// Sets the custom themes and the selected theme from the settings in `state`. Shows a warning if colours of the theme
/// are unreadable at this colour depth.
pub fn apply(settings: &Settings, depth: ColorDepth, state: &mut UiState) {
    // The name was validated when the settings were read.
    let chosen = settings.chosen_theme().unwrap_or_default();
    if let Some(warning) = contrast_warning(&chosen, depth) {
        state.warn(warning);
    }
    state.set_own_themes(settings.themes.clone());
    state.set_theme(chosen);
}

/// Returns a warning if colours of `theme` were replaced because they are unreadable at this colour depth, else `None`.
pub fn contrast_warning(theme: &ThemeChoice, depth: ColorDepth) -> Option<String> {
    let hidden = Theme::unreadable(theme, depth);
    let words: Vec<&str> = hidden.iter().map(|meaning| meaning.word()).collect();
    (!words.is_empty()).then(|| {
        format!(
            "Theme {}: too little contrast for {}; another colour is used.",
            theme.word(),
            words.join(", ")
        )
    })
}

/// Saves the theme in the user's settings. Returns a message for the user if the theme could not be saved, or if the
/// terminal cannot show all its colours, else `None`.
pub fn save(theme: &ThemeChoice, depth: ColorDepth) -> Option<String> {
    match (config::save_theme(theme.word()), depth) {
        (Err(error), _) => Some(format!("The theme was not saved: {error:#}.")),
        (Ok(()), ColorDepth::None) => Some(
            "The theme is saved. To see its colours, unset NO_COLOR and restart crewdeck.".into(),
        ),
        (Ok(()), ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True) => {
            contrast_warning(theme, depth)
        }
    }
}

//! The built-in themes.

use super::text::closest_match;

/// A built-in theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ThemeName {
    /// The 16 colours of the terminal on its own background.
    #[default]
    Terminal,
    /// Light text on a dark background.
    Dark,
    /// Dark text on a light background.
    Light,
    /// No colours, only bold, dim, reverse and underline.
    Mono,
}

impl ThemeName {
    /// All themes in the order in which the picker lists them.
    pub const ALL: [ThemeName; 4] = [
        ThemeName::Terminal,
        ThemeName::Dark,
        ThemeName::Light,
        ThemeName::Mono,
    ];

    /// Returns the name of the theme in settings and lists.
    pub fn word(self) -> &'static str {
        match self {
            ThemeName::Terminal => "terminal",
            ThemeName::Dark => "dark",
            ThemeName::Light => "light",
            ThemeName::Mono => "mono",
        }
    }

    /// Returns a short description for the list of themes.
    pub fn about(self) -> &'static str {
        match self {
            ThemeName::Terminal => "the colours of your terminal",
            ThemeName::Dark => "blue-black background",
            ThemeName::Light => "white background",
            ThemeName::Mono => "no colours",
        }
    }

    /// Finds a theme by its name.
    ///
    /// # Errors
    /// Returns a message with the closest name, or with all names if none is close.
    pub fn parse(word: &str) -> Result<ThemeName, String> {
        if let Some(found) = ThemeName::ALL.into_iter().find(|t| t.word() == word) {
            return Ok(found);
        }
        Err(unknown_theme(word, &ThemeName::ALL.map(ThemeName::word)))
    }
}

/// Returns the error message for an unknown theme name.
pub(super) fn unknown_theme(word: &str, known: &[&str]) -> String {
    match closest_match(word, known) {
        Some(known) => format!("there is no theme '{word}': did you mean '{known}'?"),
        None => format!(
            "there is no theme '{word}': use one of {}",
            known.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theme_names_are_exact_and_errors_suggest_the_closest() {
        for theme in ThemeName::ALL {
            assert_eq!(ThemeName::parse(theme.word()), Ok(theme));
        }
        let cases = [
            ("drak", "there is no theme 'drak': did you mean 'dark'?"),
            ("Light", "there is no theme 'Light': did you mean 'light'?"),
            (
                "solarized",
                "there is no theme 'solarized': use one of terminal, dark, light, mono",
            ),
        ];
        for (word, expected) in cases {
            assert_eq!(ThemeName::parse(word), Err(expected.to_string()));
        }
    }
}

//! The built-in themes.

use super::text::closest_match;

/// A built-in theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ThemeName {
    /// The 16 colours of the terminal, on the terminal's own background.
    #[default]
    Terminal,
    Dark,
    Light,
    CatppuccinMocha,
    CatppuccinLatte,
    Dracula,
    GithubDark,
    GithubLight,
    Gruvbox,
    HighContrast,
    Nord,
    One,
    RosePine,
    SolarizedDark,
    SolarizedLight,
    TokyoNight,
    /// No colours, only bold, dim, reverse and underline.
    Mono,
}

/// All themes in the order in which the picker lists them, each with its name in settings and lists, and a short
/// description.
const THEMES: [(ThemeName, &str, &str); 17] = [
    (
        ThemeName::Terminal,
        "terminal",
        "the colours of your terminal",
    ),
    (ThemeName::Dark, "dark", "blue-black background"),
    (ThemeName::Light, "light", "white background"),
    (
        ThemeName::CatppuccinMocha,
        "catppuccin-mocha",
        "dark, soft pastels",
    ),
    (
        ThemeName::CatppuccinLatte,
        "catppuccin-latte",
        "light, soft pastels",
    ),
    (ThemeName::Dracula, "dracula", "dark, vivid"),
    (ThemeName::GithubDark, "github-dark", "dark, as on GitHub"),
    (
        ThemeName::GithubLight,
        "github-light",
        "light, as on GitHub",
    ),
    (ThemeName::Gruvbox, "gruvbox", "dark, warm"),
    (
        ThemeName::HighContrast,
        "high-contrast",
        "black background, bright text",
    ),
    (ThemeName::Nord, "nord", "dark, cold blue"),
    (ThemeName::One, "one", "dark, as in Atom"),
    (ThemeName::RosePine, "rose-pine", "dark, muted"),
    (
        ThemeName::SolarizedDark,
        "solarized-dark",
        "dark teal background",
    ),
    (
        ThemeName::SolarizedLight,
        "solarized-light",
        "cream background",
    ),
    (
        ThemeName::TokyoNight,
        "tokyo-night",
        "dark, blue and violet",
    ),
    (ThemeName::Mono, "mono", "no colours"),
];

impl ThemeName {
    /// All themes in the order in which the picker lists them.
    pub const ALL: [ThemeName; THEMES.len()] = {
        let mut all = [ThemeName::Terminal; THEMES.len()];
        let mut at = 0;
        while at < THEMES.len() {
            all[at] = THEMES[at].0;
            at += 1;
        }
        all
    };

    /// Returns the name of the theme in settings and lists.
    pub fn word(self) -> &'static str {
        self.texts().0
    }

    /// Returns a short description for the list of themes.
    pub fn about(self) -> &'static str {
        self.texts().1
    }

    fn texts(self) -> (&'static str, &'static str) {
        let found = THEMES.iter().find(|(name, ..)| *name == self);
        found.map_or(("", ""), |(_, word, about)| (word, about))
    }

    /// Returns the built-in theme named `word`, such as `dark`. Case matters.
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

/// Returns the error message for the unknown theme name `word`. The message contains the closest name in `known`, or
/// all names if none is close.
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
            ("nrod", "there is no theme 'nrod': did you mean 'nord'?"),
        ];
        for (word, expected) in cases {
            assert_eq!(ThemeName::parse(word), Err(expected.to_string()));
        }
        let error = ThemeName::parse("zebra stripes").unwrap_err();
        assert!(
            error.contains("use one of terminal, dark, light, cat"),
            "{error}"
        );
    }
}

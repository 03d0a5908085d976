//! The names of the themes: a setting, and what the person chooses from.

use super::own_theme::no_theme;

/// Which theme the screen has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ThemeName {
    /// The terminal's own sixteen colours on its own ground.
    #[default]
    Terminal,
    /// Light words on a dark ground.
    Dark,
    /// Dark words on a light ground.
    Light,
    /// No colour: bold, dim, reversed and underlined only.
    Mono,
}

impl ThemeName {
    /// All of them, in the order in which they are offered.
    pub const ALL: [ThemeName; 4] = [
        ThemeName::Terminal,
        ThemeName::Dark,
        ThemeName::Light,
        ThemeName::Mono,
    ];

    /// Its name in settings and in lists.
    pub fn word(self) -> &'static str {
        match self {
            ThemeName::Terminal => "terminal",
            ThemeName::Dark => "dark",
            ThemeName::Light => "light",
            ThemeName::Mono => "mono",
        }
    }

    /// What it looks like, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            ThemeName::Terminal => "the colours of your terminal",
            ThemeName::Dark => "pale on blue-black",
            ThemeName::Light => "ink on paper",
            ThemeName::Mono => "no colour at all",
        }
    }

    /// The theme of that name.
    ///
    /// # Errors
    /// Names the nearest one, or all when none is near.
    pub fn parse(word: &str) -> Result<ThemeName, String> {
        if let Some(found) = ThemeName::ALL.into_iter().find(|t| t.word() == word) {
            return Ok(found);
        }
        Err(no_theme(word, &ThemeName::ALL.map(ThemeName::word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_a_wrong_one_names_the_nearest() {
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

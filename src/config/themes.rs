//! The themes that people write into the settings: `theme` names one, `[themes.NAME]` is one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::Settings;
use crate::domain::own_theme::{OwnTheme, THEMES_MAX, ThemeChoice};

/// Reads the table of themes.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Arc<OwnTheme>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a colour is a text as \"#ffcc00\", or a number from 0 to 255"
    )]
    enum Word {
        Text(String),
        Number(i64),
    }
    let table = BTreeMap::<String, BTreeMap<String, Word>>::deserialize(from)?;
    if table.len() > THEMES_MAX {
        let why = format!("there are {} themes: {THEMES_MAX} at most", table.len());
        return Err(D::Error::custom(why));
    }
    let mut out = Vec::new();
    for (name, entries) in table {
        let words: Vec<(String, String)> = entries
            .into_iter()
            .map(|(key, word)| match word {
                Word::Text(text) => (key, text),
                Word::Number(number) => (key, number.to_string()),
            })
            .collect();
        let words = words
            .iter()
            .map(|(key, word)| (key.as_str(), word.as_str()));
        let theme = OwnTheme::parse(&name, words).map_err(D::Error::custom)?;
        out.push(Arc::new(theme));
    }
    Ok(out)
}

/// The themes of both, the later of a name in place of the earlier; by their names.
pub fn overlaid(earlier: Vec<Arc<OwnTheme>>, later: Vec<Arc<OwnTheme>>) -> Vec<Arc<OwnTheme>> {
    let all = earlier.into_iter().chain(later);
    let named: BTreeMap<String, Arc<OwnTheme>> =
        all.map(|theme| (theme.name.clone(), theme)).collect();
    named.into_values().take(THEMES_MAX).collect()
}

/// Looks whether the theme that `settings` name is there, after the file at `path` was read.
///
/// # Errors
/// Names the file and the nearest theme that there is.
pub fn check(settings: &Settings, path: &Path) -> Result<()> {
    settings
        .chosen_theme()
        .map(drop)
        .map_err(|why| anyhow!("{}: {why}", path.display()))
}

impl Settings {
    /// The theme that they name.
    ///
    /// # Errors
    /// There is none of that name: names the nearest.
    pub fn chosen_theme(&self) -> Result<ThemeChoice, String> {
        match &self.theme {
            Some(word) => ThemeChoice::parse(word, &self.themes),
            None => Ok(ThemeChoice::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parse(text: &str) -> Settings {
        Settings::parse(text, Path::new("config.toml")).unwrap()
    }

    #[test]
    fn a_theme_may_stand_in_another_file_than_its_name() {
        let user = parse("[themes.dusk]\nbase = 'dark'\nok = 2\n[themes.dawn]\nbase = 'light'");
        let project = parse("theme = 'dusk'\n[themes.dusk]\nbase = 'mono'");
        let both = user.overlaid(project);
        let names: Vec<&str> = both.themes.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["dawn", "dusk"]);
        let chosen = both.chosen_theme().unwrap();
        assert_eq!(chosen.about(), "your own, based on mono");
        assert!(check(&both, Path::new("c.toml")).is_ok());
    }

    #[test]
    fn a_name_that_no_theme_has_is_told_with_the_file_and_the_nearest() {
        let wrong = |text| {
            check(&parse(text), Path::new("c.toml"))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            wrong("theme = 'drak'"),
            "c.toml: there is no theme 'drak': did you mean 'dark'?"
        );
        assert_eq!(
            wrong("theme = 'duks'\n[themes.dusk]"),
            "c.toml: there is no theme 'duks': did you mean 'dusk'?"
        );
    }
}

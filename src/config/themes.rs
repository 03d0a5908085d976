//! Custom themes in the settings: `[themes.NAME]` defines a theme, `theme` selects one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::Settings;
use crate::domain::custom_theme::{CustomTheme, THEMES_MAX, ThemeChoice};

/// Deserializes the table `[themes]` into a list of themes, sorted by name. Fails if a theme is invalid or there are
/// more than [`THEMES_MAX`] themes.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Arc<CustomTheme>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a color must be a string such as \"#ffcc00\", or a number from 0 to 255"
    )]
    enum Paint {
        Text(String),
        Number(i64),
    }
    let table = BTreeMap::<String, BTreeMap<String, Paint>>::deserialize(from)?;
    check_count(table.len()).map_err(D::Error::custom)?;
    let mut out = Vec::new();
    for (name, entries) in table {
        let colors: Vec<(String, String)> = entries
            .into_iter()
            .map(|(key, color)| match color {
                Paint::Text(text) => (key, text),
                Paint::Number(number) => (key, number.to_string()),
            })
            .collect();
        let colors = colors
            .iter()
            .map(|(key, color)| (key.as_str(), color.as_str()));
        let theme = CustomTheme::parse(&name, colors).map_err(D::Error::custom)?;
        out.push(Arc::new(theme));
    }
    Ok(out)
}

fn check_count(count: usize) -> Result<(), String> {
    if count > THEMES_MAX {
        return Err(format!(
            "{count} themes are defined, but at most {THEMES_MAX} are allowed: remove some"
        ));
    }
    Ok(())
}

/// Merges two lists of themes into one, sorted by name. If both define a theme of the same name, the later one wins.
pub fn merge(
    earlier: Vec<Arc<CustomTheme>>,
    later: Vec<Arc<CustomTheme>>,
) -> Vec<Arc<CustomTheme>> {
    let all = earlier.into_iter().chain(later);
    let named: BTreeMap<String, Arc<CustomTheme>> =
        all.map(|theme| (theme.name.clone(), theme)).collect();
    named.into_values().collect()
}

/// Checks the settings that were read so far: they must not define too many themes, and the selected theme must exist.
/// `path` is the settings file that was read last.
///
/// # Errors
/// Returns an error that names `path` and the problem.
pub fn check(settings: &Settings, path: &Path) -> Result<()> {
    check_count(settings.themes.len())
        .and_then(|()| settings.chosen_theme().map(drop))
        .map_err(|why| anyhow!("{}: {why}", path.display()))
}

impl Settings {
    /// Returns the theme that the setting `theme` names, or the default theme if it is not set.
    ///
    /// # Errors
    /// Fails if no theme has that name; the error names the closest match.
    pub fn chosen_theme(&self) -> Result<ThemeChoice, String> {
        match &self.theme {
            Some(name) => ThemeChoice::parse(name, &self.themes),
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
    fn theme_and_its_selection_may_be_in_different_files() {
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
    fn too_many_themes_in_both_files_are_an_error() {
        let defined = |first: usize| {
            let themes = (first..first + THEMES_MAX).map(|n| format!("[themes.t{n}]\n"));
            parse(&themes.collect::<String>())
        };
        let path = Path::new("c.toml");
        let same = defined(0).overlaid(defined(0));
        assert!(check(&same, path).is_ok());
        let both = defined(0).overlaid(defined(1));
        let why = check(&both, path).unwrap_err().to_string();
        assert!(why.starts_with("c.toml: 33 themes are defined"), "{why}");
    }

    #[test]
    fn unknown_theme_error_names_file_and_closest_match() {
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

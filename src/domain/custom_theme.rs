//! Custom themes from the settings: a built-in theme with some of its colours replaced.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::text::closest_match;
use super::theme::{ThemeName, unknown_theme};

/// Maximum number of custom themes. Settings with more of them are rejected.
pub const THEMES_MAX: usize = 32;
/// Maximum length of a theme name, in characters.
pub const NAME_MAX: usize = 24;

/// What a colour is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorRole {
    /// Background of the screen.
    Ground,
    /// Background of popups.
    Panel,
    /// Background of the selected row.
    Selection,
    Text,
    /// Secondary text: times, counts, hints, quotes, comments.
    Dim,
    Title,
    /// Title and border of the focused pane.
    Focus,
    /// Borders of panes without the focus.
    Border,
    /// Keys, names, links, and the user's prompts.
    Accent,
    /// Success, approvals, and added lines of a diff.
    Ok,
    Warn,
    /// Errors, rejections, and removed lines of a diff.
    Error,
    /// Agents at work.
    Working,
    /// Agents and requests that wait for the user.
    Waiting,
    Code,
    Tool,
}

impl ColorRole {
    /// All roles in the order in which error messages list them.
    pub const ALL: [ColorRole; 16] = [
        ColorRole::Ground,
        ColorRole::Panel,
        ColorRole::Selection,
        ColorRole::Text,
        ColorRole::Dim,
        ColorRole::Title,
        ColorRole::Focus,
        ColorRole::Border,
        ColorRole::Accent,
        ColorRole::Ok,
        ColorRole::Warn,
        ColorRole::Error,
        ColorRole::Working,
        ColorRole::Waiting,
        ColorRole::Code,
        ColorRole::Tool,
    ];

    /// Returns the name of the role in the settings, such as `selection`.
    pub fn word(self) -> &'static str {
        match self {
            ColorRole::Ground => "ground",
            ColorRole::Panel => "panel",
            ColorRole::Selection => "selection",
            ColorRole::Text => "text",
            ColorRole::Dim => "dim",
            ColorRole::Title => "title",
            ColorRole::Focus => "focus",
            ColorRole::Border => "border",
            ColorRole::Accent => "accent",
            ColorRole::Ok => "ok",
            ColorRole::Warn => "warn",
            ColorRole::Error => "error",
            ColorRole::Working => "working",
            ColorRole::Waiting => "waiting",
            ColorRole::Code => "code",
            ColorRole::Tool => "tool",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThemeColor {
    /// One of the terminal's 256 colours, by index. Indexes below 16 select colours from the terminal's own colour
    /// scheme.
    Indexed(u8),
    Rgb([u8; 3]),
}

/// The names of the first 16 terminal colours, by index.
const SIXTEEN: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "gray",
    "dark-gray",
    "light-red",
    "light-green",
    "light-yellow",
    "light-blue",
    "light-magenta",
    "light-cyan",
    "white",
];

impl ThemeColor {
    /// Parses a colour: the name of one of the first 16 terminal colours in lower case, such as `light-blue`, or
    /// `#rrggbb`, or the index of a terminal colour from 0 to 255.
    ///
    /// # Errors
    /// Fails if `word` is no colour. The message contains the closest colour name, or the accepted formats if no name
    /// is close.
    pub fn parse(word: &str) -> Result<ThemeColor, String> {
        if let Some(at) = SIXTEEN.iter().position(|name| *name == word) {
            return u8::try_from(at)
                .map(ThemeColor::Indexed)
                .map_err(|e| e.to_string());
        }
        if let Some(rgb) = word.strip_prefix('#').and_then(rgb) {
            return Ok(ThemeColor::Rgb(rgb));
        }
        if let Ok(number) = word.parse() {
            return Ok(ThemeColor::Indexed(number));
        }
        Err(match closest_match(word, &SIXTEEN) {
            Some(known) => format!("there is no colour '{word}': did you mean '{known}'?"),
            None => format!(
                "there is no colour '{word}': give a name like \"light-blue\", \"#rrggbb\", or a number from 0 to 255"
            ),
        })
    }
}

fn rgb(digits: &str) -> Option<[u8; 3]> {
    let is_hex = digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}

impl fmt::Display for ThemeColor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThemeColor::Rgb([red, green, blue]) => write!(out, "#{red:02x}{green:02x}{blue:02x}"),
            ThemeColor::Indexed(number) => match SIXTEEN.get(usize::from(*number)) {
                Some(name) => out.write_str(name),
                None => write!(out, "{number}"),
            },
        }
    }
}

/// A theme from the user's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomTheme {
    pub name: String,
    /// The built-in theme that supplies the colours which are not in `colors`.
    pub base: ThemeName,
    /// The colours that replace colours of the base theme.
    pub colors: BTreeMap<ColorRole, ThemeColor>,
}

impl CustomTheme {
    /// Parses the entries of a `[themes.NAME]` table: pairs of a key, which is `base` or the name of a [`ColorRole`],
    /// and its value. Without `base`, the default theme is the base.
    ///
    /// # Errors
    /// Fails if the name of the theme belongs to a built-in theme, is blank, has more than [`NAME_MAX`] characters, or
    /// contains characters other than letters, digits, spaces, `-` and `_`. Also fails if an entry is invalid. For an
    /// unknown key or value, the message names the closest valid one, or says what is valid if none is close.
    pub fn parse<'a>(
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<CustomTheme, String> {
        if ThemeName::ALL.iter().any(|t| t.word() == name) {
            return Err(format!(
                "[themes.{name}]: crewdeck has a built-in theme of that name. Rename yours, for example to [themes.my-{name}], and set base = \"{name}\" to keep the other colours of {name}"
            ));
        }
        let is_fit = |c: char| c.is_alphanumeric() || "-_ ".contains(c);
        if name.trim().is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(is_fit) {
            return Err(format!(
                "[themes.{name}]: a theme's name has 1 to {NAME_MAX} characters: letters, digits, spaces, '-' and '_', and not only spaces"
            ));
        }
        let mut out = CustomTheme {
            name: name.to_string(),
            base: ThemeName::default(),
            colors: BTreeMap::new(),
        };
        for (key, word) in entries {
            let wrong = |why| format!("themes.{name}.{key}: {why}");
            if key == "base" {
                out.base = ThemeName::parse(word).map_err(wrong)?;
            } else if let Some(meaning) = ColorRole::ALL.into_iter().find(|m| m.word() == key) {
                out.colors
                    .insert(meaning, ThemeColor::parse(word).map_err(wrong)?);
            } else {
                return Err(unknown(name, key));
            }
        }
        Ok(out)
    }
}

fn unknown(name: &str, key: &str) -> String {
    let mut known = vec!["base"];
    known.extend(ColorRole::ALL.map(ColorRole::word));
    match closest_match(key, &known) {
        Some(nearest) => {
            format!("unknown setting 'themes.{name}.{key}': did you mean '{nearest}'?")
        }
        None => format!(
            "unknown setting 'themes.{name}.{key}': use one of {}",
            known.join(", ")
        ),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemeChoice {
    BuiltIn(ThemeName),
    Custom(Arc<CustomTheme>),
}

impl ThemeChoice {
    /// Returns all themes in the order in which the theme picker lists them: the built-in ones, then the custom themes
    /// `own`.
    pub fn all(own: &[Arc<CustomTheme>]) -> Vec<ThemeChoice> {
        let built_in = ThemeName::ALL.into_iter().map(ThemeChoice::BuiltIn);
        built_in
            .chain(own.iter().cloned().map(ThemeChoice::Custom))
            .collect()
    }

    /// Returns the theme named `word`, which is a built-in theme or one of `own`.
    ///
    /// # Errors
    /// Fails if there is no theme named `word`. The message contains the closest theme name, or all names if none is
    /// close.
    pub fn parse(word: &str, own: &[Arc<CustomTheme>]) -> Result<ThemeChoice, String> {
        let all = ThemeChoice::all(own);
        if let Some(found) = all.iter().find(|theme| theme.word() == word) {
            return Ok(found.clone());
        }
        let known: Vec<&str> = all.iter().map(ThemeChoice::word).collect();
        Err(unknown_theme(word, &known))
    }

    /// Returns the name of the theme in settings and lists.
    pub fn word(&self) -> &str {
        match self {
            ThemeChoice::BuiltIn(name) => name.word(),
            ThemeChoice::Custom(own) => &own.name,
        }
    }

    /// Returns a short description for the list of themes.
    pub fn about(&self) -> String {
        match self {
            ThemeChoice::BuiltIn(name) => name.about().to_string(),
            ThemeChoice::Custom(own) => format!("your own, based on {}", own.base.word()),
        }
    }
}

impl Default for ThemeChoice {
    fn default() -> ThemeChoice {
        ThemeName::default().into()
    }
}

impl From<ThemeName> for ThemeChoice {
    fn from(name: ThemeName) -> ThemeChoice {
        ThemeChoice::BuiltIn(name)
    }
}

impl PartialEq<ThemeName> for ThemeChoice {
    fn eq(&self, name: &ThemeName) -> bool {
        *self == ThemeChoice::BuiltIn(*name)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colours_are_parsed_from_names_numbers_and_hex() {
        let cases = [
            ("black", ThemeColor::Indexed(0)),
            ("light-cyan", ThemeColor::Indexed(14)),
            ("0", ThemeColor::Indexed(0)),
            ("255", ThemeColor::Indexed(255)),
            ("#0a1BfF", ThemeColor::Rgb([10, 27, 255])),
        ];
        for (word, expected) in cases {
            assert_eq!(ThemeColor::parse(word), Ok(expected), "{word}");
        }
        for (word, hint) in [
            ("gren", "there is no colour 'gren': did you mean 'green'?"),
            ("lightblue", "did you mean 'light-blue'?"),
            ("256", "give a name like"),
            ("#12", "or a number from 0 to 255"),
            ("#+12345", "or a number from 0 to 255"),
            ("", "give a name like"),
        ] {
            let error = ThemeColor::parse(word).unwrap_err();
            assert!(error.contains(hint), "{word}: {error}");
        }
        for number in 0..=255 {
            let theme_color = ThemeColor::Indexed(number);
            assert_eq!(ThemeColor::parse(&theme_color.to_string()), Ok(theme_color));
        }
    }

    #[test]
    fn custom_theme_has_base_and_colours() {
        let read = CustomTheme::parse(
            "dusk",
            [("base", "dark"), ("title", "#ffcc00"), ("ok", "2")],
        );
        let expected = CustomTheme {
            name: "dusk".into(),
            base: ThemeName::Dark,
            colors: BTreeMap::from([
                (ColorRole::Title, ThemeColor::Rgb([0xff, 0xcc, 0])),
                (ColorRole::Ok, ThemeColor::Indexed(2)),
            ]),
        };
        assert_eq!(read, Ok(expected));
        for (name, key, word, hint) in [
            (
                "a",
                "titel",
                "red",
                "'themes.a.titel': did you mean 'title'?",
            ),
            (
                "a",
                "zzz",
                "red",
                "'themes.a.zzz': use one of base, ground,",
            ),
            (
                "a",
                "base",
                "drak",
                "themes.a.base: there is no theme 'drak': did you mean 'dark'?",
            ),
            (
                "a",
                "ok",
                "gren",
                "themes.a.ok: there is no colour 'gren': did you mean 'green'?",
            ),
            (
                "nord",
                "ok",
                "red",
                "[themes.nord]: crewdeck has a built-in theme of that name. Rename yours, for example to [themes.my-nord]",
            ),
            ("a\u{1b}", "ok", "red", "a theme's name has 1 to 24"),
            ("", "ok", "red", "a theme's name has 1 to 24"),
        ] {
            let error = CustomTheme::parse(name, [(key, word)]).unwrap_err();
            assert!(error.contains(hint), "{error}");
        }
        for theme in ThemeName::ALL {
            let word = theme.word();
            assert!(CustomTheme::parse(word, []).is_err(), "{word}");
            let renamed = format!("my-{word}");
            let own = CustomTheme::parse(&renamed, [("base", word)]).unwrap();
            assert_eq!(own.base, theme);
        }
    }

    #[test]
    fn themes_are_found_by_name() {
        let own = [Arc::new(CustomTheme::parse("dusk", []).unwrap())];
        let found = ThemeChoice::parse("dusk", &own).unwrap();
        assert_eq!(
            (found.word(), found.about().as_str()),
            ("dusk", "your own, based on terminal")
        );
        assert!(ThemeChoice::parse("dark", &own).unwrap() == ThemeName::Dark);
        let error = ThemeChoice::parse("dsuk", &own).unwrap_err();
        assert_eq!(error, "there is no theme 'dsuk': did you mean 'dusk'?");
    }
}

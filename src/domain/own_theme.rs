//! Themes that people write into their settings: a theme that ships with crewdeck, and colours of their own for what
//! words and grounds mean.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::text::nearest;
use super::theme::ThemeName;

/// Most of them that are read.
pub const THEMES_MAX: usize = 32;
/// Longest name, in characters.
pub const NAME_MAX: usize = 24;

/// What a colour can be given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meaning {
    /// Under everything.
    Ground,
    /// Under what lies over the panes.
    Panel,
    /// Under the row that keys act on.
    Selection,
    /// Ordinary words.
    Text,
    /// What is secondary: times, counts, hints, quotes, comments.
    Dim,
    /// Titles and headings.
    Title,
    /// The title and the frame of the pane that has the keys.
    Focus,
    /// The frames of the other panes.
    Border,
    /// Keys, names, addresses, what the person said.
    Accent,
    /// It went well.
    Ok,
    /// Something is not as it should be.
    Warn,
    /// It failed.
    Error,
    /// Somebody is at work.
    Working,
    /// Somebody waits for the person.
    Waiting,
    /// Code and commands.
    Code,
    /// A tool call.
    Tool,
}

impl Meaning {
    /// All of them, in the order in which they are named.
    pub const ALL: [Meaning; 16] = [
        Meaning::Ground,
        Meaning::Panel,
        Meaning::Selection,
        Meaning::Text,
        Meaning::Dim,
        Meaning::Title,
        Meaning::Focus,
        Meaning::Border,
        Meaning::Accent,
        Meaning::Ok,
        Meaning::Warn,
        Meaning::Error,
        Meaning::Working,
        Meaning::Waiting,
        Meaning::Code,
        Meaning::Tool,
    ];

    /// Its name in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Meaning::Ground => "ground",
            Meaning::Panel => "panel",
            Meaning::Selection => "selection",
            Meaning::Text => "text",
            Meaning::Dim => "dim",
            Meaning::Title => "title",
            Meaning::Focus => "focus",
            Meaning::Border => "border",
            Meaning::Accent => "accent",
            Meaning::Ok => "ok",
            Meaning::Warn => "warn",
            Meaning::Error => "error",
            Meaning::Working => "working",
            Meaning::Waiting => "waiting",
            Meaning::Code => "code",
            Meaning::Tool => "tool",
        }
    }
}

/// A colour as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// One of the terminal's 256: below 16 the person's own sixteen.
    Indexed(u8),
    /// Red, green and blue.
    Rgb([u8; 3]),
}

/// The names of the sixteen, in their order.
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

impl Ink {
    /// A colour by its name, as `#rrggbb`, or by its number.
    ///
    /// # Errors
    /// Names the nearest one, or says how colours are written.
    pub fn parse(word: &str) -> Result<Ink, String> {
        if let Some(at) = SIXTEEN.iter().position(|name| *name == word) {
            return u8::try_from(at)
                .map(Ink::Indexed)
                .map_err(|e| e.to_string());
        }
        if let Some(rgb) = word.strip_prefix('#').and_then(rgb) {
            return Ok(Ink::Rgb(rgb));
        }
        if let Ok(number) = word.parse() {
            return Ok(Ink::Indexed(number));
        }
        Err(match nearest(word, &SIXTEEN) {
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

impl fmt::Display for Ink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ink::Rgb([red, green, blue]) => write!(out, "#{red:02x}{green:02x}{blue:02x}"),
            Ink::Indexed(number) => match SIXTEEN.get(usize::from(*number)) {
                Some(name) => out.write_str(name),
                None => write!(out, "{number}"),
            },
        }
    }
}

/// A theme that the person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTheme {
    /// Its name.
    pub name: String,
    /// Whose looks it has where it says nothing.
    pub base: ThemeName,
    /// Its colours.
    pub inks: BTreeMap<Meaning, Ink>,
}

impl OwnTheme {
    /// Reads what stands below a theme's name: each key with its word.
    ///
    /// # Errors
    /// Names what does not fit, and the nearest that does.
    pub fn parse<'a>(
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<OwnTheme, String> {
        if ThemeName::ALL.iter().any(|t| t.word() == name) {
            return Err(format!(
                "[themes.{name}]: crewdeck has a theme of that name: give yours another one"
            ));
        }
        let is_fit = |c: char| c.is_alphanumeric() || "-_ ".contains(c);
        if name.trim().is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(is_fit) {
            return Err(format!(
                "[themes.{name}]: a theme's name has up to {NAME_MAX} letters, digits, - and _"
            ));
        }
        let mut out = OwnTheme {
            name: name.to_string(),
            base: ThemeName::default(),
            inks: BTreeMap::new(),
        };
        for (key, word) in entries {
            let wrong = |why| format!("themes.{name}.{key}: {why}");
            if key == "base" {
                out.base = ThemeName::parse(word).map_err(wrong)?;
            } else if let Some(meaning) = Meaning::ALL.into_iter().find(|m| m.word() == key) {
                out.inks.insert(meaning, Ink::parse(word).map_err(wrong)?);
            } else {
                return Err(unknown(name, key));
            }
        }
        Ok(out)
    }
}

fn unknown(name: &str, key: &str) -> String {
    let mut known = vec!["base"];
    known.extend(Meaning::ALL.map(Meaning::word));
    match nearest(key, &known) {
        Some(nearest) => {
            format!("unknown setting 'themes.{name}.{key}': did you mean '{nearest}'?")
        }
        None => format!(
            "unknown setting 'themes.{name}.{key}': known are {}",
            known.join(", ")
        ),
    }
}

/// The theme that the screen has: one that ships with crewdeck, or one of the person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemeChoice {
    /// One that ships with crewdeck.
    BuiltIn(ThemeName),
    /// One of the person's.
    Own(Arc<OwnTheme>),
}

impl ThemeChoice {
    /// All that there are, in the order in which they are offered.
    pub fn all(own: &[Arc<OwnTheme>]) -> Vec<ThemeChoice> {
        let built_in = ThemeName::ALL.into_iter().map(ThemeChoice::BuiltIn);
        built_in
            .chain(own.iter().cloned().map(ThemeChoice::Own))
            .collect()
    }

    /// The theme of that name.
    ///
    /// # Errors
    /// Names the nearest one, or all when none is near.
    pub fn parse(word: &str, own: &[Arc<OwnTheme>]) -> Result<ThemeChoice, String> {
        let all = ThemeChoice::all(own);
        if let Some(found) = all.iter().find(|theme| theme.word() == word) {
            return Ok(found.clone());
        }
        let known: Vec<&str> = all.iter().map(ThemeChoice::word).collect();
        Err(no_theme(word, &known))
    }

    /// Its name in settings and in lists.
    pub fn word(&self) -> &str {
        match self {
            ThemeChoice::BuiltIn(name) => name.word(),
            ThemeChoice::Own(own) => &own.name,
        }
    }

    /// What it looks like, in a few words.
    pub fn about(&self) -> String {
        match self {
            ThemeChoice::BuiltIn(name) => name.about().to_string(),
            ThemeChoice::Own(own) => format!("your own, based on {}", own.base.word()),
        }
    }
}

/// What is said where no theme has that name.
pub(super) fn no_theme(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(known) => format!("there is no theme '{word}': did you mean '{known}'?"),
        None => format!(
            "there is no theme '{word}': use one of {}",
            known.join(", ")
        ),
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
    fn colours_are_names_numbers_and_red_green_blue() {
        let cases = [
            ("black", Ink::Indexed(0)),
            ("light-cyan", Ink::Indexed(14)),
            ("0", Ink::Indexed(0)),
            ("255", Ink::Indexed(255)),
            ("#0a1BfF", Ink::Rgb([10, 27, 255])),
        ];
        for (word, expected) in cases {
            assert_eq!(Ink::parse(word), Ok(expected), "{word}");
        }
        for (word, hint) in [
            ("gren", "there is no colour 'gren': did you mean 'green'?"),
            ("lightblue", "did you mean 'light-blue'?"),
            ("256", "give a name like"),
            ("#12", "or a number from 0 to 255"),
            ("#+12345", "or a number from 0 to 255"),
            ("", "give a name like"),
        ] {
            let error = Ink::parse(word).unwrap_err();
            assert!(error.contains(hint), "{word}: {error}");
        }
        for number in 0..=255 {
            let ink = Ink::Indexed(number);
            assert_eq!(Ink::parse(&ink.to_string()), Ok(ink));
        }
    }

    #[test]
    fn a_theme_is_a_base_and_colours() {
        let read = OwnTheme::parse(
            "dusk",
            [("base", "dark"), ("title", "#ffcc00"), ("ok", "2")],
        );
        let expected = OwnTheme {
            name: "dusk".into(),
            base: ThemeName::Dark,
            inks: BTreeMap::from([
                (Meaning::Title, Ink::Rgb([0xff, 0xcc, 0])),
                (Meaning::Ok, Ink::Indexed(2)),
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
            ("a", "zzz", "red", "'themes.a.zzz': known are base, ground,"),
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
            ("dark", "ok", "red", "crewdeck has a theme of that name"),
            ("a\u{1b}", "ok", "red", "a theme's name has up to 24"),
            ("", "ok", "red", "a theme's name has up to 24"),
        ] {
            let error = OwnTheme::parse(name, [(key, word)]).unwrap_err();
            assert!(error.contains(hint), "{error}");
        }
    }

    #[test]
    fn a_theme_is_found_by_its_name() {
        let own = [Arc::new(OwnTheme::parse("dusk", []).unwrap())];
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

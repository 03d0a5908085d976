//! Names of keys as text, such as `ctrl+x`, `G` or `shift+tab`, for the key map, settings, help and tests.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The keys whose name is a word, such as `enter`, and their codes in crossterm.
const NAMED: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("null", KeyCode::Null),
];

/// The error for a text that is not the name of a key. Contains that text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a key: give a character, a name such as enter, esc, pgup or f1, or a combination such as ctrl+x"
)]
pub struct KeyError(pub String);

/// Returns the name of a key press, such as `ctrl+x`. `None` for keys that cannot be bound, such as media keys or a
/// modifier key pressed alone, and for presses with a modifier other than ctrl, alt and shift.
///
/// Modifiers are in the order ctrl, alt, shift. Shift with a character is expressed by the case of the character: the
/// name is `G`, never `shift+g`. With ctrl, the character is in lower case, and `7`, `/` and `-` become `_`, because
/// most terminals do not report the difference.
pub fn name_of(key: KeyEvent) -> Option<String> {
    let mut modifiers = key.modifiers;
    let base = match key.code {
        KeyCode::BackTab => {
            modifiers.insert(KeyModifiers::SHIFT);
            "tab".to_string()
        }
        KeyCode::F(n) => format!("f{n}"),
        KeyCode::Char(' ') => "space".to_string(),
        KeyCode::Char(c) => {
            modifiers.remove(KeyModifiers::SHIFT);
            if modifiers.contains(KeyModifiers::CONTROL) {
                match c {
                    // Terminals send the same byte for Ctrl+7, Ctrl+/ and Ctrl+_, or with the kitty protocol the key
                    // without Shift.
                    '7' | '/' | '-' => "_".into(),
                    _ => c.to_lowercase().to_string(),
                }
            } else {
                c.to_string()
            }
        }
        code => NAMED
            .iter()
            .find(|(_, named)| *named == code)
            .map(|(name, _)| (*name).to_string())?,
    };
    let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
    if !(modifiers - known).is_empty() {
        return None;
    }
    let mut out = String::new();
    for (flag, name) in [
        (KeyModifiers::CONTROL, "ctrl+"),
        (KeyModifiers::ALT, "alt+"),
        (KeyModifiers::SHIFT, "shift+"),
    ] {
        if modifiers.contains(flag) {
            out.push_str(name);
        }
    }
    Some(out + &base)
}

/// Parses the name of one key press, such as `ctrl+x`, `G` or `shift+tab`. Modifiers may be in any order. The result
/// may have another name than `text`: `shift+g` gives a lowercase `g` with Shift, for which [`name_of`] returns `g`.
///
/// # Errors
/// Returns [`KeyError`] if `text` is not the name of a key.
pub fn parse(text: &str) -> Result<KeyEvent, KeyError> {
    let mut rest = text;
    let mut modifiers = KeyModifiers::NONE;
    loop {
        let (flag, after) = if let Some(after) = rest.strip_prefix("ctrl+") {
            (KeyModifiers::CONTROL, after)
        } else if let Some(after) = rest.strip_prefix("alt+") {
            (KeyModifiers::ALT, after)
        } else if let Some(after) = rest.strip_prefix("shift+") {
            (KeyModifiers::SHIFT, after)
        } else {
            break;
        };
        modifiers |= flag;
        rest = after;
    }
    let wrong = || KeyError(text.to_string());
    let mut chars = rest.chars();
    let code = match (chars.next(), chars.next()) {
        (Some(only), None) => KeyCode::Char(only),
        (Some('f'), Some(digit)) if digit.is_ascii_digit() => {
            KeyCode::F(rest[1..].parse().map_err(|_| wrong())?)
        }
        _ => NAMED
            .iter()
            .find(|(name, _)| *name == rest)
            .map(|(_, code)| *code)
            .ok_or_else(wrong)?,
    };
    if code == KeyCode::Tab && modifiers.contains(KeyModifiers::SHIFT) {
        return Ok(KeyEvent::new(KeyCode::BackTab, modifiers));
    }
    Ok(KeyEvent::new(code, modifiers))
}

/// Parses key names separated by spaces: `j j enter ctrl+c`.
///
/// # Errors
/// Returns [`KeyError`] for the first word that is not the name of a key.
#[cfg(test)]
pub fn parse_all(text: &str) -> Result<Vec<KeyEvent>, KeyError> {
    text.split_whitespace().map(parse).collect()
}

/// Formats key names that are separated by single spaces for display. Examples: `Ctrl+x e`, `Enter`, `G`, `PgUp`, `↑`.
pub fn format_key(name: &str) -> String {
    let words: Vec<String> = name.split(' ').map(shown_one).collect();
    words.join(" ")
}

fn shown_one(chord: &str) -> String {
    let mut out = String::new();
    let mut rest = chord;
    for (prefix, word) in [("ctrl+", "Ctrl+"), ("alt+", "Alt+"), ("shift+", "Shift+")] {
        if let Some(after) = rest.strip_prefix(prefix) {
            out.push_str(word);
            rest = after;
        }
    }
    let base = match rest {
        "up" => "↑".to_string(),
        "down" => "↓".to_string(),
        "left" => "←".to_string(),
        "right" => "→".to_string(),
        "pgup" => "PgUp".to_string(),
        "pgdn" => "PgDn".to_string(),
        _ if rest.chars().count() == 1 => rest.to_string(),
        _ => {
            let mut chars = rest.chars();
            chars
                .next()
                .map(|first| first.to_uppercase().to_string() + chars.as_str())
                .unwrap_or_default()
        }
    };
    out + &base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_round_trip() {
        for name in [
            "a",
            "G",
            "?",
            "+",
            "ctrl+x",
            "ctrl+j",
            "alt+w",
            "alt+enter",
            "shift+enter",
            "shift+tab",
            "f1",
            "f12",
            "space",
            "pgdn",
            "ctrl+alt+up",
        ] {
            assert_eq!(name_of(parse(name).unwrap()).as_deref(), Some(name));
        }
        assert_eq!(parse("hyper"), Err(KeyError("hyper".into())));
        assert_eq!(parse_all("j j").unwrap().len(), 2);
    }

    #[test]
    fn key_variants_of_terminals_get_one_name() {
        let cases = [
            (KeyCode::Char('G'), KeyModifiers::SHIFT, Some("G")),
            (
                KeyCode::Char('C'),
                KeyModifiers::CONTROL | KeyModifiers::SHIFT,
                Some("ctrl+c"),
            ),
            (KeyCode::Char('7'), KeyModifiers::CONTROL, Some("ctrl+_")),
            (KeyCode::Char('/'), KeyModifiers::CONTROL, Some("ctrl+_")),
            (
                KeyCode::Char('-'),
                KeyModifiers::CONTROL.union(KeyModifiers::SHIFT),
                Some("ctrl+_"),
            ),
            (KeyCode::BackTab, KeyModifiers::NONE, Some("shift+tab")),
            (KeyCode::BackTab, KeyModifiers::SHIFT, Some("shift+tab")),
            (KeyCode::Char('a'), KeyModifiers::SUPER, None),
            (KeyCode::CapsLock, KeyModifiers::NONE, None),
        ];
        for (code, modifiers, expected) in cases {
            assert_eq!(
                name_of(KeyEvent::new(code, modifiers)).as_deref(),
                expected,
                "{code:?} {modifiers:?}"
            );
        }
    }

    #[test]
    fn keys_are_formatted_for_display() {
        let cases = [
            ("ctrl+x e", "Ctrl+x e"),
            ("enter", "Enter"),
            ("pgup", "PgUp"),
            ("up", "↑"),
            ("shift+tab", "Shift+Tab"),
            ("f1", "F1"),
            ("G", "G"),
        ];
        for (name, expected) in cases {
            assert_eq!(format_key(name), expected);
        }
    }
}

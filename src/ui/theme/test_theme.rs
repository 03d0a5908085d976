//! Test theme in which each style has a unique colour, so that snapshots show the style of every cell as a character.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Style};

use crate::ui::theme::Theme;

/// The character of each text style, in lower case, because upper-case marks the selected row. Frames have signs: a
/// frame is never on a selected row.
const LETTERS: &[(&str, char)] = &[
    ("text", 't'),
    ("dim", 'd'),
    ("title", 'h'),
    ("title_focused", 'f'),
    ("border", '-'),
    ("border_focused", '='),
    ("border_waiting", '~'),
    ("accent", 'a'),
    ("ok", 'o'),
    ("warn", 'w'),
    ("error", 'e'),
    ("working", 'g'),
    ("waiting", 'n'),
    ("yes", 'y'),
    ("no", 'z'),
    ("code", 'c'),
    ("heading", 'b'),
    ("link", 'l'),
    ("quote", 'q'),
    ("added", 'p'),
    ("removed", 'm'),
    ("keyword", 'k'),
    ("string", 's'),
    ("number", 'i'),
    ("comment", 'r'),
    ("user", 'u'),
    ("assistant", 'v'),
    ("tool", 'x'),
];

/// The background styles, which combine with any text style.
const GROUNDS: [(&str, Color); 4] = [
    ("panel", Color::Indexed(1)),
    ("selection", Color::Indexed(2)),
    ("found", Color::Indexed(3)),
    ("found_here", Color::Indexed(4)),
];

/// The colour index of the first text style.
const FIRST: u8 = 16;

fn style_of(name: &str) -> Style {
    if let Some((_, ground)) = GROUNDS.iter().find(|(ground, _)| *ground == name) {
        return match name {
            "panel" => Style::reset().bg(*ground),
            _ => Style::new().bg(*ground),
        };
    }
    let at = LETTERS.iter().position(|(style, _)| *style == name);
    match at.and_then(|at| u8::try_from(at).ok()) {
        Some(at) => Style::new().fg(Color::Indexed(FIRST + at)),
        None => Style::reset(),
    }
}

pub fn theme() -> Theme {
    macro_rules! unique_styles {
        ($($field:ident),*) => { Theme { $($field: style_of(stringify!($field))),* } };
    }
    each_style!(unique_styles)
}

/// Whether a cell belongs to a popup.
pub fn is_popup(cell: &Cell) -> bool {
    cell.bg == GROUNDS[0].1
}

/// Whether a cell belongs to the selected row.
pub fn is_selected(cell: &Cell) -> bool {
    cell.bg == GROUNDS[1].1
}

/// Returns the style of a cell as one character: that of [`LETTERS`], in upper case on the selected row; `?` for a
/// search match, `!` for the current match, `.` for text without a style, and a space for an empty cell.
pub fn letter(cell: &Cell) -> char {
    let style = match cell.fg {
        Color::Indexed(color) => LETTERS.get(usize::from(color.wrapping_sub(FIRST))),
        _ => None,
    };
    let message = style.map_or('.', |(_, message)| *message);
    match (cell.symbol(), cell.bg) {
        (_, ground) if ground == GROUNDS[2].1 => '?',
        (_, ground) if ground == GROUNDS[3].1 => '!',
        (" ", ground) if ground == GROUNDS[1].1 => '_',
        (_, ground) if ground == GROUNDS[1].1 => message.to_ascii_uppercase(),
        (" ", _) => ' ',
        _ => message,
    }
}

/// Returns a legend of the styles whose characters occur in `letters`.
pub fn legend(messages: &str) -> String {
    let is_there = |message: char| messages.contains([message, message.to_ascii_uppercase()]);
    let words = LETTERS.iter().filter(|(_, message)| is_there(*message));
    let words: Vec<String> = words
        .map(|(name, message)| format!("{message} {name}"))
        .collect();
    words.join("  ")
}

#[test]
fn every_style_has_a_unique_character() {
    let theme = theme();
    let mut seen: Vec<char> = Vec::new();
    for (name, style) in theme.styles() {
        let mut cell = Cell::new("x");
        cell.set_style(style);
        let message = letter(&cell);
        let is_ground = ["ground", "panel", "selection"].contains(&name);
        assert_eq!(message == '.', is_ground, "{name} has no character");
        assert!(
            is_ground || !seen.contains(&message),
            "{name}: {message} is taken"
        );
        seen.push(message);
    }
}

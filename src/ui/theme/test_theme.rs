//! Test theme in which each style has a unique colour, so that snapshots show the style of every cell as a character.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Style};

use crate::ui::theme::Theme;

/// The character that stands for each text style. It is in lower case, because upper case marks the selected row.
/// Border styles have signs instead, because a border is never on a selected row.
const CHARACTERS: &[(&str, char)] = &[
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
    ("added_word", '+'),
    ("removed_word", '%'),
    ("keyword", 'k'),
    ("string", 's'),
    ("number", 'i'),
    ("comment", 'r'),
    ("function", 'j'),
    ("type_name", '7'),
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
    let at = CHARACTERS.iter().position(|(style, _)| *style == name);
    match at.and_then(|at| u8::try_from(at).ok()) {
        Some(at) => Style::new().fg(Color::Indexed(FIRST + at)),
        None if name == "ground" => Style::reset(),
        None => Style::new(),
    }
}

pub fn theme() -> Theme {
    macro_rules! unique_styles {
        ($($field:ident),*) => { Theme { $($field: style_of(stringify!($field))),* } };
    }
    each_style!(unique_styles)
}

pub fn is_popup(cell: &Cell) -> bool {
    cell.bg == GROUNDS[0].1
}

/// Returns whether a cell belongs to the selected row.
pub fn is_selected(cell: &Cell) -> bool {
    cell.bg == GROUNDS[1].1
}

/// Returns the style of a cell as one character: its character in [`CHARACTERS`], in upper case on the selected row;
/// `?` for a search match, `!` for the current match, `.` for text without a style, a space for an empty cell, and `_`
/// for an empty cell of the selected row.
pub fn style_character(cell: &Cell) -> char {
    let style = match cell.fg {
        Color::Indexed(color) => CHARACTERS.get(usize::from(color.wrapping_sub(FIRST))),
        _ => None,
    };
    let character = style.map_or('.', |(_, character)| *character);
    match (cell.symbol(), cell.bg) {
        (_, ground) if ground == GROUNDS[2].1 => '?',
        (_, ground) if ground == GROUNDS[3].1 => '!',
        (" ", ground) if ground == GROUNDS[1].1 => '_',
        (_, ground) if ground == GROUNDS[1].1 => character.to_ascii_uppercase(),
        (" ", _) => ' ',
        _ => character,
    }
}

/// Returns a legend of the styles whose characters occur in `picture`.
pub fn legend(picture: &str) -> String {
    let occurs = |character: char| picture.contains([character, character.to_ascii_uppercase()]);
    let styles = CHARACTERS.iter().filter(|(_, c)| occurs(*c));
    let styles: Vec<String> = styles.map(|(name, c)| format!("{c} {name}")).collect();
    styles.join("  ")
}

#[test]
fn every_style_has_a_unique_character() {
    let theme = theme();
    let mut seen: Vec<char> = Vec::new();
    for (name, style) in theme.styles() {
        let mut cell = Cell::new("x");
        cell.set_style(style);
        let character = style_character(&cell);
        let is_ground = ["ground", "panel", "selection"].contains(&name)
            || ["added_line", "removed_line", "code_ground"].contains(&name);
        assert_eq!(character == '.', is_ground, "{name} has no character");
        assert!(
            is_ground || !seen.contains(&character),
            "{name}: {character} is taken"
        );
        seen.push(character);
    }
}

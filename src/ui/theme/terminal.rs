//! The theme in the terminal's own sixteen colours, which fit any background that the user chose.

use ratatui::style::{Color, Modifier, Style};

use crate::ui::theme::{Theme, mono};

pub fn theme() -> Theme {
    let plain = Style::new();
    let bold = plain.add_modifier(Modifier::BOLD);
    let dim = plain.add_modifier(Modifier::DIM);
    Theme {
        title_focused: bold.fg(Color::Cyan),
        border_focused: plain.fg(Color::Cyan),
        border_waiting: plain.fg(Color::Magenta),
        // White on dark gray is readable on light and on dark terminals. The selected row has only these two colours,
        // because some colours of its parts would be hard to read on dark gray.
        selection: bold
            .fg(Color::White)
            .bg(Color::DarkGray)
            .remove_modifier(Modifier::DIM),
        accent: plain.fg(Color::Cyan),
        ok: plain.fg(Color::Green),
        warn: plain.fg(Color::Yellow),
        error: plain.fg(Color::Red),
        working: plain.fg(Color::Green),
        waiting: bold.fg(Color::Magenta),
        yes: plain.fg(Color::Green),
        no: plain.fg(Color::Red),
        code: plain.fg(Color::Cyan),
        heading: bold,
        link: plain.fg(Color::Cyan).add_modifier(Modifier::UNDERLINED),
        added: plain.fg(Color::Green),
        removed: plain.fg(Color::Red),
        added_word: plain.add_modifier(Modifier::REVERSED),
        removed_word: plain.add_modifier(Modifier::REVERSED),
        keyword: plain.fg(Color::Magenta),
        string: plain.fg(Color::Green),
        number: plain.fg(Color::Yellow),
        comment: dim.add_modifier(Modifier::ITALIC),
        function: plain.fg(Color::Blue),
        type_name: plain.fg(Color::Cyan),
        found_here: bold
            .fg(Color::Yellow)
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM),
        user: bold.fg(Color::Cyan),
        tool: plain.fg(Color::Magenta),
        ..mono::theme()
    }
}

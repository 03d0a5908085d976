//! The theme in the terminal's own sixteen colours, which fit any background that the user chose.

use ratatui::style::{Color, Modifier, Style};

use crate::ui::theme::Theme;

pub fn theme() -> Theme {
    let plain = Style::new();
    let bold = plain.add_modifier(Modifier::BOLD);
    let dim = plain.add_modifier(Modifier::DIM);
    Theme {
        ground: Style::reset(),
        panel: Style::reset(),
        text: plain,
        dim,
        title: bold,
        title_focused: bold.fg(Color::Cyan),
        border: dim,
        border_focused: plain.fg(Color::Cyan),
        border_waiting: plain.fg(Color::Magenta),
        // White on dark gray is readable on light and on dark terminals. The selected row has one colour, whatever the
        // colours of its parts: some of them would be hard to read on it.
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
        quote: dim.add_modifier(Modifier::ITALIC),
        added: plain.fg(Color::Green),
        removed: plain.fg(Color::Red),
        added_line: plain,
        removed_line: plain,
        added_word: plain.add_modifier(Modifier::REVERSED),
        removed_word: plain.add_modifier(Modifier::REVERSED),
        code_ground: plain,
        keyword: plain.fg(Color::Magenta),
        string: plain.fg(Color::Green),
        number: plain.fg(Color::Yellow),
        comment: dim.add_modifier(Modifier::ITALIC),
        function: plain.fg(Color::Blue),
        type_name: plain.fg(Color::Cyan),
        found: bold.add_modifier(Modifier::UNDERLINED),
        found_here: bold
            .fg(Color::Yellow)
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM),
        user: bold.fg(Color::Cyan),
        assistant: plain,
        tool: plain.fg(Color::Magenta),
    }
}

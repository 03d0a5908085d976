//! The theme without colours: bold, dim, reversed and underlined text only.

use ratatui::style::{Modifier, Style};

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
        title_focused: bold.add_modifier(Modifier::REVERSED),
        border: dim,
        border_focused: bold,
        border_waiting: plain,
        // The selection is not dim: dim text would be hard to read on it.
        selection: plain
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM),
        accent: bold,
        ok: plain,
        warn: bold,
        error: bold.add_modifier(Modifier::UNDERLINED),
        working: bold,
        waiting: bold.add_modifier(Modifier::REVERSED),
        yes: plain,
        no: plain,
        code: bold,
        heading: bold.add_modifier(Modifier::UNDERLINED),
        link: plain.add_modifier(Modifier::UNDERLINED),
        quote: dim.add_modifier(Modifier::ITALIC),
        added: bold,
        removed: dim,
        added_line: plain,
        removed_line: plain,
        added_word: plain
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM),
        removed_word: plain
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM),
        code_ground: plain,
        keyword: bold,
        string: plain,
        number: plain,
        comment: dim,
        function: plain,
        type_name: plain,
        found: bold.add_modifier(Modifier::UNDERLINED),
        found_here: bold
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM),
        user: bold,
        assistant: plain,
        tool: dim,
    }
}

//! The bar of the whole board, on the lower edge of its frame: what is done, at work, ready, blocked.

use ratatui::text::Span;

use crate::ui::model::board::index::{Index, Standing};
use crate::ui::model::board::progress;
use crate::ui::model::style;
use crate::ui::text::width;
use crate::ui::theme::Theme;

/// Longest bar, in columns.
const BAR_MAX: usize = 40;
/// Shortest bar that tells anything.
const BAR_MIN: usize = 8;

/// The glyph of each kind: they differ where there are no colours too.
fn glyph(standing: Standing) -> &'static str {
    match standing {
        Standing::Done => "━",
        Standing::InProgress => "╍",
        Standing::Ready | Standing::Assigned => "─",
        Standing::Blocked => "┄",
    }
}

/// The bar with its words in at most `room` columns; nothing where there is no task or no room.
pub fn spans(index: &Index, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let counts = progress::counts(index);
    if index.len() == 0 {
        return Vec::new();
    }
    let percent = format!(" {}%", progress::percent(counts));
    let path = match index.critical().len() {
        0 => String::new(),
        n => format!("critical path {n}"),
    };
    // The path is told before the bar is as long as it could be.
    let with_path = width(&percent) + 2 + width(&path);
    let path = if path.is_empty() || room < BAR_MIN + with_path {
        String::new()
    } else {
        path
    };
    let words = width(&percent)
        + match path.as_str() {
            "" => 0,
            path => 2 + width(path),
        };
    let Some(columns) = room.checked_sub(words).filter(|left| *left >= BAR_MIN) else {
        return Vec::new();
    };
    let cells = progress::cells(counts, columns.min(BAR_MAX));
    let mut out = Vec::new();
    for (kind, cells) in progress::KINDS.into_iter().zip(cells) {
        let (_, style) = style::standing(kind, theme);
        if cells > 0 {
            out.push(Span::styled(glyph(kind).repeat(cells), style));
        }
    }
    out.push(Span::styled(percent, theme.text));
    if !path.is_empty() {
        out.push(Span::raw("  "));
        out.push(Span::styled(path, theme.heading));
    }
    out
}

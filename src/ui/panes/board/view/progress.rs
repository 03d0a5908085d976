//! Draws the progress bar on the lower border of the board: done, in progress, ready, blocked.

use ratatui::text::Span;

use crate::ui::model::board::index::{BoardStatus, Index};
use crate::ui::model::style;
use crate::ui::panes::board::progress;
use crate::ui::text::width;
use crate::ui::theme::Theme;

/// Maximum length of the progress bar, in columns.
const BAR_MAX: usize = 40;
/// Minimum length of the progress bar, in columns. If there is less room, no bar is drawn.
const BAR_MIN: usize = 8;

/// Returns the character that represents a status in the progress bar. The characters differ, so that the bar is
/// readable without colours.
fn glyph(standing: BoardStatus) -> &'static str {
    match standing {
        BoardStatus::Done => "━",
        BoardStatus::InProgress => "╍",
        BoardStatus::Ready | BoardStatus::Assigned => "─",
        BoardStatus::Blocked => "┄",
    }
}

/// Returns the progress bar, followed by the percentage of completed tasks and, if there is room, the length of the
/// critical path. The result has at most `room` columns. It is empty if there are no tasks or too few columns.
pub fn spans(index: &Index, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let counts = progress::counts(index);
    if index.len() == 0 {
        return Vec::new();
    }
    let percent = format!(" {}%", progress::percent(counts));
    let forms = match index.critical().len() {
        0 => [String::new(), String::new()],
        1 => ["critical path: 1 task".into(), "critical path: 1".into()],
        n => [
            format!("critical path: {n} tasks"),
            format!("critical path: {n}"),
        ],
    };
    // The bar is shortened, down to its minimum length, to make room for the critical path.
    let fits = |path: &String| BAR_MIN + width(&percent) + 2 + width(path) <= room;
    let path = forms.into_iter().find(fits).unwrap_or_default();
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
        let (_, style) = style::status_symbol(kind, theme);
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

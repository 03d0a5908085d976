//! Draws the progress bar on the lower border of the board: merged, unmerged, in progress, ready, blocked.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::ui::model::board::index::{BoardStatus, Index};
use crate::ui::model::style;
use crate::ui::panes::board::progress;
use crate::ui::panes::board::progress::Segment;
use crate::ui::text::width;
use crate::ui::theme::Theme;

/// Maximum length of the progress bar, in columns.
const BAR_MAX: usize = 40;
/// Minimum length of the progress bar, in columns. If there is less room, no bar is drawn.
const BAR_MIN: usize = 8;

/// Returns the character and the style of a segment. The characters differ, so that the bar is readable without colours.
fn look(segment: Segment, theme: &Theme) -> (&'static str, Style) {
    let style = |status| style::status_symbol(status, theme).1;
    match segment {
        Segment::Merged => ("━", style(BoardStatus::Done)),
        Segment::Unmerged => ("═", theme.accent),
        Segment::InProgress => ("╍", style(BoardStatus::InProgress)),
        Segment::Ready => ("─", style(BoardStatus::Ready)),
        Segment::Blocked => ("┄", style(BoardStatus::Blocked)),
    }
}

/// Returns the progress bar, followed by the percentage of completed tasks and, if there is room, the length of the
/// critical path. `unmerged` is the number of completed tasks with an unmerged branch. The result has at most `room`
/// columns. It is empty if there are no tasks or too few columns.
pub fn spans(index: &Index, unmerged: usize, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let counts = progress::counts(index, unmerged);
    if index.len() == 0 {
        return Vec::new();
    }
    let percent = format!(" {}%", progress::percent(counts));
    let forms = match index.critical().len() {
        0 => [String::new(), String::new()],
        1 => ["critical path: 1 task".into(), "critical: 1 task".into()],
        n => [
            format!("critical path: {n} tasks"),
            format!("critical: {n} tasks"),
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
    for (segment, cells) in progress::SEGMENTS.into_iter().zip(cells) {
        let (glyph, style) = look(segment, theme);
        if cells > 0 {
            out.push(Span::styled(glyph.repeat(cells), style));
        }
    }
    out.push(Span::styled(percent, theme.text));
    if !path.is_empty() {
        out.push(Span::raw("  "));
        out.push(Span::styled(path, theme.heading));
    }
    out
}

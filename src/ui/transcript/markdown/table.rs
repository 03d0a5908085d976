//! A table as a grid that fits the width; cells that are too wide take several lines.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::ui::textual::{pad, width, wrap};
use crate::ui::theme::Theme;

/// Between two columns.
const RULE: &str = " │ ";
/// Narrowest column.
const NARROW: usize = 4;

/// The lines of a table; its first row is the head.
pub fn lines(
    rows: &[Vec<String>],
    alignments: &[Alignment],
    columns: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    if count == 0 {
        return Vec::new();
    }
    let widths = widths(rows, count, columns);
    let mut out = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let style = if at == 0 {
            theme.heading
        } else {
            theme.assistant
        };
        let cells: Vec<Vec<String>> = (0..count)
            .map(|c| wrap(row.get(c).map_or("", String::as_str), widths[c]))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for line in 0..height {
            let mut spans = Vec::new();
            for (c, cell) in cells.iter().enumerate() {
                if c > 0 {
                    spans.push(Span::styled(RULE, theme.dim));
                }
                let text = cell.get(line).map_or("", String::as_str);
                let alignment = alignments.get(c).copied().unwrap_or(Alignment::None);
                spans.push(Span::styled(aligned(text, widths[c], alignment), style));
            }
            out.push(Line::from(spans));
        }
        if at == 0 {
            let rule: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
            out.push(Line::styled(rule.join("─┼─"), theme.dim));
        }
    }
    out
}

fn aligned(text: &str, columns: usize, alignment: Alignment) -> String {
    let blank = columns.saturating_sub(width(text));
    match alignment {
        Alignment::None | Alignment::Left => pad(text, columns),
        Alignment::Right => format!("{}{text}", " ".repeat(blank)),
        Alignment::Center => pad(&format!("{}{text}", " ".repeat(blank / 2)), columns),
    }
}

/// Each column as wide as its widest cell; the widest give way until all of them fit.
fn widths(rows: &[Vec<String>], count: usize, columns: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = (0..count)
        .map(|c| {
            rows.iter()
                .filter_map(|r| r.get(c))
                .map(|t| width(t))
                .max()
                .unwrap_or(1)
                .max(1)
        })
        .collect();
    let room = columns
        .saturating_sub(RULE.chars().count() * (count - 1))
        .max(count);
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else {
            break;
        };
        if *widest <= NARROW.min(room / count).max(1) {
            break;
        }
        *widest -= 1;
    }
    widths
}

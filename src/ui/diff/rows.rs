//! Renders diff lines as rows with sign and line number, so that they are readable without colour. Pure.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::diff::read::{DiffFile, DiffLine};
use crate::ui::text::wrap::{Break, Margin, Row, wrap};
use crate::ui::theme::Theme;

/// Maximum number of digits of a line number.
const DIGITS_MAX: usize = 7;

/// Where a diff is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffPlacement {
    /// Below a tool call, whose own line shows the size of the change.
    Conversation,
    /// On a page of its own.
    Page,
}

/// How to render a diff.
#[derive(Debug, Clone, Copy)]
pub struct DiffParams<'a> {
    /// The available width, in columns.
    pub columns: usize,
    pub theme: &'a Theme,
    pub place: DiffPlacement,
    /// The width of line numbers: see [`digits`].
    pub digits: usize,
}

impl DiffParams<'_> {
    /// Returns the indentation of all rows.
    fn indent(&self) -> &'static str {
        match self.place {
            DiffPlacement::Conversation => "  ",
            DiffPlacement::Page => "",
        }
    }

    /// Returns spaces as wide as the indentation and the line number.
    fn blank(&self) -> String {
        " ".repeat(self.indent().len() + self.digits + 1)
    }
}

/// Returns the number of digits of the largest line number in `lines`, at most [`DIGITS_MAX`].
pub fn digits(lines: &[DiffLine<'_>]) -> usize {
    let number = |line: &DiffLine| match line {
        DiffLine::Same(n, _) | DiffLine::Added(n, _) | DiffLine::Removed(n, _) => *n,
        DiffLine::File(_) | DiffLine::Gap(_) | DiffLine::Other(_) => 0,
    };
    let most = lines.iter().map(number).max().unwrap_or(0);
    most.to_string().len().min(DIGITS_MAX)
}

/// Renders a line, wrapped into one or more rows. `text_offset` is the number of visible characters in all lines before
/// it; the number of those in this line is added to it.
pub fn rows(line: &DiffLine<'_>, look: DiffParams<'_>, text_offset: &mut usize) -> Vec<Row> {
    let theme = look.theme;
    let (first, text, style) = match line {
        DiffLine::File(file) => return heading(file, look, text_offset),
        DiffLine::Gap(about) => {
            let dots = Span::styled(format!("{}⋯ ", look.blank()), theme.dim);
            (vec![dots], *about, theme.dim)
        }
        DiffLine::Other(text) => (vec![look.indent().into()], *text, theme.dim),
        DiffLine::Same(number, text) => (gutter(*number, " ", theme.dim, look), *text, theme.dim),
        DiffLine::Added(number, text) => {
            let first = gutter(*number, "+", theme.added, look);
            (first, *text, theme.added)
        }
        DiffLine::Removed(number, text) => {
            let first = gutter(*number, "-", theme.removed, look);
            (first, *text, theme.removed)
        }
    };
    if text.is_empty() {
        return vec![Row::decoration(first, *text_offset)];
    }
    let rest = vec![Span::styled(format!("{}↳ ", look.blank()), theme.dim)];
    let margin = Margin::hanging(first, rest);
    let words = [Span::styled(escape_control_chars(text), style)];
    wrap(&words, look.columns, &margin, Break::Anywhere, text_offset)
}

fn gutter(
    number: usize,
    sign: &'static str,
    style: Style,
    look: DiffParams<'_>,
) -> Vec<Span<'static>> {
    let digits = look.digits;
    let number = format!("{}{number:>digits$} ", look.indent());
    vec![
        Span::styled(number, look.theme.dim),
        Span::styled(sign, style),
        " ".into(),
    ]
}

/// Renders the heading of a file, such as `path  new  +3 −1`.
fn heading(file: &DiffFile<'_>, look: DiffParams<'_>, text_offset: &mut usize) -> Vec<Row> {
    let theme = look.theme;
    let mut spans = vec![Span::styled(one_line(&file.path), theme.heading)];
    let words = file.words();
    if !words.is_empty() {
        spans.push(Span::styled(format!("  {}", one_line(&words)), theme.dim));
    }
    if look.place == DiffPlacement::Page && file.added + file.removed > 0 {
        spans.push("  ".into());
        spans.extend(counts(file.added, file.removed, theme));
    }
    let margin = Margin::hanging(
        vec![look.indent().into()],
        vec![format!("{}  ", look.indent()).into()],
    );
    wrap(&spans, look.columns, &margin, Break::Words, text_offset)
}

/// Formats the numbers of added and removed lines as styled text, such as `+3 −1`.
pub fn counts(added: usize, removed: usize, theme: &Theme) -> [Span<'static>; 3] {
    [
        Span::styled(format!("+{added}"), theme.added),
        " ".into(),
        Span::styled(format!("−{removed}"), theme.removed),
    ]
}

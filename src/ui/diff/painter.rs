//! Renders diff lines as rows with sign and line number, so that they are readable without colour. Changed words are
//! marked. If there is room, the old and the new version are side by side. Pure.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::text::{escape_control_chars, head_and_tail, one_line};
use crate::ui::diff::read::{DiffFile, DiffLine};
use crate::ui::diff::words::{changed_ranges, pairs};
use crate::ui::highlight::{Language, OpenToken};
use crate::ui::text::wrap::{Break, Margin, Row, wrap};
use crate::ui::theme::Theme;

/// Maximum width of the column for line numbers, in digits. A number with more digits is drawn in full and moves the
/// rest of its line to the right.
const DIGITS_MAX: usize = 7;
/// Minimum width, in columns, to show the old and the new version side by side. In a narrower area, most lines of code
/// would wrap.
const SIDE_BY_SIDE_MIN: usize = 110;
/// Maximum number of lines of a diff with syntax highlighting. Further lines are shown in one colour, so that a long
/// diff opens without delay. An unchanged line that is drawn side by side counts twice.
const HIGHLIGHTED_MAX: usize = 1000;
/// Maximum length of a shown line, in bytes. A longer line is cut in the middle.
const LINE_MAX: usize = 4 * 1024;
/// The start of the marker line that replaces truncated text.
pub(super) const CUT: &str = "[… ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffPlacement {
    /// The diff is in a conversation, below the line of a tool call. That line already shows the file and the size of
    /// the change.
    Conversation,
    Page,
}

#[derive(Debug, Clone, Copy)]
pub struct DiffParams<'a> {
    pub columns: usize,
    pub theme: &'a Theme,
    pub placement: DiffPlacement,
    /// The width of the column for line numbers, in digits. [`digits`] computes it.
    pub digits: usize,
}

impl DiffParams<'_> {
    /// Returns the blanks before each row: two in a conversation, none on the diff page.
    pub(super) fn indent(&self) -> &'static str {
        match self.placement {
            DiffPlacement::Conversation => "  ",
            DiffPlacement::Page => "",
        }
    }

    /// Returns spaces as wide as the indentation, the line number and the blank after it.
    fn blank(&self) -> String {
        " ".repeat(self.indent().len() + self.digits + 1)
    }
}

/// Returns the number of digits of the largest line number in `lines`: at least 1, at most [`DIGITS_MAX`].
pub fn digits(lines: &[DiffLine<'_>]) -> usize {
    let number = |line: &DiffLine| match line {
        DiffLine::Same(n, _) | DiffLine::Added(n, _) | DiffLine::Removed(n, _) => *n,
        DiffLine::File(_) | DiffLine::Gap(_) | DiffLine::Other(_) => 0,
    };
    let most = lines.iter().map(number).max().unwrap_or(0);
    most.to_string().len().min(DIGITS_MAX)
}

/// Renders a diff in one or more parts, in order. Syntax highlighting and line numbering continue from one part to the
/// next.
pub struct DiffPainter<'a> {
    look: DiffParams<'a>,
    /// The language of the current file; `None` if it is unknown, so that the file gets no syntax highlighting.
    language: Option<Language>,
    /// For the old and for the new version: the comment or string that continues after the last processed line.
    open: [OpenToken; 2],
    /// The number of further lines that may get syntax highlighting.
    highlighted: usize,
    /// Whether the old and the new version are drawn side by side. [`DiffPainter::rows`] sets this at each call: the
    /// width must be at least [`SIDE_BY_SIDE_MIN`], and the lines of the call must not all be from one version.
    is_side_by_side: bool,
    /// Number of lines in the new version of the current file minus the number in the old version, among the lines
    /// processed so far.
    growth: isize,
}

/// Which version of a file contains a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffSide {
    Old,
    New,
    Both,
}

struct SourceLine {
    side: DiffSide,
    number: usize,
    /// The text, cut to about [`LINE_MAX`] bytes, then with control characters escaped.
    text: String,
    /// The byte ranges in `text` of the words that differ from the other version of the line.
    words: Vec<Range<usize>>,
}

impl SourceLine {
    fn new(side: DiffSide, number: usize, text: &str) -> SourceLine {
        SourceLine {
            side,
            number,
            text: escape_control_chars(&head_and_tail(text, LINE_MAX)),
            words: Vec::new(),
        }
    }
}

impl<'a> DiffPainter<'a> {
    pub fn new(look: DiffParams<'a>) -> DiffPainter<'a> {
        DiffPainter {
            look,
            language: None,
            open: Default::default(),
            highlighted: HIGHLIGHTED_MAX,
            is_side_by_side: false,
            growth: 0,
        }
    }

    /// Renders `lines`, wrapped into rows. `text_offset` is the number of visible characters in all earlier lines; the
    /// function increases it by the number of visible characters in `lines`.
    pub fn rows(&mut self, lines: &[DiffLine<'_>], text_offset: &mut usize) -> Vec<Row> {
        // A new or deleted file has only one version.
        let has = |is: fn(&DiffLine) -> bool| lines.iter().any(is);
        let has_both = has(|l| matches!(l, DiffLine::Same(..)))
            || has(|l| matches!(l, DiffLine::Added(..)))
                && has(|l| matches!(l, DiffLine::Removed(..)));
        self.is_side_by_side = has_both && self.look.columns >= SIDE_BY_SIDE_MIN;
        let mut out = Vec::new();
        let mut rest = lines;
        while let Some((line, after)) = rest.split_first() {
            rest = after;
            match line {
                DiffLine::File(file) => out.extend(self.heading(file, text_offset)),
                DiffLine::Gap(about) => {
                    self.open = Default::default();
                    let dots =
                        Span::styled(format!("{}⋯ ", self.look.blank()), self.look.theme.dim);
                    out.extend(self.plain(vec![dots], about, self.look.theme.dim, text_offset));
                }
                DiffLine::Other(text) => {
                    let style = if text.starts_with(CUT) {
                        self.look.theme.warn
                    } else {
                        self.look.theme.dim
                    };
                    let indent = vec![self.look.indent().into()];
                    out.extend(self.plain(indent, text, style, text_offset));
                }
                DiffLine::Same(number, text) => {
                    let line = SourceLine::new(DiffSide::Both, *number, text);
                    out.extend(self.unchanged_rows(&line, text_offset));
                }
                DiffLine::Added(..) | DiffLine::Removed(..) => {
                    let from = &lines[lines.len() - after.len() - 1..];
                    let is_old = |l: &&DiffLine| matches!(l, DiffLine::Removed(..));
                    let is_new = |l: &&DiffLine| matches!(l, DiffLine::Added(..));
                    let old = from.iter().take_while(is_old).count();
                    let new = from[old..].iter().take_while(is_new).count();
                    let (block, following) = from.split_at(old + new);
                    rest = following;
                    out.extend(self.change(block, text_offset));
                }
            }
        }
        out
    }

    /// Processes `lines` without rendering them, so that rendering can continue after them. Syntax highlighting starts
    /// again after `lines`, as if no comment or string continued there.
    pub fn skip(&mut self, lines: &[DiffLine<'_>]) {
        for line in lines {
            match line {
                DiffLine::File(file) => self.begin(file),
                DiffLine::Added(..) => self.growth += 1,
                DiffLine::Removed(..) => self.growth -= 1,
                DiffLine::Gap(_) | DiffLine::Same(..) | DiffLine::Other(_) => {}
            }
        }
        self.open = Default::default();
    }

    fn begin(&mut self, file: &DiffFile<'_>) {
        self.language = Language::of_path(&file.path);
        self.open = Default::default();
        self.growth = 0;
    }

    /// Prepares the painter for the lines of `file`, and renders the heading of the file, such as `path  new  +3 −1`.
    /// Returns no rows in a conversation, where the line of the tool call shows the file.
    fn heading(&mut self, file: &DiffFile<'_>, text_offset: &mut usize) -> Vec<Row> {
        self.begin(file);
        let look = self.look;
        let theme = look.theme;
        if look.placement == DiffPlacement::Conversation {
            return Vec::new();
        }
        let mut spans = vec![Span::styled(one_line(&file.path), theme.heading)];
        let words = file.words();
        if !words.is_empty() {
            spans.push(Span::styled(format!("  {}", one_line(&words)), theme.dim));
        }
        if file.added + file.removed > 0 {
            spans.push("  ".into());
            spans.extend(counts(file.added, file.removed, theme));
        }
        let margin = Margin::hanging(vec![], vec!["  ".into()]);
        wrap(&spans, look.columns, &margin, Break::Words, text_offset)
    }

    /// Renders text that is not a line of a file, such as a note about truncation, after the spans `first`.
    fn plain(
        &self,
        first: Vec<Span<'static>>,
        text: &str,
        style: Style,
        text_offset: &mut usize,
    ) -> Vec<Row> {
        if text.is_empty() {
            return vec![Row::decoration(first, *text_offset)];
        }
        let rest = Span::styled(format!("{}↳ ", self.look.blank()), self.look.theme.dim);
        let words = [Span::styled(escape_control_chars(text), style)];
        let margin = Margin::hanging(first, vec![rest]);
        wrap(
            &words,
            self.look.columns,
            &margin,
            Break::Anywhere,
            text_offset,
        )
    }

    fn unchanged_rows(&mut self, line: &SourceLine, text_offset: &mut usize) -> Vec<Row> {
        if !self.is_side_by_side {
            return self.line_rows(line, text_offset);
        }
        let number = line.number.saturating_add_signed(-self.growth);
        let old = SourceLine::new(DiffSide::Both, number, &line.text);
        let before = self.open.clone();
        let left = self.line_rows(&old, &mut text_offset.clone());
        self.open = before;
        let right = self.line_rows(line, text_offset);
        let joined = left.into_iter().zip(right).map(|(left, right)| {
            let offset = left.text_offset;
            let end = 1 + left.spans.len();
            let mut row = self.look.join(Some(left), Some(right), offset);
            // The line is drawn on both sides, but counts only once as text.
            row.aside = end..row.spans.len();
            row
        });
        joined.collect()
    }

    /// Renders `block`, a run of removed lines and the added lines that follow them. Marks the words that differ.
    fn change(&mut self, block: &[DiffLine<'_>], text_offset: &mut usize) -> Vec<Row> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for line in block {
            match line {
                DiffLine::Removed(n, text) => old.push(SourceLine::new(DiffSide::Old, *n, text)),
                DiffLine::Added(n, text) => new.push(SourceLine::new(DiffSide::New, *n, text)),
                DiffLine::File(_) | DiffLine::Gap(_) | DiffLine::Same(..) | DiffLine::Other(_) => {}
            }
        }
        let texts = |lines: &[SourceLine]| lines.iter().map(|l| l.text.clone()).collect::<Vec<_>>();
        let pairs = pairs(&texts(&old), &texts(&new));
        for (left, right) in &pairs {
            if let (Some(left), Some(right)) = (*left, *right) {
                let (left, right) = (&mut old[left], &mut new[right]);
                [left.words, right.words] = changed_ranges(&left.text, &right.text);
            }
        }
        let signed = |lines: &[SourceLine]| isize::try_from(lines.len()).unwrap_or_default();
        self.growth += signed(&new) - signed(&old);
        if !self.is_side_by_side {
            let lines = old.iter().chain(&new);
            return lines
                .flat_map(|line| self.line_rows(line, text_offset))
                .collect();
        }
        let mut out = Vec::new();
        for (left, right) in pairs {
            let start = *text_offset;
            let mut half = |line: Option<&SourceLine>| {
                line.map_or_else(Vec::new, |line| self.line_rows(line, text_offset))
            };
            let left = half(left.and_then(|at| old.get(at)));
            let right = half(right.and_then(|at| new.get(at)));
            out.extend(self.look.side_by_side(left, right, start));
        }
        out
    }

    /// Renders a line of a file. If the old and the new version are side by side, the rows have half the width and no
    /// indentation.
    fn line_rows(&mut self, line: &SourceLine, text_offset: &mut usize) -> Vec<Row> {
        let theme = self.look.theme;
        let (sign, style, ground) = match line.side {
            DiffSide::Both => (" ", theme.dim, Style::new()),
            DiffSide::New => ("+", theme.added, theme.added_line),
            DiffSide::Old => ("-", theme.removed, theme.removed_line),
        };
        let (columns, indent) = if self.is_side_by_side {
            (self.look.half(), "")
        } else {
            (self.look.columns, self.look.indent())
        };
        let digits = self.look.digits;
        let mut first: Vec<Span<'static>> = vec![indent.into()];
        first.push(Span::styled(
            format!("{:>digits$} ", line.number),
            theme.dim,
        ));
        first.push(Span::styled(sign, style));
        first.push(" ".into());
        let mut rest: Vec<Span<'static>> = vec![indent.into()];
        rest.push(Span::styled(
            format!("{}↳ ", " ".repeat(digits + 1)),
            theme.dim,
        ));
        let rows = if line.text.is_empty() {
            vec![Row {
                margin: first.len(),
                ..Row::decoration(first, *text_offset)
            }]
        } else {
            let spans = self.spans(line, style);
            let margin = Margin::hanging(first, rest);
            wrap(&spans, columns, &margin, Break::Anywhere, text_offset)
        };
        if ground.bg.is_none() {
            return rows;
        }
        let fill = |row: Row| row.on_ground(ground, 1, columns);
        rows.into_iter().map(fill).collect()
    }

    /// Returns the spans of a line, with its changed words marked. If the theme has no backgrounds for changes, all
    /// spans have `style`. Otherwise, they have the colours of the syntax highlighting, or the text colour if the
    /// language is unknown or [`HIGHLIGHTED_MAX`] is reached.
    fn spans(&mut self, line: &SourceLine, style: Style) -> Vec<Span<'static>> {
        let theme = self.look.theme;
        let whole = |style| vec![Span::styled(line.text.clone(), style)];
        let spans = match self.language {
            _ if theme.added_line.bg.is_none() => whole(style),
            Some(language) if self.highlighted > 0 => {
                self.highlighted -= 1;
                let open = &mut self.open[usize::from(line.side != DiffSide::Old)];
                let spans = language.spans(&line.text, open, theme);
                if line.side == DiffSide::Both {
                    self.open[0] = self.open[1].clone();
                }
                spans
            }
            Some(_) | None => whole(theme.text),
        };
        let mark = match line.side {
            DiffSide::Old => theme.removed_word,
            DiffSide::New | DiffSide::Both => theme.added_word,
        };
        mark_words(spans, &line.words, mark)
    }
}

/// Applies the style `mark` to the byte ranges `words` of a line, in addition to the styles of the line's spans. The
/// ranges must be in ascending order and must not overlap.
fn mark_words(
    spans: Vec<Span<'static>>,
    words: &[Range<usize>],
    mark: Style,
) -> Vec<Span<'static>> {
    if words.is_empty() {
        return spans;
    }
    let mut out = Vec::new();
    let mut start = 0;
    for span in spans {
        let end = start + span.content.len();
        let mut at = start;
        for word in words.iter().filter(|w| w.start < end && w.end > start) {
            let (from, to) = (word.start.max(start), word.end.min(end));
            let text = |range: Range<usize>| {
                span.content[range.start - start..range.end - start].to_string()
            };
            out.push(Span::styled(text(at..from), span.style));
            out.push(Span::styled(text(from..to), span.style.patch(mark)));
            at = to;
        }
        out.push(Span::styled(
            span.content[at - start..].to_string(),
            span.style,
        ));
        start = end;
    }
    out.retain(|span| !span.content.is_empty());
    out
}

/// Formats the numbers of added and removed lines as styled text, such as `+3 −1`.
pub fn counts(added: usize, removed: usize, theme: &Theme) -> [Span<'static>; 3] {
    [
        Span::styled(format!("+{added}"), theme.added),
        " ".into(),
        Span::styled(format!("−{removed}"), theme.removed),
    ]
}

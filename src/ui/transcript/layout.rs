//! Lays out a cell as rows. Pure: the rows depend only on the cell, the width, the theme and the other parameters.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::text::escape_control_chars;
use crate::protocol::event::NoticeLevel;
use crate::ui::text::wrap::{Break, Margin, Row, wrap};
use crate::ui::theme::Theme;
use crate::ui::transcript::answer::{Answer, StreamState};
use crate::ui::transcript::attached::{self, LaidPicture, PictureParams};
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::markdown::{
    Continuation, Joint, RenderedPiece, TableLayout, TableMeasure,
};
use crate::ui::transcript::thinking::thinking_rows;
use crate::ui::transcript::{fold, markdown};

/// The warning below an answer that contains a tool call as text.
pub const CALL_AS_TEXT_WARNING: &str = "the model wrote a tool call as text, so the call was not run; the server's chat template may lack tool support";

/// What is above a cell. It decides the spacing before the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// The cell is the first one of the conversation.
    Nothing,
    /// The cell is the first one in memory. A note above it says that this number of older entries was dropped.
    Dropped(u64),
    /// The cell above and this cell both belong to
    /// [`SpacingGroup::Activity`](crate::ui::transcript::cell::SpacingGroup), so no blank row separates them.
    Close,
    /// Any other cell. A blank row separates it from this cell.
    Apart,
    /// The header of the call group that hides the cell. The cell has no rows.
    Hidden,
}

#[derive(Debug, Clone, Copy)]
pub struct LayoutParams<'a> {
    pub columns: usize,
    /// The width of code in answers, in columns. It may be wider than other text, which is hard to read in long rows.
    pub code_columns: usize,
    pub theme: &'a Theme,
    pub pictures: PictureParams,
}

/// The rows of a cell, in parts. Each part can be laid out again without the other parts.
#[derive(Debug, Default)]
pub struct CellLayout {
    parts: Vec<LayoutPart>,
    /// The pictures. Their rows in the layout are blank.
    pictures: Vec<LaidPicture>,
    /// Number of rows that were laid out and not taken from an earlier layout.
    fresh: usize,
}

#[derive(Debug, Default)]
struct LayoutPart {
    /// The [`Piece`](markdown::Piece) of the answer that this part shows; `None` if the part shows other text, such as
    /// the thinking.
    piece: Option<PieceKey>,
    /// The rows of this part. Their text offsets count from the start of this part, not of the cell.
    rows: Vec<Row>,
    /// Number of visible characters in this part, as [`Row::text_offset`] counts them.
    visible_chars: usize,
    /// The state at the end of this part, such as a list that has not ended. The next part continues from it.
    continuation: Continuation,
    /// The measurements of the first table in this part; `None` if this part contains no table.
    measured: Option<TableMeasure>,
    /// The table layout that all parts of the same table use; `None` if this part shows no table or a complete table.
    shared: Option<TableLayout>,
}

/// Identifies a [`Piece`](markdown::Piece) of an answer. Two pieces with the same key have the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PieceKey {
    origin: u64,
    epoch: u32,
    place: markdown::Piece,
    /// The source that is drawn in place of the piece's own, because the end of the piece is still being written, as in
    /// [`markdown::complete`]; usually `None`.
    completed: Option<String>,
}

impl LayoutPart {
    fn rows(rows: Vec<Row>, text_offset: usize) -> LayoutPart {
        LayoutPart {
            rows,
            visible_chars: text_offset,
            ..LayoutPart::default()
        }
    }
}

impl CellLayout {
    pub fn len(&self) -> usize {
        self.parts.iter().map(|p| p.rows.len()).sum()
    }

    /// Returns the number of rows that were laid out and not taken from an earlier layout.
    pub fn fresh(&self) -> usize {
        self.fresh
    }

    fn from_part(part: LayoutPart) -> CellLayout {
        let fresh = part.rows.len();
        CellLayout {
            parts: vec![part],
            pictures: Vec::new(),
            fresh,
        }
    }

    /// Returns the pictures of the cell, from top to bottom.
    pub fn pictures(&self) -> &[LaidPicture] {
        &self.pictures
    }

    fn push_part(&mut self, part: LayoutPart) {
        self.fresh += part.rows.len();
        self.parts.push(part);
    }

    pub fn rows(&self, skip: usize) -> impl Iterator<Item = &Row> {
        let mut skip = skip;
        self.parts.iter().flat_map(move |part| {
            let here = skip.min(part.rows.len());
            skip -= here;
            &part.rows[here..]
        })
    }

    /// Returns the number of visible characters of the cell before the row with the index `line`, counted from 0. If
    /// there is no such row, returns the number of visible characters of the whole cell.
    pub fn text_offset_of(&self, mut line: usize) -> usize {
        let mut before = 0;
        for part in &self.parts {
            if let Some(row) = part.rows.get(line) {
                return before + row.text_offset;
            }
            line -= part.rows.len();
            before += part.visible_chars;
        }
        before
    }

    /// Returns the index of the last row that has at most `text_offset` visible characters of the cell before it; 0 if
    /// the cell has no rows.
    pub fn line_of(&self, text_offset: usize) -> usize {
        let (mut line, mut before) = (0, 0);
        let mut found = 0;
        for part in &self.parts {
            let here = part
                .rows
                .partition_point(|r| before + r.text_offset <= text_offset);
            if here > 0 {
                found = line + here - 1;
            }
            if here < part.rows.len() {
                break;
            }
            line += part.rows.len();
            before += part.visible_chars;
        }
        found
    }
}

/// Lays out a cell. Returns a layout without rows if the cell is blank or hidden. `old` is an earlier layout of the
/// cell with the same width and theme; for an answer, the parts of `old` whose text has not changed are used again.
pub fn lay_out(
    kind: &CellKind,
    above: Above,
    is_selected: bool,
    page: LayoutParams<'_>,
    old: Option<CellLayout>,
) -> CellLayout {
    let mut head = Vec::new();
    match above {
        Above::Hidden => return CellLayout::default(),
        Above::Nothing | Above::Close => {}
        Above::Apart => head.push(Row::default()),
        Above::Dropped(count) => {
            let text = format!(
                "… {count} older entries dropped; the full conversation is in .transcripts/"
            );
            head.extend(plain(&text, page.theme.dim, page));
            head.push(Row::default());
        }
    }
    if kind.is_blank() {
        return CellLayout::default();
    }
    let mut text_offset = 0;
    let mut pictures = Vec::new();
    match kind {
        CellKind::Prompt(text, files) => {
            let user = page.theme.user;
            let margin = Margin::hanging(vec![Span::styled("› ", user)], vec!["  ".into()]);
            let words = [Span::styled(escape_control_chars(text.trim_end()), user)];
            let rows = wrap(
                &words,
                page.columns,
                &margin,
                Break::Words,
                &mut text_offset,
            );
            head.extend(rows);
            for file in files {
                attached::rows(file, &mut head, &mut pictures, text_offset, page);
            }
        }
        CellKind::Answer(answer) => return answer_rows(answer, head, is_selected, page, old),
        CellKind::Tool(run) => head.extend(fold::rows(run, is_selected, page, &mut text_offset)),
        CellKind::CallGroup(calls) => head.extend(fold::call_group(calls, is_selected, page)),
        CellKind::Injected(entry) => head.extend(entry.rows(is_selected, page, &mut text_offset)),
        CellKind::Notice(level, text, hint) => {
            let (shape, style) = match level {
                NoticeLevel::Info => ("·", page.theme.dim),
                NoticeLevel::Warn => ("▲", page.theme.warn),
                NoticeLevel::Error => ("✗", page.theme.error),
            };
            head.extend(plain(&format!("{shape} {text}"), style, page));
            if !hint.is_empty() {
                head.extend(plain(&format!("  {hint}"), page.theme.dim, page));
            }
        }
    }
    CellLayout {
        pictures,
        ..CellLayout::from_part(LayoutPart::rows(head, text_offset))
    }
}

/// Escapes control characters and wraps a short text in one style. All rows after the first are indented by two
/// columns. The text offsets of the rows count from the start of `text`.
pub(super) fn plain(text: &str, style: Style, page: LayoutParams<'_>) -> Vec<Row> {
    let margin = Margin::hanging(vec![], vec!["  ".into()]);
    let words = [Span::styled(escape_control_chars(text), style)];
    wrap(&words, page.columns, &margin, Break::Words, &mut 0)
}

fn answer_rows(
    answer: &Answer,
    mut head: Vec<Row>,
    is_selected: bool,
    page: LayoutParams<'_>,
    old: Option<CellLayout>,
) -> CellLayout {
    let mut text_offset = 0;
    if !answer.thinking.is_blank() {
        head.extend(thinking_rows(answer, is_selected, page, &mut text_offset));
        if !answer.text.is_blank() {
            head.push(Row::decoration(Vec::new(), text_offset));
        }
    }
    let mut out = CellLayout::from_part(LayoutPart::rows(head, text_offset));
    let mut known = old.map_or_else(Vec::new, |old| old.parts);
    let mut has_text_above = false;
    let mut continuation = Continuation::default();
    let pieces = answer.pieces();
    let last = pieces
        .last()
        .filter(|_| answer.progress == StreamState::Open);
    let completed = last.and_then(|last| markdown::complete(&last.source(answer.text.as_str())));
    let goes_on = |_: &markdown::Piece, next: &markdown::Piece| is_table(next);
    for run in pieces.chunk_by(goes_on) {
        // The first part shows what is above the answer's text, such as the thinking. Each further part shows one piece
        // of the text.
        let at = out.parts.len();
        let wanted = |place: &markdown::Piece| PieceKey {
            origin: answer.origin,
            epoch: answer.text.epoch(),
            place: place.clone(),
            completed: completed.clone().filter(|_| last == Some(place)),
        };
        let same = |(at, place): (usize, &markdown::Piece)| {
            let part = known.get_mut(at)?;
            (part.piece.as_ref() == Some(&wanted(place))).then(|| std::mem::take(part))
        };
        let old: Vec<Option<LayoutPart>> = (at..).zip(run).map(same).collect();
        let common = old.iter().flatten().find_map(|part| part.shared.clone());
        let mut parts = Vec::new();
        for (place, old) in run.iter().zip(old) {
            let old = old.filter(|part| run.len() > 1 || part.shared.is_none());
            let part = old.unwrap_or_else(|| {
                let common = common.clone().filter(|_| run.len() > 1);
                let part = lay_out_piece(
                    answer,
                    wanted(place),
                    (continuation.clone(), common),
                    has_text_above,
                    page,
                );
                out.fresh += part.rows.len();
                part
            });
            if !part.rows.is_empty() {
                has_text_above = true;
            }
            continuation = part.continuation.clone();
            parts.push(part);
        }
        if run.len() > 1 {
            out.fresh += align_table_pieces(&mut parts, answer, text_before(&out.parts), page);
        }
        out.parts.append(&mut parts);
    }
    if answer.progress == StreamState::ClosedWithCall {
        let rows = plain(&format!("▲ {CALL_AS_TEXT_WARNING}"), page.theme.dim, page);
        out.push_part(LayoutPart::rows(rows, 0));
    }
    out
}

fn is_table(piece: &markdown::Piece) -> bool {
    matches!(piece.joint, Joint::Table(_))
}

/// Gives all parts of a table the same layout: the same column widths, and either rules between all rows or no rules.
/// Lays out again each part that has another layout. Returns the number of rows that were laid out.
fn align_table_pieces(
    parts: &mut [LayoutPart],
    answer: &Answer,
    has_text_above: bool,
    page: LayoutParams<'_>,
) -> usize {
    let mut natural_widths: Vec<usize> = Vec::new();
    for own in parts.iter().filter_map(|part| part.measured.as_ref()) {
        natural_widths.resize(natural_widths.len().max(own.natural_widths.len()), 1);
        for (all, own) in natural_widths.iter_mut().zip(&own.natural_widths) {
            *all = (*all).max(*own);
        }
    }
    let mut fresh = 0;
    // The first pass sets the column widths. The second one sets the rules, which depend on whether rows wrap at these
    // widths.
    for _ in 0..2 {
        let plain = TableLayout::without_rules(&natural_widths, page.columns);
        let fits = |part: &&LayoutPart| {
            part.shared
                .as_ref()
                .is_some_and(|s| s.widths == plain.widths)
        };
        let is_tall = |part: &LayoutPart| part.measured.as_ref().is_some_and(|m| m.needs_rules);
        let common = TableLayout {
            has_rules: parts.iter().filter(fits).any(is_tall),
            ..plain
        };
        let mut has_text_above = has_text_above;
        for part in parts.iter_mut() {
            if part.shared.as_ref() != Some(&common)
                && let Some(piece) = part.piece.take()
            {
                // A table begins a new block, so no list or code block continues into it.
                let before = (Continuation::default(), Some(common.clone()));
                *part = lay_out_piece(answer, piece, before, has_text_above, page);
                fresh += part.rows.len();
            }
            has_text_above = true;
        }
    }
    fresh
}

/// Returns whether a part in `parts`, the parts of an answer that were laid out so far, has rows of the answer's text.
/// The first part does not count, because it shows what is above the text, such as the thinking.
fn text_before(parts: &[LayoutPart]) -> bool {
    parts.iter().skip(1).any(|part| !part.rows.is_empty())
}

fn lay_out_piece(
    answer: &Answer,
    piece: PieceKey,
    (before, shared): (Continuation, Option<TableLayout>),
    has_text_above: bool,
    page: LayoutParams<'_>,
) -> LayoutPart {
    let own = || piece.place.source(answer.text.as_str());
    let source = piece.completed.clone().unwrap_or_else(own);
    let RenderedPiece {
        mut rows,
        end_offset: ink,
        continuation,
        measured,
    } = markdown::piece(
        &source,
        &piece.place.joint,
        (before, shared.clone()),
        (page.columns, page.code_columns),
        page.theme,
    );
    // A piece that continues the block of the previous piece gets no blank row.
    if has_text_above && !rows.is_empty() && piece.place.joint == Joint::Apart {
        rows.insert(0, Row::default());
    }
    LayoutPart {
        piece: Some(piece),
        rows,
        visible_chars: ink,
        continuation,
        measured,
        shared,
    }
}

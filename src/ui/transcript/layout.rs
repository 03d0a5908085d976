//! Lays out a cell as rows. Pure: the same cell, width and theme give the same rows.

use ratatui::style::Style;
use ratatui::text::Span;

use super::answer::{Answer, Stream};
use super::cell::CellKind;
use super::markdown::{Filled, Joint, Measured, Onward, Rules, Shared};
use super::thoughts::thoughts;
use super::{fold, markdown};
use crate::domain::text::harmless;
use crate::protocol::event::Level;
use crate::ui::textual::wrap::{Break, Margin, Row, wrap};
use crate::ui::theme::Theme;

/// Shown below an answer that contains a tool call as text.
pub const CALL_AS_TEXT: &str = "the model wrote a tool call as text; it was not run (its server's chat template may lack tool support)";

/// Whether a cell is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Selected,
    Plain,
}

/// What precedes a cell; determines the spacing above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// Nothing: the cell is the first one.
    Nothing,
    /// This many dropped entries.
    Dropped(u64),
    /// A cell of the same group.
    Close,
    /// A cell of another group.
    Apart,
    /// The header of the call group that hides this cell.
    Hidden,
}

/// Parameters of a layout.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Width in columns.
    pub columns: usize,
    pub theme: &'a Theme,
}

/// The rows of a cell, in parts that can be replaced individually.
#[derive(Debug, Default)]
pub struct Laid {
    parts: Vec<Part>,
    /// Number of rows that were laid out anew instead of being reused.
    fresh: usize,
}

#[derive(Debug, Default)]
struct Part {
    /// The piece of an answer that the part shows.
    piece: Option<Piece>,
    rows: Vec<Row>,
    /// Number of visible characters in it.
    ink: usize,
    /// State for the part that follows.
    onward: Onward,
    /// Column measurements of its first table.
    measured: Option<Measured>,
    /// The layout that it shares with the other pieces of its table.
    shared: Option<Shared>,
}

/// Identifies a piece of an answer; its text never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    origin: u64,
    epoch: u32,
    place: markdown::Piece,
}

impl Part {
    fn rows(rows: Vec<Row>, ink: usize) -> Part {
        Part {
            rows,
            ink,
            ..Part::default()
        }
    }
}

impl Laid {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|p| p.rows.len()).sum()
    }

    /// Returns the number of rows that were laid out anew.
    pub fn fresh(&self) -> usize {
        self.fresh
    }

    fn anew(part: Part) -> Laid {
        let fresh = part.rows.len();
        let parts = vec![part];
        Laid { parts, fresh }
    }

    fn push_anew(&mut self, part: Part) {
        self.fresh += part.rows.len();
        self.parts.push(part);
    }

    /// Iterates over the rows from index `skip` on.
    pub fn rows(&self, skip: usize) -> impl Iterator<Item = &Row> {
        let mut skip = skip;
        self.parts.iter().flat_map(move |part| {
            let here = skip.min(part.rows.len());
            skip -= here;
            &part.rows[here..]
        })
    }

    /// Returns the number of visible characters before a row.
    pub fn ink_of(&self, mut line: usize) -> usize {
        let mut before = 0;
        for part in &self.parts {
            if let Some(row) = part.rows.get(line) {
                return before + row.ink;
            }
            line -= part.rows.len();
            before += part.ink;
        }
        before
    }

    /// Returns the index of the last row with at most `ink` visible characters before it.
    pub fn line_of(&self, ink: usize) -> usize {
        let (mut line, mut before) = (0, 0);
        let mut found = 0;
        for part in &self.parts {
            let here = part.rows.partition_point(|r| before + r.ink <= ink);
            if here > 0 {
                found = line + here - 1;
            }
            if here < part.rows.len() {
                break;
            }
            line += part.rows.len();
            before += part.ink;
        }
        found
    }
}

/// Lays out a cell. Reuses parts of `old` that show the same text; `old` must have the same width and theme.
pub fn lay(kind: &CellKind, above: Above, mark: Mark, page: Page<'_>, old: Option<Laid>) -> Laid {
    let mut head = Vec::new();
    match above {
        Above::Hidden => return Laid::default(),
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
        return Laid::default();
    }
    let mut ink = 0;
    match kind {
        CellKind::Prompt(text) => {
            let user = page.theme.user;
            let margin = Margin::hanging(vec![Span::styled("› ", user)], vec!["  ".into()]);
            let words = [Span::styled(harmless(text.trim_end()), user)];
            let rows = wrap(&words, page.columns, &margin, Break::Words, &mut ink);
            head.extend(rows);
        }
        CellKind::Answer(answer) => return said(answer, head, mark, page, old),
        CellKind::Tool(run) => head.extend(fold::rows(run, mark, page, &mut ink)),
        CellKind::CallGroup(calls) => head.extend(fold::call_group(calls, mark, page)),
        CellKind::Injected(entry) => head.extend(entry.rows(mark, page, &mut ink)),
        CellKind::Notice(level, text, hint) => {
            let (shape, style) = match level {
                Level::Info => ("·", page.theme.dim),
                Level::Warn => ("▲", page.theme.warn),
                Level::Error => ("✗", page.theme.error),
            };
            head.extend(plain(&format!("{shape} {text}"), style, page));
            if !hint.is_empty() {
                head.extend(plain(&format!("  {hint}"), page.theme.dim, page));
            }
        }
    }
    Laid::anew(Part::rows(head, ink))
}

/// Wraps a short text in one style; continuation rows are indented.
pub(super) fn plain(text: &str, style: Style, page: Page<'_>) -> Vec<Row> {
    let margin = Margin::hanging(vec![], vec!["  ".into()]);
    let words = [Span::styled(harmless(text), style)];
    wrap(&words, page.columns, &margin, Break::Words, &mut 0)
}

fn said(
    answer: &Answer,
    mut head: Vec<Row>,
    mark: Mark,
    page: Page<'_>,
    old: Option<Laid>,
) -> Laid {
    let mut ink = 0;
    if !answer.thinking.is_blank() {
        head.extend(thoughts(answer, mark, page, &mut ink));
    }
    let mut out = Laid::anew(Part::rows(head, ink));
    let mut known = old.map_or_else(Vec::new, |old| old.parts);
    let mut words_above = Words::None;
    let mut onward = Onward::default();
    let pieces: Vec<markdown::Piece> = answer.pieces().collect();
    let goes_on = |_: &markdown::Piece, next: &markdown::Piece| is_table(next);
    for run in pieces.chunk_by(goes_on) {
        // After the head, the parts correspond to the pieces, in order.
        let at = out.parts.len();
        let wanted = |place: &markdown::Piece| Piece {
            origin: answer.origin,
            epoch: answer.text.epoch(),
            place: place.clone(),
        };
        let same = |(at, place): (usize, &markdown::Piece)| {
            let part = known.get_mut(at)?;
            (part.piece.as_ref() == Some(&wanted(place))).then(|| std::mem::take(part))
        };
        let old: Vec<Option<Part>> = (at..).zip(run).map(same).collect();
        let common = old.iter().flatten().find_map(|part| part.shared.clone());
        let mut parts = Vec::new();
        for (place, old) in run.iter().zip(old) {
            let old = old.filter(|part| run.len() > 1 || part.shared.is_none());
            let part = old.unwrap_or_else(|| {
                let common = common.clone().filter(|_| run.len() > 1);
                let part = words(answer, wanted(place), (onward, common), words_above, page);
                out.fresh += part.rows.len();
                part
            });
            if !part.rows.is_empty() {
                words_above = Words::Some;
            }
            onward = part.onward;
            parts.push(part);
        }
        if run.len() > 1 {
            out.fresh += agree(&mut parts, answer, words_before(&out.parts), page);
        }
        out.parts.append(&mut parts);
    }
    if answer.progress == Stream::ClosedWithCall {
        let rows = plain(&format!("▲ {CALL_AS_TEXT}"), page.theme.dim, page);
        out.push_anew(Part::rows(rows, 0));
    }
    out
}

fn is_table(piece: &markdown::Piece) -> bool {
    matches!(piece.joint, Joint::Table(_))
}

/// Redraws the pieces of one table whose column widths or rules differ from what all pieces need now. Returns the
/// number of rows that were laid out.
fn agree(parts: &mut [Part], answer: &Answer, above: Words, page: Page<'_>) -> usize {
    let mut wished: Vec<usize> = Vec::new();
    for own in parts.iter().filter_map(|part| part.measured.as_ref()) {
        wished.resize(wished.len().max(own.wished.len()), 1);
        for (all, own) in wished.iter_mut().zip(&own.wished) {
            *all = (*all).max(*own);
        }
    }
    let mut fresh = 0;
    // First pass: column widths. Second pass: rules, once it is known whether rows wrap.
    for _ in 0..2 {
        let plain = Shared::of(&wished, page.columns, Rules::None);
        let fits = |part: &&Part| {
            part.shared
                .as_ref()
                .is_some_and(|s| s.widths == plain.widths)
        };
        let is_tall = |part: &Part| {
            part.measured
                .as_ref()
                .is_some_and(|m| m.rules == Rules::Drawn)
        };
        let rules = if parts.iter().filter(fits).any(is_tall) {
            Rules::Drawn
        } else {
            Rules::None
        };
        let common = Shared { rules, ..plain };
        let mut words_above = above;
        for part in parts.iter_mut() {
            if part.shared.as_ref() != Some(&common)
                && let Some(piece) = part.piece.take()
            {
                // Neither a list nor code continues into a table or between its pieces.
                let before = (Onward::default(), Some(common.clone()));
                *part = words(answer, piece, before, words_above, page);
                fresh += part.rows.len();
            }
            words_above = Words::Some;
        }
    }
    fresh
}

fn words_before(parts: &[Part]) -> Words {
    // The first part is the head.
    if parts.iter().skip(1).any(|part| !part.rows.is_empty()) {
        Words::Some
    } else {
        Words::None
    }
}

/// Whether an earlier piece of the same answer drew any rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    None,
    Some,
}

fn words(
    answer: &Answer,
    piece: Piece,
    (before, shared): (Onward, Option<Shared>),
    above: Words,
    page: Page<'_>,
) -> Part {
    let text = answer.text.as_str();
    let Filled {
        mut rows,
        ink,
        onward,
        measured,
    } = markdown::piece(
        text,
        &piece.place,
        (before, shared.clone()),
        page.columns,
        page.theme,
    );
    // A continued block gets no blank row.
    if above == Words::Some && !rows.is_empty() && piece.place.joint == Joint::Apart {
        rows.insert(0, Row::default());
    }
    Part {
        piece: Some(piece),
        rows,
        ink,
        onward,
        measured,
        shared,
    }
}

//! A cell as rows of a width. Pure: the same cell, width and theme give the same rows.

use ratatui::style::Style;
use ratatui::text::Span;

use super::answer::{Answer, Stream};
use super::cell::{Fold, Kind};
use super::markdown::{Joint, Onward};
use super::run::duration;
use super::{fold, markdown};
use crate::domain::text::harmless;
use crate::protocol::event::Level;
use crate::ui::theme::Theme;
use crate::ui::wrap::{Break, Margin, Row, fit, width, wrap};

/// Said behind an answer that holds a tool call as text.
pub const CALL_AS_TEXT: &str = "the model wrote a tool call as text; it was not run (its server's chat template may lack tool support)";
/// Fewest columns in which the first line of folded thoughts is shown.
const LEAST_THOUGHT: usize = 12;
/// Most rows of thoughts that are shown when they are opened.
const THOUGHTS_MAX: usize = 400;

/// Whether a cell is the selected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is.
    Selected,
    /// It is not.
    Plain,
}

/// What stands above a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// Nothing: it is the first one.
    Nothing,
    /// That many cells that were dropped.
    Dropped(u64),
    /// A cell of its own group.
    Close,
    /// A cell of another group.
    Apart,
    /// The line that stands for it: the cell is not shown.
    Hidden,
}

/// How to draw.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The columns that there are.
    pub columns: usize,
    /// The looks.
    pub theme: &'a Theme,
}

/// The rows of a cell, in parts that are drawn anew on their own.
#[derive(Debug, Default)]
pub struct Laid {
    parts: Vec<Part>,
    /// The rows of it that were laid out anew, and not taken from an older layout.
    fresh: usize,
}

#[derive(Debug, Default)]
struct Part {
    /// The piece of an answer that it shows.
    piece: Option<Piece>,
    rows: Vec<Row>,
    /// The visible characters in it.
    ink: usize,
    /// What goes on behind it.
    onward: Onward,
}

/// Which words of which answer: they never change.
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
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|p| p.rows.len()).sum()
    }

    /// How many of them were laid out anew.
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

    /// The rows from `skip` on.
    pub fn rows(&self, skip: usize) -> impl Iterator<Item = &Row> {
        let mut skip = skip;
        self.parts.iter().flat_map(move |part| {
            let here = skip.min(part.rows.len());
            skip -= here;
            &part.rows[here..]
        })
    }

    /// The visible characters before a row.
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

    /// The last row with at most that many visible characters before it.
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

/// Lays a cell out. What `old` holds of the same words is taken from there; it must be of the same page.
pub fn lay(kind: &Kind, above: Above, mark: Mark, page: Page<'_>, old: Option<Laid>) -> Laid {
    let mut head = Vec::new();
    match above {
        Above::Hidden => return Laid::default(),
        Above::Nothing | Above::Close => {}
        Above::Apart => head.push(Row::default()),
        Above::Dropped(count) => {
            let text = format!(
                "… {count} older entries are not kept here; .transcripts/ holds the conversation"
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
        Kind::Prompt(text) => {
            let user = page.theme.user;
            let margin = Margin::hanging(vec![Span::styled("› ", user)], vec!["  ".into()]);
            let words = [Span::styled(harmless(text.trim_end()), user)];
            let rows = wrap(&words, page.columns, &margin, Break::Words, &mut ink);
            head.extend(rows);
        }
        Kind::Answer(answer) => return said(answer, head, mark, page, old),
        Kind::Tool(run) => head.extend(fold::rows(run, mark, page, &mut ink)),
        Kind::Calls(calls) => head.extend(fold::calls(calls, mark, page)),
        Kind::Injected(what) => {
            let shape = match what.split_whitespace().next() {
                Some("letter" | "letters") => "✉",
                Some("claimed") => "⚑",
                Some(_) | None => "·",
            };
            head.extend(plain(&format!("{shape} {what}"), page.theme.dim, page));
        }
        Kind::Notice(level, text, hint) => {
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

/// A short text of one style; what does not fit hangs below it.
fn plain(text: &str, style: Style, page: Page<'_>) -> Vec<Row> {
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
    for (at, place) in answer.pieces().enumerate() {
        let piece = Piece {
            origin: answer.origin,
            epoch: answer.text.epoch(),
            place,
        };
        // Behind the head, the parts are the pieces in their order.
        match known.get_mut(at + 1) {
            Some(same) if same.piece.as_ref() == Some(&piece) => {
                out.parts.push(std::mem::take(same));
            }
            Some(_) | None => out.push_anew(words(answer, piece, onward, words_above, page)),
        }
        if let Some(part) = out.parts.last() {
            if !part.rows.is_empty() {
                words_above = Words::Some;
            }
            onward = part.onward;
        }
    }
    if answer.progress == Stream::ClosedWithCall {
        let rows = plain(&format!("▲ {CALL_AS_TEXT}"), page.theme.dim, page);
        out.push_anew(Part::rows(rows, 0));
    }
    out
}

/// Whether words of the same answer stand above a piece of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    None,
    Some,
}

fn words(answer: &Answer, piece: Piece, before: Onward, above: Words, page: Page<'_>) -> Part {
    let text = answer.text.as_str();
    let (mut rows, ink, onward) =
        markdown::piece(text, &piece.place, before, page.columns, page.theme);
    // What goes on is not set apart.
    if above == Words::Some && !rows.is_empty() && piece.place.joint == Joint::Apart {
        rows.insert(0, Row::default());
    }
    Part {
        piece: Some(piece),
        rows,
        ink,
        onward,
    }
}

/// The thoughts before an answer: one line of them, or all.
fn thoughts(answer: &Answer, mark: Mark, page: Page<'_>, ink: &mut usize) -> Vec<Row> {
    let text = answer.thinking.as_str().trim();
    let dim = page.theme.dim;
    let sign = match mark {
        Mark::Selected => page.theme.selection,
        Mark::Plain => dim,
    };
    let margin = Margin::hanging(vec![Span::styled("∴", sign), " ".into()], vec!["  ".into()]);
    match answer.fold {
        Fold::Folded => {
            // What is thought right now stands at the end; what was thought is known by its beginning.
            let mut lines = text.lines().filter(|l| !l.trim().is_empty());
            let (said, line) = match answer.progress {
                Stream::Open => ("thinking", lines.next_back()),
                Stream::Closed | Stream::ClosedWithCall => ("thought", lines.next()),
            };
            let said = match answer.thought_ms {
                0..1000 => said.to_string(),
                ms @ 1000..60_000 => format!("{said} for {} s", ms / 1000),
                ms => format!("{said} for {}", duration(ms)),
            };
            let mut spans = vec![Span::styled("∴", sign), " ".into()];
            let room = page.columns.saturating_sub(2);
            spans.push(Span::styled(fit(&said, room.max(1)), dim));
            let margin = spans.len();
            let room = room.saturating_sub(width(&said) + 3);
            // A word or two say nothing.
            if room >= LEAST_THOUGHT {
                spans.push(Span::styled(" · ", dim));
                spans.push(Span::styled(
                    fit(&harmless(line.unwrap_or_default()), room),
                    dim,
                ));
            }
            let ink = 0;
            vec![Row { spans, ink, margin }]
        }
        Fold::Open => {
            let words = [Span::styled(harmless(text), dim)];
            let rows = wrap(&words, page.columns, &margin, Break::Words, ink);
            fold::some(rows, THOUGHTS_MAX, page)
        }
    }
}

//! Renders Markdown as styled rows of a given width.
//!
//! The text comes from a model and is untrusted: control characters are escaped, HTML is shown as text, and the target
//! of a link is always shown, so that a link cannot hide where it leads.

mod address;
mod blocks;
mod code;
mod fences;
mod inline;
mod lines;
mod open_block;
mod page;
mod pieces;
mod rendered;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeWithOffset};

use crate::domain::text::escape_control_chars;
use crate::ui::text::wrap::Row;
use crate::ui::theme::Theme;
use crate::ui::transcript::markdown::page::{LineAbove, PageBuilder};
pub use crate::ui::transcript::markdown::pieces::{Joint, Piece, Pieces};
pub use crate::ui::transcript::markdown::rendered::{Continuation, RenderedPiece};
use crate::ui::transcript::markdown::table::HeadPlacement;
pub use crate::ui::transcript::markdown::table::{Rules, TableLayout, TableMeasure};

/// Renders `text` in rows of at most `columns` columns. `ink` counts visible characters ([`Row::text_offset`]).
pub fn rows(text: &str, columns: usize, theme: &Theme, ink: &mut usize) -> Vec<Row> {
    let page = PageBuilder::new(columns, theme, *ink);
    let done = build_page(page, text).finish();
    *ink = done.ink;
    done.rows
}

/// Renders a piece of `text`, without the blank row above it. `before` is the state at the end of the previous piece.
/// `shared` is the layout shared by all pieces of the table with which the piece begins, if any.
pub fn piece(
    text: &str,
    piece: &Piece,
    (before, shared): (Continuation, Option<TableLayout>),
    columns: usize,
    theme: &Theme,
) -> RenderedPiece {
    let page = PageBuilder::new(columns, theme, 0);
    let words = &text[piece.range.clone()];
    match &piece.joint {
        Joint::Apart | Joint::Paragraph => {
            build_page(page.with_table(shared, HeadPlacement::Here), words).finish()
        }
        Joint::Table(head) => {
            // Repeats the head, so that the parser sees a table.
            let table = [&text[head.clone()], words].concat();
            build_page(page.with_table(shared, HeadPlacement::Above), &table).finish()
        }
        Joint::List => build_page(page.with_list(before.list), words).finish(),
        Joint::Code(fence) => {
            // Repeats the opening fence, so that the parser sees code.
            let code = [&text[fence.clone()], words].concat();
            build_page(page.continuing_code(before.code), &code).finish()
        }
    }
}

fn build_page<'a>(mut page: PageBuilder<'a>, text: &str) -> PageBuilder<'a> {
    let text = escape_control_chars(text);
    let text = with_definitions_as_text(&text);
    let events = Parser::new_ext(&text, options()).into_offset_iter();
    // Merges adjacent texts, so that a URL is not split.
    for (event, range) in TextMergeWithOffset::new(events) {
        let before = match &event {
            Event::Start(Tag::Paragraph) => before(&text[..range.start]),
            Event::End(TagEnd::Table) if lines::is_open_row(&text[range.clone()]) => {
                page.mark_last_row_incomplete();
                LineAbove::Other
            }
            _ => LineAbove::Other,
        };
        page.take(event, before);
    }
    page
}

/// Returns whether the line above the end of `text` is blank. Quote markers count as blank.
fn before(text: &str) -> LineAbove {
    let mut lines = text.rsplit('\n').skip(1);
    match lines.next() {
        Some(line) if line.trim_matches([' ', '\t', '>']).is_empty() => LineAbove::Blank,
        Some(_) | None => LineAbove::Other,
    }
}

/// Returns the code blocks of a text as pairs of info string and code.
pub fn code_blocks(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut open: Option<(String, String)> = None;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let name = match &kind {
                    CodeBlockKind::Fenced(name) => name.trim(),
                    CodeBlockKind::Indented => "",
                };
                open = Some((name.to_string(), String::new()));
            }
            Event::Text(more) => {
                if let Some((_, code)) = &mut open {
                    code.push_str(&more);
                }
            }
            Event::End(TagEnd::CodeBlock) => out.extend(open.take()),
            _ => {}
        }
    }
    out
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Escapes link reference definitions (`[1]: address`). A definition draws nothing but would change earlier text that
/// was already drawn, so definitions and references are shown as written.
fn with_definitions_as_text(text: &str) -> Cow<'_, str> {
    let parser = Parser::new_ext(text, options());
    if parser.reference_definitions().iter().next().is_none() {
        return Cow::Borrowed(text);
    }
    let mut fence = fences::Fences::default();
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let is_code = fence.read_line(line);
        match line.find(|c: char| !" >".contains(c)) {
            Some(at) if !is_code && line[at..].starts_with('[') && line.contains("]:") => {
                out.push_str(&line[..at]);
                out.push('\\');
                out.push_str(&line[at..]);
            }
            Some(_) | None => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

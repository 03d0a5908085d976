//! Renders Markdown as styled rows of a given width.
//!
//! The text comes from a model and is not trusted: control characters are escaped, HTML is shown as text, and the
//! target of a link is always shown, so that the user sees where the link leads.

mod address;
mod blocks;
mod page;
mod pieces;
mod rendered;
mod table;
#[cfg(test)]
mod tests;
mod unfinished;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeWithOffset};

use crate::domain::text::escape_control_chars;
use crate::ui::text::wrap::Row;
use crate::ui::theme::Theme;
use crate::ui::transcript::markdown::page::PageBuilder;
pub use crate::ui::transcript::markdown::pieces::{Joint, Piece, Pieces};
pub use crate::ui::transcript::markdown::rendered::{Continuation, RenderedPiece};
pub use crate::ui::transcript::markdown::table::{TableLayout, TableMeasure};
pub use crate::ui::transcript::markdown::unfinished::complete;

/// Renders `text` in rows of at most `columns` columns. Adds the number of visible characters in the text to
/// `text_offset`, the number of visible characters before the text, as in [`Row::text_offset`].
pub fn rows(text: &str, columns: usize, theme: &Theme, text_offset: &mut usize) -> Vec<Row> {
    let page = PageBuilder::new(columns, theme, *text_offset);
    let done = build_page(page, text).finish();
    *text_offset = done.end_offset;
    done.rows
}

/// Renders one [`Piece`] of a text, without a blank row before it. `source` is the Markdown source of the piece, and
/// `joint` says how the piece continues the previous one. `before` is the state at the end of the previous piece. If the
/// piece is a part of a long table, `shared` is the layout that all pieces of the table share; otherwise it is `None`.
/// Code has `code_columns` columns, other text `columns`.
pub fn piece(
    source: &str,
    joint: &Joint,
    (before, shared): (Continuation, Option<TableLayout>),
    (columns, code_columns): (usize, usize),
    theme: &Theme,
) -> RenderedPiece {
    let page = PageBuilder::new(columns, theme, 0).with_code_columns(code_columns);
    let page = match joint {
        Joint::Apart | Joint::Paragraph | Joint::Table(_) => {
            let is_head_above = matches!(joint, Joint::Table(_));
            page.with_table(shared, is_head_above)
        }
        Joint::List => page.with_list(before.list),
        Joint::Code(_) => page.continuing_code(before.code),
    };
    build_page(page, source).finish()
}

fn build_page<'a>(mut page: PageBuilder<'a>, text: &str) -> PageBuilder<'a> {
    let text = parser_input(text);
    let events = Parser::new_ext(&text, options()).into_offset_iter();
    // Joins adjacent texts, so that no URL is split between two of them.
    for (event, range) in TextMergeWithOffset::new(events) {
        let is_after_blank = match &event {
            Event::Start(Tag::Paragraph) => is_after_blank(&text[..range.start]),
            Event::End(TagEnd::Table) if is_open_row(&text[range.clone()]) => {
                page.mark_last_row_incomplete();
                false
            }
            _ => false,
        };
        page.take(event, is_after_blank);
    }
    page
}

/// Returns whether the last line of `text` follows a blank line. A line with only quote markers counts as blank.
fn is_after_blank(text: &str) -> bool {
    let above = text.rsplit('\n').nth(1);
    above.is_some_and(|line| line.trim_matches([' ', '\t', '>']).is_empty())
}

/// Returns the code blocks of a text, each as its info string (such as the language) and its code.
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

/// Returns whether the last row of a table is still being written. This is assumed if the first row ends with a
/// vertical bar and the last one does not.
fn is_open_row(table: &str) -> bool {
    let last = table.rsplit('\n').next().unwrap_or_default().trim_end();
    let head = table.lines().next().unwrap_or_default().trim_end();
    !last.is_empty() && !last.ends_with('|') && head.ends_with('|')
}

/// Returns the text for the parser, which has the same lines as `text`. Control characters are escaped. Link reference
/// definitions (`[1]: address`) are escaped too, and therefore shown as text. Otherwise a definition that arrives later
/// would change text that is already drawn above it.
fn parser_input(text: &str) -> String {
    let text = escape_control_chars(text);
    let parser = Parser::new_ext(&text, options());
    if parser.reference_definitions().iter().next().is_none() {
        return text;
    }
    let is_verbatim =
        |event: &Event<'_>| matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock));
    let verbatim = parser
        .into_offset_iter()
        .filter(|(event, _)| is_verbatim(event));
    let verbatim: Vec<Range<usize>> = verbatim.map(|(_, range)| range).collect();
    let mut out = String::with_capacity(text.len() + 64);
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let block = verbatim.get(verbatim.partition_point(|block| block.end <= start));
        let is_verbatim = block.is_some_and(|block| block.start < end);
        match line.find(|c: char| !" >".contains(c)) {
            Some(at) if !is_verbatim && line[at..].starts_with('[') && line.contains("]:") => {
                out.push_str(&line[..at]);
                out.push('\\');
                out.push_str(&line[at..]);
            }
            Some(_) | None => out.push_str(line),
        }
    }
    out
}

//! Markdown as styled rows of a width.
//!
//! The words are a model's: they are made harmless here, HTML is shown as the text that it is, and an
//! address is always shown, so that a link can not hide where it leads.

mod blocks;
mod page;
mod pieces;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use pulldown_cmark::{Options, Parser};

pub use pieces::Pieces;

use crate::domain::text::harmless;
use crate::ui::theme::Theme;
use crate::ui::wrap::Row;
use page::Page;

/// `text` in rows of at most `columns`. `ink` counts the visible characters ([`Row::ink`]).
pub fn rows(text: &str, columns: usize, theme: &Theme, ink: &mut usize) -> Vec<Row> {
    let text = harmless(text);
    let text = with_definitions_as_text(&text);
    let mut page = Page::new(columns, theme, *ink);
    for event in Parser::new_ext(&text, options()) {
        page.take(event);
    }
    let (rows, end) = page.finish();
    *ink = end;
    rows
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A definition (`[1]: address`) draws nothing and acts on text that may long have been drawn: here it is
/// text, and what refers to it stays as it was written.
fn with_definitions_as_text(text: &str) -> Cow<'_, str> {
    let parser = Parser::new_ext(text, options());
    if parser.reference_definitions().iter().next().is_none() {
        return Cow::Borrowed(text);
    }
    let mut fence = pieces::Fences::default();
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let is_code = fence.take(line);
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

//! Builds rows from the events of the Markdown parser.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::highlight::{Language, OpenToken};
use crate::ui::text::wrap::{Break, Row, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::transcript::markdown::address::address;
use crate::ui::transcript::markdown::blocks::{Blocks, ListState};
use crate::ui::transcript::markdown::rendered::{Continuation, RenderedPiece};
use crate::ui::transcript::markdown::table::{Table, TableLayout, TableMeasure};

/// Maximum width of the line that draws a thematic break, in columns.
const RULE_MAX: usize = 60;

/// Builds the rows of a Markdown text. A streamed text is rendered in parts that can be drawn again one by one, its
/// [`Piece`](super::Piece)s; each has a builder of its own.
pub struct PageBuilder<'a> {
    columns: usize,
    theme: &'a Theme,
    rows: Vec<Row>,
    text_offset: usize,
    blocks: Blocks,
    /// The text of the open block that is not drawn yet.
    spans: Vec<Span<'static>>,
    /// The stack of text styles; the last one applies.
    styles: Vec<Style>,
    /// Whether the open block is a code block.
    is_code: bool,
    /// The open links, each with its target and the index in `spans` where its text begins.
    links: Vec<(String, usize)>,
    /// The language of the open code block, if it is known.
    language: Option<Language>,
    /// The token that the code so far left open, such as a block comment.
    inside: OpenToken,
    /// Whether the text begins inside a code block whose start, with the label, is in the previous
    /// [`Piece`](super::Piece).
    continues_code: bool,
    table: Option<Table>,
    /// For a long table that is rendered in several [`Piece`](super::Piece)s: the layout that they share, and whether
    /// the table's head is in an earlier piece. Applies to the first table.
    shared: (Option<TableLayout>, bool),
    /// Column measurements of the first table.
    measured: Option<TableMeasure>,
}

impl<'a> PageBuilder<'a> {
    /// Creates an empty page. `text_offset` is the number of visible characters before it.
    pub fn new(columns: usize, theme: &'a Theme, text_offset: usize) -> PageBuilder<'a> {
        PageBuilder {
            columns: columns.max(1),
            theme,
            rows: Vec::new(),
            text_offset,
            blocks: Blocks::new(),
            spans: Vec::new(),
            styles: vec![theme.assistant],
            is_code: false,
            links: Vec::new(),
            language: None,
            inside: OpenToken::default(),
            continues_code: false,
            table: None,
            shared: (None, false),
            measured: None,
        }
    }

    /// Sets the shared layout for a text that begins with a part of a long table. `is_head_above` says whether the head
    /// of the table is in an earlier [`Piece`](super::Piece).
    #[must_use]
    pub fn with_table(self, shared: Option<TableLayout>, is_head_above: bool) -> PageBuilder<'a> {
        PageBuilder {
            shared: (shared, is_head_above),
            ..self
        }
    }

    /// Makes the first code block a continuation of the one that ends the previous [`Piece`](super::Piece). `inside` is
    /// the token that the code left open there.
    #[must_use]
    pub fn continuing_code(self, inside: OpenToken) -> PageBuilder<'a> {
        PageBuilder {
            inside,
            continues_code: true,
            ..self
        }
    }

    /// Makes the first list a continuation of `list`, the list at the end of the previous [`Piece`](super::Piece).
    #[must_use]
    pub fn with_list(mut self, list: Option<ListState>) -> PageBuilder<'a> {
        self.blocks.continue_list(list);
        self
    }

    /// Draws the remaining text. Returns the rows and the state from which the next [`Piece`](super::Piece) of the text
    /// continues.
    pub fn finish(mut self) -> RenderedPiece {
        self.flush();
        RenderedPiece {
            continuation: Continuation {
                code: self.inside,
                list: self.blocks.ended(),
            },
            rows: self.rows,
            end_offset: self.text_offset,
            measured: self.measured,
        }
    }

    /// Marks the last row of the current table as incomplete, so that it does not change the column widths.
    pub fn mark_last_row_incomplete(&mut self) {
        if let Some(table) = &mut self.table {
            table.leave_last_unmeasured();
        }
    }

    /// Handles a parser event. Control characters are escaped once more, because the parser decodes entities such as
    /// `&#27;`. If the event begins a paragraph, `is_after_blank` says whether a blank line precedes it.
    pub fn take(&mut self, event: Event<'_>, is_after_blank: bool) {
        match event {
            Event::Start(tag) => self.start(tag, is_after_blank),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if !self.is_code && self.links.is_empty() => {
                self.put_words(&escape_control_chars(&text));
            }
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.put(escape_control_chars(&text), self.style()),
            Event::Code(text) => {
                let style = self.style().patch(self.theme.code);
                self.put(escape_control_chars(&text), style);
            }
            // Models use line breaks deliberately, so soft breaks are kept.
            Event::SoftBreak | Event::HardBreak => self.put("\n".into(), self.style()),
            Event::Rule => {
                self.begin();
                let margin = self.blocks.margin(self.columns, self.theme);
                let room = self.columns.saturating_sub(margin.columns()).max(1);
                let mut spans = margin.first;
                let rule = "─".repeat(room.min(RULE_MAX));
                spans.push(Span::styled(rule, self.theme.dim));
                self.rows.push(Row::decoration(spans, self.text_offset));
            }
            Event::TaskListMarker(is_checked) => self.blocks.mark_as_task(self.theme, is_checked),
        }
    }

    fn start(&mut self, tag: Tag<'_>, is_after_blank: bool) {
        match tag {
            // A blank line decides, not whether the parser treats the list as loose: that is only known at the end of
            // the list.
            Tag::Paragraph => self.begin_block(is_after_blank),
            Tag::HtmlBlock => self.begin(),
            Tag::Heading { level, .. } => {
                self.begin();
                self.styles.push(self.theme.heading);
                self.put(
                    format!("{} ", "#".repeat(depth(level))),
                    self.theme.heading.patch(self.theme.dim),
                );
            }
            Tag::BlockQuote(_) => {
                self.begin();
                self.blocks.begin_quote();
                self.styles.push(self.style().patch(self.theme.quote));
            }
            Tag::CodeBlock(kind) => {
                self.begin();
                let is_continued = std::mem::take(&mut self.continues_code);
                if !is_continued {
                    self.inside = OpenToken::default();
                }
                if let CodeBlockKind::Fenced(info) = &kind {
                    let info = one_line(info.trim());
                    self.language = Language::of_fence(&info);
                    if !info.is_empty() && !is_continued {
                        self.draw_label(&info);
                    }
                }
                self.is_code = true;
                self.styles.push(self.theme.code);
            }
            Tag::List(first) => {
                self.begin();
                self.blocks.begin_list(first);
            }
            Tag::Item => {
                self.flush();
                if self.blocks.begin_item(self.theme) {
                    self.gap();
                }
            }
            Tag::Emphasis => self.push_modifier(Modifier::ITALIC),
            Tag::Strong => self.push_modifier(Modifier::BOLD),
            Tag::Strikethrough => self.push_modifier(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((one_line(&dest_url), self.spans.len()));
                self.styles.push(self.style().patch(self.theme.link));
            }
            Tag::Table(alignments) => {
                self.begin();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead => {
                self.begin_row();
                self.styles.push(self.theme.heading);
            }
            Tag::TableRow => self.begin_row(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.styles.pop();
                self.blocks.end();
            }
            TagEnd::CodeBlock => {
                self.flush();
                self.language = None;
                self.is_code = false;
                self.styles.pop();
            }
            TagEnd::List(_) => {
                self.flush();
                self.blocks.end_list();
            }
            TagEnd::Item => {
                self.flush();
                if self.blocks.has_mark() {
                    let margin = self.blocks.margin(self.columns, self.theme);
                    self.rows
                        .push(Row::decoration(margin.first, self.text_offset));
                }
                self.blocks.end();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.put(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let margin = self.blocks.margin(self.columns, self.theme);
                    let (shared, is_head_above) = std::mem::take(&mut self.shared);
                    let (rows, measured) = table.rows(
                        (self.columns, &margin),
                        (shared.as_ref(), is_head_above),
                        self.theme,
                        &mut self.text_offset,
                    );
                    self.rows.extend(rows);
                    self.measured.get_or_insert(measured);
                }
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_modifier(&mut self, modifier: Modifier) {
        self.styles.push(self.style().add_modifier(modifier));
    }

    fn put(&mut self, text: String, style: Style) {
        self.spans.push(Span::styled(text, style));
    }

    /// Adds text and styles the URLs in it as links.
    fn put_words(&mut self, text: &str) {
        let style = self.style();
        let link = style.patch(self.theme.link);
        let mut rest = text;
        while let Some(range) = address(rest) {
            self.put(rest[..range.start].to_string(), style);
            self.put(rest[range.clone()].to_string(), link);
            rest = &rest[range.end..];
        }
        self.put(rest.to_string(), style);
    }

    /// Adds the target of a link after its text, unless both are the same.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, start)) = self.links.pop() else {
            return;
        };
        let words: String = self
            .spans
            .iter()
            .skip(start)
            .map(|s| s.content.as_ref())
            .collect();
        let is_said = words == address || address.strip_prefix("mailto:") == Some(words.as_str());
        if !address.is_empty() && !is_said {
            self.put(format!(" ({address})"), self.theme.dim);
        }
    }

    fn begin_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.begin_row();
        }
    }

    fn begin(&mut self) {
        let is_new_paragraph = false;
        self.begin_block(is_new_paragraph);
    }

    /// Begins a block. `is_new_paragraph` says whether it is a paragraph after a blank line.
    fn begin_block(&mut self, is_new_paragraph: bool) {
        self.flush();
        if self.blocks.begin(is_new_paragraph) {
            self.gap();
        }
    }

    fn gap(&mut self) {
        let spans = self.blocks.gap(self.columns, self.theme);
        self.rows.push(Row::decoration(spans, self.text_offset));
    }

    /// Draws the text that was collected for the open block.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        trim_end(&mut self.spans);
        if !self.is_code {
            return self.draw(Break::Words);
        }
        if let Some(language) = self.language {
            let code: String = self.spans.iter().map(|s| s.content.as_ref()).collect();
            self.spans.clear();
            for (at, line) in code.split('\n').enumerate() {
                if at > 0 {
                    self.spans.push("\n".into());
                }
                let spans = language.spans(line, &mut self.inside, self.theme);
                self.spans.extend(spans);
            }
        }
        self.draw_code();
    }

    fn draw(&mut self, how: Break) {
        self.blocks.note_text();
        let margin = self.blocks.margin(self.columns, self.theme);
        let spans = std::mem::take(&mut self.spans);
        self.rows.extend(wrap(
            &spans,
            self.columns,
            &margin,
            how,
            &mut self.text_offset,
        ));
    }

    /// Draws the collected lines of code: on the background for code, or with a bar at their left if the theme has
    /// none.
    fn draw_code(&mut self) {
        self.blocks.note_text();
        let mut margin = self.blocks.margin(self.columns, self.theme);
        let ground = self.theme.code_ground;
        let edge = match ground.bg {
            Some(_) => Span::raw("  "),
            None => Span::styled("▏ ", self.theme.dim),
        };
        let around = [&mut margin.first, &mut margin.line].map(|spans| {
            spans.push(edge.clone());
            spans.len() - 1
        });
        margin.rest.push(Span::styled("↳ ", self.theme.dim));
        let spans = std::mem::take(&mut self.spans);
        let offset = &mut self.text_offset;
        let rows = wrap(&spans, self.columns, &margin, Break::Anywhere, offset);
        let on_ground = |row: Row| match ground.bg {
            Some(_) => {
                let from = around[0].min(row.margin);
                row.on_ground(ground, from, self.columns)
            }
            None => row,
        };
        self.rows.extend(rows.into_iter().map(on_ground));
    }

    /// Draws the row above a block of code, with its info string at the right, or at the left if the theme has no
    /// background for code.
    fn draw_label(&mut self, info: &str) {
        let theme = self.theme;
        self.spans.push(Span::styled(info.to_string(), theme.dim));
        if theme.code_ground.bg.is_some() {
            let around = self.blocks.gap(self.columns, theme);
            let around: usize = around.iter().map(|span| width(&span.content)).sum();
            let room = self.columns.saturating_sub(around + 3);
            let missing = room.saturating_sub(width(info));
            self.spans.insert(0, Span::raw(" ".repeat(missing)));
        }
        self.draw_code();
    }
}

/// Removes the newlines at the end of `spans`.
fn trim_end(spans: &mut Vec<Span<'static>>) {
    while let Some(mut last) = spans.pop() {
        let text_len = last.content.trim_end_matches('\n').len();
        if text_len > 0 || spans.is_empty() {
            last.content.to_mut().truncate(text_len);
            spans.push(last);
            return;
        }
    }
}

fn depth(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

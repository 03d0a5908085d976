//! Builds rows from the events of the Markdown parser.

mod code;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::highlight::{Language, OpenToken};
use crate::ui::text::wrap::{Break, Row, wrap};
use crate::ui::theme::Theme;
use crate::ui::transcript::markdown::address::address;
use crate::ui::transcript::markdown::blocks::{Blocks, ListState};
use crate::ui::transcript::markdown::rendered::{Continuation, RenderedPiece};
use crate::ui::transcript::markdown::table::{Table, TableLayout, TableMeasure};

/// Maximum width of the line that is drawn for a thematic break (`---`), in columns.
const RULE_MAX: usize = 60;

/// Builds the rows of a Markdown text, or of one [`Piece`](super::Piece) of a streamed text. Each piece has a builder
/// of its own, so it can be rendered again without the other pieces.
pub struct PageBuilder<'a> {
    columns: usize,
    /// The width of code, in columns; at least `columns`.
    code_columns: usize,
    theme: &'a Theme,
    rows: Vec<Row>,
    text_offset: usize,
    blocks: Blocks,
    /// The collected text of the current block, for which no rows were added yet.
    spans: Vec<Span<'static>>,
    /// The styles of the enclosing markup, innermost last. The last one applies.
    styles: Vec<Style>,
    /// Whether the current block is a code block.
    is_code: bool,
    /// The links that have begun and not ended, each with its target and with the index in `spans` at which the text of
    /// the link begins.
    links: Vec<(String, usize)>,
    /// The language of the current code block; `None` if it is unknown.
    language: Option<Language>,
    /// The info string of the current code block, such as the name of the language, if it is not drawn yet.
    label: Option<String>,
    /// The token, such as a block comment, that has not ended in the code so far.
    inside: OpenToken,
    /// Whether the first code block continues the code block at the end of the previous [`Piece`](super::Piece). If so,
    /// the row with the info string, which is above a code block, is not drawn again.
    continues_code: bool,
    table: Option<Table>,
    /// The layout of the first table, and whether the head of this table is in an earlier [`Piece`](super::Piece). All
    /// pieces of a long table share a layout. If the layout is `None`, it is computed from the rows of the table.
    shared: (Option<TableLayout>, bool),
    /// The measurements of the first table; `None` if no table has ended so far.
    measured: Option<TableMeasure>,
}

impl<'a> PageBuilder<'a> {
    /// Creates a builder without rows. `text_offset` is the number of visible characters before the text.
    pub fn new(columns: usize, theme: &'a Theme, text_offset: usize) -> PageBuilder<'a> {
        PageBuilder {
            columns: columns.max(1),
            code_columns: columns.max(1),
            theme,
            rows: Vec::new(),
            text_offset,
            blocks: Blocks::new(),
            spans: Vec::new(),
            styles: vec![theme.assistant],
            is_code: false,
            links: Vec::new(),
            language: None,
            label: None,
            inside: OpenToken::default(),
            continues_code: false,
            table: None,
            shared: (None, false),
            measured: None,
        }
    }

    /// Sets the width of code, which may be wider than other text.
    #[must_use]
    pub fn with_code_columns(self, columns: usize) -> PageBuilder<'a> {
        PageBuilder {
            code_columns: columns.max(self.columns),
            ..self
        }
    }

    /// Sets the layout of the first table, for a [`Piece`](super::Piece) of a long table. All pieces of the table share
    /// the layout. `is_head_above` is true if the head of the table is in an earlier piece.
    #[must_use]
    pub fn with_table(self, shared: Option<TableLayout>, is_head_above: bool) -> PageBuilder<'a> {
        PageBuilder {
            shared: (shared, is_head_above),
            ..self
        }
    }

    /// Makes the first code block continue the code block at the end of the previous [`Piece`](super::Piece). `inside`
    /// is the token, such as a block comment, that has not ended in that piece.
    #[must_use]
    pub fn continuing_code(self, inside: OpenToken) -> PageBuilder<'a> {
        PageBuilder {
            inside,
            continues_code: true,
            ..self
        }
    }

    /// Makes the first list continue from `list`, the state of the list at the end of the previous
    /// [`Piece`](super::Piece).
    #[must_use]
    pub fn with_list(mut self, list: Option<ListState>) -> PageBuilder<'a> {
        self.blocks.continue_list(list);
        self
    }

    /// Adds the rows of the text that was collected last. Returns all rows, and the state from which the next
    /// [`Piece`](super::Piece) of the text continues.
    pub fn finish(mut self) -> RenderedPiece {
        self.flush();
        RenderedPiece {
            continuation: Continuation {
                code: self.inside,
                list: self.blocks.ended_list(),
            },
            rows: self.rows,
            end_offset: self.text_offset,
            measured: self.measured,
        }
    }

    /// Marks the last row of the current table as still being written, so that it does not change the column widths.
    pub fn mark_last_row_incomplete(&mut self) {
        if let Some(table) = &mut self.table {
            table.leave_last_unmeasured();
        }
    }

    /// Handles an event of the parser. Escapes control characters again, because the parser decodes entities such as
    /// `&#27;`. If the event begins a paragraph, `is_after_blank` is true if a blank line is before the paragraph.
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
            // Models break lines on purpose, so a single line break in the source is drawn as a line break.
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
            // Whether a blank line precedes the paragraph decides about the spacing. Whether the parser treats the list
            // as loose cannot decide, because that is known only at the end of the list.
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
                        self.label = Some(info);
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
                // A block without code shows its language alone.
                if let Some(label) = self.label.take() {
                    self.draw_label(&label);
                }
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

    /// Adds text. URLs in the text get the style of links.
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

    /// Adds the target of a link after the link's text, unless the text is the target.
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

    /// Begins a block. `is_new_paragraph` is true if the block is a paragraph after a blank line.
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

    /// Adds the rows of the text that was collected for the current block.
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
}

/// Removes the line breaks at the end of `spans`.
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

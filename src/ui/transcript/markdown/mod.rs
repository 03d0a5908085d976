//! Markdown as styled lines of a width. The words are the model's: they come here harmless.

mod table;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::Line;

use super::flow::{Break, Margin, Run, flow};
use crate::domain::text::harmless;
use crate::ui::theme::Theme;

/// `text` in lines of at most `columns`.
pub fn lines(text: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = harmless(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(columns, theme);
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.flush();
    while page.lines.last().is_some_and(|l| l.width() == 0) {
        page.lines.pop();
    }
    page.lines
}

/// A list that is open: the next number, if it has numbers.
struct List {
    next: Option<u64>,
}

/// What a block is made of besides its words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Words,
    Code,
}

struct Page<'a> {
    columns: usize,
    theme: &'a Theme,
    lines: Vec<Line<'static>>,
    /// The words of the block that is open.
    runs: Vec<Run>,
    styles: Vec<Style>,
    lists: Vec<List>,
    /// In front of the next item's first line.
    bullet: Option<String>,
    quotes: usize,
    shape: Shape,
    links: Vec<String>,
    table: Option<Table>,
}

#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl<'a> Page<'a> {
    fn new(columns: usize, theme: &'a Theme) -> Page<'a> {
        Page {
            columns: columns.max(1),
            theme,
            lines: Vec::new(),
            runs: Vec::new(),
            styles: vec![theme.assistant],
            lists: Vec::new(),
            bullet: None,
            quotes: 0,
            shape: Shape::Words,
            links: Vec::new(),
            table: None,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.put(&text),
            Event::Code(text) => {
                let style = self.style().patch(self.theme.code);
                self.put_styled(&text, style);
            }
            Event::FootnoteReference(text) => self.put(&format!("[{text}]")),
            // Models break lines where they mean it, more often than not.
            Event::SoftBreak | Event::HardBreak => self.put("\n"),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.columns.min(40));
                self.lines.push(Line::styled(rule, self.theme.dim));
            }
            Event::TaskListMarker(done) => {
                self.put(if done { "☑ " } else { "☐ " });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let theme = self.theme;
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.styles.push(theme.heading);
                if matches!(level, HeadingLevel::H1 | HeadingLevel::H2) {
                    self.put(if level == HeadingLevel::H1 {
                        "# "
                    } else {
                        "## "
                    });
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.gap();
                self.quotes += 1;
                self.styles.push(theme.quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.shape = Shape::Code;
                self.styles.push(theme.code);
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let margin = self.margin();
                    let name = vec![(format!("  {language}"), theme.dim)];
                    self.lines
                        .extend(flow(&name, self.columns, &margin, Break::Anywhere));
                    self.bullet = None;
                }
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(List { next: first });
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(List { next: Some(n) }) => {
                        let text = format!("{n}. ");
                        *n += 1;
                        text
                    }
                    Some(List { next: None }) | None => "• ".to_string(),
                };
                self.bullet = Some(bullet);
            }
            Tag::Emphasis => self.push_style(Style::italic),
            Tag::Strong => self.push_style(Style::bold),
            Tag::Strikethrough => self.push_style(Style::crossed_out),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.styles.push(self.style().patch(theme.link));
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => self.runs.clear(),
            Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {
                if matches!(tag, Tag::HtmlBlock) {
                    self.begin_block();
                }
            }
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
                self.quotes = self.quotes.saturating_sub(1);
                self.styles.pop();
            }
            TagEnd::CodeBlock => {
                self.flush();
                self.shape = Shape::Words;
                self.styles.pop();
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.bullet = None;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(url) = self.links.pop() {
                    let shown: String = self.runs.iter().map(|(t, _)| t.as_str()).collect();
                    if !url.is_empty() && !shown.ends_with(&url) {
                        self.put_styled(&format!(" ({url})"), self.theme.dim);
                    }
                }
            }
            TagEnd::TableCell => {
                let text: String = self.runs.drain(..).map(|(t, _)| t).collect();
                if let Some(row) = self.table.as_mut().and_then(|t| t.rows.last_mut()) {
                    row.push(text.replace('\n', " "));
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.lines.extend(table::lines(
                        &table.rows,
                        &table.alignments,
                        self.columns,
                        self.theme,
                    ));
                }
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(self.theme.assistant)
    }

    fn push_style(&mut self, change: impl FnOnce(Style) -> Style) {
        let style = change(self.style());
        self.styles.push(style);
    }

    fn put(&mut self, text: &str) {
        let style = self.style();
        self.put_styled(text, style);
    }

    fn put_styled(&mut self, text: &str, style: Style) {
        self.runs.push((text.into(), style));
    }

    /// A block begins: what is open is ended, and a blank line goes between, but not inside lists.
    fn begin_block(&mut self) {
        self.flush();
        if self.lists.is_empty() {
            self.gap();
        }
    }

    fn gap(&mut self) {
        if self.lines.last().is_some_and(|l| l.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    fn flush(&mut self) {
        if self.runs.is_empty() {
            return;
        }
        let mut runs = std::mem::take(&mut self.runs);
        let mut margin = self.margin();
        let how = match self.shape {
            Shape::Words => Break::Words,
            Shape::Code => {
                if let Some((last, _)) = runs.last_mut() {
                    let kept = last.trim_end_matches('\n').len();
                    last.truncate(kept);
                }
                for side in [&mut margin.first, &mut margin.rest] {
                    side.push(("  ".into(), Style::default()));
                }
                Break::Anywhere
            }
        };
        self.bullet = None;
        self.lines.extend(flow(&runs, self.columns, &margin, how));
    }

    /// Quote bars, the indent of lists, and the bullet of an item that begins.
    fn margin(&self) -> Margin {
        let mut base: Vec<Run> = Vec::new();
        for _ in 0..self.quotes.min(4) {
            base.push(("▎ ".into(), self.theme.quote));
        }
        let deep = self.lists.len().min(8);
        if deep > 1 {
            base.push(("  ".repeat(deep - 1), Style::default()));
        }
        let mut margin = Margin::all(base);
        if deep > 0 {
            let indent = match (&self.bullet, self.lists.last()) {
                (Some(bullet), _) => bullet.chars().count(),
                (None, Some(List { next: Some(n) })) => n.to_string().len() + 2,
                (None, Some(List { next: None }) | None) => 2,
            };
            let blank = " ".repeat(indent);
            let first = self.bullet.clone().unwrap_or_else(|| blank.clone());
            margin.first.push((first, self.theme.accent));
            margin.rest.push((blank, Style::default()));
        }
        margin
    }
}

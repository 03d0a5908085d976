//! What lies over the panes, in a frame in the middle.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::frame;
use crate::ui::line_input::LineInput;
use crate::ui::popup::{Choice, CommentBox, CommentStage, Picker, Popup, Reader, Searching};
use crate::ui::readers::{self, centered};
use crate::ui::state::{Models, UiState};
use crate::ui::textual::{fit, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::{pickers, rows, sentence};

/// Draws a popup; where the cursor is to be comes back.
pub fn draw(
    state: &UiState,
    popup: &Popup,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    match popup {
        Popup::Reader(reader) => read(state, reader, theme, screen, buffer),
        Popup::Picker(picker) => Some(pick(state, picker, theme, screen, buffer)),
        Popup::Jobs { row } => {
            super::jobs::draw(state, *row, theme, screen, buffer);
            None
        }
        Popup::Comment(comment) => write(state, comment, theme, screen, buffer),
        Popup::Confirm(question) => {
            super::question::draw(state, question, theme, screen, buffer);
            None
        }
    }
}

/// Whether what lies below a popup matters no more while it is open; else it is about what can be seen beside it.
pub fn covers(popup: &Popup) -> bool {
    match popup {
        Popup::Reader(_) | Popup::Jobs { .. } | Popup::Confirm(_) => true,
        Popup::Comment(_) => false,
        Popup::Picker(picker) => match picker.choice {
            Choice::Palette { .. } | Choice::Models | Choice::Rules => true,
            Choice::Scopes(_) | Choice::Copy | Choice::Themes => false,
        },
    }
}

/// Draws the frame; the place inside comes back.
pub fn open(
    title: &str,
    below: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    Clear.render(area, buffer);
    buffer.set_style(area, theme.panel);
    let room = usize::from(area.width).saturating_sub(4);
    let mut block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.border_focused)
        .title_style(theme.panel)
        .title_top(Line::styled(
            format!(" {} ", fit(title, room)),
            theme.title_focused,
        ));
    if !below.is_empty() {
        let mut spans = vec![Span::raw(" ")];
        spans.extend(below);
        spans.push(Span::raw(" "));
        block = block.title_bottom(Line::from(spans).right_aligned());
    }
    block.render(area, buffer);
    pickers::inside(area)
}

fn read(
    state: &UiState,
    reader: &Reader,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let most = readers::area(screen);
    let lines = readers::lines(state, reader, most.width.saturating_sub(4), theme);
    let area = readers::place(screen, reader, lines.len());
    let height = area.height.saturating_sub(2);
    let first = reader
        .scroll
        .min(lines.len().saturating_sub(usize::from(height)));
    let below = frame::beyond(lines.len(), first, height, theme);
    let inner = open(&readers::title(state, reader), below, theme, area, buffer);
    let (cursor, inner) = match reader.searching {
        Searching::Rest => (None, inner),
        Searching::Typing => {
            let (at, rest) = search(&reader.search, theme, inner, buffer);
            (Some(at), rest)
        }
    };
    for (line, row) in lines.iter().skip(first).zip(inner.rows()) {
        line.render(row, buffer);
    }
    cursor
}

/// Draws a search line on the first row; the cursor's place and the place below come back.
fn search(input: &LineInput, theme: &Theme, area: Rect, buffer: &mut Buffer) -> (Position, Rect) {
    let row = Rect {
        height: 1.min(area.height),
        ..area
    };
    let room = usize::from(row.width).saturating_sub(3);
    // The end is what is being written: a long text loses its beginning.
    let mut text = input.text();
    while width(text) > room {
        let mut chars = text.chars();
        chars.next();
        text = chars.as_str();
    }
    Line::from(vec![
        Span::styled("› ", theme.accent),
        Span::styled(text, theme.text),
    ])
    .render(row, buffer);
    let column = u16::try_from(width(text) + 2).unwrap_or(0);
    let at = Position::new(row.x + column, row.y);
    let rest = Rect {
        y: area.y + row.height,
        height: area.height - row.height,
        ..area
    };
    (at, rest)
}

fn pick(
    state: &UiState,
    picker: &Picker,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Position {
    let picks = rows::picks(state, picker);
    let pickers::Place { area, list, first } = pickers::picker(state, screen, picker, picks.len());
    let title = match picker.choice {
        Choice::Palette { .. } => "Actions",
        Choice::Models => "Model",
        Choice::Themes => "Theme",
        Choice::Copy => "Copy",
        Choice::Scopes(_) => "Allow for the whole team until crewdeck ends",
        Choice::Rules => "Allowed until crewdeck ends: Enter takes it back",
    };
    let below = frame::beyond(picks.len(), first, list.height, theme);
    let inner = open(title, below, theme, area, buffer);
    let (cursor, _) = search(&picker.search, theme, inner, buffer);
    if picks.is_empty() {
        let words = nothing(state, picker);
        for (line, row) in wrap(&words, usize::from(list.width))
            .iter()
            .zip(list.rows())
        {
            Line::styled(line.as_str(), theme.dim).render(row, buffer);
        }
    }
    for ((at, pick), row) in picks.iter().enumerate().skip(first).zip(list.rows()) {
        let columns = usize::from(row.width).saturating_sub(2);
        let style = if at == picker.row {
            theme.accent
        } else {
            theme.text
        };
        let spans = frame::sides(&pick.words, style, &pick.aside, theme.dim, columns);
        let spans = emphasised(spans, &pick.marked, theme);
        let mark = if at == picker.row {
            frame::Row::Selected
        } else {
            frame::Row::Plain
        };
        frame::row(mark, spans, theme, row, buffer);
    }
    cursor
}

/// The first of `spans` with the letters at the places `marked` emphasised.
pub fn emphasised(
    mut spans: Vec<Span<'static>>,
    marked: &[usize],
    theme: &Theme,
) -> Vec<Span<'static>> {
    if marked.is_empty() || spans.is_empty() {
        return spans;
    }
    let rest = spans.split_off(1);
    let words = spans.remove(0);
    for (at, letter) in words.content.chars().enumerate() {
        let style = if marked.binary_search(&at).is_ok() {
            // Underlined in every theme, so that it is seen without colour too.
            theme.link
        } else {
            words.style
        };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push(letter),
            _ => spans.push(Span::styled(letter.to_string(), style)),
        }
    }
    spans.extend(rest);
    spans
}

fn nothing(state: &UiState, picker: &Picker) -> String {
    let written = picker.search.text().trim();
    match (&picker.choice, &state.models) {
        (Choice::Palette { .. }, _) => "No action has these words.".into(),
        (Choice::Copy, _) => "Nothing to copy has these words.".into(),
        (Choice::Themes, _) => "No theme has these words.".into(),
        (Choice::Scopes(_), _) => "None has these words. Esc allows nothing.".into(),
        (Choice::Rules, _) if state.rules.is_empty() => {
            "No rules yet. A on a permission's card makes one.".into()
        }
        (Choice::Rules, _) => "No rule has these words.".into(),
        (Choice::Models, _) if !written.is_empty() => {
            format!("No listed model fits. Enter takes the name as it is written: {written}")
        }
        (Choice::Models, Models::Unknown | Models::Asked) => "Asking the server…".into(),
        (Choice::Models, Models::Listed(_)) => {
            "The server lists no models. Write a name and press Enter.".into()
        }
    }
}

fn write(
    state: &UiState,
    comment: &CommentBox,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let columns = 72.min(screen.width.saturating_sub(4));
    let text_rows = 6.min(screen.height.saturating_sub(8)).max(1);
    let area = centered(screen, columns, text_rows + 5);
    let is_question = state.requests.is_question(&comment.request);
    let title = if is_question { "Answer" } else { "Comment" };
    let inner = open(title, Vec::new(), theme, area, buffer);
    let mut rows: Vec<Rect> = inner.rows().collect();
    if rows.len() < 4 {
        return None;
    }
    let last = rows.pop()?;
    rows.pop();
    let head = rows.remove(0);
    let about = state.requests.get(&comment.request);
    let about = about.map_or_else(String::new, sentence::request);
    Line::styled(fit(&about, usize::from(head.width)), theme.dim).render(head, buffer);
    let (keys, writing): (&[(&str, &str, Style)], bool) = match comment.stage {
        CommentStage::Writing if is_question => (
            &[
                ("Enter", "send the answer", theme.ok),
                ("Esc", "cancel", theme.text),
            ],
            true,
        ),
        CommentStage::Writing => (
            &[
                ("Enter", "go on to yes or no", theme.text),
                ("Esc", "cancel", theme.text),
            ],
            true,
        ),
        CommentStage::Verdict => (
            &[
                ("a", "approve with it", theme.ok),
                ("r", "reject with it", theme.error),
                ("Esc", "back", theme.text),
            ],
            false,
        ),
    };
    let mut spans = Vec::new();
    for (key, words, style) in keys {
        spans.push(Span::styled(format!("{key} "), theme.accent));
        spans.extend([Span::styled(*words, *style), Span::raw("   ")]);
    }
    Line::from(spans).render(last, buffer);
    let height = u16::try_from(rows.len()).unwrap_or(1);
    let window = comment.text.window(inner.width, height);
    for (text, row) in window.rows.iter().zip(&rows) {
        Line::styled(text.as_str(), theme.text).render(*row, buffer);
    }
    let first = rows.first()?;
    let at = Position::new(first.x + window.cursor.1, first.y + window.cursor.0);
    writing.then_some(at)
}

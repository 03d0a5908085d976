//! The tasks: what is worked on, what is ready, what waits for what, what is done.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::frame::{self, Row, Titles};
use crate::domain::text::one_line;
use crate::ui::pane::Pane;
use crate::ui::popup::Searching;
use crate::ui::rows::{Standing, standing};
use crate::ui::state::UiState;
use crate::ui::textual::{fit, pad};
use crate::ui::theme::Theme;
use crate::ui::{look, rows};

/// Below this width a row is short of columns.
const NARROW: usize = 48;

/// Draws them.
pub fn draw(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let tasks = rows::tasks(state);
    let selected = rows::selected_task(state).map(|(at, _)| at);
    let filter_rows = u16::from(state.filter.is_some());
    let height = area.height.saturating_sub(2 + filter_rows);
    let first = frame::first_row(tasks.len(), selected.unwrap_or(0), height);
    let mut aside = Vec::new();
    if !state.board.is_empty() {
        let progress = format!("{}/{} done", state.board.done(), state.board.len());
        aside.push(Span::styled(progress, theme.dim));
    }
    let titles = Titles {
        name: "Board".into(),
        aside,
        below: frame::beyond(tasks.len(), first, height, theme),
    };
    let inner = frame::pane(state, Pane::Board, titles, theme, area, buffer);
    let list = filter(state, theme, inner, buffer);
    if tasks.is_empty() {
        let words = if state.board.is_empty() {
            "No tasks yet. The lead writes them when it plans; `crewdeck task add` does too."
        } else {
            "No task fits the filter. Esc clears it."
        };
        frame::empty(words, theme, list, buffer);
        return;
    }
    let digits = tasks
        .iter()
        .map(|t| t.id.to_string().len())
        .max()
        .unwrap_or(2);
    for ((at, task), area) in tasks.iter().enumerate().skip(first).zip(list.rows()) {
        let (shape, words, style) = look::task(&state.board, task, theme);
        let subject = match standing(&state.board, task) {
            Standing::Done | Standing::Blocked => theme.dim,
            Standing::InProgress | Standing::Ready | Standing::Assigned => theme.text,
        };
        let columns = usize::from(area.width).saturating_sub(digits + 5);
        // On a narrow row the shape says that it is in progress.
        let words = match words.strip_prefix("in progress ") {
            Some(owner) if columns < NARROW => owner.to_string(),
            Some(_) | None => words,
        };
        let mut spans = vec![
            Span::styled(format!("{shape} "), style),
            Span::styled(format!("{} ", pad(&task.id.to_string(), digits)), theme.dim),
        ];
        spans.extend(frame::sides(
            &one_line(&task.subject),
            subject,
            &words,
            style,
            columns,
        ));
        let row = Row::of(state, Pane::Board, at, selected);
        frame::row(row, spans, theme, area, buffer);
    }
}

/// Draws the filter on the first row, where there is one; the place below comes back.
fn filter(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let (Some(filter), false) = (&state.filter, area.is_empty()) else {
        return area;
    };
    let row = Rect { height: 1, ..area };
    let cursor = match filter.searching {
        Searching::Typing => "▏",
        Searching::Rest => "",
    };
    let text = fit(
        filter.words.text(),
        usize::from(row.width).saturating_sub(4),
    );
    Line::from(vec![
        Span::styled(" / ", theme.accent),
        Span::styled(format!("{text}{cursor}"), theme.text),
    ])
    .render(row, buffer);
    Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    }
}

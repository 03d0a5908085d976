//! The todo list of the agent whose conversation is shown.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::frame::{self, Titles};
use crate::domain::text::one_line;
use crate::domain::todo::{TodoList, TodoStatus};
use crate::ui::pane::Pane;
use crate::ui::state::UiState;
use crate::ui::textual::fit;
use crate::ui::theme::Theme;
use crate::ui::{look, rows};

fn list(state: &UiState) -> Option<&TodoList> {
    state.agents.get(&state.shown).map(|a| &a.todo)
}

/// Draws it.
pub fn draw(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let items = list(state).map_or(&[][..], TodoList::items);
    let height = usize::from(area.height.saturating_sub(2));
    // Unscrolled, the item in progress is in view.
    let current = items
        .iter()
        .position(|i| i.status == TodoStatus::InProgress)
        .unwrap_or(0);
    let most = items.len().saturating_sub(height);
    let first = match state.selected.todo_scroll {
        0 => (current + 1).saturating_sub(height).min(most),
        n => n.min(most),
    };
    let titles = Titles {
        name: if state.shown.is_lead() {
            "Todo".into()
        } else {
            format!("Todo of {}", state.shown)
        },
        aside: rows::todo_progress(state)
            .map_or_else(Vec::new, |p| vec![Span::styled(p, theme.dim)]),
        foot: Vec::new(),
        below: frame::beyond(items.len(), first, area.height.saturating_sub(2), theme),
    };
    let inner = frame::pane(state, Pane::Todo, titles, theme, area, buffer);
    if items.is_empty() {
        let who = if state.shown.is_lead() {
            "The lead".into()
        } else {
            state.shown.to_string()
        };
        let words = format!("No todo list yet. {who} writes one when its work has several steps.");
        frame::empty(&words, theme, inner, buffer);
        return;
    }
    for (item, row) in items.iter().skip(first).zip(inner.rows()) {
        let (shape, style) = look::todo(item.status, theme);
        let room = usize::from(row.width).saturating_sub(4);
        let words = match item.status {
            TodoStatus::Completed => theme.dim,
            TodoStatus::Pending | TodoStatus::InProgress => theme.text,
        };
        Line::from(vec![
            Span::styled(format!(" {shape} "), style),
            Span::styled(fit(&one_line(&item.text), room), words),
        ])
        .render(row, buffer);
    }
}

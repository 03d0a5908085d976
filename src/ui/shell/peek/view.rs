//! Draws the preview.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::frame;
use crate::ui::frame::popup::open;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::shell::peek;
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;
use crate::ui::widgets::area;

pub fn draw(
    state: &UiState,
    cache: &mut ViewCache,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let inside = area::inside(area);
    let Some(peeked) = peek::preview_content(state, usize::from(inside.width), theme) else {
        let inner = open(state, "Peek", Vec::new(), theme, area, buffer);
        Line::styled("This item no longer exists.", theme.dim).render(inner, buffer);
        return;
    };
    let reading = peek::scroll_position(state);
    let len = peeked.lines.len();
    let (first, below) = match &peeked.agent {
        Some(_) => (0, Vec::new()),
        None => {
            let first = reading.first(&peeked, inside);
            (first, frame::beyond(len, first, inside.height, theme))
        }
    };
    let inner = open(state, &peeked.title, below, theme, area, buffer);
    for (line, row) in peeked.lines.iter().skip(first).zip(inner.rows()) {
        line.render(row, buffer);
    }
    frame::scrollbar(peek::scrollbar(state, area), theme.title, theme, buffer);
    let Some(name) = &peeked.agent else { return };
    let mut rest = inner.rows().skip(len);
    if let Some(rule) = rest.next() {
        let line = "─".repeat(usize::from(rule.width));
        Line::styled(line, theme.border).render(rule, buffer);
    }
    let talk = peek::conversation_area(area, len);
    match state.model.agents.get(name).filter(|a| a.has_entries) {
        Some(agent) => {
            let cache = cache.preview_cache(name);
            let anchor = reading.anchor();
            agent.transcript.view_at(anchor, cache, theme, talk, buffer);
        }
        None => Line::styled("No activity yet.", theme.dim).render(talk, buffer),
    }
}

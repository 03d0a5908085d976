//! Draws the todo list of the shown agent.

use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::domain::text::one_line;
use crate::domain::todo::TodoStatus;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::{RowHighlight, Titles, layout as frame_layout};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::style;
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::panes::todo;
use crate::ui::panes::todo::TodoListPane;
use crate::ui::text::fit;
use crate::ui::widgets::scrollbar::Scrollbar;

pub fn draw(pane: &TodoListPane, app: &App, area: Rect, canvas: PaneCanvas<'_>) {
    let PaneCanvas {
        theme,
        buffer,
        is_named_above,
        ..
    } = canvas;
    let items = app.shown_todo();
    let selected = pane.selected_row(app);
    let list = frame_layout::inside(area);
    let first = pane.first_row(app, list.height);
    let who = if app.shown.is_lead() {
        "The lead"
    } else {
        app.shown.as_str()
    };
    let titles = Titles {
        name: if app.shown.is_lead() {
            "Todo".into()
        } else {
            format!("Todo of {}", app.shown)
        },
        aside: todo::todo_progress(app).map_or_else(Vec::new, |p| vec![Span::styled(p, theme.dim)]),
        below: frame::position(selected, items.len(), list.height, theme),
        bar: Scrollbar::of_list(area, list, first, items.len()),
        placeholder: items.is_empty().then(|| {
            format!("No todo list yet. {who} writes one when its work has several steps.")
        }),
        is_named_above,
        ..Titles::default()
    };
    let inner = frame::pane(app, Pane::Todo, titles, theme, area, buffer);
    for ((at, item), area) in items.iter().enumerate().skip(first).zip(inner.rows()) {
        let (shape, style) = style::todo(item.status, theme);
        let room = usize::from(area.width).saturating_sub(5);
        let words = match item.status {
            TodoStatus::Completed => theme.dim,
            TodoStatus::Pending | TodoStatus::InProgress => theme.text,
        };
        let spans = vec![
            Span::styled(format!("{shape} "), style),
            Span::styled(fit(&one_line(&item.text), room), words),
        ];
        let row = RowHighlight::of(app, Pane::Todo, at, selected);
        frame::row(row, spans, theme, area, buffer);
    }
}

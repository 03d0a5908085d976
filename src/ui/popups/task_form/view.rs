//! Draws the form for a new or changed task.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::app::task_form::{Field, TaskForm};
use crate::ui::frame::popup::open;
use crate::ui::popups::buttons::buttons;
use crate::ui::popups::{confirm, text_areas};
use crate::ui::text::fit;
use crate::ui::theme::Theme;
use crate::ui::widgets::composer::TextAreaSize;

/// Draws the form. Returns the cursor position.
pub fn draw(
    app: &App,
    popup: &Popup,
    form: &TaskForm,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let place = confirm::place(app, screen, popup);
    open(app, &form.title(), Vec::new(), theme, place.area, buffer);
    buttons(app, popup, place.buttons, theme, buffer);
    let places = text_areas::fields(app, popup, form);
    for (line, row) in places.error_lines.iter().zip(places.error.rows()) {
        Line::styled(line.as_str(), theme.error).render(row, buffer);
    }
    let mut cursor = None;
    for (field, area) in places.fields {
        let at = part(form, field, area, theme, buffer);
        cursor = cursor.or((field == form.field).then_some(at));
    }
    cursor
}

/// Draws a field. Returns the cursor position in it.
fn part(form: &TaskForm, field: Field, area: Rect, theme: &Theme, buffer: &mut Buffer) -> Position {
    let has_keys = field == form.field;
    let (mark, style) = if has_keys {
        ("›", theme.accent)
    } else {
        (" ", theme.dim)
    };
    let own = form.input(field);
    let place = text_areas::words(area);
    // A line styles its whole row, so the names get their own area.
    let names = Rect {
        width: place.x - area.x,
        ..area
    };
    Line::styled(format!("{mark} {}", field.title()), style).render(names, buffer);
    if own.is_empty() {
        let words = fit(field.example(), usize::from(place.width));
        Line::styled(words, theme.dim).render(place, buffer);
        return place.as_position();
    }
    let window = own.window(TextAreaSize::from(place));
    for (text, row) in window.rows.iter().zip(place.rows()) {
        Line::styled(text.as_str(), theme.text).render(row, buffer);
    }
    // The free row below the name.
    if names.height > 1 {
        let last = Rect {
            y: names.bottom() - 1,
            height: 1,
            ..names
        };
        let words = format!("  {}", window.overflow.words());
        Line::styled(words, theme.dim).render(last, buffer);
    }
    let (row, column) = window.cursor;
    Position::new(place.x + column, place.y + row)
}

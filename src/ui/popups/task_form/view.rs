//! Draws the form for a new or changed task.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::popup::open;
use crate::ui::popups::buttons;
use crate::ui::popups::task_form::form::{FormField, TaskForm};
use crate::ui::popups::task_form::layout;
use crate::ui::text::fit;
use crate::ui::theme::Theme;
use crate::ui::widgets::composer::TextAreaSize;

pub fn draw(
    app: &App,
    form: &TaskForm,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> TextCursor {
    let places = layout::fields(screen, form);
    open(app, &form.title(), Vec::new(), theme, places.area, buffer);
    buttons::draw(app, form, places.area, theme, buffer);
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

/// Draws a field. Returns the position of the text cursor in this field.
fn part(
    form: &TaskForm,
    field: FormField,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Position {
    let has_keys = field == form.field;
    let (mark, style, border) = if has_keys {
        ("›", theme.accent, theme.border_focused)
    } else {
        (" ", theme.dim, theme.border)
    };
    let own = form.input(field);
    let (edge, place) = (layout::edge(area), layout::words(area));
    buffer.set_style(edge.union(place), theme.ground);
    for row in edge.rows() {
        Line::styled("│", border).render(row, buffer);
    }
    // The name has an area of its own, because rendering a line styles the whole row of its area.
    let names = Rect {
        width: edge.x - area.x,
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
    // If the field has more than one row, the last row below the name says on which sides the text continues.
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

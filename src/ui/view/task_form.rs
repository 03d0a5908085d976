//! The form in which a task is written or changed: a field a row, the description in what is left.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::popup::{buttons, open};
use crate::ui::boxes;
use crate::ui::popup::Popup;
use crate::ui::state::UiState;
use crate::ui::task_form::{Field, TaskForm};
use crate::ui::textual::{fit, wrap};
use crate::ui::theme::Theme;

/// The columns of the names of the fields.
const NAMES: u16 = 14;
/// Most rows that say what is wrong.
const ERROR_ROWS: usize = 3;

/// Draws the form; where the cursor is to be comes back.
pub fn draw(
    state: &UiState,
    popup: &Popup,
    form: &TaskForm,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let place = boxes::place(state, screen, popup);
    let inner = open(state, &form.title(), Vec::new(), theme, place.area, buffer);
    buttons(state, popup, place.buttons, theme, buffer);
    // The last row has the buttons, and the one above it is free.
    let rows: Vec<Rect> = inner.rows().collect();
    let room = rows.len().saturating_sub(2);
    let mut wrong = wrap(&form.error, usize::from(inner.width));
    wrong.truncate(ERROR_ROWS.min(room.saturating_sub(Field::ALL.len())));
    if form.error.is_empty() {
        wrong.clear();
    }
    let (fields, error) = rows.get(..room)?.split_at(room - wrong.len());
    for (line, row) in wrong.iter().zip(error) {
        Line::styled(line.as_str(), theme.error).render(*row, buffer);
    }
    let mut rest = fields;
    let mut cursor = None;
    for field in Field::ALL {
        let height = match field {
            Field::Description => fields.len().saturating_sub(Field::ALL.len() - 1),
            Field::Subject | Field::Waits | Field::Tags => 1,
        };
        let (own, after) = rest.split_at(height.min(rest.len()));
        rest = after;
        let at = part(form, field, own, theme, buffer);
        cursor = cursor.or(at.filter(|_| field == form.field));
    }
    cursor
}

/// Draws a field into its rows; the cursor's place in it comes back.
fn part(
    form: &TaskForm,
    field: Field,
    rows: &[Rect],
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let first = *rows.first()?;
    let has_keys = field == form.field;
    let (mark, style) = if has_keys {
        ("›", theme.accent)
    } else {
        (" ", theme.dim)
    };
    Line::styled(format!("{mark} {}", field.title()), style).render(first, buffer);
    let names = NAMES.min(first.width);
    let inside = |row: &Rect| Rect {
        x: row.x + names,
        width: row.width - names,
        ..*row
    };
    let own = form.part(field);
    let place = inside(&first);
    if own.is_empty() {
        let words = fit(field.example(), usize::from(place.width));
        Line::styled(words, theme.dim).render(place, buffer);
        return Some(Position::new(place.x, place.y));
    }
    let height = u16::try_from(rows.len()).unwrap_or(1);
    let window = own.window(place.width, height);
    for (text, row) in window.rows.iter().zip(rows) {
        Line::styled(text.as_str(), theme.text).render(inside(row), buffer);
    }
    let (row, column) = window.cursor;
    Some(Position::new(place.x + column, place.y + row))
}

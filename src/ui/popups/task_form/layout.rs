//! The layout of the task form: the areas of its fields and of their texts.

use ratatui::layout::Rect;

use crate::ui::popups::task_form::form::{FormField, TaskForm};
use crate::ui::text::wrap;
use crate::ui::widgets::area::{centered_rect, inside};
use crate::ui::widgets::composer::TextAreaSize;
use crate::ui::widgets::cut::{cut_left, cut_top};

const WIDTH_MAX: u16 = 72;
/// Maximum height of the form, in rows, including its border.
const ROWS_MAX: u16 = 18;
/// Width of the column with the names of the fields, in columns.
const NAME_WIDTH: u16 = 14;
/// Maximum number of rows of a single-line field, into which a long text wraps.
const LINE_ROWS: u16 = 3;
/// Minimum number of rows of the field for the description.
const DESCRIPTION_ROWS: u16 = 3;
/// Maximum number of rows in which the error of the form is shown.
const ERROR_ROWS: usize = 3;

/// Returns the area of the form, including its border.
pub fn area(screen: Rect) -> Rect {
    let columns = WIDTH_MAX.min(screen.width.saturating_sub(4));
    // The status line, the tabs and the two lines at the bottom of the screen stay visible.
    let rows = ROWS_MAX.min(screen.height.saturating_sub(4));
    centered_rect(screen, columns, rows)
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormLayout {
    /// The fields, each with its area. The area includes the name of the field.
    pub fields: Vec<(FormField, Rect)>,
    /// The error of the form, wrapped into rows; empty if there is none.
    pub error_lines: Vec<String>,
    pub error: Rect,
}

/// Lays out the task form. Single-line fields get as many rows as their text needs, at most [`LINE_ROWS`]; the
/// description gets the remaining rows. On a screen that is too low, fields for which no row is left are omitted.
pub fn fields(screen: Rect, form: &TaskForm) -> FormLayout {
    let inner = inside(area(screen));
    // The last two rows of the form are a blank row and the row of the buttons.
    let room = inner.height.saturating_sub(2);
    let count = FormField::ALL.len();
    let mut wrong = wrap(&form.error, usize::from(inner.width));
    wrong.truncate(ERROR_ROWS.min(usize::from(room).saturating_sub(count)));
    let to_u16 = |n: usize| u16::try_from(n).unwrap_or(0);
    let (mut rest, below) = cut_top(inner, room - to_u16(wrong.len()));
    let others = to_u16(count - 1);
    let mut spare = rest.height.saturating_sub(others + DESCRIPTION_ROWS);
    let room = TextAreaSize {
        width: words(inner).width,
        height: LINE_ROWS,
    };
    let lines = FormField::ALL.map(|field| match field {
        FormField::Description => 0,
        FormField::Subject | FormField::BlockedBy | FormField::Tags => {
            let more = to_u16(form.input(field).window(room).rows.len().saturating_sub(1));
            let more = more.min(spare);
            spare -= more;
            1 + more
        }
    });
    let description = rest.height.saturating_sub(lines.iter().sum());
    let mut each = Vec::new();
    for (field, height) in FormField::ALL.into_iter().zip(lines) {
        let height = if field == FormField::Description {
            description
        } else {
            height
        };
        let (own, after) = cut_top(rest, height);
        rest = after;
        if !own.is_empty() {
            each.push((field, own));
        }
    }
    FormLayout {
        fields: each,
        error: cut_top(below, to_u16(wrong.len())).0,
        error_lines: wrong,
    }
}

/// Returns the area of a field's text, to the right of the field's name.
pub fn words(field: Rect) -> Rect {
    cut_left(field, NAME_WIDTH).1
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::{busy, press};

    #[test]
    fn single_line_field_grows_with_its_text() {
        let words = "Measure how long the reader takes for each of the versions of the format. ";
        // Each case: the size of the screen, how often the text is repeated, and the expected heights of the fields.
        for ((width, height), times, expected) in [
            ((160, 45), 0, [1, 11, 1, 1]),
            ((160, 45), 1, [2, 10, 1, 1]),
            ((160, 45), 9, [3, 9, 1, 1]),
            ((60, 16), 0, [1, 5, 1, 1]),
            ((60, 16), 9, [3, 3, 1, 1]),
        ] {
            let mut state = busy(width, height);
            press(&mut state, &format!("esc 3 t \"{}\"", words.repeat(times)));
            let form = state.popups.top::<TaskForm>().unwrap();
            let places = fields(state.size, form).fields;
            let rows: Vec<u16> = places.iter().map(|(_, area)| area.height).collect();
            assert_eq!(rows, expected, "{width}x{height}, {times} times");
        }
    }
}

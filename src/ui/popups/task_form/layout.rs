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
/// Width of the edge between the name of a field and its text, in columns: a line and a blank.
const EDGE_WIDTH: u16 = 2;
/// Maximum number of rows of a single-line field, into which a long text wraps.
const LINE_ROWS: u16 = 3;
/// Minimum number of rows of the field for the description.
const DESCRIPTION_ROWS: u16 = 3;
/// Number of rows of the form beside its fields and its error: the frame, a blank row and the row of the buttons.
const MARGIN_ROWS: u16 = 4;
/// Maximum number of rows in which the error of the form is shown.
const ERROR_ROWS: usize = 3;

/// Returns the largest area that the form can cover, including its border.
fn largest_area(screen: Rect) -> Rect {
    let columns = WIDTH_MAX.min(screen.width.saturating_sub(4));
    // The status line, the tabs and the two lines at the bottom of the screen stay visible.
    let rows = ROWS_MAX.min(screen.height.saturating_sub(4));
    centered_rect(screen, columns, rows)
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormLayout {
    /// The area of the form, including its border.
    pub area: Rect,
    /// The fields, each with its area. The area includes the name of the field.
    pub fields: Vec<(FormField, Rect)>,
    /// The error of the form, wrapped into rows; empty if there is none.
    pub error_lines: Vec<String>,
    pub error: Rect,
}

/// Lays out the task form. Each field gets as many rows as its text needs: a single-line field at most [`LINE_ROWS`], the
/// description at least [`DESCRIPTION_ROWS`] and at most the rows that are left. The form is just high enough for its
/// fields; its upper edge does not move when the user types. On a screen that is too low, fields for which no row is left
/// are omitted.
pub fn fields(screen: Rect, form: &TaskForm) -> FormLayout {
    let most = largest_area(screen);
    let inner = inside(most);
    let room = most.height.saturating_sub(MARGIN_ROWS);
    let count = FormField::ALL.len();
    let mut wrong = wrap(&form.error, usize::from(inner.width));
    wrong.truncate(ERROR_ROWS.min(usize::from(room).saturating_sub(count)));
    let to_u16 = |n: usize| u16::try_from(n).unwrap_or(0);
    let room = room.saturating_sub(to_u16(wrong.len()));
    let rows_of = |field, height| {
        let room = TextAreaSize {
            width: words(inner).width,
            height,
        };
        to_u16(form.input(field).window(room).rows.len())
    };
    let others = to_u16(count - 1);
    let mut spare = room.saturating_sub(others + DESCRIPTION_ROWS);
    let lines = FormField::ALL.map(|field| match field {
        FormField::Description => 0,
        FormField::Subject | FormField::BlockedBy | FormField::Tags => {
            let more = rows_of(field, LINE_ROWS).saturating_sub(1).min(spare);
            spare -= more;
            1 + more
        }
    });
    let left = room.saturating_sub(lines.iter().sum());
    let description = rows_of(FormField::Description, left)
        .max(DESCRIPTION_ROWS)
        .min(left);
    let used = lines.iter().sum::<u16>() + description;
    let (fields, below) = cut_top(inner, used.min(room));
    let mut rest = fields;
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
    let height = fields.height + to_u16(wrong.len()) + MARGIN_ROWS;
    FormLayout {
        area: Rect {
            height: height.min(most.height),
            ..most
        },
        fields: each,
        error: cut_top(below, to_u16(wrong.len())).0,
        error_lines: wrong,
    }
}

/// Returns the area of the edge of a field, to the left of the field's text.
pub fn edge(field: Rect) -> Rect {
    cut_left(cut_left(field, NAME_WIDTH).1, EDGE_WIDTH).0
}

/// Returns the area of a field's text, to the right of the field's name.
pub fn words(field: Rect) -> Rect {
    cut_left(field, NAME_WIDTH + EDGE_WIDTH).1
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
            ((160, 45), 0, [1, 3, 1, 1]),
            ((160, 45), 1, [2, 3, 1, 1]),
            ((160, 45), 9, [3, 3, 1, 1]),
            ((60, 16), 0, [1, 3, 1, 1]),
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

    #[test]
    fn form_grows_downwards_with_its_description() {
        for (size, most) in [((160, 45), 11), ((80, 24), 11), ((60, 16), 5)] {
            let mut state = busy(size.0, size.1);
            press(&mut state, "esc 3 t tab");
            let layout_of = |state: &crate::ui::UiState| {
                let form = state.popups.top::<TaskForm>().unwrap();
                fields(state.size, form)
            };
            let before = layout_of(&state);
            for rows in 1..=14_u16 {
                let now = layout_of(&state);
                let expected = rows.clamp(DESCRIPTION_ROWS, most);
                assert_eq!(now.fields[1].1.height, expected, "{size:?} {rows}");
                assert_eq!(now.area.y, before.area.y);
                assert_eq!(now.area.height, expected + 3 + MARGIN_ROWS);
                press(&mut state, "ctrl+j");
            }
        }
    }
}

//! Areas of popups on the screen.

use ratatui::layout::Margin;
use ratatui::layout::Rect;

use crate::ui::widgets::list::first_row;

/// Returns a rectangle of `width` columns and `height` rows in the center of `screen`, clipped to it.
pub fn centered_rect(screen: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(screen.width);
    let height = height.min(screen.height);
    Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + (screen.height - height) / 2,
        width,
        height,
    }
}

/// Returns the height, in rows, of a popup with a border around `lines` rows of text. Fewer than [`ROWS_MIN`] rows
/// count as [`ROWS_MIN`] rows.
pub fn height_with_border(lines: usize) -> u16 {
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX);
    wanted.max(ROWS_MIN).saturating_add(2)
}

/// Returns a rectangle of at most `height` rows, horizontally centered at the bottom of the screen, above the two lines
/// for hints, so that the content at the top of the screen stays readable. Its width is the result of [`whole_or`] for
/// `width`.
pub fn bottom_centered(screen: Rect, width: u16, height: u16) -> Rect {
    let area = centered_rect(screen, whole_or(screen, width), height);
    Rect {
        y: screen
            .bottom()
            .saturating_sub(area.height + 2)
            .max(screen.y),
        ..area
    }
}

/// Returns the width of a popup: `width`, or the screen's width if at most [`BESIDE_MAX`] columns would be left on each
/// side of the popup.
pub fn whole_or(screen: Rect, width: u16) -> u16 {
    if screen.width.saturating_sub(width).div_ceil(2) <= BESIDE_MAX {
        screen.width
    } else {
        width
    }
}

/// Maximum number of columns on each side of a popup that count as too few for readable text.
pub const BESIDE_MAX: u16 = 4;

/// Minimum number of rows inside the border of a popup with text. A lower popup is easily overlooked.
pub const ROWS_MIN: u16 = 5;

/// Maximum height of a popup with a list and details below it, in rows.
const DETAILS_HEIGHT_MAX: u16 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PopupListLayout {
    /// The area of the popup, including its border.
    pub area: Rect,
    pub list: Rect,
    /// The index of the first visible row.
    pub first: usize,
}

/// Returns the layout of a popup with a list and, below the list, details of the selected row. The list has `len` rows.
/// The row with the index `row` is selected, and at most `most` rows are visible. If the list is empty, the popup is
/// just high enough for `empty` lines of text.
pub fn list_with_details(
    screen: Rect,
    width: u16,
    (row, len, most): (usize, usize, usize),
    empty: usize,
) -> PopupListLayout {
    let height = match len {
        0 => height_with_border(empty),
        _ => screen.height.saturating_sub(4).min(DETAILS_HEIGHT_MAX),
    };
    let area = centered_rect(screen, width, height);
    let inside = inside(area);
    let rows = u16::try_from(len.min(most)).unwrap_or(1);
    let list = Rect {
        height: rows.min(inside.height),
        ..inside
    };
    PopupListLayout {
        area,
        list,
        first: first_row(len, row, rows),
    }
}

/// Returns the area of the close button on the popup's border. The button is shown while crewdeck captures the mouse.
pub fn close_mark(area: Rect) -> Rect {
    Rect {
        x: area.right().saturating_sub(4),
        width: 3,
        height: 1,
        ..area
    }
    .intersection(area)
}

/// Returns the area inside the border of a popup and the blank column beside each vertical border.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(2, 1))
}

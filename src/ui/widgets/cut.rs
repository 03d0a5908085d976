//! Splits a rectangle into two. Pure.

use ratatui::layout::Rect;

/// Splits `area` into its upper `height` rows, or all rows if there are fewer, and the rest below.
pub fn cut_top(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let top = Rect { height, ..area };
    let rest = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (top, rest)
}

/// Splits `area` into its left `width` columns, or all columns if there are fewer, and the rest to the right.
pub fn cut_left(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    let left = Rect { width, ..area };
    let rest = Rect {
        x: area.x + width,
        width: area.width - width,
        ..area
    };
    (left, rest)
}

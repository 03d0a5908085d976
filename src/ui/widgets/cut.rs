//! Pure: cuts of a rectangle into two.

use ratatui::layout::Rect;

/// The upper `height` rows, or all there are, and what is left below.
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

/// The left `width` columns, or all there are, and what is left beside.
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

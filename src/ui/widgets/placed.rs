//! Parts of a line and their areas on the screen.

use ratatui::layout::Rect;

use crate::ui::text::width;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedPart<T> {
    pub at: Rect,
    pub what: T,
}

impl<T> PlacedPart<T> {
    /// Converts the content with `make`. The area stays the same.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> PlacedPart<U> {
        PlacedPart {
            at: self.at,
            what: make(self.what),
        }
    }
}

/// Places parts side by side in `row`, from left to right. Each part has a width in columns and a content. Parts that
/// do not fit get a smaller or empty area.
pub fn place<T>(row: Rect, parts: impl IntoIterator<Item = (usize, T)>) -> Vec<PlacedPart<T>> {
    let mut x = row.x;
    let mut out = Vec::new();
    for (columns, what) in parts {
        let width = u16::try_from(columns).unwrap_or(u16::MAX);
        let at = Rect { x, width, ..row };
        x = x.saturating_add(width).min(row.right());
        out.push(PlacedPart {
            at: at.intersection(row),
            what,
        });
    }
    out
}

pub fn at_the_end(row: Rect, words: String) -> PlacedPart<String> {
    let columns = u16::try_from(width(&words)).unwrap_or(u16::MAX);
    let wide = columns.min(row.width);
    let at = Rect {
        x: row.right() - wide,
        width: wide,
        ..row
    };
    PlacedPart { at, what: words }
}

//! Scrollbars in the right edge of a frame: size, position and dragging. Pure.

use ratatui::layout::Rect;

/// The size and the position of scrolled content. All three numbers have the same unit: rows, or another unit where
/// counting all rows would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScrollPosition {
    /// Length of the whole content.
    pub len: usize,
    /// Length of the content above the visible part.
    pub first: usize,
    /// Length of the visible part.
    pub visible: usize,
}

impl ScrollPosition {
    /// Returns the maximum of [`ScrollPosition::first`], with which the content ends at the lower edge of the visible
    /// part; 0 if all content is visible.
    fn most(self) -> usize {
        self.len.saturating_sub(self.visible)
    }
}

/// A scrollbar. It exists only if a part of the content is not visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scrollbar {
    /// The cells of the scrollbar: one column of the frame and at least two rows.
    pub at: Rect,
    pub scrolled: ScrollPosition,
}

impl Scrollbar {
    /// Creates a scrollbar in the right edge of `frame`, beside the scrolled rows `list`. Returns `None` if all content
    /// is visible or `list` has fewer than two rows.
    pub fn new(frame: Rect, list: Rect, scrolled: ScrollPosition) -> Option<Scrollbar> {
        let at = Rect {
            x: frame.right().saturating_sub(1),
            width: 1,
            ..list
        };
        let at = at.intersection(frame);
        (scrolled.most() > 0 && at.height >= 2).then_some(Scrollbar { at, scrolled })
    }

    /// Creates the scrollbar of a list with `len` rows, of which `first` are above the visible ones. Returns `None` in
    /// the same cases as [`Scrollbar::new`].
    pub fn of_list(frame: Rect, list: Rect, first: usize, len: usize) -> Option<Scrollbar> {
        let seen = usize::from(list.height);
        Scrollbar::new(
            frame,
            list,
            ScrollPosition {
                len,
                first,
                visible: seen,
            },
        )
    }

    /// Returns the cells of the thumb. The thumb takes the same share of the scrollbar as the visible part takes of the
    /// content. If the thumb leaves at least two cells free, it touches an end only if the content is scrolled to that
    /// end.
    pub fn thumb(self) -> Rect {
        let ScrollPosition {
            len,
            first,
            visible: seen,
        } = self.scrolled;
        let (rows, most) = (usize::from(self.at.height), self.scrolled.most());
        let long = (rows * seen / len.max(1)).clamp(1, rows - 1);
        let free = rows - long;
        let above = match first {
            0 => 0,
            first if first >= most => free,
            // With one free row there is no position between the ends.
            _ if free < 2 => 0,
            first => scale_part(first, free, most).clamp(1, free - 1),
        };
        let small = |n: usize| u16::try_from(n).unwrap_or(0);
        Rect {
            y: self.at.y + small(above),
            height: small(long),
            ..self.at
        }
    }

    /// Returns the new [`ScrollPosition::first`] when the thumb is dragged to a row of the screen. A row above or below
    /// the scrollbar counts as its first or last row.
    pub fn first_at(self, row: u16) -> usize {
        self.scale(row, self.scrolled.most())
    }

    /// Returns the index of the list row for a row of the screen: the first list row for the top of the scrollbar and
    /// all rows above it, the last list row for the bottom and all rows below it.
    pub fn row_at(self, row: u16) -> usize {
        self.scale(row, self.scrolled.len.saturating_sub(1))
    }

    fn scale(self, row: u16, most: usize) -> usize {
        let last = usize::from(self.at.height.saturating_sub(1));
        let down = usize::from(row.saturating_sub(self.at.y)).min(last);
        scale_part(down, most, last.max(1))
    }
}

/// Returns `part * of / whole` without overflow, rounded down. Divides by 1 if `whole` is 0.
fn scale_part(part: usize, of: usize, whole: usize) -> usize {
    let product = part as u128 * of as u128 / whole.max(1) as u128;
    usize::try_from(product).unwrap_or(of)
}

/// Returns the position of the selected row as `7 of 20`, where `len` is 20. Returns an empty text if no row is
/// selected or all rows fit into `height` rows.
pub fn position(selected: Option<usize>, len: usize, height: u16) -> String {
    match selected {
        Some(at) if len > usize::from(height) => format!("{} of {len}", at + 1),
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const FRAME: Rect = Rect::new(10, 5, 30, 12);
    const LIST: Rect = Rect::new(11, 6, 28, 10);

    fn bar(first: usize, len: usize) -> Option<Scrollbar> {
        Scrollbar::of_list(FRAME, LIST, first, len)
    }

    #[test]
    fn thumb_shows_visible_share_and_position() {
        // Ten rows are in view. Total rows, rows above the view, and the thumb's first row and length.
        let cases = [
            (20, 0, (0, 5)),
            (20, 1, (1, 5)),
            (20, 5, (2, 5)),
            (20, 9, (4, 5)),
            (20, 10, (5, 5)),
            (11, 0, (0, 9)),
            (11, 1, (1, 9)),
            (10_000, 0, (0, 1)),
            (10_000, 1, (1, 1)),
            (10_000, 5_000, (4, 1)),
            (10_000, 9_989, (8, 1)),
            (10_000, 9_990, (9, 1)),
        ];
        for (len, first, expected) in cases {
            let bar = bar(first, len).unwrap();
            let thumb = bar.thumb();
            let found = (thumb.y - LIST.y, thumb.height);
            assert_eq!(found, expected, "{first} above of {len}");
            assert_eq!((thumb.x, thumb.width), (39, 1));
        }
    }

    #[test]
    fn no_scrollbar_if_all_is_in_view_or_room_is_missing() {
        for len in [0, 1, 10] {
            assert_eq!(bar(0, len), None, "{len}");
        }
        let row = Rect { height: 1, ..LIST };
        assert_eq!(Scrollbar::of_list(FRAME, row, 0, 20), None);
    }

    #[test]
    fn position_is_shown_if_rows_are_out_of_view() {
        let cases = [
            (Some(6), 20, "7 of 20"),
            (Some(6), 10, ""),
            (None, 20, ""),
            (Some(0), 11, "1 of 11"),
        ];
        for (selected, len, expected) in cases {
            assert_eq!(position(selected, len, 10), expected);
        }
    }

    proptest! {
        #[test]
        fn dragged_thumb_stays_under_the_mouse(height in 2_u16..60, more in 1_usize..50_000, row in 0_u16..60) {
            let list = Rect { height, ..LIST };
            let frame = Rect { height: height + 2, ..FRAME };
            let len = usize::from(height) + more;
            let row = list.y + row % height;
            let bar = Scrollbar::of_list(frame, list, 0, len).unwrap();
            let first = bar.first_at(row);
            prop_assert!(first <= more);
            let thumb = Scrollbar::of_list(frame, list, first, len).unwrap().thumb();
            prop_assert!(bar.at.contains(thumb.as_position()) && thumb.bottom() <= bar.at.bottom());
            // One row of tolerance, because the thumb touches an end only if that end is in view.
            prop_assert!((thumb.y.saturating_sub(1)..=thumb.bottom()).contains(&row), "{thumb} {row}");
            prop_assert_eq!(bar.row_at(list.y), 0);
            prop_assert_eq!(bar.row_at(list.bottom() - 1), len - 1);
        }
    }
}

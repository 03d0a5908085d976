//! Pure: where one is in what is longer than its place: a thumb in the right edge of its frame. Views draw it, the mouse
//! pulls it.

use ratatui::layout::Rect;

/// What is in view of something longer, in rows, or in parts of rows where these are too many to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scrolled {
    /// How much there is.
    pub len: usize,
    /// How much lies above what is in view.
    pub first: usize,
    /// How much is in view.
    pub seen: usize,
}

impl Scrolled {
    /// The most that can lie above.
    fn most(self) -> usize {
        self.len.saturating_sub(self.seen)
    }
}

/// The scrollbar of a place: there is one only where something is out of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scrollbar {
    /// Its cells: one column of the frame, at least two rows.
    pub at: Rect,
    /// What it tells.
    pub scrolled: Scrolled,
}

impl Scrollbar {
    /// The scrollbar in the right edge of `frame`, beside the rows `list` that are scrolled.
    pub fn new(frame: Rect, list: Rect, scrolled: Scrolled) -> Option<Scrollbar> {
        let at = Rect {
            x: frame.right().saturating_sub(1),
            width: 1,
            ..list
        };
        let at = at.intersection(frame);
        (scrolled.most() > 0 && at.height >= 2).then_some(Scrollbar { at, scrolled })
    }

    /// The scrollbar beside a list of `len` rows, `first` of which lie above.
    pub fn of_list(frame: Rect, list: Rect, first: usize, len: usize) -> Option<Scrollbar> {
        let seen = usize::from(list.height);
        Scrollbar::new(frame, list, Scrolled { len, first, seen })
    }

    /// The cells of the thumb: as long as the share that is in view, at an end only where that end is in view.
    pub fn thumb(self) -> Rect {
        let Scrolled { len, first, seen } = self.scrolled;
        let (rows, most) = (usize::from(self.at.height), self.scrolled.most());
        let long = (rows * seen / len.max(1)).clamp(1, rows - 1);
        let free = rows - long;
        let above = match first {
            0 => 0,
            first if first >= most => free,
            // One that is one row short of the whole has no place between the ends.
            _ if free < 2 => 0,
            first => scaled(first, free, most).clamp(1, free - 1),
        };
        let small = |n: usize| u16::try_from(n).unwrap_or(0);
        Rect {
            y: self.at.y + small(above),
            height: small(long),
            ..self.at
        }
    }

    /// How much lies above what is in view when the thumb is pulled to a row of the screen.
    pub fn first_at(self, row: u16) -> usize {
        self.scale(row, self.scrolled.most())
    }

    /// The row of a list that belongs to a row of the screen: the first one at the upper end, the last one at the lower.
    pub fn row_at(self, row: u16) -> usize {
        self.scale(row, self.scrolled.len.saturating_sub(1))
    }

    fn scale(self, row: u16, most: usize) -> usize {
        let last = usize::from(self.at.height.saturating_sub(1));
        let down = usize::from(row.saturating_sub(self.at.y)).min(last);
        scaled(down, most, last.max(1))
    }
}

/// `part` of `whole`, as so much of `of`.
fn scaled(part: usize, of: usize, whole: usize) -> usize {
    let product = part as u128 * of as u128 / whole.max(1) as u128;
    usize::try_from(product).unwrap_or(of)
}

/// Which row of a list is selected, as `7 of 20`; empty where all of them are in view.
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
    fn the_thumb_tells_how_much_is_in_view_and_where() {
        // The list has ten rows: of how many, how many above; the thumb's first row and its rows.
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
    fn there_is_none_where_all_is_in_view_or_no_room() {
        for len in [0, 1, 10] {
            assert_eq!(bar(0, len), None, "{len}");
        }
        let row = Rect { height: 1, ..LIST };
        assert_eq!(Scrollbar::of_list(FRAME, row, 0, 20), None);
    }

    #[test]
    fn the_position_is_told_where_not_all_is_in_view() {
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
        fn whoever_pulls_it_holds_it(height in 2_u16..60, more in 1_usize..50_000, row in 0_u16..60) {
            let list = Rect { height, ..LIST };
            let frame = Rect { height: height + 2, ..FRAME };
            let len = usize::from(height) + more;
            let row = list.y + row % height;
            let bar = Scrollbar::of_list(frame, list, 0, len).unwrap();
            let first = bar.first_at(row);
            prop_assert!(first <= more);
            let thumb = Scrollbar::of_list(frame, list, first, len).unwrap().thumb();
            prop_assert!(bar.at.contains(thumb.as_position()) && thumb.bottom() <= bar.at.bottom());
            // Within a row: the thumb is at an end only where that end is in view.
            prop_assert!((thumb.y.saturating_sub(1)..=thumb.bottom()).contains(&row), "{thumb} {row}");
            prop_assert_eq!(bar.row_at(list.y), 0);
            prop_assert_eq!(bar.row_at(list.bottom() - 1), len - 1);
        }
    }
}

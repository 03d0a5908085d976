//! The progress bar of the board: cells for completed, running, ready and blocked tasks. Pure.

use crate::ui::model::board::index::{BoardStatus, Index};

/// A segment of the progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// Completed tasks, except those with an unmerged branch.
    Merged,
    /// Completed tasks with an unmerged branch.
    Unmerged,
    InProgress,
    /// Ready tasks and tasks that are assigned but not claimed.
    Ready,
    Blocked,
}

/// The segments of the progress bar, from left to right.
pub const SEGMENTS: [Segment; 5] = [
    Segment::Merged,
    Segment::Unmerged,
    Segment::InProgress,
    Segment::Ready,
    Segment::Blocked,
];

/// Returns the number of tasks in each of [`SEGMENTS`]. `unmerged` is the number of completed tasks with an unmerged
/// branch.
pub fn counts(index: &Index, unmerged: usize) -> [usize; 5] {
    SEGMENTS.map(|segment| match segment {
        Segment::Merged => index.count(BoardStatus::Done).saturating_sub(unmerged),
        Segment::Unmerged => index.count(BoardStatus::Done).min(unmerged),
        Segment::InProgress => index.count(BoardStatus::InProgress),
        Segment::Ready => index.count(BoardStatus::Ready) + index.count(BoardStatus::Assigned),
        Segment::Blocked => index.count(BoardStatus::Blocked),
    })
}

/// Returns the share of completed tasks in percent, rounded down. The result is 100 only if all tasks are completed.
pub fn percent(counts: [usize; 5]) -> usize {
    let total: usize = counts.iter().sum();
    (counts[0] + counts[1]).saturating_mul(100) / total.max(1)
}

/// Returns the number of cells of each segment in a bar of `columns` cells. The length of a segment is proportional to
/// its number of tasks; a segment with tasks has at least one cell. All lengths are 0 if there are no tasks or the bar
/// has fewer cells than segments with tasks.
pub fn cells(counts: [usize; 5], columns: usize) -> [usize; 5] {
    let total: usize = counts.iter().sum();
    let present = counts.iter().filter(|c| **c > 0).count();
    if total == 0 || columns < present {
        return [0; 5];
    }
    let mut out = counts.map(|count| (count * columns / total).max(usize::from(count > 0)));
    // Corrects rounding errors: changes the length of the segment that is furthest from its exact share, until the
    // lengths add up to `columns`.
    while out.iter().sum::<usize>() != columns {
        let missing = out.iter().sum::<usize>() < columns;
        let short =
            |at: &usize| (counts[*at] * columns).cast_signed() - (out[*at] * total).cast_signed();
        let at = if missing {
            (0..5)
                .filter(|at| counts[*at] > 0)
                .max_by_key(|at| (short(at), 5 - at))
        } else {
            (0..5)
                .filter(|at| out[*at] > 1)
                .min_by_key(|at| (short(at), 5 - at))
        };
        match (at, missing) {
            (Some(at), true) => out[at] += 1,
            (Some(at), false) => out[at] -= 1,
            (None, _) => break,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bar_segments_are_proportional() {
        let cases = [
            ([0, 0, 0, 0, 0], 10, [0, 0, 0, 0, 0]),
            ([5, 0, 2, 1, 2], 10, [5, 0, 2, 1, 2]),
            ([5, 0, 0, 5, 0], 9, [5, 0, 0, 4, 0]),
            ([1, 0, 0, 0, 999], 10, [1, 0, 0, 0, 9]),
            ([999, 0, 1, 0, 0], 10, [9, 0, 1, 0, 0]),
            ([1, 0, 1, 1, 997], 4, [1, 0, 1, 1, 1]),
            ([1, 0, 1, 1, 1], 3, [0, 0, 0, 0, 0]),
            ([7, 0, 0, 0, 0], 12, [12, 0, 0, 0, 0]),
            ([5, 4, 0, 0, 0], 9, [5, 4, 0, 0, 0]),
        ];
        for (counts, columns, expected) in cases {
            assert_eq!(cells(counts, columns), expected, "{counts:?} in {columns}");
        }
        assert_eq!(
            [
                percent([999, 0, 1, 0, 0]),
                percent([3, 0, 0, 0, 0]),
                percent([1, 2, 0, 0, 0]),
                percent([0; 5])
            ],
            [99, 100, 100, 0]
        );
    }

    proptest! {
        #[test]
        fn bar_is_full_and_shows_every_segment(counts in prop::array::uniform5(0_usize..5000), columns in 5_usize..80) {
            let out = cells(counts, columns);
            let total: usize = counts.iter().sum();
            prop_assert_eq!(out.iter().sum::<usize>(), if total == 0 { 0 } else { columns });
            for (cells, count) in out.iter().zip(counts) {
                prop_assert_eq!(*cells > 0, count > 0);
            }
        }
    }
}

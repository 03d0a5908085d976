//! The progress bar of the board: cells for completed, running, ready and blocked tasks. Pure.

use crate::ui::model::board::index::{BoardStatus, Index};

/// The statuses for which the progress bar has a segment, from left to right.
pub const KINDS: [BoardStatus; 4] = [
    BoardStatus::Done,
    BoardStatus::InProgress,
    BoardStatus::Ready,
    BoardStatus::Blocked,
];

/// Returns the number of tasks for each of [`KINDS`]. Assigned tasks count as ready.
pub fn counts(index: &Index) -> [usize; 4] {
    KINDS.map(|kind| match kind {
        BoardStatus::Ready => index.count(BoardStatus::Ready) + index.count(BoardStatus::Assigned),
        BoardStatus::Done
        | BoardStatus::InProgress
        | BoardStatus::Assigned
        | BoardStatus::Blocked => index.count(kind),
    })
}

/// Returns the share of completed tasks in percent, rounded down. The result is 100 only if all tasks are completed.
pub fn percent(counts: [usize; 4]) -> usize {
    let total: usize = counts.iter().sum();
    counts[0].saturating_mul(100) / total.max(1)
}

/// Returns the number of cells of each segment in a bar of `columns` cells. The length of a segment is proportional to
/// its number of tasks; a segment with tasks has at least one cell. All lengths are 0 if there are no tasks or the bar
/// has fewer cells than segments with tasks.
pub fn cells(counts: [usize; 4], columns: usize) -> [usize; 4] {
    let total: usize = counts.iter().sum();
    let present = counts.iter().filter(|c| **c > 0).count();
    if total == 0 || columns < present {
        return [0; 4];
    }
    let mut out = counts.map(|count| (count * columns / total).max(usize::from(count > 0)));
    // Corrects rounding errors: changes the length of the segment that is furthest from its exact share, until the
    // lengths add up to `columns`.
    while out.iter().sum::<usize>() != columns {
        let missing = out.iter().sum::<usize>() < columns;
        let short =
            |at: &usize| (counts[*at] * columns).cast_signed() - (out[*at] * total).cast_signed();
        let at = if missing {
            (0..4)
                .filter(|at| counts[*at] > 0)
                .max_by_key(|at| (short(at), 4 - at))
        } else {
            (0..4)
                .filter(|at| out[*at] > 1)
                .min_by_key(|at| (short(at), 4 - at))
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
            ([0, 0, 0, 0], 10, [0, 0, 0, 0]),
            ([5, 2, 1, 2], 10, [5, 2, 1, 2]),
            ([5, 0, 5, 0], 9, [5, 0, 4, 0]),
            ([1, 0, 0, 999], 10, [1, 0, 0, 9]),
            ([999, 1, 0, 0], 10, [9, 1, 0, 0]),
            ([1, 1, 1, 997], 4, [1, 1, 1, 1]),
            ([1, 1, 1, 1], 3, [0, 0, 0, 0]),
            ([7, 0, 0, 0], 12, [12, 0, 0, 0]),
        ];
        for (counts, columns, expected) in cases {
            assert_eq!(cells(counts, columns), expected, "{counts:?} in {columns}");
        }
        assert_eq!(
            [
                percent([999, 1, 0, 0]),
                percent([3, 0, 0, 0]),
                percent([0; 4])
            ],
            [99, 100, 0]
        );
    }

    proptest! {
        #[test]
        fn bar_is_full_and_shows_every_segment(counts in prop::array::uniform4(0_usize..5000), columns in 4_usize..80) {
            let out = cells(counts, columns);
            let total: usize = counts.iter().sum();
            prop_assert_eq!(out.iter().sum::<usize>(), if total == 0 { 0 } else { columns });
            for (cells, count) in out.iter().zip(counts) {
                prop_assert_eq!(*cells > 0, count > 0);
            }
        }
    }
}

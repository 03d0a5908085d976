//! The critical path: the longest chain of open tasks in which each task depends on the one before it. Its length is
//! the minimum number of steps in sequence, however many teammates work. Pure.

use crate::ui::model::board::index::{BoardStatus, Index};

/// Returns the positions in `index` of the tasks on the critical path, from the first task to the last. The path is
/// empty if no open task depends on another one. Of several chains of the same length, chooses the one whose last task
/// has the lowest number; if that is the same task, compares the tasks before it, and so on.
pub fn critical(index: &Index) -> Vec<usize> {
    let count = index.len();
    let is_open = |task: usize| index.board_status(task) != BoardStatus::Done;
    // In the order of their layers, each task comes after its blockers. Edges that would close a cycle are ignored.
    let mut order: Vec<usize> = (0..count).filter(|task| is_open(*task)).collect();
    order.sort_by_key(|task| index.layer(*task));
    let mut length = vec![0_usize; count];
    let mut before = vec![None; count];
    for task in order {
        let waits = index.blockers(task).iter().copied();
        let waits = waits.filter(|w| is_open(*w) && index.layer(*w) < index.layer(task));
        let longest = waits.max_by_key(|w| (length[*w], usize::MAX - *w));
        length[task] = 1 + longest.map_or(0, |w| length[w]);
        before[task] = longest;
    }
    let last = (0..count).max_by_key(|task| (length[*task], usize::MAX - *task));
    let mut path: Vec<usize> = std::iter::successors(last, |task| before[*task]).collect();
    path.reverse();
    if path.len() < 2 { Vec::new() } else { path }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::graph::TaskGraph;
    use crate::domain::ids::TaskId;
    use crate::ui::panes::board::tests::board;

    fn path(board: &TaskGraph) -> Vec<u64> {
        let index = Index::new(board);
        let ids = index.critical().iter().filter_map(|at| index.id(*at));
        ids.map(|id| id.0).collect()
    }

    #[test]
    fn critical_path_is_the_longest_open_chain() {
        // Number of tasks, edges (blocker, blocked), number of completed tasks, expected path.
        type Case = (u64, &'static [(u64, u64)], u64, &'static [u64]);
        let cases: [Case; 9] = [
            (0, &[], 0, &[]),
            (3, &[], 0, &[]),
            (2, &[(1, 2)], 0, &[1, 2]),
            // A diamond: of two paths with the same length, the one with the lower number.
            (4, &[(1, 2), (1, 3), (2, 4), (3, 4)], 0, &[1, 2, 4]),
            // A diamond in which one path is longer.
            (
                5,
                &[(1, 2), (1, 3), (3, 4), (2, 5), (4, 5)],
                0,
                &[1, 3, 4, 5],
            ),
            // Completed tasks are not part of the path.
            (5, &[(1, 2), (1, 3), (3, 4), (2, 5), (4, 5)], 1, &[3, 4, 5]),
            (4, &[(1, 2), (2, 3), (3, 4)], 3, &[]),
            // Separate parts: the longest one, or the first of the longest ones.
            (5, &[(1, 2), (3, 4), (4, 5)], 0, &[3, 4, 5]),
            (4, &[(1, 2), (3, 4)], 0, &[1, 2]),
        ];
        for (count, edges, done, expected) in cases {
            let found = path(&board(count, edges, done));
            assert_eq!(found, expected, "{edges:?} with {done} done");
        }
    }

    #[test]
    fn cycles_in_task_files_do_not_loop_forever() {
        let mut tasks: Vec<_> = board(3, &[(1, 2), (2, 3)], 0).tasks().cloned().collect();
        tasks[0].blocked_by = vec![TaskId(3), TaskId(99)];
        assert_eq!(path(&TaskGraph::new(tasks)), [1, 2, 3]);
    }

    proptest! {
        #[test]
        fn critical_path_is_as_long_as_the_deepest_open_task(
            edges in prop::collection::vec((1_u64..20, 1_u64..20), 0..60), done in 0_u64..3
        ) {
            let edges: Vec<(u64, u64)> =
                edges.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
            // Only tasks without blockers can be completed first.
            let free = (1..=done).all(|id| edges.iter().all(|(_, to)| *to != id));
            prop_assume!(free);
            let index = Index::new(&board(20, &edges, done));
            let path = index.critical();
            for pair in path.windows(2) {
                prop_assert!(index.blockers(pair[1]).contains(&pair[0]));
            }
            // The depth of each open task, computed independently.
            let mut depth = [1_usize; 20];
            for _ in 0..20 {
                for (from, to) in index.edges() {
                    if index.board_status(from) != BoardStatus::Done && index.board_status(to) != BoardStatus::Done {
                        depth[to] = depth[to].max(depth[from] + 1);
                    }
                }
            }
            let deepest = depth.into_iter().max().unwrap_or(0);
            prop_assert_eq!(path.len().max(1), deepest);
        }
    }
}

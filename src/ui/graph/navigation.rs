//! Keyboard navigation in the graph: along edges, and up and down within a layer.

use crate::ui::graph::{Drawing, Node};
use crate::ui::keymap::direction::VerticalDirection;

/// A movement of the selection from one node to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphMove {
    /// To the nearest blocker of the selected task, or to the nearest node on the left if it has no blocker.
    Left,
    /// To the nearest task that the selected one blocks, or to the nearest node on the right if it blocks none.
    Right,
    /// Up by this number of nodes.
    Up(usize),
    /// Down by this number of nodes.
    Down(usize),
    /// To the topmost node in the first layer of the first connected component.
    First,
    /// To the lowest node in the last layer of the last connected component.
    Last,
}

/// Returns the index of the node to which a move from node `at` leads. Returns `at` if there is no node in that
/// direction, and 0 if `at` is not the index of a node.
pub fn step(drawing: &Drawing, at: usize, step: GraphMove) -> usize {
    let Some(here) = drawing.nodes.get(at) else {
        return 0;
    };
    let place = |n: usize| drawing.nodes[n];
    let all = || 0..drawing.nodes.len();
    let nearest = |n: &usize| (place(*n).y.abs_diff(here.y), place(*n).y);
    match step {
        GraphMove::Left => {
            let before = drawing.paths.iter().filter(|p| p.to == at).map(|p| p.from);
            let along = before.min_by_key(|n| (usize::MAX - place(*n).layer, nearest(n)));
            let beside = || {
                all()
                    .filter(|n| place(*n).x + place(*n).width <= here.x)
                    .min_by_key(|n| (nearest(n), usize::MAX - place(*n).x))
            };
            along.or_else(beside).unwrap_or(at)
        }
        GraphMove::Right => {
            let after = drawing.paths.iter().filter(|p| p.from == at).map(|p| p.to);
            let along = after.min_by_key(|n| (place(*n).layer, nearest(n)));
            let beside = || {
                all()
                    .filter(|n| place(*n).x >= here.x + here.width)
                    .min_by_key(|n| (nearest(n), place(*n).x))
            };
            along.or_else(beside).unwrap_or(at)
        }
        GraphMove::Up(count) => (0..count).fold(at, |at, _| {
            above_or_below(drawing, at, VerticalDirection::Up)
        }),
        GraphMove::Down(count) => (0..count).fold(at, |at, _| {
            above_or_below(drawing, at, VerticalDirection::Down)
        }),
        GraphMove::First => all()
            .min_by_key(|n| (place(*n).component, place(*n).layer, place(*n).y))
            .unwrap_or(at),
        GraphMove::Last => all()
            .max_by_key(|n| (place(*n).component, place(*n).layer, place(*n).y))
            .unwrap_or(at),
    }
}

/// Returns the next node of the same layer above or below node `at`. At the end of the layer, returns the nearest node
/// of the next connected component, or `at` if there is none.
fn above_or_below(drawing: &Drawing, at: usize, direction: VerticalDirection) -> usize {
    let here = drawing.nodes[at];
    let is_beyond = |n: &Node| match direction {
        VerticalDirection::Up => n.y < here.y,
        VerticalDirection::Down => n.y > here.y,
    };
    let next = drawing
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, n)| is_beyond(n));
    let key = |n: &Node| {
        let same = n.component == here.component && n.layer == here.layer;
        // Within the connected component of `at`, only nodes of the same layer count.
        let rank = match (same, n.component == here.component) {
            (true, _) => Some((0, 0, 0)),
            (false, true) => None,
            (false, false) => Some((
                1,
                n.component.abs_diff(here.component),
                n.x.abs_diff(here.x),
            )),
        };
        rank.map(|rank| (rank, n.y.abs_diff(here.y)))
    };
    let found = next.filter_map(|(i, n)| Some((key(n)?, i))).min();
    found.map_or(at, |(_, i)| i)
}

//! Assigns a row to each point of the layered graph (a node, or a bend of an edge). Points keep the order of their
//! layer and are placed close to their neighbours in the adjacent layers.

use crate::ui::graph::layers::LayeredGraph;

/// Number of rounds that move points towards their neighbours. Each round goes over all layers forward, then backward,
/// and considers only the neighbours in the layer that was visited before. A last pass considers the neighbours in both
/// adjacent layers.
const ROUNDS: usize = 3;

/// Returns the row of each point of `web`, in the order of the points. Rows are counted from 0 at the top.
pub fn rows(web: &LayeredGraph) -> Vec<usize> {
    let mut rows: Vec<isize> = crate::ui::graph::crossing::positions(web)
        .into_iter()
        .map(usize::cast_signed)
        .collect();
    let last = web.layers.len();
    for _ in 0..ROUNDS {
        for layer in 1..last {
            settle(web, layer, &mut rows, |p| &web.prev[p], |_| &[]);
        }
        for layer in (0..last.saturating_sub(1)).rev() {
            settle(web, layer, &mut rows, |p| &web.next[p], |_| &[]);
        }
    }
    for layer in 0..last {
        settle(web, layer, &mut rows, |p| &web.prev[p], |p| &web.next[p]);
    }
    let first = rows.iter().copied().min().unwrap_or(0);
    rows.into_iter()
        .map(|row| (row - first).cast_unsigned())
        .collect()
}

/// Moves the points of a layer towards the median row of their neighbours. Points stay in order and at least one row
/// apart. The neighbours of a point that count are those that `near` and `also` return.
fn settle<'a>(
    web: &LayeredGraph,
    layer: usize,
    rows: &mut [isize],
    near: impl Fn(usize) -> &'a [usize],
    also: impl Fn(usize) -> &'a [usize],
) {
    // If each point's index is subtracted from its target row, "in order and at least one row apart" becomes
    // "non-decreasing". That is isotonic regression, solved here by merging adjacent blocks of points.
    let points = &web.layers[layer];
    let mut blocks: Vec<Vec<isize>> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let mut seen: Vec<isize> = near(*point)
            .iter()
            .chain(also(*point))
            .map(|p| rows[*p])
            .collect();
        seen.sort_unstable();
        let target = middle(&seen).unwrap_or(rows[*point]) - at.cast_signed();
        let mut block = vec![target];
        // Adjacent points whose targets are out of order form a block that moves to the median of all their targets.
        while let Some(above) = blocks.pop_if(|b| middle(b) > middle(&block)) {
            block.extend(above);
            block.sort_unstable();
        }
        blocks.push(block);
    }
    let targets = blocks
        .iter()
        .flat_map(|b| b.iter().map(|_| middle(b).unwrap_or(0)));
    for (at, (point, row)) in points.iter().zip(targets).enumerate() {
        rows[*point] = row + at.cast_signed();
    }
}

/// Returns the median of sorted numbers; for an even count, the smaller one of the two middle numbers. `None` for an
/// empty list.
fn middle(sorted: &[isize]) -> Option<isize> {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

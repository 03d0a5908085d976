//! The row of each point: in the order of its column, as near to its neighbours as it can be.

use crate::ui::graph::layers::Web;

/// Rounds there and back over the columns.
const ROUNDS: usize = 3;

/// The row of each point, the first row being 0.
pub fn rows(web: &Web) -> Vec<usize> {
    let mut rows: Vec<isize> = crate::ui::graph::order::places(web)
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

/// Moves the points of a column to the middle of their neighbours, in order and a row apart.
fn settle<'a>(
    web: &Web,
    layer: usize,
    rows: &mut [isize],
    near: impl Fn(usize) -> &'a [usize],
    also: impl Fn(usize) -> &'a [usize],
) {
    // With each point's place taken off, "in order and a row apart" is "not falling".
    let points = &web.layers[layer];
    let mut blocks: Vec<Vec<isize>> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let mut seen: Vec<isize> = near(*point)
            .iter()
            .chain(also(*point))
            .map(|p| rows[*p])
            .collect();
        seen.sort_unstable();
        let wished = middle(&seen).unwrap_or(rows[*point]) - at.cast_signed();
        let mut block = vec![wished];
        // Points that want to pass one another share the middle of what they want.
        while let Some(above) = blocks.pop_if(|b| middle(b) > middle(&block)) {
            block.extend(above);
            block.sort_unstable();
        }
        blocks.push(block);
    }
    let wished = blocks
        .iter()
        .flat_map(|b| b.iter().map(|_| middle(b).unwrap_or(0)));
    for (at, (point, row)) in points.iter().zip(wished).enumerate() {
        rows[*point] = row + at.cast_signed();
    }
}

/// The middle one of sorted numbers; of two, the smaller.
fn middle(sorted: &[isize]) -> Option<isize> {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

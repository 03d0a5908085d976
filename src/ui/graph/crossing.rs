//! Orders the points within their layers so that few lines cross.

use crate::ui::graph::layers::LayeredGraph;

/// Maximum number of sweeps over the layers. More sweeps rarely improve the result.
const SWEEPS: usize = 10;

/// Orders the points of each layer so that few links cross. A link is the part of an edge between two adjacent layers.
/// Each sweep sorts the points by the mean position of their neighbours in the adjacent layer; sweeps go forward and
/// backward in turn. Keeps the order with the fewest crossings.
pub fn reduce_crossings(web: &mut LayeredGraph) {
    let mut best = (crossings(web), web.layers.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let last = web.layers.len();
        if sweep % 2 == 0 {
            for layer in 1..last {
                sort(web, layer, layer - 1);
            }
        } else {
            for layer in (0..last.saturating_sub(1)).rev() {
                sort(web, layer, layer + 1);
            }
        }
        swap(web);
        let now = crossings(web);
        if now < best.0 {
            best = (now, web.layers.clone());
        }
    }
    web.layers = best.1;
}

/// Returns the position of each point within its layer, from 0 at the top.
pub fn positions(web: &LayeredGraph) -> Vec<usize> {
    let mut out = vec![0; web.points.len()];
    for layer in &web.layers {
        for (at, point) in layer.iter().enumerate() {
            out[*point] = at;
        }
    }
    out
}

fn sort(web: &mut LayeredGraph, layer: usize, beside: usize) {
    let place = positions(web);
    let links = if beside < layer { &web.prev } else { &web.next };
    let middle = |point: &usize| {
        let near = &links[*point];
        // Scaled by 1000 for integer arithmetic. A point without neighbours keeps its position.
        match near.len() {
            0 => place[*point] * 1000,
            count => near.iter().map(|p| place[*p] * 1000).sum::<usize>() / count,
        }
    };
    let mut points = web.layers[layer].clone();
    points.sort_by_key(middle);
    web.layers[layer] = points;
}

/// Swaps adjacent points of each layer if that reduces the number of crossings.
fn swap(web: &mut LayeredGraph) {
    let mut place = positions(web);
    for layer in 0..web.layers.len() {
        for at in 1..web.layers[layer].len() {
            let (above, below) = (web.layers[layer][at - 1], web.layers[layer][at]);
            let cost = |links: &[Vec<usize>], one: usize, two: usize| {
                let pairs = links[one]
                    .iter()
                    .flat_map(|a| links[two].iter().map(move |b| (a, b)));
                pairs.filter(|(a, b)| place[**a] > place[**b]).count()
            };
            let now = cost(&web.next, above, below) + cost(&web.prev, above, below);
            let then = cost(&web.next, below, above) + cost(&web.prev, below, above);
            if then < now {
                web.layers[layer].swap(at - 1, at);
                place.swap(above, below);
            }
        }
    }
}

/// Counts the pairs of links that cross between adjacent layers.
pub fn crossings(web: &LayeredGraph) -> usize {
    let place = positions(web);
    let mut all = 0;
    for layer in &web.layers {
        // Links are visited from top to bottom: each crosses the earlier ones that end below it.
        let width = layer
            .iter()
            .flat_map(|p| &web.next[*p])
            .map(|q| place[*q] + 1)
            .max()
            .unwrap_or(0);
        let mut ended = Counter::new(width);
        let mut count = 0;
        for point in layer {
            let mut ends: Vec<usize> = web.next[*point].iter().map(|q| place[*q]).collect();
            ends.sort_unstable();
            for end in &ends {
                all += count - ended.up_to(*end);
            }
            for end in ends {
                ended.add(end);
                count += 1;
            }
        }
    }
    all
}

/// A multiset of numbers. Adding a number, and counting the numbers below or equal to a given number, takes logarithmic
/// time (a Fenwick tree).
struct Counter(Vec<usize>);

impl Counter {
    fn new(size: usize) -> Counter {
        Counter(vec![0; size + 1])
    }

    fn add(&mut self, number: usize) {
        let mut at = number + 1;
        while at < self.0.len() {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn up_to(&self, number: usize) -> usize {
        let mut at = number + 1;
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

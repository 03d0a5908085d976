//! Which column each node belongs to, and the points at which longer edges pass the columns between.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The columns of a graph without circles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    /// The column of each node: the length of the longest way to it.
    pub layer: Vec<usize>,
    /// The edges, each once, without those that close a circle.
    pub edges: Vec<(usize, usize)>,
    /// How many those are.
    pub circular: usize,
}

/// Finds the columns. Where all that is left waits in a circle, the first of it is taken as if it did not wait.
pub fn rank(count: usize, edges: &[(usize, usize)]) -> Ranked {
    let all: BTreeSet<(usize, usize)> = edges
        .iter()
        .copied()
        .filter(|(from, to)| from != to && *from < count && *to < count)
        .collect();
    let mut next = vec![Vec::new(); count];
    let mut waits = vec![0_usize; count];
    for (from, to) in &all {
        next[*from].push(*to);
        waits[*to] += 1;
    }
    let mut ready: BTreeSet<usize> = (0..count).filter(|n| waits[*n] == 0).collect();
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut layer = vec![0; count];
    let mut kept = Vec::with_capacity(all.len());
    while let Some(node) = ready.pop_first().or_else(|| left.first().copied()) {
        left.remove(&node);
        for to in &next[node] {
            // What was taken already closes a circle.
            if !left.contains(to) {
                continue;
            }
            kept.push((node, *to));
            layer[*to] = layer[*to].max(layer[node] + 1);
            waits[*to] -= 1;
            if waits[*to] == 0 {
                ready.insert(*to);
            }
        }
    }
    kept.sort_unstable();
    Ranked {
        layer,
        circular: all.len() - kept.len(),
        edges: kept,
    }
}

/// The parts of a graph that no edge joins: first those with edges, then the lone nodes, by their first nodes.
pub fn parts(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut root: Vec<usize> = (0..count).collect();
    for (from, to) in edges {
        let (one, two) = (find(&mut root, *from), find(&mut root, *to));
        root[one.max(two)] = one.min(two);
    }
    let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for node in 0..count {
        out.entry(find(&mut root, node)).or_default().push(node);
    }
    let (mut joined, lone): (Vec<_>, Vec<_>) = out.into_values().partition(|p| p.len() > 1);
    joined.extend(lone);
    joined
}

/// The node that stands for the part of `node`.
fn find(root: &mut [usize], mut node: usize) -> usize {
    while root[node] != node {
        root[node] = root[root[node]];
        node = root[node];
    }
    node
}

/// A node, or the place where edges of a node pass a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The node, or `None` where edges only pass.
    pub node: Option<usize>,
    /// Its column.
    pub layer: usize,
    /// The node that the edges come from; a node itself.
    pub source: usize,
}

/// One part of a graph: every link leads to the next column.
#[derive(Debug, Clone, Default)]
pub struct Web {
    /// The points.
    pub points: Vec<Point>,
    /// The points of each column, from above.
    pub layers: Vec<Vec<usize>>,
    /// Where the links of each point lead.
    pub next: Vec<Vec<usize>>,
    /// Where they come from.
    pub prev: Vec<Vec<usize>>,
    /// The points of each edge.
    pub paths: Vec<Vec<usize>>,
}

impl Web {
    /// The web of a part; `None` when its edges pass columns more than `bends` times.
    pub fn new(members: &[usize], ranked: &Ranked, bends: usize) -> Option<Web> {
        let mut web = Web::default();
        let mut of_node = HashMap::new();
        for node in members {
            let at = web.add(Some(*node), ranked.layer[*node], *node);
            of_node.insert(*node, at);
        }
        let mut passing: HashMap<(usize, usize), usize> = HashMap::new();
        let own = |e: &&(usize, usize)| of_node.contains_key(&e.0);
        for (from, to) in ranked.edges.iter().filter(own) {
            let mut path = vec![of_node[from]];
            for layer in ranked.layer[*from] + 1..ranked.layer[*to] {
                // All edges of a node share one line as long as they can.
                let at = *passing
                    .entry((*from, layer))
                    .or_insert_with(|| web.add(None, layer, *from));
                path.push(at);
                if passing.len() > bends {
                    return None;
                }
            }
            path.push(of_node[to]);
            for pair in path.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                if !web.next[a].contains(&b) {
                    web.next[a].push(b);
                    web.prev[b].push(a);
                }
            }
            web.paths.push(path);
        }
        Some(web)
    }

    fn add(&mut self, node: Option<usize>, layer: usize, source: usize) -> usize {
        let at = self.points.len();
        self.points.push(Point {
            node,
            layer,
            source,
        });
        if self.layers.len() <= layer {
            self.layers.resize(layer + 1, Vec::new());
        }
        self.layers[layer].push(at);
        self.next.push(Vec::new());
        self.prev.push(Vec::new());
        at
    }
}

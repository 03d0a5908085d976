//! Assigns nodes to layers, and adds a bend to each layer that an edge crosses between its two nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The assignment of a graph's nodes to layers, after cycles were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layering {
    /// The layer of each node: the number of edges in the longest path that leads to the node.
    pub layer: Vec<usize>,
    /// The distinct edges in ascending order. An edge is left out if it closes a cycle, leads from a node to itself, or
    /// names a node that does not exist.
    pub edges: Vec<(usize, usize)>,
    /// Number of edges that were removed because they close a cycle. An edge from a node to itself does not count.
    pub removed_edges: usize,
}

/// Assigns a layer to each node, in topological order. If every remaining node has a remaining predecessor (a cycle),
/// takes the node with the lowest index next and removes its remaining incoming edges.
pub fn assign_layers(count: usize, edges: &[(usize, usize)]) -> Layering {
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
            // The target already has a layer, so this edge closes a cycle and is removed.
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
    Layering {
        layer,
        removed_edges: all.len() - kept.len(),
        edges: kept,
    }
}

/// Returns the nodes of each connected component: first the components with edges, then single nodes. Within each of
/// the two groups, components are ordered by their lowest node index. The nodes of a component are in ascending order.
pub fn components(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
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

/// Returns the representative of the component of `node` (union-find with path halving).
fn find(root: &mut [usize], mut node: usize) -> usize {
    while root[node] != node {
        root[node] = root[root[node]];
        node = root[node];
    }
    node
}

/// A point of the layered graph: a node, or a bend where edges of one source node cross a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Index of the node; `None` for a bend.
    pub node: Option<usize>,
    pub layer: usize,
    /// The source node of the edges that go through the bend; for a node, the node itself.
    pub source: usize,
}

/// A connected component of the graph. An edge that crosses layers is split into links by a bend in each crossed layer,
/// so that every link leads to the next layer.
#[derive(Debug, Clone, Default)]
pub struct LayeredGraph {
    pub points: Vec<Point>,
    /// The indexes in `points` of each layer's points, from the top.
    pub layers: Vec<Vec<usize>>,
    /// For each point, the indexes of the points in the next layer to which a link leads.
    pub next: Vec<Vec<usize>>,
    /// For each point, the indexes of the points in the previous layer from which a link comes.
    pub prev: Vec<Vec<usize>>,
    /// The points of each edge, as indexes in `points`, from its source node over its bends to its target node.
    pub paths: Vec<Vec<usize>>,
}

impl LayeredGraph {
    /// Builds the layered graph of the component with the nodes `members`. Returns `None` if it needs more than `bends`
    /// bends.
    pub fn new(members: &[usize], ranked: &Layering, bends: usize) -> Option<LayeredGraph> {
        let mut web = LayeredGraph::default();
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
                // All edges of a node share their bends, so that they are one line for as long as possible.
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

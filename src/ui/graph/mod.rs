//! Draws a directed graph in cells, from left to right: one column per layer, one row per node. Pure.
//!
//! General layout libraries do not fit: a pane is wide and low, so a node gets one row, and a line must never seem to
//! lead to a wrong node. The steps are: longest-path layers ([`layers`]), crossing reduction by barycentres
//! ([`crossing`]), rows close to their neighbours ([`coordinates`]), lines in channels between the columns ([`route`]),
//! and cells in which passing lines are drawn behind turning ones ([`canvas`]).

mod canvas;
mod coordinates;
mod crossing;
mod junctions;
mod layers;
pub(in crate::ui) mod navigation;
mod route;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod viewport;

pub use crate::ui::graph::junctions::heavy;
use crate::ui::graph::layers::LayeredGraph;
pub use crate::ui::graph::layers::rank;
use crate::ui::graph::route::Spacing;

/// Maximum number of nodes and bends in a drawing. A larger drawing would be unreadable.
pub const POINTS_MAX: usize = 6_000;

/// Minimum width of a node in columns.
pub const NODE_MIN: usize = 12;

/// Maximum height of a node in rows.
pub const ROWS_MAX: usize = 3;

/// A graph to draw. Nodes are identified by index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct GraphInput {
    /// The preferred width of each node in columns.
    pub widths: Vec<usize>,
    /// The edges, from node to node.
    pub edges: Vec<(usize, usize)>,
    /// The width that the drawing should not exceed. It may exceed it if nodes of [`NODE_MIN`] columns do not fit.
    pub columns: usize,
    /// How nodes narrower than preferred are shown.
    pub short: NodeOverflow,
    /// The minimum width of each wrapped node, if there is room for all; empty means [`NODE_MIN`].
    pub least: Vec<usize>,
}

/// How nodes narrower than preferred are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NodeOverflow {
    /// Truncated to one row.
    #[default]
    Cut,
    /// Wrapped to at most this many rows, limited by [`ROWS_MAX`].
    Wrapped(usize),
}

/// Returns the rows of a node with a preferred width of `natural` columns that gets `columns`, at most `most`.
pub fn rows_for(natural: usize, columns: usize, most: usize) -> usize {
    let missing = natural.saturating_sub(columns);
    // Continuation rows are indented and break at words, so they hold fewer characters.
    let more = missing.div_ceil(columns.saturating_sub(4).max(1));
    (1 + more).min(most.clamp(1, ROWS_MAX))
}

/// The position of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Node {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Width in columns.
    pub width: usize,
    /// Height in rows.
    pub height: usize,
    /// The layer, counted from 0 at the left.
    pub layer: usize,
    /// The connected component, numbered from the top.
    pub part: usize,
}

/// A cell that one or more lines pass through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCell {
    /// Column.
    pub x: usize,
    pub glyph: char,
    /// The source nodes of the edges in this cell.
    pub sources: Vec<usize>,
}

/// The path of one edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Source node.
    pub from: usize,
    /// Target node.
    pub to: usize,
    /// The corners as column and row, from the cell after the source to the arrow before the target.
    pub corners: Vec<(usize, usize)>,
}

impl Path {
    /// Returns all cells of the path as column and row.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        canvas::walk(&self.corners)
    }
}

/// A drawn graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawing {
    /// Width in columns.
    pub width: usize,
    /// Height in rows.
    pub height: usize,
    pub nodes: Vec<Node>,
    /// The cells of the lines, by row, from left to right.
    pub lines: Vec<Vec<LineCell>>,
    pub paths: Vec<Path>,
    /// Number of layers of the longest connected component.
    pub layers: usize,
    /// Number of edges omitted because they close a cycle.
    pub omitted_edges: usize,
}

/// Draws a graph; `None` if it has more than [`POINTS_MAX`] nodes and bends.
pub fn draw(wanted: &GraphInput) -> Option<Drawing> {
    let count = wanted.widths.len();
    let ranked = layers::rank(count, &wanted.edges);
    let mut out = Drawing {
        nodes: vec![Node::default(); count],
        omitted_edges: ranked.circular,
        ..Drawing::default()
    };
    let mut points = count;
    let mut above_has_lines = false;
    for (part, members) in layers::parts(count, &ranked.edges).iter().enumerate() {
        let mut web = LayeredGraph::new(members, &ranked, POINTS_MAX.saturating_sub(points))?;
        points += web.points.len() - members.len();
        crossing::reduce_crossings(&mut web);
        let rows = coordinates::rows(&web);
        let routed = match route::route(&web, &rows, Spacing::Tight) {
            Ok(routed) => routed,
            Err(route::Tangled) => route::route(&web, &rows, Spacing::Loose).ok()?,
        };
        // An empty row separates components with edges; single nodes are stacked without one.
        let has_lines = members.len() > 1;
        if out.height > 0 && (has_lines || above_has_lines) {
            out.height += 1;
        }
        above_has_lines = has_lines;
        canvas::add(&mut out, part, &web, &routed, wanted);
        out.layers = out.layers.max(web.layers.len());
    }
    Some(out)
}

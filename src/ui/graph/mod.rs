//! Draws a directed graph in terminal cells, from left to right: one column per layer. Pure.
//!
//! General layout libraries are not used, for two reasons. A pane is wide and low, so its nodes must be flat boxes. And
//! a line must never seem to lead to a wrong node.
//!
//! The steps are:
//!
//! - [`layers`] assigns each node to a layer by the longest path to it.
//! - [`crossing`] reduces crossings by barycentres.
//! - [`coordinates`] chooses rows close to the rows of the neighbours.
//! - [`route`] routes lines through the channels between the columns.
//! - [`canvas`] draws the cells. Lines that turn are drawn over lines that only pass through.

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
pub use crate::ui::graph::layers::assign_layers;
use crate::ui::graph::route::Spacing;

/// Maximum number of nodes and bends in a drawing. A larger graph is not drawn, because it would be unreadable.
pub const POINTS_MAX: usize = 6_000;

/// Minimum width, in columns, to which a node is cut. A node that prefers fewer columns gets fewer.
pub const NODE_MIN: usize = 12;

/// Maximum height of a node in rows.
pub const ROWS_MAX: usize = 3;

/// A graph to draw. A node is identified by its index, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct GraphInput {
    /// The preferred width of each node in columns.
    pub widths: Vec<usize>,
    /// The edges, each as source node and target node.
    pub edges: Vec<(usize, usize)>,
    /// The maximum width of the drawing, in columns. The drawing is wider only if the layers do not fit even with nodes
    /// of [`NODE_MIN`] columns.
    pub columns: usize,
    pub overflow: NodeOverflow,
    /// The minimum width of each node, in columns; empty means [`NODE_MIN`] for all nodes. Ignored if the drawing has
    /// no room for all these widths.
    pub min_widths: Vec<usize>,
    /// Lists of better minimum widths, each for all nodes, the most important list first. The layers that need the
    /// fewest additional columns get them, as far as the drawing has room.
    pub better_widths: Vec<Vec<usize>>,
    /// The minimum number of rows of each node; empty means 1 for all nodes. A node may need more rows than its width
    /// suggests, because text wraps only between words. Has an effect only with [`NodeOverflow::Wrapped`], whose number
    /// of rows stays the maximum.
    pub min_rows: Vec<usize>,
}

/// How to show a node that gets fewer columns than preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NodeOverflow {
    /// The node's text is truncated to one row.
    #[default]
    Cut,
    /// The node's text is wrapped to this many rows, but never to more than [`ROWS_MAX`].
    Wrapped(usize),
}

/// Returns the number of rows for a node that prefers a width of `natural` columns and gets `columns` columns: at least
/// 1, at most `most` and [`ROWS_MAX`].
pub fn rows_for(natural: usize, columns: usize, most: usize) -> usize {
    let missing = natural.saturating_sub(columns);
    // Continuation rows are indented and break at words, so they hold fewer characters.
    let more = missing.div_ceil(columns.saturating_sub(4).max(1));
    (1 + more).min(most.clamp(1, ROWS_MAX))
}

/// The position and size of a node in the drawing, in columns and rows from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Node {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
    /// Number of the layer, from 0 at the left.
    pub layer: usize,
    /// Number of the connected component, from 0 at the top.
    pub component: usize,
}

/// A cell that one or more lines pass through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCell {
    /// The column of the cell, from 0 at the left of the drawing.
    pub x: usize,
    pub glyph: char,
    /// The source nodes of the edges in this cell.
    pub sources: Vec<usize>,
}

/// The drawn line of one edge, as a polyline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub from: usize,
    pub to: usize,
    /// The corners of the path, as column and row, from the cell after the source to the arrow before the target.
    pub corners: Vec<(usize, usize)>,
}

impl Path {
    /// Returns all cells of the path as column and row.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        canvas::walk(&self.corners)
    }
}

/// A drawn graph: the areas of its nodes and the cells of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawing {
    pub width: usize,
    pub height: usize,
    pub nodes: Vec<Node>,
    /// The cells of the lines: a list for each row, each from left to right.
    pub lines: Vec<Vec<LineCell>>,
    pub paths: Vec<Path>,
    /// The largest number of layers that a connected component of the graph has.
    pub layers: usize,
    /// Number of edges that are not drawn because they close a cycle. Does not include edges from a node to itself,
    /// which are not drawn either.
    pub omitted_edges: usize,
}

/// Draws a graph. Returns `None` if the edges need bends and there are more than [`POINTS_MAX`] nodes and bends.
pub fn draw(wanted: &GraphInput) -> Option<Drawing> {
    let count = wanted.widths.len();
    let ranked = layers::assign_layers(count, &wanted.edges);
    let mut out = Drawing {
        nodes: vec![Node::default(); count],
        omitted_edges: ranked.removed_edges,
        ..Drawing::default()
    };
    let mut points = count;
    let mut above_has_lines = false;
    for (part, members) in layers::components(count, &ranked.edges).iter().enumerate() {
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

//! Pure: a graph as a drawing in cells. Left to right, a column for each step of the way, a row for each node.
//!
//! Why not a ready-made layout: in a wide and low pane a node must do with one row, and a line must never
//! seem to lead where it does not. So: longest-path layers ([`layers`]), fewer crossings by barycentres
//! ([`order`]), rows near their neighbours ([`place`]), lines in channels between the columns ([`route`]),
//! and cells in which a line that only passes is drawn behind the other ([`ink`]).

mod heavy;
mod ink;
mod layers;
pub(in crate::ui) mod navigation;
mod order;
mod place;
mod route;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod viewport;

pub use crate::ui::graph::heavy::heavy;
use crate::ui::graph::layers::Web;
pub use crate::ui::graph::layers::rank;
use crate::ui::graph::route::Spacing;

/// Most nodes and bends of one drawing; beyond, a drawing would help nobody.
pub const POINTS_MAX: usize = 6_000;

/// Narrowest node that a drawing is squeezed to, in columns.
pub const NODE_MIN: usize = 12;

/// Most rows of a node.
pub const ROWS_MAX: usize = 3;

/// A graph that is to be drawn. Nodes are called by their places.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Wanted {
    /// The columns that each node would like to have.
    pub widths: Vec<usize>,
    /// From where to where.
    pub edges: Vec<(usize, usize)>,
    /// The columns that the drawing should keep to, if it can with nodes of [`NODE_MIN`].
    pub columns: usize,
    /// What becomes of nodes that are narrower than they would like to be.
    pub short: Short,
    /// The columns that each wrapped node should have at least, if there is room for all; empty: [`NODE_MIN`].
    pub least: Vec<usize>,
}

/// What becomes of nodes that are narrower than they would like to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Short {
    /// They are cut.
    #[default]
    Cut,
    /// They get more rows, so many at most: up to [`ROWS_MAX`].
    Wrapped(usize),
}

/// The rows of a node that would like to have `natural` columns and has `columns`: at most `most`.
pub fn rows_for(natural: usize, columns: usize, most: usize) -> usize {
    let missing = natural.saturating_sub(columns);
    // Rows that go on are a little shorter, and end where a word does.
    let more = missing.div_ceil(columns.saturating_sub(4).max(1));
    (1 + more).min(most.clamp(1, ROWS_MAX))
}

/// Where a node lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Node {
    /// Its first column.
    pub x: usize,
    /// Its row.
    pub y: usize,
    /// Its columns.
    pub width: usize,
    /// Its rows.
    pub height: usize,
    /// The steps before it.
    pub layer: usize,
    /// The part of the graph that it belongs to, counted from above.
    pub part: usize,
}

/// A cell of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ink {
    /// Its column.
    pub x: usize,
    /// What is drawn there.
    pub glyph: char,
    /// The nodes from which the line comes.
    pub sources: Vec<usize>,
}

/// The way of one edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// From this node.
    pub from: usize,
    /// To this one.
    pub to: usize,
    /// The corners, column and row, from the cell behind the first node to the arrow before the other.
    pub corners: Vec<(usize, usize)>,
}

impl Path {
    /// All cells of the way, column and row.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        ink::walk(&self.corners)
    }
}

/// A graph in cells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawing {
    /// Its columns.
    pub width: usize,
    /// Its rows.
    pub height: usize,
    /// Where the nodes lie.
    pub nodes: Vec<Node>,
    /// The cells of the lines, row by row, from left to right.
    pub lines: Vec<Vec<Ink>>,
    /// The ways of the edges.
    pub paths: Vec<Path>,
    /// The columns of nodes of its longest part.
    pub layers: usize,
    /// Edges that are left out because they would close a circle.
    pub circular: usize,
}

/// Draws a graph; `None` when it has more than [`POINTS_MAX`] nodes and bends.
pub fn draw(wanted: &Wanted) -> Option<Drawing> {
    let count = wanted.widths.len();
    let ranked = layers::rank(count, &wanted.edges);
    let mut out = Drawing {
        nodes: vec![Node::default(); count],
        circular: ranked.circular,
        ..Drawing::default()
    };
    let mut points = count;
    let mut above_has_lines = false;
    for (part, members) in layers::parts(count, &ranked.edges).iter().enumerate() {
        let mut web = Web::new(members, &ranked, POINTS_MAX.saturating_sub(points))?;
        points += web.points.len() - members.len();
        order::untangle(&mut web);
        let rows = place::rows(&web);
        let routed = match route::route(&web, &rows, Spacing::Tight) {
            Ok(routed) => routed,
            Err(route::Tangled) => route::route(&web, &rows, Spacing::Loose).ok()?,
        };
        // A free row between parts that have lines; lone nodes lie close together.
        let has_lines = members.len() > 1;
        if out.height > 0 && (has_lines || above_has_lines) {
            out.height += 1;
        }
        above_has_lines = has_lines;
        ink::add(&mut out, part, &web, &routed, wanted);
        out.layers = out.layers.max(web.layers.len());
    }
    Some(out)
}

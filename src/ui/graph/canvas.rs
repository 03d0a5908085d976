//! Renders a connected component to cells: chooses the column widths and the glyphs of the lines.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::ui::graph::layers::LayeredGraph;
use crate::ui::graph::route::{Channel, Routed};
use crate::ui::graph::{
    Drawing, GraphInput, LineCell, NODE_MIN, Node, NodeOverflow, Path, ROWS_MAX, rows_for,
};

/// The arrow at the end of a line, before its target node.
pub const ARROW: char = '▸';

pub(super) const NORTH: u8 = 1;
pub(super) const EAST: u8 = 2;
pub(super) const SOUTH: u8 = 4;
pub(super) const WEST: u8 = 8;

/// The horizontal positions and widths of the layers.
struct Columns {
    /// The first column of each layer.
    start: Vec<usize>,
    /// The width of each layer's widest node.
    width: Vec<usize>,
    gap: Gap,
}

/// The gap between two layers. From left to right it has a space, a dash, the vertical lines, a dash (which the
/// narrowest gap omits), the arrow and a space.
#[derive(Clone, Copy)]
struct Gap {
    /// Distance between vertical lines, in columns.
    step: usize,
    /// Number of columns to the left and right of the vertical lines together.
    beside: usize,
}

/// The gaps between layers to choose from, widest first.
const GAPS: [Gap; 3] = [
    Gap { step: 2, beside: 5 },
    Gap { step: 1, beside: 5 },
    Gap { step: 1, beside: 4 },
];

/// The width of a layer, in columns, that the choice of the gap tries to keep. The widest gap is chosen with which
/// every layer can have this width, or its preferred width if that is smaller. If there is no such gap, the narrowest
/// gap is chosen.
const WIDE_GAP_NODE_WIDTH: usize = 24;

impl Gap {
    fn columns(self, tracks: usize) -> usize {
        match tracks {
            0 => self.beside,
            n => (n - 1) * self.step + 1 + self.beside,
        }
    }
}

impl Columns {
    fn new(web: &LayeredGraph, channels: &[Channel], wanted: &GraphInput) -> Columns {
        let wide = |layer: &Vec<usize>| {
            let nodes = layer.iter().filter_map(|p| web.points[*p].node);
            nodes.map(|n| wanted.widths[n]).max().unwrap_or(1).max(1)
        };
        let natural: Vec<usize> = web.layers.iter().map(wide).collect();
        let between = |gap: Gap| {
            channels
                .iter()
                .map(|c| gap.columns(c.tracks))
                .sum::<usize>()
        };
        let total = |most: usize| natural.iter().map(|w| (*w).min(most)).sum::<usize>();
        let is_fair = |gap: &&Gap| total(WIDE_GAP_NODE_WIDTH) + between(**gap) <= wanted.columns;
        let gap = *GAPS.iter().find(is_fair).unwrap_or(&GAPS[2]);
        let room = wanted.columns.saturating_sub(between(gap));
        let widest = natural.iter().copied().max().unwrap_or(1);
        let of_layers = |widths: &[usize]| -> Vec<usize> {
            let of_layer = |layer: &Vec<usize>| {
                let nodes = layer.iter().filter_map(|p| web.points[*p].node);
                let widths = nodes.filter_map(|n| widths.get(n));
                widths.copied().max().unwrap_or(0)
            };
            web.layers.iter().map(of_layer).collect()
        };
        let mut least = of_layers(&wanted.min_widths);
        for better in &wanted.better_widths {
            improve(&mut least, &of_layers(better), &natural, room);
        }
        let capped = |least: &[usize], most: usize| -> Vec<usize> {
            let both = natural.iter().zip(least);
            both.map(|(w, least)| (*w).min(most.max(*least))).collect()
        };
        let within = |least: &[usize]| {
            (NODE_MIN..=widest.max(NODE_MIN))
                .rev()
                .map(|most| capped(least, most))
                .find(|widths| widths.iter().sum::<usize>() <= room)
        };
        // First tries to keep the minimum widths, otherwise shares the room equally.
        let none = vec![0; natural.len()];
        let width = within(&least)
            .or_else(|| within(&none))
            .unwrap_or_else(|| capped(&none, NODE_MIN));
        let mut start = Vec::with_capacity(width.len());
        let mut x = 0;
        for (layer, width) in width.iter().enumerate() {
            start.push(x);
            x += width + channels.get(layer).map_or(0, |c| gap.columns(c.tracks));
        }
        Columns { start, width, gap }
    }

    /// Returns the column of vertical line number `track`, counted from 0, in the gap after `layer`.
    fn track(&self, layer: usize, track: usize) -> usize {
        self.start[layer] + self.width[layer] + 2 + track * self.gap.step
    }

    /// Returns the width of `node`, in columns: its preferred width, but at most the width of its layer.
    fn node_width(&self, wanted: &GraphInput, node: usize, layer: usize) -> usize {
        wanted.widths[node].max(1).min(self.width[layer])
    }
}

/// Raises the minimum widths `least` of the layers to those in `better`, as long as all layers together fit into `room`
/// columns. Begins with the layers that need the fewest additional columns. No layer gets more than its `natural` width.
fn improve(least: &mut [usize], better: &[usize], natural: &[usize], room: usize) {
    let width = |layer: usize, least: usize| natural[layer].min(least.max(NODE_MIN));
    let used: usize = (least.iter().enumerate())
        .map(|(layer, least)| width(layer, *least))
        .sum();
    let mut free = room.saturating_sub(used);
    let mut steps: Vec<(usize, usize)> = (least.iter().zip(better).enumerate())
        .map(|(layer, (least, better))| {
            let more = width(layer, *better).saturating_sub(width(layer, *least));
            (more, layer)
        })
        .collect();
    steps.sort_unstable();
    for (more, layer) in steps {
        if more <= free {
            free -= more;
            least[layer] = least[layer].max(better[layer]);
        }
    }
}

/// The part of one line that is in a cell.
struct Stroke {
    /// The line that the stroke belongs to: its layer, and the index of its [`Wire`](crate::ui::graph::route::Wire) in
    /// the channel after the layer.
    line: (usize, usize),
    /// The sides of the cell that the line reaches, as a combination of the bits [`NORTH`], [`EAST`], [`SOUTH`] and
    /// [`WEST`].
    arms: u8,
    /// The source nodes of the edges in the line.
    sources: Vec<usize>,
}

#[derive(Default)]
struct Cells(BTreeMap<usize, BTreeMap<usize, Vec<Stroke>>>);

impl Cells {
    fn add(&mut self, (x, y): (usize, usize), line: (usize, usize), arms: u8, source: usize) {
        let strokes = self.0.entry(y).or_default().entry(x).or_default();
        match strokes.iter_mut().find(|s| s.line == line) {
            Some(stroke) => {
                stroke.arms |= arms;
                if !stroke.sources.contains(&source) {
                    stroke.sources.push(source);
                }
            }
            None => strokes.push(Stroke {
                line,
                arms,
                sources: vec![source],
            }),
        }
    }

    /// Adds the cells of one link, the part of a line between two points in adjacent layers. `corners` are the corners
    /// of the link, as column and row.
    fn link(&mut self, corners: &[(usize, usize)], line: (usize, usize), source: usize) {
        let way: Vec<(usize, usize)> = walk(corners).collect();
        for pair in way.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (out, back) = match a.1.cmp(&b.1) {
                Ordering::Equal => (EAST, WEST),
                Ordering::Less => (SOUTH, NORTH),
                Ordering::Greater => (NORTH, SOUTH),
            };
            self.add(a, line, out, source);
            self.add(b, line, back, source);
        }
        // At both ends, the line continues horizontally, to a node or to the next link.
        for (end, arm) in [(way.first(), WEST), (way.last(), EAST)] {
            if let Some(end) = end {
                self.add(*end, line, arm, source);
            }
        }
    }
}

/// Returns all cells of a polyline with horizontal and vertical segments between `corners`.
pub fn walk(corners: &[(usize, usize)]) -> impl Iterator<Item = (usize, usize)> {
    let first = corners.first().copied();
    let rest = corners.windows(2).flat_map(|pair| {
        let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
        let steps = ax.abs_diff(bx) + ay.abs_diff(by);
        let along = move |from: usize, to: usize, step: usize| {
            if to >= from {
                from + step.min(to - from)
            } else {
                from - step.min(from - to)
            }
        };
        (1..=steps).map(move |step| (along(ax, bx, step), along(ay, by, step)))
    });
    first.into_iter().chain(rest)
}

/// Draws the connected component with the index `part` below the existing content of `out`.
pub fn add(
    out: &mut Drawing,
    part: usize,
    web: &LayeredGraph,
    routed: &Routed,
    wanted: &GraphInput,
) {
    let columns = Columns::new(web, &routed.channels, wanted);
    let mut cells = Cells::default();
    let mut arrows: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut links = BTreeMap::new();
    for (from, next) in web.next.iter().enumerate() {
        for to in next {
            let corners = corners(web, routed, &columns, wanted, (from, *to));
            let layer = web.points[from].layer;
            let wire = routed.channels[layer].wire_of.get(&from).copied();
            let source = web.points[from].source;
            cells.link(&corners, (layer, wire.unwrap_or(0)), source);
            if let (Some(_), Some(end)) = (web.points[*to].node, corners.last()) {
                arrows.entry((end.1, end.0)).or_default().push(source);
            }
            links.insert((from, *to), corners);
        }
    }
    let mut heights = vec![0; web.points.len()];
    let mut used = BTreeSet::new();
    for (at, point) in web.points.iter().enumerate() {
        let Some(node) = point.node else { continue };
        let width = columns.node_width(wanted, node, point.layer);
        heights[at] = match wanted.overflow {
            NodeOverflow::Wrapped(most) => {
                let least = wanted.min_rows.get(node).copied().unwrap_or(1);
                let rows = rows_for(wanted.widths[node], width, most);
                rows.max(least.min(most).min(ROWS_MAX))
            }
            NodeOverflow::Cut => 1,
        };
        used.extend((0..heights[at]).map(|row| spread(routed.rows[at]) + row));
    }
    // Rows without nodes are omitted if they contain only vertical lines.
    let is_upright = |s: &Stroke| s.arms & (EAST | WEST) == 0;
    let crossed = cells
        .0
        .iter()
        .filter(|(_, row)| !row.values().flatten().all(is_upright));
    used.extend(crossed.map(|(y, _)| *y));
    let used: Vec<usize> = used.into_iter().collect();
    let top = out.height;
    let row = |y: usize| top + used.binary_search(&y).unwrap_or(0);

    for (at, point) in web.points.iter().enumerate() {
        let Some(node) = point.node else { continue };
        let width = columns.node_width(wanted, node, point.layer);
        out.nodes[node] = Node {
            x: columns.start[point.layer],
            y: row(spread(routed.rows[at])),
            width,
            height: heights[at],
            layer: point.layer,
            component: part,
        };
        out.width = out.width.max(columns.start[point.layer] + width);
    }
    for path in &web.paths {
        let mut way: Vec<(usize, usize)> = Vec::new();
        for pair in path.windows(2) {
            let link = links.get(&(pair[0], pair[1]));
            way.extend(link.into_iter().flatten().map(|(x, y)| (*x, row(*y))));
        }
        way.dedup();
        let node = |at: Option<&usize>| at.and_then(|p| web.points[*p].node).unwrap_or_default();
        out.paths.push(Path {
            from: node(path.first()),
            to: node(path.last()),
            corners: way,
        });
    }
    out.height = top + used.len();
    out.lines.resize(out.height, Vec::new());
    for (y, cells) in &cells.0 {
        if used.binary_search(y).is_err() {
            continue;
        }
        let line = cells
            .iter()
            .map(|(x, strokes)| match arrows.get(&(*y, *x)) {
                Some(sources) => LineCell {
                    x: *x,
                    glyph: ARROW,
                    sources: sources.clone(),
                },
                None => line_cell(*x, strokes),
            });
        out.lines[row(*y)] = line.collect();
    }
}

/// Returns the first row of cells for a row of points (nodes and bends). Each row of points gets [`ROWS_MAX`] rows of
/// cells, enough for the highest node. Rows of cells that stay empty are removed later.
fn spread(row: usize) -> usize {
    row * ROWS_MAX
}

/// Returns the corners of the link between two points, as column and row of cells. The rows are counted before empty
/// rows are removed, as in [`spread`].
fn corners(
    web: &LayeredGraph,
    routed: &Routed,
    columns: &Columns,
    wanted: &GraphInput,
    (from, to): (usize, usize),
) -> Vec<(usize, usize)> {
    let point = &web.points[from];
    let layer = point.layer;
    let (start, end) = (spread(routed.rows[from]), spread(routed.rows[to]));
    let node = |node| columns.node_width(wanted, node, layer) + 1;
    let first = columns.start[layer] + point.node.map_or(0, node);
    let last = match web.points[to].node {
        Some(_) => columns.start[layer + 1] - 2,
        None => columns.start[layer + 1] - 1,
    };
    let mut out = vec![(first, start)];
    let channel = &routed.channels[layer];
    let wire = channel.wire_of.get(&from).copied().unwrap_or(0);
    let x = columns.track(layer, channel.wires[wire].track);
    match channel.detours.get(&(wire, to)) {
        Some(detour) => {
            let then = columns.track(layer, detour.track);
            let row = spread(detour.row);
            out.extend([(x, start), (x, row), (then, row), (then, end)]);
        }
        None if start != end => out.extend([(x, start), (x, end)]),
        None => {}
    }
    out.push((last, end));
    out
}

/// Combines the lines in a cell into one [`LineCell`]. A line that runs or turns vertically is drawn over lines that
/// only pass horizontally.
fn line_cell(x: usize, strokes: &[Stroke]) -> LineCell {
    let upright = strokes.iter().find(|s| s.arms & (NORTH | SOUTH) != 0);
    match upright {
        Some(stroke) => LineCell {
            x,
            glyph: glyph(stroke.arms),
            sources: stroke.sources.clone(),
        },
        None => {
            let mut sources: Vec<usize> = strokes.iter().flat_map(|s| s.sources.clone()).collect();
            sources.sort_unstable();
            sources.dedup();
            LineCell {
                x,
                glyph: '─',
                sources,
            }
        }
    }
}

fn glyph(arms: u8) -> char {
    const ALL: u8 = NORTH | EAST | SOUTH | WEST;
    match (arms & NORTH, arms & EAST, arms & SOUTH, arms & WEST) {
        (NORTH, 0, SOUTH, 0) => '│',
        (0, EAST, SOUTH, 0) => '╭',
        (0, 0, SOUTH, WEST) => '╮',
        (NORTH, EAST, 0, 0) => '╰',
        (NORTH, 0, 0, WEST) => '╯',
        (NORTH, EAST, SOUTH, 0) => '├',
        (NORTH, 0, SOUTH, WEST) => '┤',
        (0, EAST, SOUTH, WEST) => '┬',
        (NORTH, EAST, 0, WEST) => '┴',
        _ if arms == ALL => '┼',
        _ => '─',
    }
}

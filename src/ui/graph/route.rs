//! Routes the lines between two layers: the vertical lines, their endpoints and their order.
//!
//! Points with exactly the same successors share one vertical line. A line that ends on a row must be to the right of
//! the line that begins on that row; otherwise it would seem to lead to the other line's targets. If these constraints
//! form a cycle, rows are spaced out and some lines reach their targets by a detour over an empty row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ui::graph::layers::LayeredGraph;

/// The distance between the rows of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// No empty rows.
    Tight,
    /// An empty row above and below each point.
    Loose,
}

/// The error of [`route`] with [`Spacing::Tight`]: the constraints on the left-to-right order of the lines form a
/// cycle, and there are no empty rows for the detours that would resolve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tangled;

/// A vertical line between two layers that connects each of its source points with each of its target points.
#[derive(Debug, Clone, Default)]
pub struct Wire {
    from: Vec<usize>,
    to: Vec<usize>,
    /// The rows on which the line ends. For each target, this is the row of the target, or the empty row of a detour to
    /// the target.
    ends: BTreeSet<usize>,
    /// Position of the line among the vertical lines of its channel, from 0 at the left. A line without a vertical part
    /// needs no position and has 0.
    pub track: usize,
}

/// The last part of a path to a target on whose row another line begins. The path goes along an empty row past the
/// other line, and reaches the target's row to the right of that line.
#[derive(Debug, Clone, Copy)]
pub struct Detour {
    /// The empty row over which the detour leads.
    pub row: usize,
    /// Position of the detour's last vertical line in its channel, from 0 at the left.
    pub track: usize,
}

/// The lines between one layer and the next.
#[derive(Debug, Clone, Default)]
pub struct Channel {
    pub wires: Vec<Wire>,
    /// Maps each source point to the index of its wire in `wires`.
    pub wire_of: HashMap<usize, usize>,
    /// The detours, by the index of the wire and the target point.
    pub detours: HashMap<(usize, usize), Detour>,
    /// Number of tracks: positions for vertical lines side by side.
    pub tracks: usize,
}

/// The rows and lines of a connected component.
#[derive(Debug, Clone, Default)]
pub struct Routed {
    /// The row of each point, by the index of the point.
    pub rows: Vec<usize>,
    /// The channels, each between one layer and the next.
    pub channels: Vec<Channel>,
}

/// Routes all lines of a connected component.
///
/// # Errors
/// Returns [`Tangled`] if the order constraints of the lines form a cycle and `spacing` is [`Spacing::Tight`], which
/// has no empty rows for detours.
pub fn route(web: &LayeredGraph, rows: &[usize], spacing: Spacing) -> Result<Routed, Tangled> {
    let rows: Vec<usize> = match spacing {
        Spacing::Tight => rows.to_vec(),
        Spacing::Loose => rows.iter().map(|row| row * 3 + 1).collect(),
    };
    let between = web.layers.len().saturating_sub(1);
    let channels = (0..between)
        .map(|layer| channel(web, layer, &rows, spacing))
        .collect::<Result<_, _>>()?;
    Ok(Routed { rows, channels })
}

fn channel(
    web: &LayeredGraph,
    layer: usize,
    rows: &[usize],
    spacing: Spacing,
) -> Result<Channel, Tangled> {
    let mut out = Channel::default();
    let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for point in &web.layers[layer] {
        let mut to = web.next[*point].clone();
        if to.is_empty() {
            continue;
        }
        to.sort_unstable();
        let wire = *known.entry(to.clone()).or_insert_with(|| {
            out.wires.push(Wire {
                ends: to.iter().map(|p| rows[*p]).collect(),
                to,
                ..Wire::default()
            });
            out.wires.len() - 1
        });
        out.wires[wire].from.push(*point);
        out.wire_of.insert(*point, wire);
    }
    let mut planner = Planner::new(&out.wires, rows);
    planner.run(&mut out, rows, spacing)?;
    out.tracks = planner.taken.len();
    Ok(out)
}

/// A vertical line to which the [`Planner`] assigns a track: a [`Wire`], or the last vertical line of a [`Detour`].
struct VerticalLine {
    /// The first and the last row that the line occupies, both inclusive.
    span: (usize, usize),
    /// The indexes of the lines that must be to the right of this one.
    before: Vec<usize>,
    /// Number of lines without a track that must be to the left of this one.
    waits: usize,
    /// Order among the lines that can be placed next: the line with the smallest rank is placed first.
    rank: isize,
    done: bool,
    /// The leftmost track that the line may take.
    first: usize,
    track: usize,
}

struct Planner {
    lines: Vec<VerticalLine>,
    /// For each track, from the left, the spans of the lines that are already on it: first and last row, both
    /// inclusive.
    taken: Vec<Vec<(usize, usize)>>,
}

impl Planner {
    fn new(wires: &[Wire], rows: &[usize]) -> Planner {
        let begins = begins(wires, rows);
        let mut lines: Vec<VerticalLine> = wires.iter().map(|w| vertical_line(w, rows)).collect();
        for (at, wire) in wires.iter().enumerate() {
            for row in &wire.ends {
                if let Some(other) = begins.get(row).filter(|other| **other != at) {
                    lines[*other].before.push(at);
                    lines[at].waits += 1;
                }
            }
        }
        Planner {
            lines,
            taken: Vec::new(),
        }
    }

    fn run(&mut self, out: &mut Channel, rows: &[usize], spacing: Spacing) -> Result<(), Tangled> {
        loop {
            let open = |at: &usize| !self.lines[*at].done;
            let free = |at: &usize| self.lines[*at].waits == 0;
            let all: Vec<usize> = (0..self.lines.len()).filter(open).collect();
            let next = all.iter().copied().filter(free);
            if let Some(at) = next.min_by_key(|at| (self.lines[*at].rank, *at)) {
                self.put(at);
                if let Some(wire) = out.wires.get_mut(at) {
                    wire.track = self.lines[at].track;
                }
                continue;
            }
            let Some(stuck) = all.iter().copied().find(|at| *at < out.wires.len()) else {
                break;
            };
            if spacing == Spacing::Tight {
                return Err(Tangled);
            }
            self.detour(stuck, out, rows);
        }
        for detour in out.detours.values_mut() {
            detour.track = self.lines[detour.track].track;
        }
        Ok(())
    }

    /// Assigns a line to the first allowed track that is free over its whole span; a line without a vertical part gets
    /// no track. Then the lines that must be to its right no longer wait for this line.
    fn put(&mut self, at: usize) {
        let (first, (top, bottom)) = (self.lines[at].first, self.lines[at].span);
        self.lines[at].done = true;
        if top == bottom {
            // A purely horizontal line needs no track.
            self.release(at, first);
            return;
        }
        let is_free = |spans: &Vec<(usize, usize)>| spans.iter().all(|s| s.1 < top || bottom < s.0);
        let found = (first..self.taken.len()).find(|t| is_free(&self.taken[*t]));
        let track = found.unwrap_or(self.taken.len().max(first));
        if track >= self.taken.len() {
            self.taken.resize(track + 1, Vec::new());
        }
        self.taken[track].push((top, bottom));
        self.lines[at].track = track;
        self.release(at, track + 1);
    }

    fn release(&mut self, at: usize, first: usize) {
        for after in std::mem::take(&mut self.lines[at].before) {
            self.lines[after].waits -= 1;
            self.lines[after].first = self.lines[after].first.max(first);
        }
    }

    /// Breaks a cycle of order constraints: lets the line `stuck` end on empty rows, from which detours reach its
    /// targets.
    fn detour(&mut self, stuck: usize, out: &mut Channel, rows: &[usize]) {
        let begins = begins(&out.wires, rows);
        let top = out.wires[stuck].from.iter().map(|p| rows[*p]).min();
        for point in out.wires[stuck].to.clone() {
            let row = rows[point];
            let Some(other) = begins.get(&row).copied().filter(|other| *other != stuck) else {
                continue;
            };
            if self.lines[other].done {
                continue;
            }
            // A line from above uses the empty row above the target.
            let free = if top < Some(row) { row - 1 } else { row + 1 };
            let shared = out
                .detours
                .iter()
                .find(|((_, to), d)| *to == point && d.row == free)
                .map(|(_, d)| d.track);
            let piece = shared.unwrap_or_else(|| {
                self.lines.push(VerticalLine {
                    span: (row.min(free), row.max(free)),
                    before: Vec::new(),
                    waits: 1,
                    rank: 0,
                    done: false,
                    first: 0,
                    track: 0,
                });
                let piece = self.lines.len() - 1;
                self.lines[other].before.push(piece);
                piece
            });
            self.lines[other].before.retain(|at| *at != stuck);
            self.lines[stuck].waits -= 1;
            self.lines[stuck].before.push(piece);
            self.lines[piece].waits += 1;
            let detour = Detour {
                row: free,
                track: piece,
            };
            out.detours.insert((stuck, point), detour);
            out.wires[stuck].ends.remove(&row);
            out.wires[stuck].ends.insert(free);
        }
        let fresh = vertical_line(&out.wires[stuck], rows);
        self.lines[stuck].span = fresh.span;
    }
}

/// Maps each row on which a wire with a vertical part begins to the index of that wire.
fn begins(wires: &[Wire], rows: &[usize]) -> HashMap<usize, usize> {
    let mut out = HashMap::new();
    for (at, wire) in wires.iter().enumerate() {
        let (top, bottom) = vertical_line(wire, rows).span;
        if top != bottom {
            out.extend(wire.from.iter().map(|p| (rows[*p], at)));
        }
    }
    out
}

fn vertical_line(wire: &Wire, rows: &[usize]) -> VerticalLine {
    let starts: Vec<usize> = wire.from.iter().map(|p| rows[*p]).collect();
    let all = || starts.iter().chain(&wire.ends).copied();
    let sum = |rows: &mut dyn Iterator<Item = usize>| rows.sum::<usize>().cast_signed();
    let start = sum(&mut starts.iter().copied()) / starts.len().max(1).cast_signed();
    let end = sum(&mut wire.ends.iter().copied()) / wire.ends.len().max(1).cast_signed();
    VerticalLine {
        span: (all().min().unwrap_or(0), all().max().unwrap_or(0)),
        before: Vec::new(),
        waits: 0,
        // To reduce crossings, downward lines are placed from the lowest start, upward lines from the highest.
        rank: if end >= start { -start } else { start },
        done: false,
        first: 0,
        track: 0,
    }
}

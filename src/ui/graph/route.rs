//! The lines between two columns: which upright lines there are, from where to where, and their order.
//!
//! Points of a column that lead to exactly the same points of the next share one upright line. A line that
//! ends on a row must come after the lines that begin on that row, or it would seem to lead where those
//! lead. Where these wishes go round in a circle, the rows are spaced and lines take a detour on a free row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ui::graph::layers::Web;

/// How far the rows of points are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Next to one another.
    Tight,
    /// With a free row above and below each.
    Loose,
}

/// The lines can not be ordered without free rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tangled;

/// The lines from some points to some others, all of them from each to each.
#[derive(Debug, Clone, Default)]
pub struct Wire {
    from: Vec<usize>,
    to: Vec<usize>,
    /// The rows on which it ends; not those of its points where it takes a detour.
    ends: BTreeSet<usize>,
    /// Its place among the upright lines.
    pub track: usize,
}

/// The last piece of the way to a point: from a free row, behind the lines that begin on the point's row.
#[derive(Debug, Clone, Copy)]
pub struct Detour {
    /// The free row.
    pub row: usize,
    /// Its place among the upright lines.
    pub track: usize,
}

/// What lies between two columns.
#[derive(Debug, Clone, Default)]
pub struct Channel {
    /// The lines.
    pub wires: Vec<Wire>,
    /// The line of each point.
    pub wire_of: HashMap<usize, usize>,
    /// The detours, by line and the point to which they lead.
    pub detours: HashMap<(usize, usize), Detour>,
    /// How many upright lines lie side by side.
    pub tracks: usize,
}

/// A part with its rows and lines.
#[derive(Debug, Clone, Default)]
pub struct Routed {
    /// The row of each point.
    pub rows: Vec<usize>,
    /// What lies behind each column but the last.
    pub channels: Vec<Channel>,
}

/// Finds the lines of a part.
pub fn route(web: &Web, rows: &[usize], spacing: Spacing) -> Result<Routed, Tangled> {
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

fn channel(web: &Web, layer: usize, rows: &[usize], spacing: Spacing) -> Result<Channel, Tangled> {
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

/// An upright line that waits for its place: one of the channel's, or the last piece of a detour.
struct Upright {
    /// The rows that it spans.
    span: (usize, usize),
    /// Those that must come after it.
    before: Vec<usize>,
    /// How many must come before it.
    waits: usize,
    /// Of two that could be next, the smaller one is.
    rank: isize,
    done: bool,
    /// The first place that it may have.
    first: usize,
    track: usize,
}

struct Planner {
    lines: Vec<Upright>,
    /// The spans on each track.
    taken: Vec<Vec<(usize, usize)>>,
}

impl Planner {
    fn new(wires: &[Wire], rows: &[usize]) -> Planner {
        let begins = begins(wires, rows);
        let mut lines: Vec<Upright> = wires.iter().map(|w| upright(w, rows)).collect();
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

    /// Gives a line the first place that is free over its whole span.
    fn put(&mut self, at: usize) {
        let (first, (top, bottom)) = (self.lines[at].first, self.lines[at].span);
        self.lines[at].done = true;
        if top == bottom {
            // A straight line needs no place.
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

    /// Leads a line that waits for others to free rows, from where last pieces go on behind those others.
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
            // From above it comes along the row above.
            let free = if top < Some(row) { row - 1 } else { row + 1 };
            let shared = out
                .detours
                .iter()
                .find(|((_, to), d)| *to == point && d.row == free)
                .map(|(_, d)| d.track);
            let piece = shared.unwrap_or_else(|| {
                self.lines.push(Upright {
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
        let fresh = upright(&out.wires[stuck], rows);
        self.lines[stuck].span = fresh.span;
    }
}

/// Which line with an upright piece begins on each row.
fn begins(wires: &[Wire], rows: &[usize]) -> HashMap<usize, usize> {
    let mut out = HashMap::new();
    for (at, wire) in wires.iter().enumerate() {
        let (top, bottom) = upright(wire, rows).span;
        if top != bottom {
            out.extend(wire.from.iter().map(|p| (rows[*p], at)));
        }
    }
    out
}

fn upright(wire: &Wire, rows: &[usize]) -> Upright {
    let starts: Vec<usize> = wire.from.iter().map(|p| rows[*p]).collect();
    let all = || starts.iter().chain(&wire.ends).copied();
    let sum = |rows: &mut dyn Iterator<Item = usize>| rows.sum::<usize>().cast_signed();
    let start = sum(&mut starts.iter().copied()) / starts.len().max(1).cast_signed();
    let end = sum(&mut wire.ends.iter().copied()) / wire.ends.len().max(1).cast_signed();
    Upright {
        span: (all().min().unwrap_or(0), all().max().unwrap_or(0)),
        before: Vec::new(),
        waits: 0,
        // Lines that go down cross least when the lowest turns first; those that go up, the highest.
        rank: if end >= start { -start } else { start },
        done: false,
        first: 0,
        track: 0,
    }
}

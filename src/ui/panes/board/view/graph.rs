//! Draws the tasks as a graph: nodes with symbol, number, subject and owner, connected by edges.

use crate::ui::model::CrewModel;
use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::ui::app::App;
use crate::ui::graph::viewport::Zoom;
use crate::ui::graph::{Drawing, Node, heavy};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::board::index::{BoardStatus, Index};
use crate::ui::model::board::{branches, checks};
use crate::ui::model::style;
use crate::ui::panes::board::BoardPane;
use crate::ui::panes::board::label;
use crate::ui::panes::board::label::INDENT;
use crate::ui::panes::board::places::MARK_WIDTH;
use crate::ui::text::{fit_name, pad, width, wrap_first_lines};
use crate::ui::theme::Theme;

/// Minimum width of an owner's name, in columns, including the space and the `@` before it. If there is less room, the
/// owner is omitted.
const OWNER_MIN: usize = 5;

struct VisibleGraph {
    left: usize,
    top: usize,
    area: Rect,
    zoom: Zoom,
}

impl VisibleGraph {
    fn new(
        pane: &BoardPane,
        model: &CrewModel,
        index: &Index,
        drawing: &Drawing,
        area: Rect,
    ) -> VisibleGraph {
        let selected = selected_node(pane, model, index).unwrap_or_default();
        let (left, top) = pane.camera.window(drawing, selected, area);
        VisibleGraph {
            left,
            top,
            area,
            zoom: pane.camera.zoom,
        }
    }

    /// Returns the screen position of a cell of the graph; `None` if the cell is not visible.
    fn place(&self, x: usize, y: usize) -> Option<(u16, u16)> {
        let right = u16::try_from(x.checked_sub(self.left)?).ok()?;
        let down = u16::try_from(y.checked_sub(self.top)?).ok()?;
        let is_in = right < self.area.width && down < self.area.height;
        is_in.then_some((self.area.x + right, self.area.y + down))
    }

    /// Writes a text that starts at a cell of the graph, as far as it is visible. Returns the graph column after the
    /// text.
    fn write(
        &self,
        (mut x, y): (usize, usize),
        text: &str,
        style: Style,
        buffer: &mut Buffer,
    ) -> usize {
        for grapheme in text.graphemes(true) {
            let wide = width(grapheme);
            // A wide character of which only one column is visible is skipped.
            let end = self.place(x + wide.max(1) - 1, y);
            if let (Some((column, row)), Some(_)) = (self.place(x, y), end) {
                buffer.set_stringn(column, row, grapheme, wide, style);
            }
            x += wide;
        }
        x
    }

    fn bottom(&self) -> usize {
        self.top + usize::from(self.area.height)
    }

    fn right(&self) -> usize {
        self.left + usize::from(self.area.width)
    }
}

fn selected_node(pane: &BoardPane, model: &CrewModel, index: &Index) -> Option<usize> {
    pane.selected_row(model).and_then(|(_, id)| index.place(id))
}

/// Returns the index of the selected task; `None` if the board does not have the focus or has no tasks.
fn pointed_at(pane: &BoardPane, app: &App, index: &Index) -> Option<usize> {
    let has_keys = app.focus == Focus::Pane(Pane::Board);
    selected_node(pane, app, index).filter(|_| has_keys)
}

/// Returns the label on the border that counts what is not visible: the nodes beyond each side of the visible part, and
/// the edges that are not drawn because they close a cycle. A node that is cut off at the left, right or top counts as
/// beyond that side; a node that is cut off at the bottom does not count.
pub fn beyond(
    pane: &BoardPane,
    model: &CrewModel,
    index: &Index,
    drawing: &Drawing,
    area: Rect,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let window = VisibleGraph::new(pane, model, index, drawing, area);
    let count =
        |is_beyond: &dyn Fn(&Node) -> bool| drawing.nodes.iter().filter(|n| is_beyond(n)).count();
    let sides = [
        ('←', count(&|n| n.x < window.left)),
        ('→', count(&|n| n.x + n.width > window.right())),
        ('↑', count(&|n| n.y < window.top)),
        ('↓', count(&|n| n.y >= window.bottom())),
    ];
    let mut words: Vec<String> = sides
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(side, count)| format!("{count} more {side}"))
        .collect();
    match drawing.omitted_edges {
        0 => {}
        1 => words.push("cycle: 1 edge not drawn".into()),
        n => words.push(format!("cycles: {n} edges not drawn")),
    }
    if words.is_empty() {
        return Vec::new();
    }
    vec![Span::styled(words.join("  "), theme.dim)]
}

pub fn draw(
    pane: &BoardPane,
    app: &App,
    index: &Index,
    drawing: &Drawing,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let window = VisibleGraph::new(pane, app, index, drawing, area);
    let selected = pointed_at(pane, app, index);
    lines(index, drawing, selected, &window, theme, buffer);
    for (at, node) in drawing.nodes.iter().enumerate() {
        if node.y < window.bottom() && node.y + node.height > window.top {
            draw_node(app, index, at, *node, &window, theme, buffer);
        }
    }
    let Some(node) = selected.and_then(|at| drawing.nodes.get(at)) else {
        return;
    };
    // The selection mark is drawn with a blank before the node. It replaces the arrow of the edges that end at the node;
    // for nodes of the first layer, it is to the left of the graph.
    if let Some((x, y)) = window.place(node.x, node.y) {
        let x = x.saturating_sub(MARK_WIDTH);
        buffer.set_stringn(x, y, "›", 1, theme.accent);
    }
    // While a popup has the focus, the selected node has the mark but no highlighted background.
    if !app.is_in_panes() {
        return;
    }
    let rows = node.y..node.y + node.height;
    let cells = rows.flat_map(|y| (node.x..node.x + node.width).map(move |x| (x, y)));
    for place in cells.filter_map(|(x, y)| window.place(x, y)) {
        buffer[place].set_style(theme.selection);
    }
}

/// Draws the edges. The edges of the selected task and of the critical path are highlighted; edges that start at
/// completed tasks are dimmed.
fn lines(
    index: &Index,
    drawing: &Drawing,
    selected: Option<usize>,
    window: &VisibleGraph,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let mut own: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let is_own = |p: &&crate::ui::graph::Path| Some(p.from) == selected || Some(p.to) == selected;
    for path in drawing.paths.iter().filter(is_own) {
        for cell in path.cells() {
            own.entry(cell).or_default().push(path.from);
        }
    }
    let critical = critical_cells(index, drawing);
    let is_done = |source: &usize| index.board_status(*source) == BoardStatus::Done;
    for y in window.top..window.bottom().min(drawing.height) {
        let line = drawing.lines.get(y).map_or(&[][..], Vec::as_slice);
        let first = line.partition_point(|cell| cell.x < window.left);
        for cell in line[first..]
            .iter()
            .take_while(|cell| cell.x < window.right())
        {
            // Where edges cross, only the edges that are drawn on top decide the style: `cell.sources` contains only
            // their start nodes.
            let sources = own.get(&(cell.x, y)).map_or(&[][..], Vec::as_slice);
            let on_path = critical.get(&(cell.x, y));
            let is_critical = on_path.is_some_and(|on| cell.sources.contains(&on.from));
            let style = if sources.iter().any(|s| cell.sources.contains(s)) {
                theme.accent
            } else if is_critical {
                // The underline of headings would make the thick line look broken.
                theme.heading.remove_modifier(Modifier::UNDERLINED)
            } else if cell.sources.iter().all(is_done) {
                theme.dim
            } else {
                theme.text
            };
            let arms = on_path.filter(|_| is_critical).map_or(0, |on| on.arms);
            let glyph = heavy(cell.glyph, arms);
            if let Some(place) = window.place(cell.x, y) {
                buffer[place].set_char(glyph).set_style(style);
            }
        }
    }
}

/// A cell of the drawing through which the critical path runs.
struct CriticalCell {
    /// The index of the node at which the edge in this cell starts. If several edges of the critical path share the
    /// cell, this is the start of the first one.
    from: usize,
    /// The sides of the cell that are reached by edges of the critical path: one bit per side, as in `Path::arms`.
    arms: u8,
}

/// Returns the cells through which edges of the critical path run, by column and row.
fn critical_cells(index: &Index, drawing: &Drawing) -> BTreeMap<(usize, usize), CriticalCell> {
    let paths = drawing.paths.iter();
    let mut out = BTreeMap::new();
    for path in paths.filter(|p| index.is_critical(p.from, p.to)) {
        for (cell, arms) in path.arms() {
            let step = out.entry(cell).or_insert(CriticalCell {
                from: path.from,
                arms: 0,
            });
            step.arms |= arms;
        }
    }
    out
}

fn draw_node(
    app: &App,
    index: &Index,
    at: usize,
    node: Node,
    window: &VisibleGraph,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let Some(task) = index.id(at).and_then(|id| app.model.board.get(id)) else {
        return;
    };
    let standing = index.board_status(at);
    let (shape, style) = if branches::is_unmerged(app, task) {
        (branches::UNMERGED, theme.accent)
    } else {
        let checks = checks::symbol(task, theme);
        checks.unwrap_or_else(|| style::status_symbol(standing, theme))
    };
    let label = label::label(task);
    // The number of a task on the critical path is highlighted, like the edges of that path.
    let number = match index.critical_step(at) {
        Some(_) => theme.heading,
        None => style,
    };
    if window.zoom == Zoom::Numbers {
        let x = window.write((node.x, node.y), &format!("{shape} "), style, buffer);
        window.write((x, node.y), &label.number, number, buffer);
        return;
    }
    let head = format!("{shape} {} ", label.number);
    let mut rows = subject_rows(&label.subject, node, width(&head));
    // The owner is in the last row of the subject if it fits there, otherwise in a row of its own.
    let with_owner = match label.owner.as_str() {
        "" => 0,
        owner => width(owner) + 2,
    };
    if let [.., (x, text), (_, last)] = rows.as_slice()
        && last.is_empty()
        && x + width(text) + with_owner <= node.width
    {
        rows.pop();
    }
    let (last_x, last) = rows.pop().unwrap_or_default();
    let has_own_row = last.is_empty() && !rows.is_empty();
    let room = node.width.saturating_sub(last_x);
    // The owner of an open task is shown even if the end of the subject must be cut for it. The owner of a completed
    // task is shown only in columns that the subject leaves free.
    let left = room.saturating_sub(width(&last));
    let most = match standing {
        BoardStatus::Done => left,
        BoardStatus::InProgress => left.max(room / 2).max(OWNER_MIN),
        BoardStatus::Ready | BoardStatus::Assigned | BoardStatus::Blocked => left.max(room / 2),
    };
    let owner = match label.owner.as_str() {
        "" => String::new(),
        _ if most < OWNER_MIN => String::new(),
        owner if standing == BoardStatus::Done && width(owner) + 2 > most => String::new(),
        owner => format!(" @{}", fit_name(owner, most.saturating_sub(2))),
    };
    // The host of the owner and the duration are shown only in columns that the subject and the owner leave free.
    let on = if standing == BoardStatus::Done || owner.is_empty() {
        String::new()
    } else {
        style::on_host(task)
    };
    let owner = if width(&owner) + width(&on) <= left {
        owner + &on
    } else {
        owner
    };
    let took = match standing {
        BoardStatus::InProgress => format!(" {}", app.standing_for(task)),
        BoardStatus::Ready | BoardStatus::Assigned | BoardStatus::Blocked | BoardStatus::Done => {
            String::new()
        }
    };
    let owner = if width(&owner) + width(&took) <= left {
        owner + &took
    } else {
        owner
    };
    let words = crate::ui::panes::board::view::words(standing, theme);
    let by = match standing {
        BoardStatus::Done => theme.dim,
        _ => style,
    };
    let x = window.write((node.x, node.y), &format!("{shape} "), style, buffer);
    window.write((x, node.y), &label.number, number, buffer);
    let mut y = node.y;
    for (x, text) in rows {
        window.write((node.x + x, y), &text, words, buffer);
        y += 1;
    }
    let mut x = node.x + last_x;
    if !has_own_row {
        let subject = pad(&last, room.saturating_sub(width(&owner)));
        x = window.write((x, y), &subject, words, buffer);
    }
    let owner = if has_own_row {
        owner.trim_start()
    } else {
        owner.as_str()
    };
    window.write((x, y), owner, by, buffer);
}

/// Splits a subject into the rows of a node. Returns for each row the column in the node at which it starts, and its
/// text. `head` is the width of the symbol and the number, which precede the text in the first row. The last row holds
/// the rest of the subject and may be wider than the node.
fn subject_rows(subject: &str, node: Node, head: usize) -> Vec<(usize, String)> {
    let mut rows = Vec::new();
    let mut rest = subject.to_string();
    let mut x = head;
    let word = width(subject.split_whitespace().next().unwrap_or_default());
    if node.height > 2 && word + head > node.width && word + INDENT <= node.width {
        rows.push((x, String::new()));
        x = INDENT;
    }
    while rows.len() + 1 < node.height {
        let lines = wrap_first_lines(&rest, node.width.saturating_sub(x), 1);
        let Some(first) = lines.into_iter().next() else {
            break;
        };
        let Some(after) = rest.strip_prefix(first.as_str()) else {
            break;
        };
        rest = after.trim_start().to_string();
        rows.push((x, first));
        x = INDENT;
    }
    rows.push((x, rest));
    rows
}

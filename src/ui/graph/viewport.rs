//! Pure: how near the drawing is looked at, and how far the view is moved from the selected task.

use ratatui::layout::Rect;

use crate::ui::graph;
use crate::ui::graph::{Drawing, NODE_MIN};
use crate::ui::keymap::direction::Toward;

/// How much of each task is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// All of its words, in up to three rows.
    #[default]
    Cards,
    /// One row.
    Lines,
    /// Its shape and its number.
    Numbers,
}

impl Zoom {
    /// One step nearer.
    pub fn nearer(self) -> Zoom {
        match self {
            Zoom::Cards | Zoom::Lines => Zoom::Cards,
            Zoom::Numbers => Zoom::Lines,
        }
    }

    /// One step farther away.
    pub fn farther(self) -> Zoom {
        match self {
            Zoom::Cards => Zoom::Lines,
            Zoom::Lines | Zoom::Numbers => Zoom::Numbers,
        }
    }

    /// What is drawn then.
    pub fn words(self) -> &'static str {
        match self {
            Zoom::Cards => "Whole cards are drawn.",
            Zoom::Lines => "One line a task is drawn.",
            Zoom::Numbers => "Shapes and numbers are drawn.",
        }
    }

    /// The fewest columns that a step of the way takes.
    pub(in crate::ui) fn narrowest(self) -> usize {
        match self {
            Zoom::Cards | Zoom::Lines => NODE_MIN,
            Zoom::Numbers => 4,
        }
    }
}

/// How the drawing is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Camera {
    /// How near.
    pub zoom: Zoom,
    /// Columns and rows that the view is moved away from where the selected task would have it.
    pub moved: (isize, isize),
}

impl Camera {
    /// The first column and row of a drawing that are in view.
    pub fn window(self, drawing: &Drawing, selected: usize, room: Rect) -> (usize, usize) {
        let (left, top) = window(drawing, selected, room);
        let most = |whole: usize, room: u16, at: usize| at.max(whole.saturating_sub(room.into()));
        let shift = |at: usize, by: isize, most: usize| at.saturating_add_signed(by).min(most);
        (
            shift(left, self.moved.0, most(drawing.width, room.width, left)),
            shift(top, self.moved.1, most(drawing.height, room.height, top)),
        )
    }

    /// The same camera, a part of the room further on; at the edge of the drawing it stays.
    #[must_use]
    pub fn panned(self, toward: Toward, drawing: &Drawing, selected: usize, room: Rect) -> Camera {
        let columns = usize::from(room.width / 4).max(1);
        let rows = usize::from(room.height / 4).max(1);
        self.shifted(toward.by(columns, rows), drawing, selected, room)
    }

    /// The same view some columns and rows on, as far as the drawing reaches.
    #[must_use]
    pub fn shifted(
        self,
        (x, y): (isize, isize),
        drawing: &Drawing,
        selected: usize,
        room: Rect,
    ) -> Camera {
        let wished = Camera {
            moved: (self.moved.0 + x, self.moved.1 + y),
            ..self
        };
        // What is beyond the edge is not remembered: the way back begins at once.
        let (left, top) = wished.window(drawing, selected, room);
        let own = window(drawing, selected, room);
        let from = |at: usize, own: usize| at.cast_signed() - own.cast_signed();
        Camera {
            moved: (from(left, own.0), from(top, own.1)),
            ..self
        }
    }
}

/// The first column and row of a drawing that are in view, so that node `selected` is, and where there is
/// room what it leads to. The first column is that of some node, so that nodes are not cut at the left.
pub fn window(drawing: &Drawing, selected: usize, room: Rect) -> (usize, usize) {
    let node = drawing.nodes.get(selected).copied().unwrap_or_default();
    let (columns, height) = (usize::from(room.width), usize::from(room.height));
    let right = |n: &graph::Node| n.x + n.width;
    let after = drawing.paths.iter().filter(|p| p.from == selected);
    let near = after.filter_map(|p| drawing.nodes.get(p.to));
    let near = near.filter(|n| n.layer == node.layer + 1).map(right).max();
    let first_for = |end: usize| {
        let starts = drawing.nodes.iter().map(|n| n.x);
        let fitting = starts.filter(|x| *x <= node.x && x + columns >= end);
        fitting.min()
    };
    let left = match near.and_then(first_for).or_else(|| first_for(right(&node))) {
        _ if drawing.width <= columns => 0,
        Some(left) => left,
        None => node.x,
    };
    let top = (node.y + node.height / 2).saturating_sub(height / 2);
    (left, top.min(drawing.height.saturating_sub(height)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::graph::{Wanted, draw};

    #[test]
    fn the_view_stays_over_the_drawing() {
        let drawing = draw(&Wanted {
            widths: vec![20; 12],
            edges: (1..12).map(|n| (n - 1, n)).collect(),
            columns: 60,
            ..Wanted::default()
        })
        .unwrap();
        let room = Rect::new(0, 0, 60, 5);
        let mut camera = Camera::default();
        for _ in 0..100 {
            camera = camera.panned(Toward::Right, &drawing, 0, room);
        }
        let last = drawing.width - 60;
        assert_eq!(camera.window(&drawing, 0, room), (last, 0));
        camera = camera.panned(Toward::Left, &drawing, 0, room);
        assert_eq!(camera.window(&drawing, 0, room), (last - 15, 0));
        for toward in [Toward::Up, Toward::Down] {
            let camera = camera.panned(toward, &drawing, 0, room);
            assert_eq!(
                camera.window(&drawing, 0, room),
                (last - 15, 0),
                "it is low"
            );
        }
    }
}

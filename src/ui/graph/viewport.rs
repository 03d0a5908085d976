//! Zoom level and scroll position of the task graph. Pure.

use ratatui::layout::Rect;

use crate::ui::graph;
use crate::ui::graph::{Drawing, NODE_MIN};
use crate::ui::keymap::direction::PanDirection;

/// How much of each task the graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// The whole subject, in up to three rows.
    #[default]
    Cards,
    /// One row with as much of the subject as fits.
    Lines,
    /// Only the status symbol and the number.
    Numbers,
}

impl Zoom {
    /// Returns the next level with more detail, or the same level if it is the most detailed one.
    pub fn nearer(self) -> Zoom {
        match self {
            Zoom::Cards | Zoom::Lines => Zoom::Cards,
            Zoom::Numbers => Zoom::Lines,
        }
    }

    /// Returns the next level with less detail, or the same level if it is the least detailed one.
    pub fn farther(self) -> Zoom {
        match self {
            Zoom::Cards => Zoom::Lines,
            Zoom::Lines | Zoom::Numbers => Zoom::Numbers,
        }
    }

    /// Returns the status message that is shown when this level is selected.
    pub fn words(self) -> &'static str {
        match self {
            Zoom::Cards => "Showing whole cards.",
            Zoom::Lines => "Showing one line per task.",
            Zoom::Numbers => "Showing symbols and numbers.",
        }
    }

    /// Returns the minimum width of one graph layer, in columns.
    pub(in crate::ui) fn narrowest(self) -> usize {
        match self {
            Zoom::Cards | Zoom::Lines => NODE_MIN,
            Zoom::Numbers => 4,
        }
    }
}

/// The zoom level and the scroll offset of the task graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Camera {
    pub zoom: Zoom,
    /// Columns (positive: to the right) and rows (positive: down) by which the user has scrolled away from the default
    /// position, which [`window`] returns.
    pub offset: (isize, isize),
}

impl Camera {
    /// Returns the first visible column and row of a drawing: the default position of [`window`], moved by the user's
    /// scroll offset but not beyond the drawing.
    pub fn window(self, drawing: &Drawing, selected: usize, room: Rect) -> (usize, usize) {
        let (left, top) = window(drawing, selected, room);
        let most = |whole: usize, room: u16, at: usize| at.max(whole.saturating_sub(room.into()));
        let shift = |at: usize, by: isize, most: usize| at.saturating_add_signed(by).min(most);
        (
            shift(left, self.offset.0, most(drawing.width, room.width, left)),
            shift(top, self.offset.1, most(drawing.height, room.height, top)),
        )
    }

    /// Returns this camera scrolled by a quarter of the visible area `room`. Scrolling stops at the edge of the
    /// drawing.
    #[must_use]
    pub fn pan(
        self,
        toward: PanDirection,
        drawing: &Drawing,
        selected: usize,
        room: Rect,
    ) -> Camera {
        let columns = usize::from(room.width / 4).max(1);
        let rows = usize::from(room.height / 4).max(1);
        self.scroll_by(toward.by(columns, rows), drawing, selected, room)
    }

    /// Returns this camera scrolled by `x` columns to the right and `y` rows down, or to the left and up if they are
    /// negative. Scrolling stops at the edge of the drawing.
    #[must_use]
    pub fn scroll_by(
        self,
        (x, y): (isize, isize),
        drawing: &Drawing,
        selected: usize,
        room: Rect,
    ) -> Camera {
        let wished = Camera {
            offset: (self.offset.0 + x, self.offset.1 + y),
            ..self
        };
        // The offset is limited to the drawing, so that scrolling back takes effect at once.
        let (left, top) = wished.window(drawing, selected, room);
        let own = window(drawing, selected, room);
        let from = |at: usize, own: usize| at.cast_signed() - own.cast_signed();
        Camera {
            offset: (from(left, own.0), from(top, own.1)),
            ..self
        }
    }
}

/// Returns the default scroll position: the first visible column and row of a drawing. Node `selected` is in view, and
/// if there is room, also the nodes in the next layer that it blocks. The first visible column is the first column of a
/// node, so that no node is cut off at the left.
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
    use crate::ui::graph::{GraphInput, draw};

    #[test]
    fn scrolling_stops_at_the_edge_of_the_drawing() {
        let drawing = draw(&GraphInput {
            widths: vec![20; 12],
            edges: (1..12).map(|n| (n - 1, n)).collect(),
            columns: 60,
            ..GraphInput::default()
        })
        .unwrap();
        let room = Rect::new(0, 0, 60, 5);
        let mut camera = Camera::default();
        for _ in 0..100 {
            camera = camera.pan(PanDirection::Right, &drawing, 0, room);
        }
        let last = drawing.width - 60;
        assert_eq!(camera.window(&drawing, 0, room), (last, 0));
        camera = camera.pan(PanDirection::Left, &drawing, 0, room);
        assert_eq!(camera.window(&drawing, 0, room), (last - 15, 0));
        for toward in [PanDirection::Up, PanDirection::Down] {
            let camera = camera.pan(toward, &drawing, 0, room);
            assert_eq!(
                camera.window(&drawing, 0, room),
                (last - 15, 0),
                "the drawing is lower than the view"
            );
        }
    }
}

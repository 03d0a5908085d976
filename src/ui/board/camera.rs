//! Zoom level and scroll position of the task graph. Pure.

use ratatui::layout::Rect;

use super::window;
use crate::ui::graph::{Drawing, NODE_MIN};

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
    /// Returns the next level with more detail.
    pub fn nearer(self) -> Zoom {
        match self {
            Zoom::Cards | Zoom::Lines => Zoom::Cards,
            Zoom::Numbers => Zoom::Lines,
        }
    }

    /// Returns the next level with less detail.
    pub fn farther(self) -> Zoom {
        match self {
            Zoom::Cards => Zoom::Lines,
            Zoom::Lines | Zoom::Numbers => Zoom::Numbers,
        }
    }

    /// The status message that is shown when this level is selected.
    pub fn words(self) -> &'static str {
        match self {
            Zoom::Cards => "Showing whole cards.",
            Zoom::Lines => "Showing one line per task.",
            Zoom::Numbers => "Showing symbols and numbers.",
        }
    }

    /// The minimum width of one graph layer, in columns.
    pub(super) fn narrowest(self) -> usize {
        match self {
            Zoom::Cards | Zoom::Lines => NODE_MIN,
            Zoom::Numbers => 4,
        }
    }
}

/// A direction in which to scroll the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// Toward the first column.
    Left,
    /// Toward the last row.
    Down,
    /// Toward the first row.
    Up,
    /// Toward the last column.
    Right,
}

impl Toward {
    /// Returns the offset for a move of `columns` or `rows` in this direction.
    pub fn by(self, columns: usize, rows: usize) -> (isize, isize) {
        let (x, y) = (columns.cast_signed(), rows.cast_signed());
        match self {
            Toward::Left => (-x, 0),
            Toward::Right => (x, 0),
            Toward::Up => (0, -y),
            Toward::Down => (0, y),
        }
    }
}

/// Zoom level and scroll offset of the graph view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Camera {
    /// The zoom level.
    pub zoom: Zoom,
    /// Columns and rows by which the user scrolled away from the position that shows the selected task.
    pub moved: (isize, isize),
}

impl Camera {
    /// Returns the first visible column and row of a drawing, including the user's scroll offset.
    pub fn window(self, drawing: &Drawing, selected: usize, room: Rect) -> (usize, usize) {
        let (left, top) = window(drawing, selected, room);
        let most = |whole: usize, room: u16, at: usize| at.max(whole.saturating_sub(room.into()));
        let shift = |at: usize, by: isize, most: usize| at.saturating_add_signed(by).min(most);
        (
            shift(left, self.moved.0, most(drawing.width, room.width, left)),
            shift(top, self.moved.1, most(drawing.height, room.height, top)),
        )
    }

    /// Returns the camera scrolled by a quarter of the view. It stops at the edge of the drawing.
    #[must_use]
    pub fn panned(self, toward: Toward, drawing: &Drawing, selected: usize, room: Rect) -> Camera {
        let columns = usize::from(room.width / 4).max(1);
        let rows = usize::from(room.height / 4).max(1);
        self.shifted(toward.by(columns, rows), drawing, selected, room)
    }

    /// Returns the camera scrolled by some columns and rows. It stops at the edge of the drawing.
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
        // The offset is clamped, so that scrolling back takes effect at once.
        let (left, top) = wished.window(drawing, selected, room);
        let own = window(drawing, selected, room);
        let from = |at: usize, own: usize| at.cast_signed() - own.cast_signed();
        Camera {
            moved: (from(left, own.0), from(top, own.1)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::graph::{Wanted, draw};

    #[test]
    fn scrolling_stops_at_the_edge_of_the_drawing() {
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
                "the drawing is lower than the view"
            );
        }
    }
}

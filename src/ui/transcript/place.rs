//! Where the reader stands: at the newest, or at a line that stays where it is while more comes in.

use super::draw::{Mark, lines};
use super::{Scroll, Transcript};
use crate::ui::theme::Theme;

/// Where the first line in view is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// The newest line is in view and stays so.
    #[default]
    Following,
    /// A line is held.
    Held {
        /// The number of the cell of the first line in view.
        cell: u64,
        /// Which of its lines that is.
        line: usize,
        /// The number of the first cell that the reader has not been shown.
        unread: u64,
    },
}

impl Place {
    /// Cells were dropped or added: the held line stays on a cell that is there.
    pub fn keep_within(&mut self, first: u64, next: u64) {
        if let Place::Held { cell, line, .. } = self
            && *cell < first
        {
            *cell = first.min(next);
            *line = 0;
        }
    }
}

/// The size of the view, in cells of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewport {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Transcript {
    /// Scrolls in a view of that size.
    pub fn scroll(&mut self, by: Scroll, viewport: Viewport) {
        let page = usize::from(viewport.height.max(1));
        let columns = usize::from(viewport.width);
        match by {
            Scroll::Bottom => self.place = Place::Following,
            Scroll::Top => self.hold(self.dropped, 0, viewport),
            Scroll::LineUp => self.up(1, columns, viewport),
            Scroll::HalfUp => self.up(page.div_ceil(2), columns, viewport),
            Scroll::PageUp => self.up(page.saturating_sub(1).max(1), columns, viewport),
            Scroll::LineDown => self.down(1, columns, viewport),
            Scroll::HalfDown => self.down(page.div_ceil(2), columns, viewport),
            Scroll::PageDown => self.down(page.saturating_sub(1).max(1), columns, viewport),
        }
    }

    /// Whether the newest line is in view and stays so.
    pub fn is_following(&self) -> bool {
        self.place == Place::Following
    }

    /// How many new cells came in since the reader left the newest line.
    pub fn unread_below(&self) -> usize {
        match self.place {
            Place::Following => 0,
            Place::Held { unread, .. } => {
                usize::try_from(self.next_number().saturating_sub(unread)).unwrap_or(usize::MAX)
            }
        }
    }

    /// The first line in view: cell index and line. Nothing in view: `None`.
    pub(super) fn first_in_view(
        &self,
        viewport: Viewport,
        height_of: &mut dyn FnMut(usize) -> usize,
    ) -> Option<(usize, usize)> {
        if self.cells.is_empty() {
            return None;
        }
        match self.place {
            Place::Held { cell, line, .. } => {
                let at = self.index(cell).unwrap_or(0);
                Some((at, line.min(height_of(at).saturating_sub(1))))
            }
            Place::Following => {
                let mut left = usize::from(viewport.height);
                for at in (0..self.cells.len()).rev() {
                    let height = height_of(at);
                    if height >= left {
                        return Some((at, height - left));
                    }
                    left -= height;
                }
                Some((0, 0))
            }
        }
    }

    fn height(&self, at: usize, columns: usize) -> usize {
        let above = at
            .checked_sub(1)
            .and_then(|b| self.cells.get(b))
            .map(|c| &c.kind);
        lines(
            &self.cells[at].kind,
            above,
            Mark::Plain,
            columns,
            &Theme::default(),
        )
        .len()
    }

    fn top(&self, columns: usize, viewport: Viewport) -> Option<(usize, usize)> {
        self.first_in_view(viewport, &mut |at| self.height(at, columns))
    }

    fn up(&mut self, mut by: usize, columns: usize, viewport: Viewport) {
        let Some((mut at, mut line)) = self.top(columns, viewport) else {
            return;
        };
        while by > 0 {
            if line >= by {
                line -= by;
                by = 0;
            } else if at > 0 {
                by -= line + 1;
                at -= 1;
                line = self.height(at, columns).saturating_sub(1);
            } else {
                line = 0;
                by = 0;
            }
        }
        self.hold(self.dropped + at as u64, line, viewport);
    }

    fn down(&mut self, mut by: usize, columns: usize, viewport: Viewport) {
        if self.is_following() {
            return;
        }
        let Some((mut at, mut line)) = self.top(columns, viewport) else {
            return;
        };
        while by > 0 {
            let left = self.height(at, columns).saturating_sub(line + 1);
            if left >= by {
                line += by;
                by = 0;
            } else if at + 1 < self.cells.len() {
                by -= left + 1;
                at += 1;
                line = 0;
            } else {
                break;
            }
        }
        self.hold(self.dropped + at as u64, line, viewport);
    }

    /// Holds a line, or follows where everything below it is in view anyway.
    fn hold(&mut self, cell: u64, line: usize, viewport: Viewport) {
        let columns = usize::from(viewport.width);
        let room = usize::from(viewport.height);
        let Some(start) = self.index(cell) else {
            return;
        };
        let mut below = 0;
        for at in start..self.cells.len() {
            below += self.height(at, columns);
            if below - line.min(below) > room {
                let unread = match self.place {
                    Place::Following => self.next_number(),
                    Place::Held { unread, .. } => unread,
                };
                self.place = Place::Held { cell, line, unread };
                return;
            }
        }
        self.place = Place::Following;
    }
}

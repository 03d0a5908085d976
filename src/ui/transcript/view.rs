//! Draws what is in view of a transcript; no other cell is laid out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Transcript;
use super::find::{self, Hit};
use super::follow::Place;
use super::layout::Mark;
use super::layouts::Layouts;
use crate::ui::layout::scrollbar::Scrolled;
use crate::ui::textual::wrap::Row;
use crate::ui::theme::Theme;

/// What the drawing of a transcript keeps; its loss changes no pixel.
#[derive(Debug, Default)]
pub struct TranscriptCache {
    layouts: Layouts,
}

impl TranscriptCache {
    /// How many rows were laid out so far: the work that was done, beside putting them on the screen.
    pub fn rows_laid(&self) -> usize {
        self.layouts.work()
    }

    /// How many cells are laid out.
    #[cfg(test)]
    pub(super) fn layouts_kept(&self) -> usize {
        self.layouts.len()
    }
}

impl Transcript {
    /// Draws it into `area`; how much of it is in view comes back. How much came in below is
    /// [`Transcript::unread_below`]: the frame says both.
    pub fn view(
        &self,
        cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<Scrolled> {
        self.view_at(&self.place, cache, theme, area, buffer)
    }

    /// The same for somebody who looks at it from another place.
    pub fn view_at(
        &self,
        place: &Place,
        cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<Scrolled> {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return None;
        }
        let layouts = &mut cache.layouts;
        layouts.begin(usize::from(area.width), theme);
        let height = usize::from(area.height);
        let top = place.top(&self.log, layouts, height)?;
        let scrolled = place.scrolled(&self.log, layouts, height);
        let mut lines = area.y..area.bottom();
        let mut skip = top.line;
        let here = self.here();
        let mut next = Some(top.at);
        while let Some(at) = next {
            next = self.log.next_shown(at);
            let from = lines.start;
            let laid = layouts.get(&self.log, at);
            for row in laid.rows(skip) {
                let Some(y) = lines.next() else { break };
                draw(row, area, y, buffer);
            }
            let cell = Drawn {
                area: Rect {
                    y: from,
                    height: lines.start - from,
                    ..area
                },
                skip,
            };
            if self.log.mark(at) == Mark::Selected {
                cell.mark(theme, buffer);
            }
            if let Some(needle) = self.log.needle().filter(|_| self.log.cell(at).found > 0) {
                let here = here.filter(|(cell, _)| *cell == at).map(|(_, nth)| nth);
                cell.highlight(&find::hits(needle, laid.rows(0)), here, theme, buffer);
            }
            if lines.is_empty() {
                break;
            }
            skip = 0;
        }
        scrolled
    }
}

/// The rows of a cell, or of another text, that are in view.
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    /// Where they are.
    pub area: Rect,
    /// How many rows of it are above.
    pub skip: usize,
}

impl Drawn {
    /// The selected cell has a bar in the blank column to its left.
    fn mark(&self, theme: &Theme, buffer: &mut Buffer) {
        if self.area.x <= buffer.area.x {
            return;
        }
        for y in self.area.y..self.area.bottom() {
            let is_blank = (self.area.x..self.area.right())
                .all(|x| buffer.cell((x, y)).is_none_or(|c| c.symbol() == " "));
            if !is_blank {
                buffer.set_string(self.area.x - 1, y, "▎", theme.accent);
            }
        }
    }

    /// Lays the looks of a match over each of them; the one that the reader stands at has its own.
    pub fn highlight(&self, hits: &[Hit], here: Option<usize>, theme: &Theme, buffer: &mut Buffer) {
        // Where the words as written have more matches than the rows, the last one stands for the rest.
        let here = here.map(|nth| nth.min(hits.len().saturating_sub(1)));
        for (nth, hit) in hits.iter().enumerate() {
            let style = if here == Some(nth) {
                theme.found_here
            } else {
                theme.found
            };
            for (row, column, columns) in &hit.parts {
                let Some(row) = row.checked_sub(self.skip) else {
                    continue;
                };
                let part = Rect {
                    x: self.area.x.saturating_add(small(*column)),
                    y: self.area.y.saturating_add(small(row)),
                    width: small(*columns),
                    height: 1,
                };
                buffer.set_style(part.intersection(self.area), style);
            }
        }
    }
}

fn small(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Span by span, each where the buffer says that the one before ended.
fn draw(row: &Row, area: Rect, y: u16, buffer: &mut Buffer) {
    let mut x = area.x;
    for span in &row.spans {
        let room = usize::from(area.right() - x);
        (x, _) = buffer.set_stringn(x, y, &span.content, room, span.style);
    }
}

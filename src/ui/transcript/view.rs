//! Draws what is in view of a transcript; no other cell is laid out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Transcript;
use super::layouts::Layouts;
use crate::ui::theme::Theme;
use crate::ui::wrap::Row;

/// What the drawing of a transcript keeps; its loss changes no pixel.
#[derive(Debug, Default)]
pub struct TranscriptCache {
    layouts: Layouts,
}

#[cfg(test)]
impl TranscriptCache {
    /// How many cells are laid out.
    pub(super) fn layouts_kept(&self) -> usize {
        self.layouts.len()
    }
}

impl Transcript {
    /// Draws it into `area`. How much came in below is [`Transcript::unread_below`]: the frame says it.
    pub fn view(
        &self,
        cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let layouts = &mut cache.layouts;
        layouts.begin(usize::from(area.width), theme);
        let height = usize::from(area.height);
        let Some(top) = self.place.top(&self.log, layouts, height) else {
            return;
        };
        let mut lines = area.y..area.bottom();
        let mut skip = top.line;
        for at in top.at..self.log.len() {
            for row in layouts.get(&self.log, at).rows(skip) {
                let Some(y) = lines.next() else { return };
                draw(row, area, y, buffer);
            }
            skip = 0;
        }
    }
}

/// Span by span, each where the buffer says that the one before ended.
fn draw(row: &Row, area: Rect, y: u16, buffer: &mut Buffer) {
    let mut x = area.x;
    for span in &row.spans {
        let room = usize::from(area.right() - x);
        (x, _) = buffer.set_stringn(x, y, &span.content, room, span.style);
    }
}

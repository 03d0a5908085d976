//! Draws the visible part of a transcript. Only visible cells are laid out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::pictures::PlacedPicture;
use crate::ui::text::wrap::Row;
use crate::ui::theme::Theme;
use crate::ui::transcript::attached::{LaidPicture, PICTURE_INDENT};
use crate::ui::transcript::find::SearchMatch;
use crate::ui::transcript::layout_cache::LayoutCache;
use crate::ui::transcript::scroll::{ScrollAnchor, Viewport};
use crate::ui::transcript::{Transcript, find};
use crate::ui::widgets::scrollbar::ScrollPosition;

/// The cached layouts of a transcript's cells. A cleared cache changes only the speed of drawing, not what is drawn.
#[derive(Debug, Default)]
pub struct TranscriptCache {
    layouts: LayoutCache,
    /// The pictures in the visible rows, where the last frame has placed them.
    placed: Vec<PlacedPicture>,
}

impl TranscriptCache {
    /// Returns the number of rows laid out so far. Measures the work for tests.
    pub fn rows_laid(&self) -> usize {
        self.layouts.work()
    }

    /// Returns the pictures in the visible rows of all transcripts that were drawn with this cache since
    /// [`TranscriptCache::begin_frame`].
    pub fn placed_pictures(&self) -> &[PlacedPicture] {
        &self.placed
    }

    /// Starts a frame: forgets where the last frame has drawn pictures.
    pub fn begin_frame(&mut self) {
        self.placed.clear();
    }

    /// Returns the number of cells with a cached layout.
    #[cfg(test)]
    pub(super) fn layouts_kept(&self) -> usize {
        self.layouts.len()
    }
}

impl Transcript {
    /// Draws the transcript into `area`. Returns the position of the scrollbar; `None` if the transcript or the area is
    /// empty. The caller draws the scrollbar into the frame, together with the number from
    /// [`Transcript::unread_below`].
    pub fn view(
        &self,
        cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<ScrollPosition> {
        self.view_at(&self.anchor, cache, theme, area, buffer)
    }

    /// Like [`Transcript::view`], but at the scroll position `anchor` instead of the scroll position of the transcript.
    pub fn view_at(
        &self,
        anchor: &ScrollAnchor,
        cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<ScrollPosition> {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return None;
        }
        let TranscriptCache { layouts, placed } = cache;
        let viewport = Viewport {
            width: area.width,
            height: area.height,
        };
        layouts.begin(viewport, theme);
        let height = usize::from(area.height);
        let top = anchor.top(&self.log, layouts, height)?;
        let scrolled = anchor.scroll_position(&self.log, layouts, height);
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
            let cell = VisibleRows {
                area: Rect {
                    y: from,
                    height: lines.start - from,
                    ..area
                },
                skip,
            };
            let pictures = laid.pictures().iter();
            placed.extend(pictures.filter_map(|picture| cell.place(picture)));
            if self.log.is_selected(at) {
                cell.mark(theme, buffer);
            }
            if let Some(needle) = self.log.needle().filter(|_| self.log.cell(at).found > 0) {
                let here = here.filter(|(cell, _)| *cell == at).map(|(_, nth)| nth);
                cell.highlight(
                    &find::find_matches(needle, laid.rows(0)),
                    here,
                    theme,
                    buffer,
                );
            }
            if lines.is_empty() {
                break;
            }
            skip = 0;
        }
        scrolled
    }
}

/// The visible rows of a cell, or of another text, and their area on the screen.
#[derive(Debug, Clone, Copy)]
pub struct VisibleRows {
    pub area: Rect,
    /// Number of rows of the cell above the visible ones.
    pub skip: usize,
}

impl VisibleRows {
    /// Returns where the visible rows of a picture are on the screen; `None` if none is visible.
    fn place(&self, picture: &LaidPicture) -> Option<PlacedPicture> {
        let size = picture.key.size;
        let rows = picture.row..picture.row + usize::from(size.rows);
        let visible = self.skip..self.skip + usize::from(self.area.height);
        let (first, end) = (rows.start.max(visible.start), rows.end.min(visible.end));
        let at = Rect {
            x: self.area.x.saturating_add(PICTURE_INDENT),
            y: self.area.y + to_u16(first.checked_sub(self.skip)?),
            width: size.columns,
            height: to_u16(end.saturating_sub(first)),
        };
        (first < end).then(|| PlacedPicture {
            key: picture.key.clone(),
            at: at.intersection(self.area),
            skip: to_u16(first - rows.start),
        })
    }

    /// Draws a bar in the column to the left of the rows that are not blank. It marks the selected cell. Does nothing
    /// if the buffer has no such column.
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

    /// Highlights the search matches `hits`. `here` is the index of the current match, which has another style.
    pub fn highlight(
        &self,
        hits: &[SearchMatch],
        here: Option<usize>,
        theme: &Theme,
        buffer: &mut Buffer,
    ) {
        // A text can contain more matches than its drawn rows. The last drawn match then stands for the others.
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
                    x: self.area.x.saturating_add(to_u16(*column)),
                    y: self.area.y.saturating_add(to_u16(row)),
                    width: to_u16(*columns),
                    height: 1,
                };
                buffer.set_style(part.intersection(self.area), style);
            }
        }
    }
}

fn to_u16(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Draws the spans of a row side by side. The buffer decides how many columns each span takes.
fn draw(row: &Row, area: Rect, y: u16, buffer: &mut Buffer) {
    let mut x = area.x;
    for span in &row.spans {
        let room = usize::from(area.right() - x);
        (x, _) = buffer.set_stringn(x, y, &span.content, room, span.style);
    }
}

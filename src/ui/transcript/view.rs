//! Draws what is in view of a transcript. Only those cells are laid out, and kept as long as they fit.

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::Transcript;
use super::draw::{Mark, lines};
use super::place::Viewport;
use crate::ui::theme::Theme;

/// Cells whose lines are kept; more than any screen shows.
const KEPT_MAX: usize = 512;

/// What the drawing of a transcript keeps; its loss changes no pixel.
#[derive(Debug, Default)]
pub struct TranscriptCache {
    kept: HashMap<Key, Vec<Line<'static>>>,
}

/// Everything that the lines of a cell depend on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    cell: u64,
    version: u32,
    /// What stands above it can change its first line.
    above: u32,
    columns: u16,
    mark: Mark,
}

impl Transcript {
    /// Draws it into `area`.
    pub fn view(
        &self,
        cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        if area.is_empty() {
            return;
        }
        if cache.kept.len() > KEPT_MAX {
            cache.kept.clear();
        }
        let viewport = Viewport {
            width: area.width,
            height: area.height,
        };
        let first = self.first_in_view(viewport, &mut |at| {
            self.kept(cache, at, area.width, theme).len()
        });
        let Some((start, skip)) = first else { return };
        let mut rows = area.rows();
        let mut skip = skip;
        for at in start..self.cells.len() {
            for line in self.kept(cache, at, area.width, theme).iter().skip(skip) {
                let Some(row) = rows.next() else { return };
                line.render(row, buffer);
            }
            skip = 0;
        }
    }

    fn kept<'c>(
        &self,
        cache: &'c mut TranscriptCache,
        at: usize,
        columns: u16,
        theme: &Theme,
    ) -> &'c [Line<'static>] {
        let number = self.dropped + at as u64;
        let above = at.checked_sub(1).and_then(|b| self.cells.get(b));
        let mark = if self.selected == Some(number) {
            Mark::Selected
        } else {
            Mark::Plain
        };
        let cell = &self.cells[at];
        let key = Key {
            cell: number,
            version: cell.version,
            above: above.map_or(0, |a| {
                1 + u32::from(matches!(a.kind, super::cell::Kind::Tool(_)))
            }),
            columns,
            mark,
        };
        cache.kept.entry(key).or_insert_with(|| {
            lines(
                &cell.kind,
                above.map(|a| &a.kind),
                mark,
                usize::from(columns),
                theme,
            )
        })
    }
}

//! A cache of the layouts of cells that were visible recently.

use std::collections::HashMap;

use crate::ui::pictures::{PictureSize, room};
use crate::ui::text::TEXT_WIDEST;
use crate::ui::theme::Theme;
use crate::ui::transcript::attached::{PICTURE_INDENT, PictureParams};
use crate::ui::transcript::layout::{Above, CellLayout, LayoutParams, lay_out};
use crate::ui::transcript::log::CellLog;
use crate::ui::transcript::scroll::Viewport;

/// Number of cached rows above which the next frame drops the layouts that the last frame did not use.
const ROWS_KEPT: usize = 8_000;

/// Cached layouts for one width and one theme.
#[derive(Debug, Default)]
pub struct LayoutCache {
    /// The width of the view, in columns. Code may fill it; other text has at most [`TEXT_WIDEST`] columns.
    columns: usize,
    /// The maximum size of pictures; `None` if there is no room for them.
    picture_room: Option<PictureSize>,
    theme: Option<Theme>,
    cached: HashMap<u64, CachedLayout>,
    rows: usize,
    frame: u64,
    /// Number of rows laid out so far. Measures the work for tests.
    work: usize,
}

#[derive(Debug)]
struct CachedLayout {
    layout: CellLayout,
    version: u64,
    above: Above,
    is_selected: bool,
    /// How the pictures of the cell were laid out; `None` if the cell has no picture.
    pictures: Option<PictureParams>,
    /// Number of the frame in which the layout was last used.
    frame: u64,
}

impl LayoutCache {
    /// Starts a frame for a view with the size `viewport`. Clears the cache if the width or the theme has changed.
    pub fn begin(&mut self, viewport: Viewport, theme: &Theme) {
        let columns = viewport.columns();
        self.picture_room = room(
            text_columns(columns),
            viewport.rows(),
            usize::from(PICTURE_INDENT),
        );
        if self.columns != columns || self.theme.as_ref() != Some(theme) {
            *self = LayoutCache {
                columns,
                picture_room: self.picture_room,
                theme: Some(*theme),
                work: self.work,
                ..LayoutCache::default()
            };
        }
        if self.rows > ROWS_KEPT {
            let last = self.frame;
            self.cached.retain(|_, e| e.frame == last);
            self.rows = self.cached.values().map(|e| e.layout.len()).sum();
        }
        self.frame += 1;
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of rows laid out so far. Measures the work for tests.
    pub fn work(&self) -> usize {
        self.work
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.cached.len()
    }

    /// Returns the layout of the cell at the index `at` of `log`. Lays the cell out if the cache has no current layout
    /// of it.
    pub fn get(&mut self, log: &CellLog, at: usize) -> &CellLayout {
        let number = log.number(at);
        let cell = log.cell(at);
        let (above, is_selected) = (log.above(at), log.is_selected(at));
        let theme = self.theme.unwrap_or_default();
        let pictures = (log.drawing, self.picture_room);
        let page = LayoutParams {
            columns: text_columns(self.columns),
            code_columns: self.columns,
            theme: &theme,
            pictures,
        };
        let pictures = cell.kind.has_pictures().then_some(pictures);
        let (rows, work, frame) = (&mut self.rows, &mut self.work, self.frame);
        let entry = self.cached.entry(number).or_insert_with(|| {
            let layout = lay_out(&cell.kind, above, is_selected, page, None);
            *rows += layout.len();
            *work += layout.fresh();
            CachedLayout {
                layout,
                version: cell.version,
                above,
                is_selected,
                pictures,
                frame,
            }
        });
        let is_current = (entry.version, entry.above) == (cell.version, above)
            && (entry.is_selected, entry.pictures) == (is_selected, pictures);
        if !is_current {
            let old = std::mem::take(&mut entry.layout);
            *rows -= old.len();
            entry.layout = lay_out(&cell.kind, above, is_selected, page, Some(old));
            *rows += entry.layout.len();
            *work += entry.layout.fresh();
            entry.version = cell.version;
            entry.above = above;
            entry.is_selected = is_selected;
            entry.pictures = pictures;
        }
        entry.frame = frame;
        &entry.layout
    }
}

/// Returns the width of running text in a view of `columns` columns.
fn text_columns(columns: usize) -> usize {
    columns.min(usize::from(TEXT_WIDEST))
}

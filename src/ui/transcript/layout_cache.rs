//! A cache of the layouts of cells that were visible recently.

use std::collections::HashMap;

use crate::ui::theme::Theme;
use crate::ui::transcript::layout::{Above, CellLayout, LayoutParams, lay_out};
use crate::ui::transcript::log::CellLog;

/// Maximum number of cached rows. Beyond it, the layouts that the last frame did not use are dropped.
const ROWS_KEPT: usize = 8_000;

/// Cached layouts for one width and one theme.
#[derive(Debug, Default)]
pub struct LayoutCache {
    columns: usize,
    theme: Option<Theme>,
    cached: HashMap<u64, CachedLayout>,
    rows: usize,
    frame: u64,
    /// Number of rows laid out so far, which measures the work done.
    work: usize,
}

#[derive(Debug)]
struct CachedLayout {
    layout: CellLayout,
    version: u64,
    above: Above,
    is_selected: bool,
    /// The frame in which the layout was last used.
    frame: u64,
}

impl LayoutCache {
    /// Starts a frame. Clears the cache if the width or the theme has changed.
    pub fn begin(&mut self, columns: usize, theme: &Theme) {
        if self.columns != columns || self.theme.as_ref() != Some(theme) {
            *self = LayoutCache {
                columns,
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

    /// Returns the number of rows laid out so far, which measures the work done.
    pub fn work(&self) -> usize {
        self.work
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.cached.len()
    }

    /// Returns the layout of the cell at index `at`, from the cache if the cell has not changed.
    pub fn get(&mut self, log: &CellLog, at: usize) -> &CellLayout {
        let number = log.number(at);
        let cell = log.cell(at);
        let (above, is_selected) = (log.above(at), log.is_selected(at));
        let theme = self.theme.unwrap_or_default();
        let page = LayoutParams {
            columns: self.columns,
            theme: &theme,
        };
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
                frame,
            }
        });
        if (entry.version, entry.above, entry.is_selected) != (cell.version, above, is_selected) {
            let old = std::mem::take(&mut entry.layout);
            *rows -= old.len();
            entry.layout = lay_out(&cell.kind, above, is_selected, page, Some(old));
            *rows += entry.layout.len();
            *work += entry.layout.fresh();
            entry.version = cell.version;
            entry.above = above;
            entry.is_selected = is_selected;
        }
        entry.frame = frame;
        &entry.layout
    }
}

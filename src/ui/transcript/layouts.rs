//! Cache of the layouts of visible cells.

use std::collections::HashMap;

use super::layout::{Above, Laid, Mark, Page, lay};
use super::log::Log;
use crate::ui::theme::Theme;

/// Maximum number of cached rows. Beyond it, only layouts used in the last frame are kept.
const ROWS_KEPT: usize = 8_000;

/// Cached layouts for one width and one theme.
#[derive(Debug, Default)]
pub struct Layouts {
    columns: usize,
    theme: Option<Theme>,
    kept: HashMap<u64, Entry>,
    rows: usize,
    round: u64,
    /// Number of rows laid out so far, as a measure of work.
    work: usize,
}

#[derive(Debug)]
struct Entry {
    laid: Laid,
    version: u64,
    above: Above,
    mark: Mark,
    /// The frame in which it was last used.
    round: u64,
}

impl Layouts {
    /// Starts a frame. A change of width or theme clears the cache.
    pub fn begin(&mut self, columns: usize, theme: &Theme) {
        if self.columns != columns || self.theme.as_ref() != Some(theme) {
            *self = Layouts {
                columns,
                theme: Some(*theme),
                work: self.work,
                ..Layouts::default()
            };
        }
        if self.rows > ROWS_KEPT {
            let last = self.round;
            self.kept.retain(|_, e| e.round == last);
            self.rows = self.kept.values().map(|e| e.laid.len()).sum();
        }
        self.round += 1;
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of rows laid out so far.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Returns the number of cached layouts.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns the layout of a cell, given its index.
    pub fn get(&mut self, log: &Log, at: usize) -> &Laid {
        let number = log.number(at);
        let cell = log.cell(at);
        let (above, mark) = (log.above(at), log.mark(at));
        let theme = self.theme.unwrap_or_default();
        let page = Page {
            columns: self.columns,
            theme: &theme,
        };
        let (rows, work, round) = (&mut self.rows, &mut self.work, self.round);
        let entry = self.kept.entry(number).or_insert_with(|| {
            let laid = lay(&cell.kind, above, mark, page, None);
            *rows += laid.len();
            *work += laid.fresh();
            Entry {
                laid,
                version: cell.version,
                above,
                mark,
                round,
            }
        });
        if (entry.version, entry.above, entry.mark) != (cell.version, above, mark) {
            let old = std::mem::take(&mut entry.laid);
            *rows -= old.len();
            entry.laid = lay(&cell.kind, above, mark, page, Some(old));
            *rows += entry.laid.len();
            *work += entry.laid.fresh();
            entry.version = cell.version;
            entry.above = above;
            entry.mark = mark;
        }
        entry.round = round;
        &entry.laid
    }
}

//! The layouts of the cells that are in view, kept as long as they fit.

use std::collections::HashMap;

use super::layout::{Above, Laid, Mark, Page, lay};
use super::log::Log;
use crate::ui::theme::Theme;

/// Rows that are kept of cells that are not in view any more; beyond, all of those are let go.
const ROWS_KEPT: usize = 8_000;

/// Layouts of one page: of one width and one theme.
#[derive(Debug, Default)]
pub struct Layouts {
    columns: usize,
    theme: Option<Theme>,
    kept: HashMap<u64, Entry>,
    rows: usize,
    round: u64,
    /// The rows that were laid out so far: the work that was done.
    work: usize,
}

#[derive(Debug)]
struct Entry {
    laid: Laid,
    version: u64,
    above: Above,
    mark: Mark,
    /// The round in which it was last asked for.
    round: u64,
}

impl Layouts {
    /// A new round of drawing begins. Layouts of another page are of no use in it.
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

    /// The columns of the page.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows were laid out so far.
    pub fn work(&self) -> usize {
        self.work
    }

    /// How many cells are laid out.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// The layout of the cell at an index.
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

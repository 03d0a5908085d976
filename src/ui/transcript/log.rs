//! The cells of a transcript in order, bounded in number and size. Each cell has a number that never changes.

use std::collections::VecDeque;

use crate::ui::keymap::direction::Way;
use crate::ui::pictures::ImageDrawing;
use crate::ui::transcript::call_group::{CallGroup, GROUP_MIN};
use crate::ui::transcript::cell::{CellKind, Fold, TranscriptCell};
use crate::ui::transcript::find::Needle;
use crate::ui::transcript::layout::Above;
use crate::ui::transcript::run::ToolRun;
use crate::ui::transcript::tool_display::{Grouping, tool_display};

/// Maximum number of cells. If there are more, the oldest are dropped, and the view shows how many entries were
/// dropped.
pub const CELLS_MAX: usize = 10_000;
/// Maximum total size of all cells, in bytes. If they are larger, the oldest are dropped, but never the newest one.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Number of cells in which [`CellLog::last_call`] looks for a call, so that it takes little time.
const LAST_CALL_CELLS: usize = 100;
/// Estimated size of a cell without its texts, in bytes.
const CELL_OVERHEAD: usize = 512;

/// The cells of a transcript, oldest first. Each cell has a number and an index. The number is counted from 0 since the
/// transcript began, and never changes. The index is the position among the cells in memory. It becomes lower when
/// older cells are dropped.
#[derive(Debug, Default)]
pub struct CellLog {
    cells: VecDeque<TranscriptCell>,
    /// Number of dropped cells, which is also the number of the first cell in memory.
    dropped: u64,
    /// Estimated total size of all cells, in bytes.
    bytes: usize,
    /// Number of entries added since the beginning or the last [`CellLog::clear`], including dropped ones. An entry is
    /// a cell other than the header of a call group.
    entries: u64,
    /// The last [`TranscriptCell::version`] that was assigned.
    version: u64,
    /// The number of the selected cell; `None` if no cell is selected.
    pub selected: Option<u64>,
    /// How the cells draw images.
    pub drawing: ImageDrawing,
    /// What is searched for; `None` if no search is active.
    needle: Option<Needle>,
    /// Number of search matches in all cells.
    found: usize,
}

impl CellLog {
    /// Adds a cell and returns its number. May drop the oldest cells.
    pub fn push(&mut self, kind: CellKind) -> u64 {
        self.version += 1;
        let version = self.version;
        self.bytes += CELL_OVERHEAD + kind.bytes();
        let found = self.needle.as_ref().map_or(0, |n| kind.count(n));
        self.found += found;
        let is_entry = !matches!(kind, CellKind::CallGroup(_));
        self.cells.push_back(TranscriptCell {
            group_header: None,
            entries: self.entries,
            kind,
            version,
            found,
        });
        self.entries += u64::from(is_entry);
        self.trim();
        self.next() - 1
    }

    /// Adds a tool call and returns the number of its cell. If the tool has [`Grouping::Grouped`], the call also joins
    /// a call group. This is the group of the newest cell if that cell is a call of the same tool, else a new group.
    pub fn push_call(&mut self, run: ToolRun) -> u64 {
        if tool_display(&run.tool).grouping == Grouping::Separate {
            return self.push(CellKind::Tool(Box::new(run)));
        }
        let like = self.cells.back().filter(|last| match &last.kind {
            CellKind::Tool(other) => other.tool == run.tool,
            _ => false,
        });
        let line = like.and_then(|last| last.group_header);
        let line = match line.filter(|n| self.index(*n).is_some()) {
            Some(line) => line,
            None => self.push(CellKind::CallGroup(Box::new(CallGroup::of(&run.tool)))),
        };
        let is_in_use = (line + 1..self.next()).any(|n| self.is_in_use(n))
            && self.next() <= line + GROUP_MIN as u64;
        self.change(line, |kind| {
            if let CellKind::CallGroup(calls) = kind {
                calls.add(&run);
                if is_in_use {
                    calls.fold = Fold::Open;
                }
            }
        });
        let number = self.push(CellKind::Tool(Box::new(run)));
        if let Some(last) = self.cells.back_mut() {
            last.group_header = Some(line);
        }
        number
    }

    /// Returns whether the call in the cell `number` is selected or open. A group with one of these calls begins open,
    /// so that the call does not disappear when the group becomes large enough to be folded.
    fn is_in_use(&self, number: u64) -> bool {
        let is_open = |at: usize| match &self.cells[at].kind {
            CellKind::Tool(run) => run.fold == Fold::Open,
            _ => false,
        };
        self.selected == Some(number) || self.index(number).is_some_and(is_open)
    }

    /// Returns the index of the call group's header that is drawn in place of the cell at the index `at`; `None` if the
    /// cell is not hidden.
    pub fn hidden_by(&self, at: usize) -> Option<usize> {
        let line = self.index(self.cells.get(at)?.group_header?)?;
        match &self.cells[line].kind {
            CellKind::CallGroup(calls) => calls.hides().then_some(line),
            _ => None,
        }
    }

    /// Returns the index of the cell that is drawn for the cell at the index `at`: the cell itself, or the header of
    /// the call group that hides it.
    pub fn visible_index(&self, at: usize) -> usize {
        self.hidden_by(at).unwrap_or(at)
    }

    /// Returns the index of the first cell after `at` that no call group hides; `None` if there is none. `at` is the
    /// index of a cell that is not hidden either. Takes constant time, however many cells are hidden in between.
    pub fn next_shown(&self, at: usize) -> Option<usize> {
        let hidden = match &self.cells.get(at)?.kind {
            CellKind::CallGroup(calls) if calls.hides() => calls.len,
            _ => 0,
        };
        Some(at + 1 + hidden).filter(|next| *next < self.cells.len())
    }

    /// Returns the index of the cell that is drawn before the cell at the index `at`; `None` if `at` is 0.
    pub fn prev_shown(&self, at: usize) -> Option<usize> {
        Some(self.visible_index(at.checked_sub(1)?))
    }

    /// Returns the number of entries from the cell `number` to the newest one; 0 if there is no such cell yet. Each
    /// dropped cell from `number` on counts as one entry, even the header of a call group.
    pub fn entries_from(&self, number: u64) -> u64 {
        if number >= self.next() {
            return 0;
        }
        let before = self.dropped.saturating_sub(number);
        let first = self.cells.get(self.index(number).unwrap_or(0));
        before + self.entries - first.map_or(self.entries, |cell| cell.entries)
    }

    /// Returns the newest tool call; `None` if there is none among the newest [`LAST_CALL_CELLS`] cells.
    pub fn last_call(&self) -> Option<&ToolRun> {
        let newest = self.cells.iter().rev().take(LAST_CALL_CELLS);
        newest.into_iter().find_map(|cell| match &cell.kind {
            CellKind::Tool(run) => Some(&**run),
            _ => None,
        })
    }

    /// Drops the oldest cells until the log is within [`CELLS_MAX`] and [`BYTES_MAX`].
    fn trim(&mut self) {
        self.shrink(BYTES_MAX);
    }

    /// Returns the estimated total size of all cells, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops the oldest cells until the total size is at most `bytes` and there are at most `CELLS_MAX` cells. The
    /// newest cell is never dropped.
    pub fn shrink(&mut self, bytes: usize) {
        while self.cells.len() > CELLS_MAX || (self.bytes > bytes && self.cells.len() > 1) {
            if let Some(oldest) = self.cells.pop_front() {
                self.bytes -= CELL_OVERHEAD + oldest.kind.bytes();
                self.found -= oldest.found;
                self.dropped += 1;
            }
        }
        let first = self.dropped;
        self.selected = self.selected.filter(|n| *n >= first);
    }

    /// Removes all cells. The view does not report them as dropped, and their numbers are not used again.
    pub fn clear(&mut self) {
        self.dropped += self.cells.len() as u64;
        self.cells.clear();
        (self.bytes, self.entries, self.found) = (0, 0, 0);
        self.selected = None;
    }

    /// Applies `change` to the cell `number`, unless the cell was dropped, and updates the header of its call group. If
    /// the group now hides the selected cell, selects the header instead.
    pub fn change(&mut self, number: u64, change: impl FnOnce(&mut CellKind)) {
        let Some(at) = self.index(number) else {
            return;
        };
        let before = self.cells[at].kind.progress();
        self.change_one(at, change);
        let cell = &self.cells[at];
        let line = cell.group_header.and_then(|n| self.index(n));
        // The header counts the calls of the group by their state.
        if let (Some(line), Some(before), CellKind::Tool(run)) = (line, before, &cell.kind)
            && before != run.state
            && let CellKind::CallGroup(calls) = &self.cells[line].kind
        {
            let mut calls = (**calls).clone();
            calls.update(before, run);
            self.change_one(line, |kind| *kind = CellKind::CallGroup(Box::new(calls)));
        }
        // A cell that its call group hides cannot stay selected; the header is selected instead.
        let selected = self.selected.and_then(|n| self.hidden_by(self.index(n)?));
        if let Some(line) = selected {
            self.selected = Some(self.number(line));
        }
        self.trim();
    }

    fn change_one(&mut self, at: usize, change: impl FnOnce(&mut CellKind)) {
        self.version += 1;
        let cell = &mut self.cells[at];
        cell.version = self.version;
        self.bytes -= cell.kind.bytes();
        change(&mut cell.kind);
        self.bytes += cell.kind.bytes();
        if let Some(needle) = &self.needle {
            self.found -= cell.found;
            cell.found = cell.kind.count(needle);
            self.found += cell.found;
        }
    }

    /// Removes the cell `number`. Does nothing if it was dropped. If it is the last cell, the next new cell gets its
    /// number. Otherwise, an empty cell replaces it, so that the numbers of later cells do not change.
    pub fn remove(&mut self, number: u64) {
        if number + 1 == self.next() {
            if let Some(last) = self.cells.pop_back() {
                self.entries = last.entries;
                self.bytes -= CELL_OVERHEAD + last.kind.bytes();
                self.found -= last.found;
            }
            self.selected = self.selected.filter(|n| *n != number);
        } else {
            self.change(number, |kind| *kind = CellKind::Answer(Box::default()));
        }
    }

    /// Marks all attached images that are stored in the file named `file` as not shown, with `why` as the reason.
    pub fn fail_picture(&mut self, file: &str, why: &str) {
        let shows = |kind: &CellKind| match kind {
            CellKind::Prompt(_, files) => files
                .iter()
                .any(|f| f.picture.as_ref().is_some_and(|p| p.file == file)),
            _ => false,
        };
        let cells = self.cells.iter().zip(self.dropped..);
        let cells = cells.filter(|(cell, _)| shows(&cell.kind));
        let numbers: Vec<u64> = cells.map(|(_, number)| number).collect();
        for number in numbers {
            self.change(number, |kind| {
                if let CellKind::Prompt(_, files) = kind {
                    let pictures = files.iter_mut().filter_map(|f| f.picture.as_mut());
                    for picture in pictures.filter(|picture| picture.file == file) {
                        picture.failure = Some(why.into());
                    }
                }
            });
        }
    }

    /// Begins a search for `needle`, or ends the search if that is `None`. Counts the matches in all cells.
    pub fn search(&mut self, needle: Option<Needle>) {
        self.needle = needle;
        self.found = 0;
        for cell in &mut self.cells {
            cell.found = self.needle.as_ref().map_or(0, |n| cell.kind.count(n));
            self.found += cell.found;
        }
    }

    pub fn needle(&self) -> Option<&Needle> {
        self.needle.as_ref()
    }

    /// Returns the number of search matches in all cells.
    pub fn match_count(&self) -> usize {
        self.found
    }

    /// Returns the number of search matches in the cells before the index `at`.
    pub fn found_before(&self, at: usize) -> usize {
        self.cells.range(..at).map(|c| c.found).sum()
    }

    /// Returns the index of the nearest cell with a search match after the index `at`; with [`Way::Back`], before it.
    /// Returns `None` if there is none.
    pub fn next_found(&self, at: usize, way: Way) -> Option<usize> {
        let holds = |at: &usize| self.cells[*at].found > 0;
        match way {
            Way::Forward => (at + 1..self.cells.len()).find(holds),
            Way::Back => (0..at.min(self.cells.len())).rev().find(holds),
        }
    }

    /// Returns the index of the first cell with a search match; with [`Way::Back`], of the last one. Returns `None` if
    /// no cell has a match.
    pub fn first_found(&self, way: Way) -> Option<usize> {
        let holds = |cell: &TranscriptCell| cell.found > 0;
        match way {
            Way::Forward => self.cells.iter().position(holds),
            Way::Back => self.cells.iter().rposition(holds),
        }
    }

    /// Returns the numbers of the cells with prompts, oldest first.
    pub fn prompts(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let is_prompt =
            |(_, cell): &(usize, &TranscriptCell)| matches!(cell.kind, CellKind::Prompt(..));
        let cells = self.cells.iter().enumerate().filter(is_prompt);
        cells.map(|(at, _)| self.number(at))
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    pub fn cell(&self, at: usize) -> &TranscriptCell {
        &self.cells[at]
    }

    /// Returns the number that the next cell will get.
    pub fn next(&self) -> u64 {
        self.dropped + self.cells.len() as u64
    }

    pub fn number(&self, at: usize) -> u64 {
        self.dropped + at as u64
    }

    /// Returns the index of the cell `number`; `None` if the cell was dropped or not added yet.
    pub fn index(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(self.dropped)?).ok()?;
        (at < self.cells.len()).then_some(at)
    }

    /// Returns the numbers of the cells that can be folded and that no call group hides, oldest first.
    pub fn foldable(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let is_foldable = |(at, cell): &(usize, &TranscriptCell)| {
            cell.kind.is_foldable() && self.hidden_by(*at).is_none()
        };
        let cells = self.cells.iter().enumerate().filter(is_foldable);
        cells.map(|(at, _)| self.number(at))
    }

    /// Opens all tool calls and call groups, or folds all if all are open. Returns their new state; `None` if there are
    /// none.
    pub fn toggle_all(&mut self) -> Option<Fold> {
        let (mut calls, mut to) = (Vec::new(), Fold::Folded);
        let first = self.dropped;
        for (number, cell) in (first..).zip(&mut self.cells) {
            if let CellKind::Tool(_) | CellKind::CallGroup(_) = cell.kind
                && let Some(fold) = cell.kind.fold()
            {
                calls.push(number);
                if *fold == Fold::Folded {
                    to = Fold::Open;
                }
            }
        }
        for number in &calls {
            self.change(*number, |kind| {
                if let Some(fold) = kind.fold() {
                    *fold = to;
                }
            });
        }
        (!calls.is_empty()).then_some(to)
    }

    /// Returns what is above the cell at the index `at`; it decides the spacing before the cell. Cells that draw
    /// nothing are skipped.
    pub fn above(&self, at: usize) -> Above {
        if self.hidden_by(at).is_some() {
            return Above::Hidden;
        }
        let mut before = self.cells.range(..at).rev().filter(|c| !c.kind.is_blank());
        let group = self.cells[at].kind.group();
        match before.next() {
            Some(other)
                if other.kind.group() == group
                    && group == crate::ui::transcript::cell::SpacingGroup::Activity =>
            {
                Above::Close
            }
            Some(_) => Above::Apart,
            None => match self.cells.front().map_or(0, |first| first.entries) {
                0 => Above::Nothing,
                dropped => Above::Dropped(dropped),
            },
        }
    }

    pub fn is_selected(&self, at: usize) -> bool {
        self.selected == Some(self.number(at))
    }
}

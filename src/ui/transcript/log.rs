//! The cells of a conversation in their order, each with a number of its own.

use std::collections::VecDeque;

use super::cell::{Cell, Kind};
use super::find::Needle;
use super::layout::{Above, Mark};
use crate::ui::pane::Way;

/// Most cells that are kept; the oldest go first, and the drawing says so.
pub const CELLS_MAX: usize = 10_000;
/// Most bytes that all cells take; beyond, the oldest go too.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// What a cell takes beside its text, about: a call with its short texts, an answer with its pieces.
const CELL: usize = 512;

/// The cells, oldest first. Numbers count up from 0 and stay with their cells.
#[derive(Debug, Default)]
pub struct Log {
    cells: VecDeque<Cell>,
    /// How many were dropped at the front: the number of the first one that is there.
    dropped: u64,
    /// The bytes that all of them take, about.
    bytes: usize,
    /// The last version that was given.
    version: u64,
    /// The number of the selected cell.
    pub selected: Option<u64>,
    /// What is searched for, and how often it is there.
    needle: Option<Needle>,
    found: usize,
}

impl Log {
    /// Adds a cell; its number comes back.
    pub fn push(&mut self, kind: Kind) -> u64 {
        self.version += 1;
        let version = self.version;
        self.bytes += CELL + kind.bytes();
        let found = self.needle.as_ref().map_or(0, |n| kind.count(n));
        self.found += found;
        self.cells.push_back(Cell {
            kind,
            version,
            found,
        });
        self.trim();
        self.next() - 1
    }

    /// Drops the oldest cells while there is too much; the newest stays.
    fn trim(&mut self) {
        self.shrink(BYTES_MAX);
    }

    /// The bytes that all of them take, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops the oldest cells until all take no more than that many bytes; the newest stays.
    pub fn shrink(&mut self, bytes: usize) {
        while self.cells.len() > CELLS_MAX || (self.bytes > bytes && self.cells.len() > 1) {
            if let Some(oldest) = self.cells.pop_front() {
                self.bytes -= CELL + oldest.kind.bytes();
                self.found -= oldest.found;
                self.dropped += 1;
            }
        }
        let first = self.dropped;
        self.selected = self.selected.filter(|n| *n >= first);
    }

    /// Changes a cell, if it is still there.
    pub fn change(&mut self, number: u64, change: impl FnOnce(&mut Kind)) {
        if let Some(at) = self.index(number) {
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
            self.trim();
        }
    }

    /// Removes a cell: what stands behind it keeps its number, so it stays as an empty one unless it is
    /// the last.
    pub fn remove(&mut self, number: u64) {
        if number + 1 == self.next() {
            if let Some(last) = self.cells.pop_back() {
                self.bytes -= CELL + last.kind.bytes();
                self.found -= last.found;
            }
            self.selected = self.selected.filter(|n| *n != number);
        } else {
            self.change(number, |kind| *kind = Kind::Answer(Box::default()));
        }
    }

    /// Searches every cell for other words, or for none.
    pub fn search(&mut self, needle: Option<Needle>) {
        self.needle = needle;
        self.found = 0;
        for cell in &mut self.cells {
            cell.found = self.needle.as_ref().map_or(0, |n| cell.kind.count(n));
            self.found += cell.found;
        }
    }

    /// What is searched for.
    pub fn needle(&self) -> Option<&Needle> {
        self.needle.as_ref()
    }

    /// How often what is searched for is there: in all cells.
    pub fn found(&self) -> usize {
        self.found
    }

    /// How often what is searched for is in the cells before an index.
    pub fn found_before(&self, at: usize) -> usize {
        self.cells.range(..at).map(|c| c.found).sum()
    }

    /// The nearest cell from an index on, forward or back, that holds what is searched for; without the cell at
    /// the index itself.
    pub fn next_found(&self, at: usize, way: Way) -> Option<usize> {
        let holds = |at: &usize| self.cells[*at].found > 0;
        match way {
            Way::Forward => (at + 1..self.cells.len()).find(holds),
            Way::Back => (0..at.min(self.cells.len())).rev().find(holds),
        }
    }

    /// The first cell, or from the end the last one, that holds what is searched for.
    pub fn first_found(&self, way: Way) -> Option<usize> {
        let holds = |cell: &Cell| cell.found > 0;
        match way {
            Way::Forward => self.cells.iter().position(holds),
            Way::Back => self.cells.iter().rposition(holds),
        }
    }

    /// The numbers of what the person said.
    pub fn prompts(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let is_prompt = |(_, cell): &(usize, &Cell)| matches!(cell.kind, Kind::Prompt(_));
        let cells = self.cells.iter().enumerate().filter(is_prompt);
        cells.map(|(at, _)| self.number(at))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cell at an index.
    pub fn cell(&self, at: usize) -> &Cell {
        &self.cells[at]
    }

    /// The number that the next cell gets.
    pub fn next(&self) -> u64 {
        self.dropped + self.cells.len() as u64
    }

    /// The number of the cell at an index.
    pub fn number(&self, at: usize) -> u64 {
        self.dropped + at as u64
    }

    /// The index of a cell, if it is still there.
    pub fn index(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(self.dropped)?).ok()?;
        (at < self.cells.len()).then_some(at)
    }

    /// The numbers of the cells that open and fold.
    pub fn foldable(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let is_foldable = |(_, cell): &(usize, &Cell)| cell.kind.is_foldable();
        let cells = self.cells.iter().enumerate().filter(is_foldable);
        cells.map(|(at, _)| self.number(at))
    }

    /// What stands above the cell at an index.
    pub fn above(&self, at: usize) -> Above {
        let mut before = self.cells.range(..at).rev().filter(|c| !c.kind.is_blank());
        let group = self.cells[at].kind.group();
        match before.next() {
            Some(other) if other.kind.group() == group && group == super::cell::Group::Work => {
                Above::Close
            }
            Some(_) => Above::Apart,
            None if self.dropped > 0 => Above::Dropped(self.dropped),
            None => Above::Nothing,
        }
    }

    /// Whether the cell at an index is the selected one.
    pub fn mark(&self, at: usize) -> Mark {
        if self.selected == Some(self.number(at)) {
            Mark::Selected
        } else {
            Mark::Plain
        }
    }
}

//! The cells of a conversation in their order, each with a number of its own.

use std::collections::VecDeque;

use super::calls::{Calls, LEAST};
use super::cell::{Cell, Fold, Kind};
use super::find::Needle;
use super::forms::{Place, form};
use super::layout::{Above, Mark};
use super::run::ToolRun;
use crate::ui::state::pane::Way;

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
    /// How many entries there ever were: cells that are no line before calls.
    entries: u64,
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
        let is_entry = !matches!(kind, Kind::Calls(_));
        self.cells.push_back(Cell {
            calls: None,
            entries: self.entries,
            kind,
            version,
            found,
        });
        self.entries += u64::from(is_entry);
        self.trim();
        self.next() - 1
    }

    /// Adds a call, behind the line that stands before it and its like; its number comes back.
    pub fn push_call(&mut self, run: ToolRun) -> u64 {
        if form(&run.tool).row == Place::Apart {
            return self.push(Kind::Tool(Box::new(run)));
        }
        let like = self.cells.back().filter(|last| match &last.kind {
            Kind::Tool(other) => other.tool == run.tool,
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Calls(_)
            | Kind::Injected(_)
            | Kind::Notice(..) => false,
        });
        let line = like.and_then(|last| last.calls);
        let line = match line.filter(|n| self.index(*n).is_some()) {
            Some(line) => line,
            None => self.push(Kind::Calls(Box::new(Calls::of(&run.tool)))),
        };
        let is_read =
            (line + 1..self.next()).any(|n| self.is_read(n)) && self.next() <= line + LEAST as u64;
        self.change(line, |kind| {
            if let Kind::Calls(calls) = kind {
                calls.join(&run);
                if is_read {
                    calls.fold = Fold::Open;
                }
            }
        });
        let number = self.push(Kind::Tool(Box::new(run)));
        if let Some(last) = self.cells.back_mut() {
            last.calls = Some(line);
        }
        number
    }

    /// Whether a call is selected or open: then it is not folded away.
    fn is_read(&self, number: u64) -> bool {
        let is_open = |at: usize| match &self.cells[at].kind {
            Kind::Tool(run) => run.fold == Fold::Open,
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Calls(_)
            | Kind::Injected(_)
            | Kind::Notice(..) => false,
        };
        self.selected == Some(number) || self.index(number).is_some_and(is_open)
    }

    /// The line that stands for the cell at an index, which is not shown.
    pub fn hidden_by(&self, at: usize) -> Option<usize> {
        let line = self.index(self.cells.get(at)?.calls?)?;
        match &self.cells[line].kind {
            Kind::Calls(calls) => calls.hides().then_some(line),
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Tool(_)
            | Kind::Injected(_)
            | Kind::Notice(..) => None,
        }
    }

    /// The index itself, or that of the line that stands for its cell.
    pub fn shown(&self, at: usize) -> usize {
        self.hidden_by(at).unwrap_or(at)
    }

    /// The shown cell behind the one at an index, however many are hidden in between.
    pub fn next_shown(&self, at: usize) -> Option<usize> {
        let hidden = match &self.cells.get(at)?.kind {
            Kind::Calls(calls) if calls.hides() => calls.len,
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Tool(_)
            | Kind::Calls(_)
            | Kind::Injected(_)
            | Kind::Notice(..) => 0,
        };
        Some(at + 1 + hidden).filter(|next| *next < self.cells.len())
    }

    /// The shown cell before the one at an index.
    pub fn prev_shown(&self, at: usize) -> Option<usize> {
        Some(self.shown(at.checked_sub(1)?))
    }

    /// How many entries there are from a number on.
    pub fn entries_from(&self, number: u64) -> u64 {
        if number >= self.next() {
            return 0;
        }
        let before = self.dropped.saturating_sub(number);
        let first = self.cells.get(self.index(number).unwrap_or(0));
        before + self.entries - first.map_or(self.entries, |cell| cell.entries)
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
        let Some(at) = self.index(number) else {
            return;
        };
        let before = self.cells[at].kind.progress();
        self.change_one(at, change);
        let cell = &self.cells[at];
        let line = cell.calls.and_then(|n| self.index(n));
        // The line before calls counts how far they have come.
        if let (Some(line), Some(before), Kind::Tool(run)) = (line, before, &cell.kind)
            && before != run.progress
            && let Kind::Calls(calls) = &self.cells[line].kind
        {
            let mut calls = (**calls).clone();
            calls.came(before, run);
            self.change_one(line, |kind| *kind = Kind::Calls(Box::new(calls)));
        }
        // What is selected is in view: where it is hidden now, the line that stands for it is.
        let selected = self.selected.and_then(|n| self.hidden_by(self.index(n)?));
        if let Some(line) = selected {
            self.selected = Some(self.number(line));
        }
        self.trim();
    }

    fn change_one(&mut self, at: usize, change: impl FnOnce(&mut Kind)) {
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

    /// Removes a cell: what stands behind it keeps its number, so it stays as an empty one unless it is
    /// the last.
    pub fn remove(&mut self, number: u64) {
        if number + 1 == self.next() {
            if let Some(last) = self.cells.pop_back() {
                self.entries = last.entries;
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

    /// The numbers of the cells that open and fold, and are shown.
    pub fn foldable(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let is_foldable =
            |(at, cell): &(usize, &Cell)| cell.kind.is_foldable() && self.hidden_by(*at).is_none();
        let cells = self.cells.iter().enumerate().filter(is_foldable);
        cells.map(|(at, _)| self.number(at))
    }

    /// What stands above the cell at an index.
    pub fn above(&self, at: usize) -> Above {
        if self.hidden_by(at).is_some() {
            return Above::Hidden;
        }
        let mut before = self.cells.range(..at).rev().filter(|c| !c.kind.is_blank());
        let group = self.cells[at].kind.group();
        match before.next() {
            Some(other) if other.kind.group() == group && group == super::cell::Group::Work => {
                Above::Close
            }
            Some(_) => Above::Apart,
            None => match self.cells.front().map_or(0, |first| first.entries) {
                0 => Above::Nothing,
                dropped => Above::Dropped(dropped),
            },
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

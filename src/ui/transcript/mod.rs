//! The conversation of one agent as cells: what was said, what tools did, and where the reader stands in it.

mod cell;
mod draw;
mod flow;
mod markdown;
mod place;
#[cfg(test)]
mod tests;
mod view;

use std::collections::VecDeque;

use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, Name};
use crate::domain::text::one_line;
use crate::protocol::EventKind;
use crate::protocol::event::Level;
use cell::{Answer, Cell, Kind, Progress, ToolRun};
use place::Place;
pub use place::Viewport;
pub use view::TranscriptCache;

/// Most cells that are kept; the oldest go first, and the view says so.
pub const CELLS_MAX: usize = 10_000;
/// How far back a tool call is looked for when its result comes.
const RUNS_BACK: usize = 256;

/// How a transcript is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// One line up.
    LineUp,
    /// One line down.
    LineDown,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    /// To the beginning.
    Top,
    /// To the end, and follow.
    Bottom,
}

/// The conversation of one agent.
#[derive(Debug, Default)]
pub struct Transcript {
    cells: VecDeque<Cell>,
    /// How many cells were dropped at the front: the number of the first one that is there.
    dropped: u64,
    place: Place,
    selected: Option<u64>,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Transcript {
        Transcript::default()
    }

    /// Takes an event in, if it happened to `agent`.
    pub fn apply(&mut self, agent: &Name, event: &EventKind) {
        match event {
            EventKind::Prompted { agent: of, text } if of == agent => {
                self.push(Kind::Prompt(cell::bounded(text)));
            }
            EventKind::Injected { agent: of, what } if of == agent => {
                self.push(Kind::Injected(one_line(what)));
            }
            EventKind::TextDelta { agent: of, text } if of == agent => {
                self.stream(|answer| answer.say(text));
            }
            EventKind::ThinkingDelta { agent: of, text } if of == agent => {
                self.stream(|answer| answer.think(text));
            }
            EventKind::StreamReset { agent: of } if of == agent => self.drop_open_answer(),
            EventKind::Said {
                agent: of,
                text,
                thinking,
            } if of == agent => {
                self.drop_open_answer();
                if !text.trim().is_empty() || !thinking.trim().is_empty() {
                    self.push(Kind::Answer(Answer::whole(text, thinking)));
                }
            }
            EventKind::ToolStarted {
                agent: of,
                call,
                tool,
                on,
                input,
            } if of == agent => {
                self.push(Kind::Tool(Box::new(ToolRun::begun(call, tool, on, input))));
            }
            EventKind::ToolOutput {
                agent: of,
                call,
                chunk,
            } if of == agent => {
                self.with_run(call, |run| run.hear(chunk));
            }
            EventKind::ToolFinished {
                agent: of,
                call,
                outcome,
                output,
                diff,
                took_ms,
                ..
            } if of == agent => {
                let progress = match outcome {
                    Outcome::Ok => Progress::Done,
                    Outcome::Error => Progress::Failed,
                };
                self.with_run(call, |run| run.end(progress, output, diff, *took_ms));
            }
            EventKind::TurnEnded { agent: of, end } if of == agent => {
                self.close_answer();
                if let Some(kind) = cell::ended(end) {
                    self.push(kind);
                }
            }
            EventKind::Notice {
                level,
                agent: Some(of),
                text,
            } if of == agent => {
                self.push_notice(*level, text);
            }
            _ => {}
        }
    }

    /// Adds a line of crewdeck's own.
    pub fn push_notice(&mut self, level: Level, text: &str) {
        self.push(Kind::Notice(level, one_line(text)));
    }

    /// The tool call above the selected one, or the last one.
    pub fn select_prev(&mut self) {
        let before = self.selected.unwrap_or(u64::MAX);
        let prev = self.tools().rev().find(|n| *n < before);
        self.select(prev);
    }

    /// The tool call below the selected one, or the last one.
    pub fn select_next(&mut self) {
        let next = match self.selected {
            Some(at) => self.tools().find(|n| *n > at),
            None => self.tools().next_back(),
        };
        self.select(next);
    }

    fn select(&mut self, number: Option<u64>) {
        if number.is_some() {
            self.selected = number;
        }
    }

    /// Opens or folds the selected tool call, or the last one.
    pub fn toggle_selected(&mut self) {
        if self.selected.is_none() {
            let last = self.tools().next_back();
            self.selected = last;
        }
        let Some(at) = self.selected.and_then(|n| self.index(n)) else {
            return;
        };
        if let Kind::Tool(run) = &mut self.cells[at].kind {
            run.toggle();
            self.cells[at].touch();
        }
    }

    /// The text of the selected tool call, for copying.
    pub fn text_of_selected(&self) -> Option<String> {
        let at = self.selected.and_then(|n| self.index(n))?;
        match &self.cells[at].kind {
            Kind::Tool(run) => Some(run.text()),
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Injected(_)
            | Kind::Notice(..)
            | Kind::Ended(..) => None,
        }
    }

    fn push(&mut self, kind: Kind) {
        self.close_answer();
        self.cells.push_back(Cell::new(kind));
        while self.cells.len() > CELLS_MAX {
            self.cells.pop_front();
            self.dropped += 1;
        }
        let (first, next) = (self.dropped, self.next_number());
        self.selected = self.selected.filter(|n| *n >= first);
        self.place.keep_within(first, next);
    }

    /// Adds to the answer that is being streamed; begins one where there is none.
    fn stream(&mut self, add: impl FnOnce(&mut Answer)) {
        let is_open =
            matches!(self.cells.back(), Some(Cell { kind: Kind::Answer(a), .. }) if a.is_open());
        if !is_open {
            self.push(Kind::Answer(Answer::begun()));
        }
        if let Some(cell) = self.cells.back_mut() {
            if let Kind::Answer(answer) = &mut cell.kind {
                add(answer);
            }
            cell.touch();
        }
    }

    fn close_answer(&mut self) {
        if let Some(Cell {
            kind: Kind::Answer(answer),
            ..
        }) = self.cells.back_mut()
        {
            answer.close();
        }
    }

    fn drop_open_answer(&mut self) {
        if matches!(self.cells.back(), Some(Cell { kind: Kind::Answer(a), .. }) if a.is_open()) {
            self.cells.pop_back();
        }
    }

    /// Changes a tool call that was begun lately; results of older ones are not waited for.
    fn with_run(&mut self, call: &CallId, change: impl FnOnce(&mut ToolRun)) {
        for cell in self.cells.iter_mut().rev().take(RUNS_BACK) {
            if let Kind::Tool(run) = &mut cell.kind
                && run.is(call)
            {
                change(run);
                cell.touch();
                return;
            }
        }
    }

    fn tools(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let first = self.dropped;
        self.cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| matches!(cell.kind, Kind::Tool(_)))
            .map(move |(at, _)| first + at as u64)
    }

    fn next_number(&self) -> u64 {
        self.dropped + self.cells.len() as u64
    }

    fn index(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(self.dropped)?).ok()?;
        (at < self.cells.len()).then_some(at)
    }
}

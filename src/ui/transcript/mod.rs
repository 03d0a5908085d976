//! The conversation of one agent as cells: what was said, what tools did, and where the reader stands in it.
//!
//! [`Transcript::apply`] turns events into cells (`cell`, `answer`, `run` with its `fields`, `calls` that fold together, in a
//! `log`); `layout`, `fold` and `markdown` turn a cell into rows; `follow` knows which row is the first in view; `search` and `find` look for words;
//! `view` draws. Everything
//! is bounded: the cells ([`CELLS_MAX`]), the text of each, the rows that an open one shows.

mod answer;
mod apply;
mod calls;
mod cell;
mod copy;
mod entry;
mod fields;
mod find;
mod fold;
mod follow;
mod forms;
mod hit;
mod kept;
mod layout;
mod layouts;
mod log;
pub(crate) mod markdown;
mod run;
mod search;
#[cfg(test)]
mod tests;
mod thoughts;
mod view;

use std::collections::VecDeque;

use jiff::tz::TimeZone;

pub use answer::holds_call;
pub use copy::Portion;
pub use find::{Hit, Needle, hits};
pub use follow::{Place, Scroll, Viewport};
pub use forms::FORMS;
pub use layout::CALL_AS_TEXT;
pub use log::CELLS_MAX;
pub use search::{Round, Search};
pub use view::{Drawn, TranscriptCache};

use crate::domain::ids::{CallId, Name};
use crate::protocol::event::Level;
use crate::ui::layout::scrollbar::Scrolled;
use crate::ui::theme::Theme;
use cell::Kind;
use layouts::Layouts;
use log::Log;

/// The conversation of one agent.
#[derive(Debug, Default)]
pub struct Transcript {
    log: Log,
    /// The number of the answer that is being streamed.
    open: Option<u64>,
    /// The origin of the last answer.
    origin: u64,
    /// The calls that run, and the numbers of their cells.
    running: VecDeque<(CallId, u64)>,
    place: Place,
    /// The zone of the times that are told; none: UTC.
    zone: Option<TimeZone>,
    search: Option<Box<Search>>,
    /// Layouts between two scrolls, while the reader is not at the newest. Not a part of the state: they
    /// are always what [`layout::lay`] gives.
    scratch: Layouts,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Transcript {
        Transcript::default()
    }

    /// An empty one, whose times are told in a zone.
    pub fn in_zone(zone: Option<TimeZone>) -> Transcript {
        Transcript {
            zone,
            ..Transcript::default()
        }
    }

    /// The zone of the times that are told.
    fn zone(&self) -> TimeZone {
        self.zone.clone().unwrap_or(TimeZone::UTC)
    }

    /// Adds a line of crewdeck's own.
    pub fn push_notice(&mut self, level: Level, text: &str) {
        let text = crate::domain::text::one_line(text);
        self.push(Kind::Notice(level, text, String::new()));
    }

    /// The bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        self.log.bytes()
    }

    /// Whether its newest cell ends with these words.
    #[cfg(test)]
    pub(crate) fn ends_with(&self, words: &str) -> bool {
        let last = self.log.len().checked_sub(1);
        last.is_some_and(|at| self.log.cell(at).kind.text().ends_with(words))
    }

    /// Lets its oldest cells go until it takes no more than that many bytes; the newest stays. The drawing says how
    /// many are gone.
    pub fn shrink(&mut self, bytes: usize) {
        self.log.shrink(bytes);
    }

    /// Scrolls in a view of that size.
    pub fn scroll(&mut self, by: Scroll, viewport: Viewport) {
        if by == Scroll::Bottom {
            self.log.selected = None;
        }
        let is_down = matches!(
            by,
            Scroll::LineDown | Scroll::HalfDown | Scroll::PageDown | Scroll::Bottom
        );
        if is_down && self.is_following() {
            // There is nothing below: a wheel that goes on turning costs nothing.
            return;
        }
        self.with_layouts(viewport, |place, log, layouts, rows| {
            place.scroll(by, log, layouts, rows);
        });
    }

    /// How much of it is in view of that size.
    pub fn scrolled(&self, viewport: Viewport) -> Option<Scrolled> {
        self.scrolled_at(&self.place, viewport)
    }

    /// The same from another place than the reader's.
    pub fn scrolled_at(&self, place: &Place, viewport: Viewport) -> Option<Scrolled> {
        let mut layouts = Layouts::default();
        layouts.begin(viewport.columns(), &Theme::default());
        place.scrolled(&self.log, &mut layouts, viewport.rows())
    }

    /// The place that `by` leads to from another one than the reader's.
    pub fn scroll_from(&self, mut place: Place, by: Scroll, viewport: Viewport) -> Place {
        let mut layouts = Layouts::default();
        layouts.begin(viewport.columns(), &Theme::default());
        place.scroll(by, &self.log, &mut layouts, viewport.rows());
        place
    }

    /// The place where so much lies above, as [`Transcript::scrolled_at`] counts.
    pub fn place_at(&self, above: usize, viewport: Viewport) -> Place {
        let mut layouts = Layouts::default();
        layouts.begin(viewport.columns(), &Theme::default());
        let mut place = Place::Following;
        place.jump(above, &self.log, &mut layouts, viewport.rows());
        place
    }

    /// Goes to where so much lies above, as [`Transcript::scrolled`] counts.
    pub fn jump(&mut self, above: usize, viewport: Viewport) {
        self.with_layouts(viewport, |place, log, layouts, rows| {
            place.jump(above, log, layouts, rows);
        });
    }

    /// Whether the newest row is in view and stays so.
    pub fn is_following(&self) -> bool {
        self.place == Place::Following
    }

    /// How many cells came in since the reader left the newest row, and were not in view yet.
    pub fn unread_below(&self) -> usize {
        self.place.unread(&self.log)
    }

    /// Selects the cell above that opens and folds (a tool call, an answer with thoughts); from none, the
    /// last one.
    pub fn select_prev(&mut self) {
        let before = self.log.selected.unwrap_or(u64::MAX);
        let prev = self.log.foldable().rev().find(|n| *n < before);
        self.log.selected = prev.or(self.log.selected);
    }

    /// Selects the cell below that opens and folds; from none, the last one.
    pub fn select_next(&mut self) {
        let next = match self.log.selected {
            Some(at) => self.log.foldable().find(|n| *n > at),
            None => self.log.foldable().next_back(),
        };
        self.log.selected = next.or(self.log.selected);
    }

    /// Opens or folds the selected cell; with none selected, the last tool call is.
    pub fn toggle_selected(&mut self) {
        if self.log.selected.is_none() {
            let is_tool = |n: &u64| {
                let at = self.log.index(*n);
                at.is_some_and(|at| {
                    matches!(self.log.cell(at).kind, Kind::Tool(_) | Kind::Calls(_))
                })
            };
            let last = self.log.foldable().rev().find(is_tool);
            self.log.selected = last.or_else(|| self.log.foldable().next_back());
        }
        if let Some(number) = self.log.selected {
            self.log.change(number, |kind| {
                if let Some(fold) = kind.fold() {
                    fold.toggle();
                }
            });
        }
    }

    /// Moves the view, as little as needed, so that the first row of the selected cell is in it, and all of
    /// it where it fits. For after a selection or an opening.
    pub fn reveal_selected(&mut self, viewport: Viewport) {
        if let Some(at) = self.log.selected.and_then(|n| self.log.index(n)) {
            self.with_layouts(viewport, |place, log, layouts, rows| {
                place.reveal(at, log, layouts, rows);
            });
        }
    }

    /// `call` has sent `subagent` out.
    pub fn sent_out(&mut self, call: &CallId, subagent: &Name) {
        if let Some((_, number)) = self.running.iter().find(|(id, _)| id == call) {
            self.log.change(*number, |kind| {
                if let Kind::Tool(run) = kind {
                    run.subagent = Some(subagent.clone());
                }
            });
        }
    }

    /// The subagent that the selected cell sent out; with none selected, the one of the last call.
    pub fn selected_subagent(&self) -> Option<&Name> {
        let subagent = |number: u64| match &self.log.cell(self.log.index(number)?).kind {
            Kind::Tool(run) => run.subagent.as_ref(),
            Kind::Prompt(_)
            | Kind::Answer(_)
            | Kind::Calls(_)
            | Kind::Injected(_)
            | Kind::Notice(..) => None,
        };
        match self.log.selected {
            Some(number) => subagent(number),
            None => self.log.foldable().next_back().and_then(subagent),
        }
    }

    fn with_layouts(
        &mut self,
        viewport: Viewport,
        act: impl FnOnce(&mut Place, &Log, &mut Layouts, usize),
    ) {
        // Rows do not depend on the theme, only their looks do.
        self.scratch.begin(viewport.columns(), &Theme::default());
        act(
            &mut self.place,
            &self.log,
            &mut self.scratch,
            viewport.rows(),
        );
        if self.is_following() {
            self.scratch = Layouts::default();
        }
    }
}

//! The conversation of one agent: prompts, answers, tool calls and notices as cells, with scrolling, search and
//! copying.
//!
//! [`Transcript::apply`] turns events into cells. The number of cells ([`CELLS_MAX`]), the length of their texts and
//! the rows of an open cell are bounded. The modules are:
//!
//! - `log` stores the cells. The content of a cell is an `answer`, an `entry`, or a `run` with its `fields`;
//!   `call_group` groups consecutive calls of a tool.
//! - `layout`, `fold` and `markdown` turn a cell into rows.
//! - `scroll` is the scroll position; `search` and `find` are the search; `view` draws the visible rows.

mod answer;
pub(in crate::ui) mod apply;
mod attached;
mod call_group;
mod cell;
mod copy;
mod entry;
mod export;
mod fields;
mod find;
mod fold;
mod head_tail_text;
mod layout;
mod layout_cache;
mod log;
pub(crate) mod markdown;
mod mouse;
pub(in crate::ui) mod rewind;
mod run;
mod scroll;
mod search;
#[cfg(test)]
mod tests;
mod thinking;
mod tool_display;
mod view;

use std::collections::VecDeque;

use jiff::tz::TimeZone;

use crate::domain::ids::{CallId, Name};
use crate::protocol::event::NoticeLevel;
pub use crate::ui::keymap::direction::Scroll;
use crate::ui::pictures::ImageDrawing;
use crate::ui::theme::Theme;
pub use crate::ui::transcript::answer::contains_tool_call;
use crate::ui::transcript::cell::CellKind;
pub use crate::ui::transcript::cell::Fold;
pub use crate::ui::transcript::copy::Portion;
use crate::ui::transcript::entry::InsertedEntry;
pub use crate::ui::transcript::export::{ExportFormat, ExportHead};
pub use crate::ui::transcript::find::{Needle, SearchMatch, find_matches};
pub use crate::ui::transcript::layout::CALL_AS_TEXT_WARNING;
use crate::ui::transcript::layout_cache::LayoutCache;
pub use crate::ui::transcript::log::CELLS_MAX;
use crate::ui::transcript::log::CellLog;
pub use crate::ui::transcript::scroll::{ScrollAnchor, Viewport};
pub use crate::ui::transcript::search::{MatchStep, Search};
pub use crate::ui::transcript::tool_display::TOOL_DISPLAYS;
pub use crate::ui::transcript::view::{TranscriptCache, VisibleRows};
use crate::ui::widgets::scrollbar::ScrollPosition;

/// The conversation of one agent.
#[derive(Debug, Default)]
pub struct Transcript {
    log: CellLog,
    /// The number of the cell with the answer that is being streamed; `None` if no answer is being streamed.
    open: Option<u64>,
    /// The last [`Answer::origin`](answer::Answer::origin) that was assigned.
    origin: u64,
    /// The calls whose end was not reported yet, oldest first, each with the number of its cell; at most
    /// `apply::RUNNING_MAX`. A call stays in the list when its turn ends, so that a late result still reaches its cell.
    running: VecDeque<(CallId, u64)>,
    anchor: ScrollAnchor,
    /// Time zone for displayed times; `None` means UTC.
    zone: Option<TimeZone>,
    search: Option<Box<Search>>,
    /// Layouts in the default theme that are reused from one scroll step to the next. A scroll step that ends at the
    /// newest row clears them. This is only a cache: each layout equals the result of [`layout::lay_out`].
    scratch: LayoutCache,
}

impl Transcript {
    /// Creates an empty transcript that displays times in `zone`; `None` means UTC.
    pub fn with_time_zone(zone: Option<TimeZone>) -> Transcript {
        Transcript {
            zone,
            ..Transcript::default()
        }
    }

    fn zone(&self) -> TimeZone {
        self.zone.clone().unwrap_or(TimeZone::UTC)
    }

    /// Sets how the conversation draws images.
    pub fn set_image_drawing(&mut self, drawing: ImageDrawing) {
        self.log.drawing = drawing;
    }

    /// Marks all attached images that are stored in the file named `file` as not shown. Their labels then give `why` as
    /// the reason. Does nothing if no prompt has this image.
    pub fn fail_picture(&mut self, file: &str, why: &str) {
        self.log.fail_picture(file, why);
    }

    /// Adds a notice of crewdeck to the conversation, as one line.
    pub fn push_notice(&mut self, level: NoticeLevel, text: &str) {
        let text = crate::domain::text::one_line(text);
        self.push(CellKind::Notice(level, text, String::new()));
    }

    pub fn push_decision(&mut self, what: &str, comment: &str) {
        let entry = InsertedEntry::new(what, comment);
        self.push(CellKind::Injected(Box::new(entry)));
    }

    /// Returns the estimated size of all cells, in bytes.
    pub fn bytes(&self) -> usize {
        self.log.bytes()
    }

    /// Returns whether the text of the newest cell ends with `words`. Used by tests.
    #[cfg(test)]
    pub(crate) fn ends_with(&self, words: &str) -> bool {
        let last = self.log.len().checked_sub(1);
        last.is_some_and(|at| self.log.cell(at).kind.text().ends_with(words))
    }

    /// Drops the oldest cells until the conversation has at most `bytes` bytes. The newest cell is never dropped. The
    /// view shows how many entries were dropped.
    pub fn shrink(&mut self, bytes: usize) {
        self.log.shrink(bytes);
    }

    /// Empties the conversation and ends the search in it. The view then follows the newest row, and running calls are
    /// no longer tracked.
    pub(super) fn clear(&mut self) {
        self.end_search();
        self.log.clear();
        self.open = None;
        self.running.clear();
        self.anchor = ScrollAnchor::Following;
        self.scratch = LayoutCache::default();
    }

    pub fn scroll(&mut self, by: Scroll, viewport: Viewport) {
        if by == Scroll::Bottom {
            self.log.selected = None;
        }
        let is_down = matches!(
            by,
            Scroll::LineDown | Scroll::HalfDown | Scroll::PageDown | Scroll::Bottom
        );
        if is_down && self.is_following() {
            // The view is already at the newest row, so scrolling down does nothing.
            return;
        }
        self.with_layouts(viewport, |anchor, log, layouts, rows| {
            anchor.scroll(by, log, layouts, rows);
        });
    }

    /// Returns the position of the scrollbar for a view with the size `viewport`, in units of 1/1000 cell; `None` if
    /// the transcript is empty.
    pub fn scroll_state(&self, viewport: Viewport) -> Option<ScrollPosition> {
        self.scroll_state_at(&self.anchor, viewport)
    }

    /// Like [`Transcript::scroll_state`], but for the scroll position `anchor` instead of the scroll position of the
    /// transcript.
    pub fn scroll_state_at(
        &self,
        anchor: &ScrollAnchor,
        viewport: Viewport,
    ) -> Option<ScrollPosition> {
        let mut layouts = LayoutCache::default();
        layouts.begin(viewport, &Theme::default());
        anchor.scroll_position(&self.log, &mut layouts, viewport.rows())
    }

    /// Returns the number of rows that the conversation fills in a view with the size `viewport`, at most the height of
    /// the view.
    pub fn filled_rows(&self, viewport: Viewport) -> usize {
        let mut layouts = LayoutCache::default();
        layouts.begin(viewport, &Theme::default());
        let mut rows = 0;
        for at in (0..self.log.len()).rev() {
            if rows >= viewport.rows() {
                break;
            }
            rows += layouts.get(&self.log, at).len();
        }
        rows.min(viewport.rows())
    }

    /// Returns the scroll position after scrolling from `anchor` by `by`. Does not change the scroll position of the
    /// transcript.
    pub fn scroll_from(
        &self,
        mut anchor: ScrollAnchor,
        by: Scroll,
        viewport: Viewport,
    ) -> ScrollAnchor {
        let mut layouts = LayoutCache::default();
        layouts.begin(viewport, &Theme::default());
        anchor.scroll(by, &self.log, &mut layouts, viewport.rows());
        anchor
    }

    /// Returns the scroll position at which `above` scrollbar units of the conversation are above the view. A unit is
    /// 1/1000 cell, as in [`Transcript::scroll_state_at`]. If the newest row is visible at this position, returns
    /// [`ScrollAnchor::Following`].
    pub fn anchor_at_offset(&self, above: usize, viewport: Viewport) -> ScrollAnchor {
        let mut layouts = LayoutCache::default();
        layouts.begin(viewport, &Theme::default());
        let mut anchor = ScrollAnchor::Following;
        anchor.jump(above, &self.log, &mut layouts, viewport.rows());
        anchor
    }

    /// Scrolls so that `above` scrollbar units of the conversation are above the view. A unit is 1/1000 cell, as in
    /// [`Transcript::scroll_state`]. If that makes the newest row visible, the view follows the newest row.
    pub fn jump(&mut self, above: usize, viewport: Viewport) {
        self.with_layouts(viewport, |anchor, log, layouts, rows| {
            anchor.jump(above, log, layouts, rows);
        });
    }

    /// Returns whether the view always shows the newest row.
    pub fn is_following(&self) -> bool {
        self.anchor == ScrollAnchor::Following
    }

    /// Returns the number of entries below the view that were never visible; 0 while the view follows the newest row.
    pub fn unread_below(&self) -> usize {
        self.anchor.unread(&self.log)
    }

    /// Selects the nearest cell before the selected one that can be folded, such as a tool call or an answer with
    /// thinking. If no cell is selected, selects the last cell that can be folded. If there is no such cell, the
    /// selection stays.
    pub fn select_prev(&mut self) {
        let before = self.log.selected.unwrap_or(u64::MAX);
        let prev = self.log.foldable().rev().find(|n| *n < before);
        self.log.selected = prev.or(self.log.selected);
    }

    /// Selects the nearest cell after the selected one that can be folded. If no cell is selected, selects the last
    /// cell that can be folded. If there is no such cell, the selection stays.
    pub fn select_next(&mut self) {
        let next = match self.log.selected {
            Some(at) => self.log.foldable().find(|n| *n > at),
            None => self.log.foldable().next_back(),
        };
        self.log.selected = next.or(self.log.selected);
    }

    /// Opens or folds the selected cell. If no cell is selected, first selects the last tool call or call group; if
    /// there is none, the last cell that can be folded. Does nothing if the selected cell cannot be folded.
    pub fn toggle_selected(&mut self) {
        if self.log.selected.is_none() {
            let is_tool = |n: &u64| {
                let at = self.log.index(*n);
                at.is_some_and(|at| {
                    matches!(
                        self.log.cell(at).kind,
                        CellKind::Tool(_) | CellKind::CallGroup(_)
                    )
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

    /// Opens all tool calls and call groups, or folds all if all are open. Returns their new state; `None` if there are
    /// none.
    pub fn toggle_all(&mut self) -> Option<Fold> {
        self.log.toggle_all()
    }

    /// Scrolls as little as possible to make the selected cell visible. If the cell is higher than the view, makes at
    /// least its first row visible. Does nothing if no cell is selected.
    pub fn reveal_selected(&mut self, viewport: Viewport) {
        if let Some(at) = self.log.selected.and_then(|n| self.log.index(n)) {
            self.with_layouts(viewport, |anchor, log, layouts, rows| {
                anchor.reveal(at, log, layouts, rows);
            });
        }
    }

    /// Records that the tool call `call` has started `subagent`. Does nothing if no call with this id is running.
    pub fn record_subagent(&mut self, call: &CallId, subagent: &Name) {
        if let Some((_, number)) = self.running.iter().find(|(id, _)| id == call) {
            self.log.change(*number, |kind| {
                if let CellKind::Tool(run) = kind {
                    run.subagent = Some(subagent.clone());
                }
            });
        }
    }

    /// Returns the tool of the newest tool call and what the call acts on, which may be empty; `None` if there is no
    /// recent call.
    pub fn last_call(&self) -> Option<(&str, &str)> {
        let run = self.log.last_call()?;
        Some((&run.tool, &run.subject))
    }

    /// Returns the subagent that the selected tool call has started. If no cell is selected, uses the last cell that
    /// can be folded. Returns `None` if this cell is not a tool call that has started a subagent.
    pub fn selected_subagent(&self) -> Option<&Name> {
        let subagent = |number: u64| match &self.log.cell(self.log.index(number)?).kind {
            CellKind::Tool(run) => run.subagent.as_ref(),
            _ => None,
        };
        match self.log.selected {
            Some(number) => subagent(number),
            None => self.log.foldable().next_back().and_then(subagent),
        }
    }

    fn with_layouts(
        &mut self,
        viewport: Viewport,
        act: impl FnOnce(&mut ScrollAnchor, &CellLog, &mut LayoutCache, usize),
    ) {
        // The default theme can be used here, because a theme changes only styles, never the number of rows.
        self.scratch.begin(viewport, &Theme::default());
        act(
            &mut self.anchor,
            &self.log,
            &mut self.scratch,
            viewport.rows(),
        );
        if self.is_following() {
            self.scratch = LayoutCache::default();
        }
    }
}

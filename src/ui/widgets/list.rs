//! Computes the first visible row of a list, and the row that a scroll command leads to.

use crate::ui::keymap::direction::Scroll;

/// Returns the index of the first visible row of a list of which `height` rows are visible. The row with the index
/// `selected` is visible and, where possible, centered.
pub fn first_row(len: usize, selected: usize, height: u16) -> usize {
    let height = usize::from(height);
    selected
        .saturating_sub(height / 2)
        .min(len.saturating_sub(height))
}

/// Returns the index of the row to which the scroll command `by` leads from the row `at` of a list with `len` rows. A
/// page has `page` rows. Stops at the first and at the last row; returns 0 for an empty list.
pub fn step(at: usize, len: usize, by: Scroll, page: usize) -> usize {
    let half = (page / 2).max(1);
    let to = match by {
        Scroll::LineUp => at.saturating_sub(1),
        Scroll::LineDown => at + 1,
        Scroll::HalfUp => at.saturating_sub(half),
        Scroll::HalfDown => at + half,
        Scroll::PageUp => at.saturating_sub(page),
        Scroll::PageDown => at + page,
        Scroll::Top => 0,
        Scroll::Bottom => len,
    };
    to.min(len.saturating_sub(1))
}

/// Number of rows by which a page key moves in pickers and in the popups of jobs and MCP servers.
pub const PAGE: usize = 10;

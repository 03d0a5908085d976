//! The pane with the conversation of the shown agent, and the composer.

pub(in crate::ui) mod complete;
pub(in crate::ui) mod complete_update;
pub(in crate::ui) mod complete_view;
pub(in crate::ui) mod composer_title;
mod feature;
pub(in crate::ui) mod follow;
pub(in crate::ui) mod onboarding;
mod search;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::frame::layout;
use crate::ui::panes::lead::complete::Completion;

/// The state of the lead pane. The scroll position and the search are not part of it: each conversation has its own.
#[derive(Debug, Default)]
pub struct LeadPane {
    /// The state of the composer's completion list.
    pub completion: Completion,
}

/// Maximum number of rows that show queued messages.
const QUEUED_ROWS_MAX: u16 = 3;

/// Returns how many rows at the bottom of a conversation of `height` rows show queued messages.
pub fn queued_rows(app: &App, height: u16) -> u16 {
    let waiting = app
        .model
        .queued
        .iter()
        .filter(|q| q.to == app.shown)
        .count();
    let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
    waiting.min(QUEUED_ROWS_MAX).min(height / 3)
}

/// Returns the area of the conversation's text, above the queued messages, in a pane with the frame `area`.
pub fn conversation_area(app: &App, area: Rect) -> Rect {
    let inner = layout::inside(area).inner(layout::BESIDE_TEXT);
    Rect {
        width: inner.width.min(layout::TEXT_WIDEST),
        height: inner.height - queued_rows(app, inner.height),
        ..inner
    }
}

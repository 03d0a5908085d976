//! The pane with the conversation of the shown agent, and the composer.

mod complete;
pub(in crate::ui) mod complete_update;
mod complete_view;
mod composer_title;
mod feature;
mod files;
mod follow;
pub(in crate::ui) mod offers;
pub(in crate::ui) mod onboarding;
mod search;
#[cfg(test)]
mod tests;
mod view;
mod working;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::frame::layout::Layout;
use crate::ui::panes::lead::complete::Completion;
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::PlacedPart;

/// The state of the lead pane. It does not include the scroll position and the search, because each conversation stores
/// these itself.
#[derive(Debug, Default)]
pub struct LeadPane {
    completion: Completion,
}

impl LeadPane {
    /// Draws the composer and its completion list. Returns the position of the text cursor if the composer has the
    /// focus.
    pub fn draw_composer(
        &self,
        app: &App,
        theme: &Theme,
        layout: &Layout,
        buffer: &mut Buffer,
    ) -> TextCursor {
        let cursor = view::composer(app, theme, layout, buffer);
        complete_view::draw(self, app, theme, layout, buffer);
        cursor
    }

    /// Adds the mouse targets of the completion list. Must be called before the targets of the panes are added, so that
    /// the list takes precedence over the panes that it covers.
    pub fn completion_targets(&self, app: &App, layout: &Layout, out: &mut Vec<PlacedPart<Hit>>) {
        complete_view::targets(self, app, layout, out);
    }
}

const QUEUED_ROWS_MAX: u16 = 3;

/// Returns the number of queued messages that are shown, one per row, at the bottom of a conversation of `height` rows.
/// The result is at most [`QUEUED_ROWS_MAX`] and at most a third of `height`.
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

/// Returns the area for the text of the conversation in a pane with the frame `area`. The queued messages are below
/// this area.
pub fn conversation_area(app: &App, area: Rect) -> Rect {
    let inner = layout::inside(area).inner(layout::BESIDE_TEXT);
    Rect {
        height: inner.height - queued_rows(app, inner.height),
        ..inner
    }
}

//! The popup with the thread of messages between two agents, or an agent and the user.

mod lines;
#[cfg(test)]
pub(in crate::ui) mod tests;

use ratatui::text::Line;

use crate::ui::app::App;
use crate::ui::app::popup::open as open_popup;
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows, text_width};
pub(in crate::ui) use crate::ui::popups::thread::lines::{ages, lay_out, title};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;

/// The page with the messages between the sender and the recipient of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPage {
    /// The number of the opened message, as in `TrackedMessage::number`.
    pub number: u64,
}

/// Opens the popup with the thread of the message `number`, scrolled to that message.
pub fn open(app: &mut App, number: u64) {
    let traced = app.model.messages.get(number);
    let width = text_width(app.size);
    let thread = traced.map(|t| lay_out(app, t, width, &Theme::default()));
    let mut pager = Pager::new(ThreadPage { number });
    pager.scroll = thread.map_or(0, |thread| thread.opened);
    open_popup(app, pager);
}

impl Page for ThreadPage {
    const TIP: &'static str = "The messages between these agents";

    fn title(&self, app: &App) -> String {
        let traced = app.model.messages.get(self.number);
        traced.map_or_else(|| "Message".into(), |t| title(app, t))
    }

    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let lines = match app.model.messages.get(self.number) {
            Some(traced) => lay_out(app, traced, width, theme).lines,
            None => vec![Line::styled(
                "This message is not available: only the latest messages are kept.",
                theme.dim,
            )],
        };
        text_rows(lines)
    }

    fn ages(&self, app: &App) -> Vec<ShownAge> {
        ages(app, self.number)
    }
}

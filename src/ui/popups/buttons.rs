//! The buttons of the popups that ask.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::frame::buttons::Button;
use crate::ui::keymap::Action;
use crate::ui::popups::buttons;
use crate::ui::popups::feature::feature;
use crate::ui::text::width;
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::{Target, place};

/// Returns the buttons of a dialog, in its last row.
pub fn box_buttons(app: &App, popup: &Popup, row: Rect) -> Vec<Target<Button>> {
    let parts = feature(popup)
        .buttons(app, popup)
        .iter()
        .map(|(action, words)| {
            let button = Button {
                key: app.prefs.keymap.key(popup.context(), *action),
                words,
                action: Some(*action),
            };
            (width(&button.key) + width(words) + 4, button)
        });
    place(row, parts)
}

/// Draws the buttons.
pub fn buttons(app: &App, popup: &Popup, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    for placed in buttons::box_buttons(app, popup, row) {
        let button = placed.what;
        let style = match button.action {
            Some(Action::Approve) => theme.yes,
            Some(Action::Reject) => theme.no,
            Some(_) | None => theme.text,
        };
        Line::from(vec![
            Span::styled(format!("{} ", button.key), theme.accent),
            Span::styled(button.words, style),
        ])
        .render(placed.at, buffer);
    }
}

//! The buttons of dialogs, and their layout.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::hit::Hit;
use crate::ui::app::popup::{Popup, Targets};
use crate::ui::frame::buttons::Button;
use crate::ui::keymap::Action;
use crate::ui::text::width;
use crate::ui::theme::Theme;
use crate::ui::widgets::area::inside;
use crate::ui::widgets::placed::{PlacedPart, place};

/// Returns the row for the buttons: the last row inside the frame of a dialog. `area` includes the frame.
fn row(area: Rect) -> Rect {
    let inside = inside(area);
    Rect {
        y: inside.bottom().saturating_sub(1),
        height: 1.min(inside.height),
        ..inside
    }
}

/// Places the buttons of a dialog side by side in its last row. `area` includes the frame.
fn buttons(app: &App, popup: &dyn Popup, area: Rect) -> Vec<PlacedPart<Button>> {
    let parts = popup.buttons(app).iter().map(|(action, words)| {
        let button = Button {
            key: app.prefs.keymap.key(popup.context(), *action),
            words,
            action: Some(*action),
        };
        (width(&button.key) + width(words) + 4, button)
    });
    place(row(area), parts)
}

/// Draws the buttons of a dialog, each as its key and label. `area` includes the frame.
pub fn draw(app: &App, popup: &dyn Popup, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    for placed in buttons(app, popup, area) {
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

/// Returns the mouse targets of a dialog that covers `area`: its buttons. A click outside the dialog does not close it.
pub fn targets(app: &App, popup: &dyn Popup, area: Rect) -> Targets {
    let buttons = buttons(app, popup, area).into_iter();
    let buttons = buttons.filter_map(|button| {
        let what = Hit::Button(button.what.action?);
        Some(PlacedPart {
            at: button.at,
            what,
        })
    });
    Targets {
        area,
        inside: buttons.collect(),
        bar: None,
        beside: Hit::Popup,
    }
}

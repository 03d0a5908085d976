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

/// Number of blank columns between two buttons.
const GAP: usize = 3;

/// Places the buttons of a dialog side by side in its last row. `area` includes the frame. If the buttons do not fit,
/// they have the shorter labels of the hint line. A button that does not fit even then is left out.
fn buttons(app: &App, popup: &dyn Popup, area: Rect) -> Vec<PlacedPart<Button>> {
    let row = row(area);
    let button = |action: Action, words: &'static str| Button {
        key: app.prefs.keymap.key(popup.context(), action),
        words,
        action: Some(action),
    };
    let named = popup.buttons(app).iter();
    let named: Vec<Button> = named
        .map(|(action, words)| button(*action, words))
        .collect();
    let total: usize = named.iter().map(|b| columns(b) + GAP).sum();
    let shown = if total <= usize::from(row.width) + GAP {
        named
    } else {
        let short = |b: Button| Button {
            words: hint(app, popup, &b).unwrap_or(b.words),
            ..b
        };
        named.into_iter().map(short).collect()
    };
    let parts = shown.into_iter().map(|b| (columns(&b) + GAP, b));
    let mut placed = place(row, parts);
    placed.retain(|b| usize::from(b.at.width) >= columns(&b.what));
    placed
}

/// Returns the number of columns of a button: key, blank and label.
fn columns(button: &Button) -> usize {
    width(&button.key) + 1 + width(button.words)
}

/// Returns the label of a button's action in the hint line; `None` if the hint line does not show the action.
fn hint(app: &App, popup: &dyn Popup, button: &Button) -> Option<&'static str> {
    let mut bound = app.prefs.keymap.in_context(popup.context());
    let binding = bound.find(|b| Some(b.action) == button.action)?;
    (!binding.hint.is_empty()).then_some(binding.hint)
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

#[cfg(test)]
mod tests {
    use crate::ui::fixture::{busy, picture, press};

    #[test]
    fn buttons_of_a_narrow_dialog_are_short_and_whole() {
        for (width, approve) in [
            (60, "a approve   r reject"),
            (160, "a approve with comment"),
        ] {
            let mut state = busy(width, 16);
            press(&mut state, "esc 6 c \"why\" enter");
            let page = picture(&state);
            assert!(page.contains(approve), "{page}");
            assert!(page.contains("Esc back"), "{page}");
        }
    }
}

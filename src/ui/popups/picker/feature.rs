//! What the shell asks of a picker.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Do;
use crate::ui::app::popup::{Picker, Popup};
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::feature::{PopupFeature, Targets};
use crate::ui::popups::picker::{place, rows, update, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{PAGE, step};

/// A list to choose from.
pub struct PickerPopup;

impl PopupFeature for PickerPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        Some(view::pick(app, state(popup)?, theme, screen, buffer))
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let Some(picker) = state(popup) else {
            return Targets::none();
        };
        let len = rows::picks(app, picker).len();
        Targets::list(place::picker(app, app.size, picker, len), len)
    }

    fn scroll(&self, app: &mut App, by: Scroll) {
        let picker = app.popups.last().and_then(state);
        let len = picker.map_or(0, |picker| rows::picks(app, picker).len());
        if let Some(Popup::Picker(picker)) = app.popups.last_mut() {
            picker.row = step(picker.row, len, by, PAGE);
        }
    }

    fn select(&self, app: &mut App, row: usize) {
        if let Some(Popup::Picker(picker)) = app.popups.last_mut() {
            picker.row = row;
        }
    }

    fn accept(&self, app: &mut App, out: &mut Vec<Do>) -> Option<Action> {
        update::choose(app, out)
    }
}

fn state(popup: &Popup) -> Option<&Picker> {
    match popup {
        Popup::Picker(picker) => Some(picker),
        _ => None,
    }
}

//! What the shell asks of a picker.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Choice, Picker, Popup};
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
        let len = rows::picker_rows(app, picker).len();
        Targets::list(place::picker(app, app.size, picker, len), len)
    }

    fn scroll(&self, app: &mut App, by: Scroll) {
        let picker = app.popups.last().and_then(state);
        let len = picker.map_or(0, |picker| rows::picker_rows(app, picker).len());
        if let Some(Popup::Picker(picker)) = app.popups.last_mut() {
            picker.row = step(picker.row, len, by, PAGE);
        }
    }

    fn select(&self, app: &mut App, row: usize) {
        if let Some(Popup::Picker(picker)) = app.popups.last_mut() {
            picker.row = row;
        }
    }

    fn accept(&self, app: &mut App, out: &mut Vec<Effect>) -> Option<Action> {
        update::choose(app, out)
    }

    fn tip(&self, _app: &App, popup: &Popup) -> String {
        let words = match state(popup).map(|picker| &picker.choice) {
            Some(Choice::Palette { .. }) => "Type to filter the actions",
            Some(Choice::Models) => "The models that the server offers",
            Some(Choice::Scopes(_)) => "Choose what the whole team may do without asking",
            Some(Choice::Copy) => "Choose what to copy from the conversation",
            Some(Choice::Rules) => "Permissions of the whole team",
            Some(Choice::Themes) => "A live preview of the selected theme",
            None => "",
        };
        words.into()
    }
}

fn state(popup: &Popup) -> Option<&Picker> {
    match popup {
        Popup::Picker(picker) => Some(picker),
        _ => None,
    }
}

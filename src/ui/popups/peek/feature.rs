//! What the shell asks of a peek: only that it has no place and no picture of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::keymap::Action;
use crate::ui::popups::feature::{PopupFeature, Targets};
use crate::ui::theme::Theme;

/// A look at what is selected in a pane.
pub struct PeekPopup;

impl PopupFeature for PeekPopup {
    fn draw(
        &self,
        _app: &App,
        _popup: &Popup,
        _theme: &Theme,
        _screen: Rect,
        _buffer: &mut Buffer,
    ) -> Option<Position> {
        None
    }

    fn targets(&self, _app: &App, _popup: &Popup) -> Targets {
        Targets::none()
    }

    fn click_again(&self) -> Action {
        Action::Open
    }
}

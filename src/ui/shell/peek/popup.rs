//! The preview as a popup.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{Popup, Targets, TextCursor};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::shell::peek::PreviewScroll;
use crate::ui::theme::Theme;

/// The preview of the item that is selected in a pane. The pane keeps the focus. The shell lays out and draws the
/// preview, because popups have no access to the panes.
#[derive(Debug)]
pub struct Peek {
    pub pane: Pane,
    pub(super) scroll: PreviewScroll,
}

impl Peek {
    pub fn new(pane: Pane) -> Peek {
        Peek {
            pane,
            scroll: PreviewScroll::default(),
        }
    }
}

impl Popup for Peek {
    fn context(&self) -> Context {
        Context::Peek
    }

    fn draw(&self, _: &App, _: &Theme, _: Rect, _: &mut Buffer) -> TextCursor {
        None
    }

    fn targets(&self, _app: &App) -> Targets {
        Targets::none()
    }

    fn tip(&self, app: &App) -> String {
        let key = |scroll| app.prefs.keymap.key(Context::Panes, Action::Move(scroll));
        let (down, up) = (key(Scroll::LineDown), key(Scroll::LineUp));
        format!("{down}/{up} move; preview follows")
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn dims(&self) -> bool {
        false
    }

    fn shares_keys(&self) -> bool {
        true
    }
}

//! The preview as a popup.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{Popup, Targets, TextCursor};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::feature::{Preview, SelectedItem};
use crate::ui::theme::Theme;
use crate::ui::transcript::ScrollAnchor;

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
        if self.pane == Pane::Needs && app.model.requests.len() == 1 {
            return "The whole text of the request".into();
        }
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

/// The scroll position of the preview. It is valid for one item only: the preview of another item starts at the default
/// position of that item.
#[derive(Debug, Clone, Default)]
pub struct PreviewScroll {
    pub(super) of: Option<SelectedItem>,
    /// Number of lines scrolled off the top; `None` for the item's default position, [`Preview::begin`].
    pub(super) first: Option<usize>,
    /// The scroll position in the conversation. Used only if the item is an agent.
    pub(super) anchor: ScrollAnchor,
}

impl PreviewScroll {
    /// Returns the number of lines of the preview `peeked` that are above its visible part. `list` is the area in which
    /// the lines are drawn.
    pub fn first(&self, peeked: &Preview, list: Rect) -> usize {
        let most = peeked.lines.len().saturating_sub(usize::from(list.height));
        self.first.unwrap_or(peeked.begin).min(most)
    }

    /// Returns the scroll position in the conversation of the previewed agent. Used only if the previewed item is an
    /// agent.
    pub fn anchor(&self) -> &ScrollAnchor {
        &self.anchor
    }
}

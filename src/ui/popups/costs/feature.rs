//! What the shell asks of the cost panel.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::costs;
use crate::ui::popups::costs::{update, view};
use crate::ui::popups::feature::{Copied, PopupFeature, Targets};
use crate::ui::theme::Theme;

/// The cost panel.
pub struct CostsPopup;

impl PopupFeature for CostsPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        if let Popup::Costs(costs) = popup {
            view::draw(app, costs, theme, screen, buffer);
        }
        None
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let Popup::Costs(view) = popup else {
            return Targets::none();
        };
        let lines = costs::lines(app, &Theme::default());
        Targets::list(costs::place(app.size, view, &lines), lines.len())
    }

    fn scroll(&self, app: &mut App, by: Scroll) {
        update::scroll(app, by);
    }

    fn select(&self, app: &mut App, row: usize) {
        update::select(app, row);
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn open(&self, app: &mut App) {
        update::show(app);
    }

    fn copied(&self, app: &App) -> Copied {
        Copied::Text("the figures".into(), costs::text(app))
    }
}

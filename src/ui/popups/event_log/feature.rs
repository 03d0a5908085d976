//! What the shell asks of the event log.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Popup;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::event_log;
use crate::ui::popups::event_log::{update, view};
use crate::ui::popups::feature::{Copied, PopupFeature, Targets};
use crate::ui::theme::Theme;
use crate::ui::widgets::area::Place;
use crate::ui::widgets::line_input::Searching;

/// The event log.
pub struct EventLogPopup;

impl PopupFeature for EventLogPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let Popup::EventLog(log) = popup else {
            return None;
        };
        view::draw(app, log, theme, screen, buffer)
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let Popup::EventLog(view) = popup else {
            return Targets::none();
        };
        let rows = view.rows(app);
        let row = view.row(&rows).unwrap_or(0);
        let place = event_log::place(app, view, rows.len(), row);
        let place = Place {
            area: place.area,
            list: place.list,
            first: place.first,
        };
        Targets::list(place, rows.len())
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

    fn search(&self, app: &mut App) -> bool {
        if let Some(Popup::EventLog(view)) = app.popups.last_mut() {
            view.searching = Searching::Typing;
        }
        true
    }

    fn accept(&self, app: &mut App, _out: &mut Vec<Effect>) -> Option<Action> {
        if let Some(Popup::EventLog(view)) = app.popups.last_mut() {
            view.searching = Searching::Rest;
        }
        None
    }

    fn copied(&self, app: &App) -> Copied {
        update::text(app).map_or(Copied::Nothing, |text| {
            Copied::Text("the line".into(), text)
        })
    }

    fn tip(&self, _app: &App, _popup: &Popup) -> String {
        "Everything that happened in the crew, newest last".into()
    }
}

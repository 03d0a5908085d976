//! What the shell asks of the list of background jobs.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::frame::navigation;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::feature::{Copied, PopupFeature, Targets};
use crate::ui::popups::jobs::{draw, place, selected_job};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{PAGE, step};

/// The background jobs.
pub struct JobsPopup;

impl PopupFeature for JobsPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        if let Popup::Jobs { row } = popup {
            draw(app, *row, theme, screen, buffer);
        }
        None
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let Popup::Jobs { row } = popup else {
            return Targets::none();
        };
        let len = app.model.jobs.listed().len();
        Targets::list(place(app.size, *row, len), len)
    }

    fn scroll(&self, app: &mut App, by: Scroll) {
        let len = app.model.jobs.listed().len();
        if let Some(Popup::Jobs { row }) = app.popups.last_mut() {
            *row = step(*row, len, by, PAGE);
        }
    }

    fn select(&self, app: &mut App, at: usize) {
        if let Some(Popup::Jobs { row }) = app.popups.last_mut() {
            *row = at;
        }
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn open(&self, app: &mut App) {
        if let Some(agent) = selected_job(app).map(|job| job.agent.clone()) {
            app.popups.clear();
            navigation::show(app, &agent);
        }
    }

    fn copied(&self, app: &App) -> Copied {
        match selected_job(app) {
            None => Copied::Below,
            Some(job) if job.tail.is_empty() => Copied::Nothing,
            Some(job) => {
                let what = format!("the last output of {}", job.title());
                Copied::Text(what, escape_control_chars(&job.tail))
            }
        }
    }

    fn tip(&self, _app: &App, _popup: &Popup) -> String {
        "The background jobs of all agents".into()
    }
}

//! The event log as a popup.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Copied, Next, Popup, Targets, TextCursor, TextInput};
use crate::ui::frame::CLEAR_FILTER;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::event_log::About;
use crate::ui::popups::event_log::{EventLogPopup, place, view};
use crate::ui::text::format_time_with_seconds;
use crate::ui::theme::Theme;

impl Popup for EventLogPopup {
    fn context(&self) -> Context {
        if self.is_typing {
            Context::Filter
        } else {
            Context::EventLog
        }
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        view::draw(app, self, theme, screen, buffer)
    }

    fn targets(&self, app: &App) -> Targets {
        let rows = self.rows(app);
        let row = self.row(&rows).unwrap_or(0);
        Targets::list(place(app, self, rows.len(), row).rows, rows.len())
    }

    fn tip(&self, _app: &App) -> String {
        "Everything that happened in the crew, newest last".into()
    }

    fn act(&mut self, app: &mut App, action: Action, _out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => self.scroll(app, by),
            Action::Open => return self.show(app),
            Action::Filter => self.is_typing = true,
            Action::Accept => self.is_typing = false,
            Action::Back if self.has_filter() => self.end_filter(),
            Action::ProblemsOnly => self.toggle_problems_only(),
            Action::Follow => self.selected = None,
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn select(&mut self, app: &App, row: usize) {
        self.select_row(app, row);
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        let about = || self.selected_line(app).map(|line| &line.about);
        match action {
            _ if self.is_typing => None,
            Action::Follow => Some(self.selected.is_some()),
            Action::Copy => Some(about().is_some()),
            Action::Open => Some(about().is_some_and(|about| *about != About::Nothing)),
            Action::Move(_) | Action::Filter | Action::ProblemsOnly => {
                Some(!app.model.event_log.is_empty())
            }
            _ => None,
        }
    }

    fn hint(&self, _app: &App, action: Action) -> Option<&'static str> {
        match action {
            _ if self.is_typing => None,
            Action::Back if self.has_filter() => Some(CLEAR_FILTER),
            Action::ProblemsOnly if self.is_trouble_only() => Some("show all"),
            _ => None,
        }
    }

    fn clipboard_text(&self, app: &App) -> Copied {
        self.selected_line(app).map_or(Copied::Nothing, |line| {
            let at = format_time_with_seconds(line.at, &app.prefs.zone);
            let text = format!("{at} {} {}", line.topic.word(), view::shown_words(line));
            Copied::Text("the line".into(), text)
        })
    }

    fn text_input(&mut self) -> Option<TextInput<'_>> {
        let filter = &mut self.filter;
        self.is_typing.then_some(TextInput::Line(filter))
    }
}

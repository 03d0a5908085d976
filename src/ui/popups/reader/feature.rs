//! What the shell asks of a text that is read.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Pager, Popup, Text};
use crate::ui::diff::Spot;
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::feature::{Copied, PopupFeature, Targets};
use crate::ui::popups::help::EntryEffect;
use crate::ui::popups::reader;
use crate::ui::popups::reader::{update, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The content of a pager.
pub struct ReaderPopup;

impl PopupFeature for ReaderPopup {
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        view::read(app, state(popup)?, theme, screen, buffer)
    }

    fn targets(&self, app: &App, popup: &Popup) -> Targets {
        let Some(reader) = state(popup) else {
            return Targets::none();
        };
        let lines = reader::rows(app, reader, &Theme::default());
        let area = reader::place(app.size, reader, lines.len());
        let (list, first) = reader::list(reader, area, lines.len());
        let mut inside = Vec::new();
        for (line, at) in lines.iter().skip(first).zip(list.rows()) {
            if let Some(EntryEffect::Here(action)) = line.entry.map(|entry| entry.means) {
                let what = Hit::HelpRow(action);
                inside.push(Target { at, what });
            }
            if let Some(Spot::LeadsTo(file) | Spot::Begins(file)) = line.spot {
                let what = Hit::File(file);
                inside.push(Target { at, what });
            }
        }
        Targets {
            area,
            inside,
            bar: Scrollbar::of_list(area, list, first, lines.len()),
            beside: Hit::BesidePopup,
        }
    }

    fn scroll(&self, app: &mut App, by: Scroll) {
        update::scroll(app, by);
    }

    fn jump(&self, app: &mut App, first: usize, row: usize) {
        let Some(Popup::Pager(reader)) = app.popups.last_mut() else {
            return;
        };
        match reader.text {
            Text::Help(_) => update::select_near(app, row),
            Text::Diff(_) => {
                reader.scroll = first;
                update::scrolled(app);
            }
            _ => reader.scroll = first,
        }
    }

    fn search(&self, app: &mut App) -> bool {
        if let Some(Popup::Pager(reader)) = app.popups.last_mut() {
            update::begin(reader);
        }
        true
    }

    fn accept(&self, app: &mut App, _out: &mut Vec<Effect>) -> Option<Action> {
        update::accept(app)
    }

    fn copied(&self, app: &App) -> Copied {
        let Some(reader) = app.popups.last().and_then(state) else {
            return Copied::Nothing;
        };
        if matches!(reader.text, Text::Diff(_)) {
            // The plain git output without line numbers, so that other programs can read it.
            return match escape_control_chars(app.diff.text()) {
                text if text.is_empty() => Copied::Nothing,
                text => Copied::Text("the diff".into(), text),
            };
        }
        let width = reader::area(app.size).width;
        let lines = reader::lines(app, reader, width, &Theme::default());
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        Copied::Text("the text".into(), lines.join("\n"))
    }

    fn tip(&self, _app: &App, popup: &Popup) -> String {
        let words = match state(popup).map(|reader| &reader.text) {
            Some(Text::Help(_)) => "All keys, those of the current pane first",
            Some(Text::Todo(_)) => "A step of the agent's todo list",
            Some(Text::Task(_)) => "The details and the history of the task",
            Some(Text::Diff(_)) => "The changes on the task's branch, by file",
            Some(Text::Letter(_)) => "All messages between these two agents",
            Some(Text::Problems) => "Problems and fixes",
            Some(Text::Skills) => "Instructions that agents load when they need them",
            None => "",
        };
        words.into()
    }
}

fn state(popup: &Popup) -> Option<&Pager> {
    match popup {
        Popup::Pager(reader) => Some(reader),
        _ => None,
    }
}

//! Actions of the event log: open, filter, navigate and open the subject of a line.

use crate::domain::ids::Name;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{LogView, Popup, Text};
use crate::ui::app::{App, popup};
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::event_log::About;
use crate::ui::popups::event_log::{place, selected};
use crate::ui::popups::reader;
use crate::ui::text::format_time_with_seconds;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::list;

/// Opens the event log.
pub fn open(app: &mut App) {
    let is_log = |p: &Popup| matches!(p, Popup::EventLog(_));
    if !app.popups.iter().any(is_log) {
        popup::push(app, Popup::EventLog(LogView::default()));
    }
}

/// Returns the event log if it is the top popup.
fn view(app: &mut App) -> Option<&mut LogView> {
    let Some(Popup::EventLog(view)) = app.popups.last_mut() else {
        return None;
    };
    Some(view)
}

/// Moves the selection; the newest line follows new events.
pub fn scroll(app: &mut App, by: Scroll) {
    let Some(Popup::EventLog(view)) = app.popups.last() else {
        return;
    };
    let mut next = view.clone();
    let rows = view.rows(app);
    let Some(at) = view.row(&rows) else { return };
    let room = place(app, view, rows.len(), at);
    let page = usize::from(room.list.height).max(1);
    next.select(&rows, list::step(at, rows.len(), by, page));
    if let Some(view) = self::view(app) {
        *view = next;
    }
}

/// Selects a row.
pub fn select(app: &mut App, at: usize) {
    let Some(Popup::EventLog(view)) = app.popups.last() else {
        return;
    };
    let mut next = view.clone();
    next.select(&view.rows(app), at);
    if let Some(view) = self::view(app) {
        *view = next;
    }
}

/// Follows the newest line.
pub fn follow(app: &mut App) {
    if let Some(view) = view(app) {
        view.selected = None;
    }
}

/// Toggles the filter for errors and warnings (`!`).
pub fn report_file_error(app: &mut App) {
    let Some(view) = view(app) else { return };
    let words: Vec<&str> = view.filter.text().split_whitespace().collect();
    let is_there = words.contains(&"!");
    let mut rest: Vec<&str> = words.into_iter().filter(|w| *w != "!").collect();
    if !is_there {
        rest.push("!");
    }
    let text = rest.join(" ");
    view.filter = LineInput::default();
    view.filter.insert(&text);
}

/// Opens the subject of the selected line, if it still exists.
pub fn show(app: &mut App) {
    let Some(about) = selected(app).map(|l| l.about.clone()) else {
        return;
    };
    match about {
        About::Nothing => app.say(NoticeLevel::Info, "This event has no details."),
        About::Task(id) if app.model.board.get(id).is_some() => {
            popup::push(app, Popup::read(Text::Task(id)));
        }
        About::Task(id) => app.say(
            NoticeLevel::Info,
            format!("{id} is no longer on the board."),
        ),
        About::Agent(name) => agent(app, &name),
        About::Letter(id) => {
            let number = app.model.letters.iter().rev().find(|t| t.letter.id == id);
            match number.map(|t| t.number) {
                Some(number) => reader::letter_and_thread(app, number),
                None => app.say(NoticeLevel::Info, "This message is no longer kept."),
            }
        }
        About::Request(id, target) => {
            if app.model.requests.get(&id).is_some() {
                app.popups.clear();
                app.ask_panes(PaneRequest::ShowRequest(id));
                navigation::focus(app, Pane::Needs);
            } else {
                agent(app, &target);
            }
        }
        About::Job(id) => {
            let row = app.model.jobs.listed().iter().position(|j| j.id == id);
            match row {
                Some(row) => popup::push(app, Popup::Jobs { row }),
                None => app.say(NoticeLevel::Info, "This job is no longer kept."),
            }
        }
    }
}

fn agent(app: &mut App, name: &Name) {
    if app.model.agents.get(name).is_some() {
        app.popups.clear();
        navigation::show(app, name);
    } else {
        app.say(
            NoticeLevel::Info,
            format!("No conversation of {name} is kept."),
        );
    }
}

/// Returns the selected line as text to copy.
pub fn text(app: &App) -> Option<String> {
    let line = selected(app)?;
    let at = format_time_with_seconds(line.at, &app.prefs.zone);
    Some(format!("{at} {} {}", line.topic.word(), line.words))
}

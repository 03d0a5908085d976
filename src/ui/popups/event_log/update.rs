//! The keys of the event log: it is opened, filtered, gone through, and left for what a line is about.

use crate::domain::ids::Name;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::app::popup;
use crate::ui::app::popup::LogView;
use crate::ui::app::popup::{Popup, Text};
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::event_log::About;
use crate::ui::popups::event_log::{place, selected};
use crate::ui::popups::reader;
use crate::ui::text::clock_to_the_second;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::list;

/// Shows what happened.
pub fn open(state: &mut UiState) {
    let is_log = |p: &Popup| matches!(p, Popup::EventLog(_));
    if !state.popups.iter().any(is_log) {
        popup::push(state, Popup::EventLog(LogView::default()));
    }
}

/// The view of the log, where that is what has the keys.
fn view(state: &mut UiState) -> Option<&mut LogView> {
    let Some(Popup::EventLog(view)) = state.popups.last_mut() else {
        return None;
    };
    Some(view)
}

/// Moves the selection; on the newest line it follows.
pub fn scroll(state: &mut UiState, by: Scroll) {
    let Some(Popup::EventLog(view)) = state.popups.last() else {
        return;
    };
    let mut next = view.clone();
    let rows = view.rows(state);
    let Some(at) = view.row(&rows) else { return };
    let room = place(state, view, rows.len(), at);
    let page = usize::from(room.list.height).max(1);
    next.select(&rows, list::step(at, rows.len(), by, page));
    if let Some(view) = self::view(state) {
        *view = next;
    }
}

/// Selects the row at a place.
pub fn select(state: &mut UiState, at: usize) {
    let Some(Popup::EventLog(view)) = state.popups.last() else {
        return;
    };
    let mut next = view.clone();
    next.select(&view.rows(state), at);
    if let Some(view) = self::view(state) {
        *view = next;
    }
}

/// Stays with the newest.
pub fn follow(state: &mut UiState) {
    if let Some(view) = view(state) {
        view.selected = None;
    }
}

/// Shows trouble alone, or everything again.
pub fn trouble(state: &mut UiState) {
    let Some(view) = view(state) else { return };
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

/// Shows what the selected line is about, if that is still there.
pub fn show(state: &mut UiState) {
    let Some(about) = selected(state).map(|l| l.about.clone()) else {
        return;
    };
    match about {
        About::Nothing => state.say(Level::Info, "There is nothing more to show of this."),
        About::Task(id) if state.model.board.get(id).is_some() => {
            popup::push(state, Popup::read(Text::Task(id)));
        }
        About::Task(id) => state.say(Level::Info, format!("{id} is no longer on the board.")),
        About::Agent(name) => agent(state, &name),
        About::Letter(id) => {
            let number = state.model.letters.iter().rev().find(|t| t.letter.id == id);
            match number.map(|t| t.number) {
                Some(number) => reader::letter_and_thread(state, number),
                None => state.say(Level::Info, "This message is too old to be kept here."),
            }
        }
        About::Request(id, target) => {
            if state.model.requests.get(&id).is_some() {
                state.popups.clear();
                state.selected.request = Some(id);
                state.selected.request_scroll = 0;
                navigation::focus(state, Pane::Needs);
            } else {
                agent(state, &target);
            }
        }
        About::Job(id) => {
            let row = state.model.jobs.listed().iter().position(|j| j.id == id);
            match row {
                Some(row) => popup::push(state, Popup::Jobs { row }),
                None => state.say(Level::Info, "This job ended too long ago to be kept here."),
            }
        }
    }
}

fn agent(state: &mut UiState, name: &Name) {
    if state.model.agents.get(name).is_some() {
        state.popups.clear();
        navigation::show(state, name);
    } else {
        state.say(
            Level::Info,
            format!("Of {name} there is nothing here any more."),
        );
    }
}

/// The selected line, to be copied.
pub fn text(state: &UiState) -> Option<String> {
    let line = selected(state)?;
    let at = clock_to_the_second(line.at, &state.prefs.zone);
    Some(format!("{at} {} {}", line.topic.word(), line.words))
}

//! Actions of the event log: open, filter, navigate and open the subject of a line.

use super::{movement, popups};
use crate::domain::ids::Name;
use crate::protocol::event::Level;
use crate::ui::event_log::{About, LogView, place, selected};
use crate::ui::popup::{Popup, Text};
use crate::ui::state::UiState;
use crate::ui::state::pane::Pane;
use crate::ui::textual::clock_to_the_second;
use crate::ui::transcript::Scroll;
use crate::ui::writing::line_input::LineInput;

/// Opens the event log.
pub fn open(state: &mut UiState) {
    let is_log = |p: &Popup| matches!(p, Popup::EventLog(_));
    if !state.popups.iter().any(is_log) {
        popups::push(state, Popup::EventLog(LogView::default()));
    }
}

/// Returns the event log if it is the top popup.
fn view(state: &mut UiState) -> Option<&mut LogView> {
    let Some(Popup::EventLog(view)) = state.popups.last_mut() else {
        return None;
    };
    Some(view)
}

/// Moves the selection; the newest line follows new events.
pub fn scroll(state: &mut UiState, by: Scroll) {
    let Some(Popup::EventLog(view)) = state.popups.last() else {
        return;
    };
    let mut next = view.clone();
    let rows = view.rows(state);
    let Some(at) = view.row(&rows) else { return };
    let room = place(state, view, rows.len(), at);
    let page = usize::from(room.list.height).max(1);
    next.select(&rows, movement::step(at, rows.len(), by, page));
    if let Some(view) = self::view(state) {
        *view = next;
    }
}

/// Selects a row.
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

/// Follows the newest line.
pub fn follow(state: &mut UiState) {
    if let Some(view) = view(state) {
        view.selected = None;
    }
}

/// Toggles the filter for errors and warnings (`!`).
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

/// Opens the subject of the selected line, if it still exists.
pub fn show(state: &mut UiState) {
    let Some(about) = selected(state).map(|l| l.about.clone()) else {
        return;
    };
    match about {
        About::Nothing => state.say(Level::Info, "This event has no details."),
        About::Task(id) if state.board.get(id).is_some() => {
            popups::push(state, Popup::read(Text::Task(id)));
        }
        About::Task(id) => state.say(Level::Info, format!("{id} is no longer on the board.")),
        About::Agent(name) => agent(state, &name),
        About::Letter(id) => {
            let number = state.letters.iter().rev().find(|t| t.letter.id == id);
            match number.map(|t| t.number) {
                Some(number) => popups::letter_and_thread(state, number),
                None => state.say(Level::Info, "This message is no longer kept."),
            }
        }
        About::Request(id, target) => {
            if state.requests.get(&id).is_some() {
                state.popups.clear();
                state.selected.request = Some(id);
                state.selected.request_scroll = 0;
                movement::focus(state, Pane::Needs);
            } else {
                agent(state, &target);
            }
        }
        About::Job(id) => {
            let row = state.jobs.listed().iter().position(|j| j.id == id);
            match row {
                Some(row) => popups::push(state, Popup::Jobs { row }),
                None => state.say(Level::Info, "This job is no longer kept."),
            }
        }
    }
}

fn agent(state: &mut UiState, name: &Name) {
    if state.agents.get(name).is_some() {
        state.popups.clear();
        movement::show(state, name);
    } else {
        state.say(Level::Info, format!("No conversation of {name} is kept."));
    }
}

/// Returns the selected line as text to copy.
pub fn text(state: &UiState) -> Option<String> {
    let line = selected(state)?;
    let at = clock_to_the_second(line.at, &state.zone);
    Some(format!("{at} {} {}", line.topic.word(), line.words))
}

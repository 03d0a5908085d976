//! The keys of a text that is read: the search in it.

use super::find;
use super::movement::Way;
use crate::protocol::event::Level;
use crate::ui::keymap::{Action, Context};
use crate::ui::line_input::LineInput;
use crate::ui::popup::{Popup, Reader, Searching, Text};
use crate::ui::state::UiState;
use crate::ui::text_search::{self, Found};
use crate::ui::theme::Theme;
use crate::ui::transcript::Round;
use crate::ui::{pickers, readers};

/// What is said when nothing is found.
const NOTHING: &str = "Nothing in this text has these words.";

/// The text that has the keys.
fn reader(state: &mut UiState) -> Option<&mut Reader> {
    match state.popups.last_mut() {
        Some(Popup::Reader(reader)) => Some(reader),
        Some(
            Popup::Picker(_)
            | Popup::Comment(_)
            | Popup::Jobs { .. }
            | Popup::EventLog(_)
            | Popup::Confirm(_),
        )
        | None => None,
    }
}

/// Begins to write what is searched for; what was searched for before is there to be changed.
pub fn begin(reader: &mut Reader) {
    reader.searching = Searching::Typing;
    reader.origin = reader.scroll;
}

/// Changes what is searched for, and goes to the nearest match from where the search began.
pub fn write(state: &mut UiState, edit: impl FnOnce(&mut LineInput)) {
    let Some(reader) = reader(state) else { return };
    edit(&mut reader.search);
    if matches!(reader.text, Text::Help(_)) {
        reader.scroll = 0;
        return;
    }
    reader.scroll = reader.origin;
    if let Some(from) = first(state) {
        go_to(state, |found| Some((found.nearest(from), Round::Same)));
    }
}

/// What is written stays searched for.
pub fn keep(state: &mut UiState) {
    let Some(reader) = reader(state) else { return };
    reader.searching = Searching::Rest;
    if matches!(reader.text, Text::Help(_)) {
        return;
    }
    if reader.search.text().trim().is_empty() {
        reader.search = LineInput::default();
    } else if go_to(state, |found| Some((found.here, Round::Same))) == Round::None {
        state.say(Level::Info, NOTHING);
    }
}

/// Ends the search. While it was being written the text goes back to where it began.
pub fn end(reader: &mut Reader) {
    let is_help = matches!(reader.text, Text::Help(_));
    if reader.searching == Searching::Typing && !is_help {
        reader.scroll = reader.origin;
    }
    reader.searching = Searching::Rest;
    reader.search = LineInput::default();
}

/// Goes to the next match, or to the one before; behind the last one is the first.
pub fn next(state: &mut UiState, way: Way) {
    let Some(reader) = reader(state) else { return };
    if !text_search::is_on(reader) {
        let key = state.keymap.key(Context::Reader, Action::Filter);
        state.say(Level::Info, format!("{key} searches."));
        return;
    }
    let round = go_to(state, |found| {
        let last = found.hits.len().checked_sub(1)?;
        Some(match way {
            Way::Forward if found.here == last => (0, Round::Again),
            Way::Forward => (found.here + 1, Round::Same),
            Way::Back if found.here == 0 => (last, Round::Again),
            Way::Back => (found.here - 1, Round::Same),
        })
    });
    find::tell(state, round, way, NOTHING);
}

/// The first line in view.
fn first(state: &UiState) -> Option<usize> {
    let Some(Popup::Reader(reader)) = state.popups.last() else {
        return None;
    };
    let len = readers::rows(state, reader, &Theme::default()).len();
    let place = readers::place(state.size, reader, len);
    Some(readers::list(reader, place, len).1)
}

/// Goes to the match that `choose` names among those that are there, and brings it into view.
fn go_to(state: &mut UiState, choose: impl FnOnce(&Found) -> Option<(usize, Round)>) -> Round {
    let Some(Popup::Reader(reader)) = state.popups.last() else {
        return Round::None;
    };
    let rows = readers::rows(state, reader, &Theme::default());
    let found = text_search::found(reader, rows.iter().map(|row| &row.line));
    let chosen = choose(&found).filter(|_| !found.hits.is_empty());
    let Some((nth, round)) = chosen else {
        return Round::None;
    };
    let place = readers::place(state.size, reader, rows.len());
    let height = usize::from(pickers::inside(place).height);
    let (_, first) = readers::list(reader, place, rows.len());
    let line = found.line(nth);
    let scroll = if (first..first + height).contains(&line) {
        first
    } else {
        // Some lines above it say what it belongs to.
        let most = rows.len().saturating_sub(height);
        line.saturating_sub(height / 3).min(most)
    };
    if let Some(reader) = self::reader(state) {
        (reader.here, reader.scroll) = (nth, scroll);
    }
    round
}

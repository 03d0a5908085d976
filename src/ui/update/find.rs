//! Conversation actions: search, prompt navigation and copying.

use super::Do;
use super::movement::{self, Way};
use crate::protocol::event::Level;
use crate::ui::keymap::{Action, Context};
use crate::ui::popup::{Choice, Popup};
use crate::ui::state::UiState;
use crate::ui::state::pane::Pane;
use crate::ui::transcript::{Portion, Round, Transcript};
use crate::ui::writing::line_input::LineInput;

/// The key context of the conversation pane.
const LEAD: Context = Context::In(Pane::Lead);

fn shown(state: &mut UiState) -> &mut Transcript {
    &mut state.agents.entry(&state.shown).transcript
}

/// Opens the search field.
pub fn begin(state: &mut UiState) {
    movement::focus(state, Pane::Lead);
    shown(state).begin_search();
}

/// Edits the search text.
pub fn write(state: &mut UiState, edit: impl FnOnce(&mut LineInput)) {
    let viewport = movement::viewport(state);
    shown(state).write_search(edit, viewport);
}

/// Closes the search field and keeps the search.
pub fn keep(state: &mut UiState) {
    shown(state).keep_search();
    if shown(state).search().is_some() && shown(state).found().1 == 0 {
        state.say(Level::Info, "No matches in this conversation.");
    }
}

/// Ends the search. Returns whether there was one.
pub fn end(state: &mut UiState) -> bool {
    let is_there = shown(state).search().is_some();
    if is_there {
        shown(state).end_search();
    }
    is_there
}

/// Goes to the next or previous match.
pub fn next(state: &mut UiState, way: Way) {
    if !state.popups.is_empty() {
        return super::read::next(state, way);
    }
    if shown(state).search().is_none() {
        let key = state.keymap.key(LEAD, Action::Search);
        state.say(
            Level::Info,
            format!("Press {key} to search this conversation."),
        );
        return;
    }
    let viewport = movement::viewport(state);
    let round = shown(state).next_match(way, viewport);
    tell(state, round, way, "No matches in this conversation.");
}

/// Reports a wrapped search or a missing match.
pub(super) fn tell(state: &mut UiState, round: Round, way: Way, nothing: &str) {
    match (round, way) {
        (Round::Same, _) => {}
        (Round::Again, Way::Forward) => {
            state.say(Level::Info, "Search wrapped to the first match.");
        }
        (Round::Again, Way::Back) => {
            state.say(Level::Info, "Search wrapped to the last match.");
        }
        (Round::None, _) => state.say(Level::Info, nothing),
    }
}

/// Goes to the next or previous prompt of the user.
pub fn prompt(state: &mut UiState, way: Way) {
    movement::focus(state, Pane::Lead);
    let viewport = movement::viewport(state);
    if !shown(state).go_to_prompt(way, viewport) {
        let words = match way {
            Way::Forward => {
                let key = state.keymap.key(LEAD, Action::Follow);
                format!("No prompt below. {key} follows the newest output.")
            }
            Way::Back => "No prompt above.".into(),
        };
        state.say(Level::Info, words);
    }
}

/// Opens the menu of conversation parts to copy.
pub fn copy_menu(state: &mut UiState) {
    if shown(state).portions().is_empty() {
        let is_empty = |state: &UiState| {
            let shown = state.agents.get(&state.shown);
            shown.is_none_or(|agent| agent.transcript.portions().is_empty())
        };
        state.say_while(Level::Info, "Nothing to copy here yet.", is_empty);
        return;
    }
    super::popups::push(state, Popup::choose(Choice::Copy));
}

/// Copies a part of the conversation.
pub fn copy(state: &mut UiState, portion: &Portion, out: &mut Vec<Do>) {
    state.popups.pop();
    let Some(text) = shown(state).text_of(portion) else {
        state.say(Level::Info, "That text no longer exists.");
        return;
    };
    let what = match portion {
        Portion::Cell(_) => "the message",
        Portion::Code(..) => "the code",
        Portion::Whole => "the conversation",
    };
    state.say(Level::Info, format!("Copied {what}."));
    out.push(Do::Copy(text));
}

/// Returns the whole shown conversation as text, as the copy menu does. Shows a status message if it is empty.
pub fn whole(state: &mut UiState) -> Option<String> {
    let text = shown(state).text_of(&Portion::Whole);
    let text = text.filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let text = "This conversation is empty.";
        state.say_while(Level::Info, text, |state| {
            let shown = state.agents.get(&state.shown);
            shown.is_none_or(|agent| !agent.has_spoken)
        });
    }
    text
}

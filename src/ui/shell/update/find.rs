//! Conversation actions: search, prompt navigation and copying.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Way;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::pager::search::tell_match;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;
use crate::ui::transcript::{Portion, Transcript};
use crate::ui::widgets::line_input::LineInput;

/// The key context of the conversation pane.
const LEAD: Context = Context::In(Pane::Lead);

fn shown(app: &mut App) -> &mut Transcript {
    &mut app.model.agents.entry(&app.shown).transcript
}

/// Opens the search field.
pub fn begin(app: &mut App) {
    navigation::focus(app, Pane::Lead);
    shown(app).begin_search();
}

/// Edits the search text.
pub fn write(state: &mut UiState, edit: impl FnOnce(&mut LineInput)) {
    let viewport = areas::viewport(state);
    shown(state).edit_search(edit, viewport);
}

/// Closes the search field and keeps the search.
pub fn keep(app: &mut App) {
    shown(app).finish_search_input();
    if shown(app).search().is_some() && shown(app).found().1 == 0 {
        app.say(NoticeLevel::Info, "No matches in this conversation.");
    }
}

/// Ends the search. Returns whether there was one.
pub fn end(app: &mut App) -> bool {
    let is_there = shown(app).search().is_some();
    if is_there {
        shown(app).end_search();
    }
    is_there
}

/// Goes to the next or previous match.
pub fn next(state: &mut UiState, way: Way) {
    if !state.popups.is_empty() {
        return;
    }
    if shown(state).search().is_none() {
        let key = state.prefs.keymap.key(LEAD, Action::Search);
        state.say(
            NoticeLevel::Info,
            format!("Press {key} to search this conversation."),
        );
        return;
    }
    let viewport = areas::viewport(state);
    let round = shown(state).next_match(way, viewport);
    tell_match(state, round, way, "No matches in this conversation.");
}

/// Goes to the next or previous prompt of the user.
pub fn prompt(state: &mut UiState, way: Way) {
    navigation::focus(state, Pane::Lead);
    let viewport = areas::viewport(state);
    if !shown(state).go_to_prompt(way, viewport) {
        let words = match way {
            Way::Forward => {
                let key = state.prefs.keymap.key(LEAD, Action::Follow);
                format!("No prompt below. {key} follows the newest output.")
            }
            Way::Back => "No prompt above.".into(),
        };
        state.say(NoticeLevel::Info, words);
    }
}

/// Returns the whole shown conversation as text. If it is empty, shows a status message and returns `None`.
pub fn whole(app: &mut App) -> Option<String> {
    let text = shown(app).portion_text(&Portion::Whole);
    let text = text.filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let text = "This conversation is empty.";
        app.say_while(NoticeLevel::Info, text, |app| {
            let shown = app.model.agents.get(&app.shown);
            shown.is_none_or(|agent| !agent.has_entries)
        });
    }
    text
}

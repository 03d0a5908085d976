//! Actions on the shown conversation: searching, moving between prompts, and returning its whole text.

use crate::ui::app::App;
use crate::ui::keymap::direction::Way;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::pager::search::tell_match;
use crate::ui::transcript::{Portion, Viewport};

const LEAD: Context = Context::In(Pane::Lead);

/// Closes the search field; the search stays active. If nothing matches, a status message says so.
pub fn keep(app: &mut App) {
    let transcript = &mut app.shown_agent().transcript;
    transcript.finish_search_input();
    if transcript.search().is_some() && transcript.match_position().1 == 0 {
        app.say("No matches in this conversation.");
    }
}

/// Returns whether this pane has the focus and a search is active in the shown conversation.
pub fn is_active(app: &App) -> bool {
    let agent = app.model.agents.get(&app.shown);
    let is_searched = agent.is_some_and(|a| a.transcript.search().is_some());
    is_searched && app.focus == Focus::Pane(Pane::Lead)
}

/// Goes to the next or previous match of the search in the shown conversation. If no search is active, a status message
/// names the key that starts one. Does nothing while a popup is open.
pub fn next(app: &mut App, way: Way, viewport: Viewport) {
    if !app.popups.is_empty() {
        return;
    }
    let transcript = &mut app.shown_agent().transcript;
    if transcript.search().is_none() {
        let key = app.prefs.keymap.key(LEAD, Action::Search);
        app.say(format!("Press {key} to search this conversation."));
        return;
    }
    let round = transcript.next_match(way, viewport);
    tell_match(app, round, way, "No matches in this conversation.");
}

/// Goes to the next or previous prompt of the user in the shown conversation. If there is none, a status message says
/// so.
pub fn prompt(app: &mut App, way: Way, viewport: Viewport) {
    if !app.shown_agent().transcript.go_to_prompt(way, viewport) {
        let words = match way {
            Way::Forward => {
                let key = app.prefs.keymap.key(LEAD, Action::Follow);
                format!("No prompt below. {key} follows the newest output.")
            }
            Way::Back => "No prompt above.".into(),
        };
        app.say(words);
    }
}

/// Returns the whole shown conversation as text. If the conversation is empty, says so in a status message and returns
/// `None`.
pub fn whole(app: &mut App) -> Option<String> {
    let text = app.shown_agent().transcript.portion_text(&Portion::Whole);
    let text = text.filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let text = "This conversation is empty.";
        app.say_while(text, |app| {
            let shown = app.model.agents.get(&app.shown);
            shown.is_none_or(|agent| !agent.has_entries)
        });
    }
    text
}

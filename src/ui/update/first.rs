//! Actions of the setup page.

use super::Do;
use crate::protocol::EventKind;
use crate::protocol::event::Level;
use crate::ui::guide::first::{Weight, keys_line, offers};
use crate::ui::keymap::Action;
use crate::ui::popup::{Popup, Question};
use crate::ui::state::UiState;
use crate::ui::view;

/// Shown when the user approves settings that are not completely visible.
const TOO_LONG: &str =
    "Not all settings are visible. Make the window larger, or run crewdeck trust in a shell.";

/// Runs `action` if the setup page offers it; otherwise does nothing.
pub fn take_up(state: &mut UiState, action: Action, out: &mut Vec<Do>) {
    if !offers(state, action) {
        return;
    }
    let (words, wish) = if action == Action::StartDemo {
        ("Starting the demo…", Do::StartDemo)
    } else if action == Action::MakeRepository {
        ("Running git…", Do::MakeRepository)
    } else if action == Action::ApproveSettings {
        if !view::first::fits(state) {
            state.say(Level::Warn, TOO_LONG);
            return;
        }
        super::popups::push(state, Popup::Confirm(Question::ApproveSettings));
        return;
    } else if action == Action::WithoutSettings {
        ("Starting without them…", Do::WithoutSettings)
    } else {
        ("Checking again…", Do::LookAgain)
    };
    state.say(Level::Info, words);
    out.push(wish);
}

/// Approves the settings shown on the page.
pub fn approve_now(state: &mut UiState, out: &mut Vec<Do>) {
    if offers(state, Action::ApproveSettings) {
        state.say(Level::Info, "Approved: starting with these settings…");
        out.push(Do::ApproveSettings);
    }
}

/// Tracks prompts and turn ends of the lead for the setup page.
pub fn heard(state: &mut UiState, event: &EventKind) {
    if let EventKind::Prompted { agent, text } = event {
        state.asked(agent, text);
    } else if let EventKind::TurnEnded { agent, end } = event {
        state.unanswered(agent, end);
    }
}

/// Returns why `action` is unavailable without a crew; `None` if it is available.
pub fn refuses(state: &UiState, action: Action) -> Option<String> {
    let is_the_crews = matches!(action, Action::Models | Action::Compact);
    let page = state.first_page().filter(|_| is_the_crews)?;
    (page.weight == Weight::Missing)
        .then(|| format!("No crew is running yet. {}", keys_line(state)))
}

//! Takes up what the first page offers.

use super::Do;
use crate::protocol::event::Level;
use crate::ui::first::{Weight, keys_line, offers};
use crate::ui::keymap::Action;
use crate::ui::state::UiState;

/// Says `words` and does `wish`, where the page offers `action`; else it does nothing.
pub fn take_up(state: &mut UiState, action: Action, words: &str, wish: Do, out: &mut Vec<Do>) {
    if offers(state, action) {
        state.say(Level::Info, words);
        out.push(wish);
    }
}

/// Why `action` does nothing while there is no crew. `None`: it does.
pub fn refuses(state: &UiState, action: Action) -> Option<String> {
    let is_the_crews = matches!(action, Action::Models | Action::Compact);
    let page = state.first_page().filter(|_| is_the_crews)?;
    (page.weight == Weight::Missing).then(|| format!("No crew runs here yet. {}", keys_line(state)))
}

//! Takes up what the first page offers.

use super::Do;
use crate::protocol::event::Level;
use crate::ui::first::offers;
use crate::ui::keymap::Action;
use crate::ui::state::UiState;

/// Says `words` and does `wish`, where the page offers `action`; else it does nothing.
pub fn take_up(state: &mut UiState, action: Action, words: &str, wish: Do, out: &mut Vec<Do>) {
    if offers(state, action) {
        state.say(Level::Info, words);
        out.push(wish);
    }
}

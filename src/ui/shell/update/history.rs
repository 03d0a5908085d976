//! The history of sent messages: going back in it, searching it, and adding the messages of earlier sessions.

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::input::SavedHistory;
use crate::ui::popups::history as popup;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::compose;

/// Goes one row up or to an older message. If there is none, asks for those of earlier sessions first.
pub fn older(state: &mut UiState, out: &mut Vec<Effect>) {
    let width = compose::width(state);
    if !state.input.composer.cursor_up_or_recall(width) {
        request(state, true, out);
    }
}

/// Opens the search.
pub fn search(app: &mut App, out: &mut Vec<Effect>) {
    request(app, false, out);
    popup::open(app);
}

/// Asks the front end for the messages of earlier sessions, once.
fn request(app: &mut App, recalls: bool, out: &mut Vec<Effect>) {
    if app.input.history == SavedHistory::Unread {
        app.input.history = SavedHistory::Requested { recalls };
        out.push(Effect::LoadHistory);
    }
}

/// Adds the messages of earlier sessions to the history, and goes to the newest if the user waits for it.
pub fn loaded(state: &mut UiState, saved: Vec<String>, out: &mut Vec<Effect>) {
    let before = std::mem::replace(&mut state.input.history, SavedHistory::Loaded);
    state.input.composer.add_older(saved);
    state.dirty = true;
    if before == (SavedHistory::Requested { recalls: true }) {
        older(state, out);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::{press, started};
    use crate::ui::{Msg, update};

    fn loaded() -> Msg {
        Msg::History(vec!["oldest".into(), "earlier".into()])
    }

    #[test]
    fn earlier_sessions_are_read_once_when_needed() {
        let mut state = started(160, 45);
        press(&mut state, "\"own\" enter \"draft\"");
        assert_eq!(
            press(&mut state, "up"),
            [],
            "this session has an older message"
        );
        assert_eq!(state.input.composer.text(), "own");
        assert_eq!(press(&mut state, "up"), [Effect::LoadHistory]);
        assert_eq!(state.input.composer.text(), "own");
        assert_eq!(update(&mut state, loaded()), []);
        assert_eq!(state.input.composer.text(), "earlier");
        assert_eq!(press(&mut state, "up up up"), []);
        assert_eq!(state.input.composer.text(), "oldest");
        press(&mut state, "down down down");
        assert_eq!(state.input.composer.text(), "draft");
    }

    #[test]
    fn search_takes_a_message_or_leaves_the_draft() {
        for (keys, expected) in [
            ("ctrl+r esc", "draft"),
            ("ctrl+r \"zzz\" enter esc", "draft"),
            ("ctrl+r enter", "own"),
            ("ctrl+r ctrl+r enter", "earlier"),
            ("ctrl+r ctrl+r ctrl+s enter", "own"),
            ("ctrl+r \"E\" enter", "earlier"),
            ("ctrl+r \"e\" ctrl+r enter", "oldest"),
            ("ctrl+r \"old\" enter down down down", "draft"),
            ("ctrl+r \"old\" enter ctrl+_", "draft"),
        ] {
            let mut state = started(160, 45);
            press(&mut state, "\"own\" enter \"draft\"");
            assert_eq!(press(&mut state, "ctrl+r esc"), [Effect::LoadHistory]);
            update(&mut state, loaded());
            assert_eq!(press(&mut state, keys), [], "{keys}");
            assert_eq!(state.input.composer.text(), expected, "{keys}");
        }
    }

    #[test]
    fn only_sent_messages_are_saved() {
        let mut state = started(160, 45);
        press(&mut state, "\"cleared\" ctrl+c \"/help\" enter esc");
        assert_eq!(state.take_sent(), None);
        press(&mut state, "\"@lead go\" enter");
        assert_eq!(state.take_sent().as_deref(), Some("@lead go"));
        assert_eq!(state.take_sent(), None);
    }
}

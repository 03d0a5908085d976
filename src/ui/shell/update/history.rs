//! The history of sent messages: going back in it, searching it, and adding the messages of earlier sessions. Also
//! takes back a queued message.

use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::input::SavedHistory;
use crate::ui::popups::history as popup;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::compose;

/// In an empty draft, takes back the last queued message. Otherwise, moves one row up or recalls the previous message.
/// If the history has no older message, first loads those of earlier sessions.
pub fn older(state: &mut UiState, out: &mut Vec<Effect>) {
    if let Some(at) = state.recallable() {
        let text = state.model.queued.remove(at).text;
        // If the message is in the history, it is recalled there, so that the next Up leads to the message before it.
        if !state.input.composer.recall(&text) {
            state.input.composer.set(&text);
        }
        out.push(Effect::Command(Command::RecallPrompt { text }));
        return;
    }
    let width = compose::width(state);
    if !state.input.composer.cursor_up_or_recall(width) {
        request(state, true, out);
    }
}

/// Opens the search in the history of sent messages. If the messages of earlier sessions were not loaded yet, requests
/// them.
pub fn search(app: &mut App, out: &mut Vec<Effect>) {
    request(app, false, out);
    popup::open(app);
}

/// Asks the front end for the messages of earlier sessions, unless it was asked before. If `recalls` is true, the
/// newest one is recalled when they arrive.
fn request(app: &mut App, recalls: bool, out: &mut Vec<Effect>) {
    if app.input.history == SavedHistory::Unread {
        app.input.history = SavedHistory::Requested { recalls };
        out.push(Effect::LoadHistory);
    }
}

/// Adds the messages of earlier sessions to the history, and recalls the newest if the user has pressed Up for it.
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
    use crate::domain::ids::Name;
    use crate::protocol::AgentEvent;
    use crate::ui::fixture::{apply_events, picture, press, started};
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
    fn queued_message_returns_before_older_ones() {
        let take_back = |text: &str| {
            let text = text.into();
            [Effect::Command(Command::RecallPrompt { text })]
        };
        let mut state = started(160, 45);
        let works = AgentEvent::TurnStarted.of(Name::lead());
        apply_events(&mut state, vec![works]);
        press(&mut state, "\"one\" enter \"two\" enter");
        assert!(picture(&state).contains("queued: two · ↑ edits the last"));
        // Text in the composer stays.
        assert_eq!(press(&mut state, "\"x\" up"), []);
        press(&mut state, "down ctrl+u");
        assert_eq!(press(&mut state, "up"), take_back("two"));
        assert_eq!(state.input.composer.text(), "two");
        let queued: Vec<_> = state.model.queued.iter().map(|q| &q.text).collect();
        assert_eq!(queued, ["one"]);
        assert_eq!(press(&mut state, "up"), []);
        assert_eq!(state.input.composer.text(), "one");
        assert_eq!(press(&mut state, "down down"), []);
        assert_eq!(press(&mut state, "up"), take_back("one"));
        // The history does not have the text of a message that names its recipient.
        press(&mut state, "ctrl+u \"@lead three\" enter");
        assert_eq!(press(&mut state, "up"), take_back("three"));
        assert_eq!(state.input.composer.text(), "three");
        // Only the crew's own window can take a message back.
        press(&mut state, "enter");
        state.set_role(crate::ui::SessionRole::Viewer(None));
        assert_eq!(press(&mut state, "up"), []);
        assert_eq!(state.input.composer.text(), "three");
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

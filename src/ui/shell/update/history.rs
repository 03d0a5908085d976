//! The history of sent messages: going back in it, searching it, and adding the messages of earlier sessions. Also
//! takes queued messages back into the composer.

use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::input::SavedHistory;
use crate::ui::popups::history as popup;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::compose;

/// Handles the key Up in the composer. Does the first of these that applies:
///
/// - Takes the last queued message back into the composer, if that is possible.
/// - Moves the cursor one row up, or recalls the previous message of the history.
/// - Requests the messages of earlier sessions, unless they were requested before.
pub fn older(state: &mut UiState, out: &mut Vec<Effect>) {
    if let Some(at) = state.recallable() {
        let text = state.model.queued.remove(at).text;
        // A message that is in the history is recalled from there, so that the next Up recalls the message before it.
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

/// Opens the search in the history of sent messages. Requests the messages of earlier sessions if they are not loaded
/// yet.
pub fn search(app: &mut App, out: &mut Vec<Effect>) {
    request(app, false, out);
    popup::open(app);
}

/// Requests the messages of earlier sessions with `Effect::LoadHistory`, unless they were requested before. If
/// `recalls` is true, the composer shows the newest of these messages when they arrive.
fn request(app: &mut App, recalls: bool, out: &mut Vec<Effect>) {
    if app.input.history == SavedHistory::Unread {
        app.input.history = SavedHistory::Requested { recalls };
        out.push(Effect::LoadHistory);
    }
}

/// Adds `saved`, the messages of earlier sessions, to the history. If the user has pressed Up to see one of them,
/// recalls the newest.
pub fn on_history_loaded(state: &mut UiState, saved: Vec<String>, out: &mut Vec<Effect>) {
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
    use crate::ui::fixture::{apply_events, picture, press, started_screen};
    use crate::ui::{Msg, update};

    fn history_msg() -> Msg {
        Msg::History(vec!["oldest".into(), "earlier".into()])
    }

    #[test]
    fn earlier_sessions_are_read_once_when_needed() {
        let mut state = started_screen(160, 45);
        press(&mut state, "\"own\" enter \"draft\"");
        assert_eq!(
            press(&mut state, "up"),
            [],
            "this session has an older message"
        );
        assert_eq!(state.input.composer.text(), "own");
        assert_eq!(press(&mut state, "up"), [Effect::LoadHistory]);
        assert_eq!(state.input.composer.text(), "own");
        assert_eq!(update(&mut state, history_msg()), []);
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
            let mut state = started_screen(160, 45);
            press(&mut state, "\"own\" enter \"draft\"");
            assert_eq!(press(&mut state, "ctrl+r esc"), [Effect::LoadHistory]);
            update(&mut state, history_msg());
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
        let mut state = started_screen(160, 45);
        let works = AgentEvent::TurnStarted.of(Name::lead());
        apply_events(&mut state, vec![works]);
        press(&mut state, "\"one\" enter \"two\" enter");
        assert!(picture(&state).contains("queued: two · ↑ edits the last"));
        // Text that was typed in the meantime stays in the composer.
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
        // The text of a message that names its recipient is not in the history.
        press(&mut state, "ctrl+u \"@lead three\" enter");
        assert_eq!(press(&mut state, "up"), take_back("three"));
        assert_eq!(state.input.composer.text(), "three");
        // Only the window in which the crew runs can take a message back.
        press(&mut state, "enter");
        state.set_role(crate::ui::SessionRole::Viewer(None));
        assert_eq!(press(&mut state, "up"), []);
        assert_eq!(state.input.composer.text(), "three");
    }

    #[test]
    fn only_sent_messages_are_saved() {
        let mut state = started_screen(160, 45);
        press(&mut state, "\"cleared\" ctrl+c \"/help\" enter esc");
        assert_eq!(state.take_sent(), None);
        press(&mut state, "\"@lead go\" enter");
        assert_eq!(state.take_sent().as_deref(), Some("@lead go"));
        assert_eq!(state.take_sent(), None);
    }
}

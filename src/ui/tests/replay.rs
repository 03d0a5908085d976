//! The replay: at every position, the screen is the same as it was live, and the user cannot change anything.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, Name};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{AgentEvent, Event, EventKind};
use crate::ui::fixture::{NOON, blank, busy_events, cells, picture, press};
use crate::ui::replay::Player;
use crate::ui::{
    Effect, Focus, Msg, Theme, ThemeName, UiState, begin_replay, next_tick, recall, update,
};

/// Returns the events of an answer that arrives in pieces, with a tool call that writes output.
fn streamed_events() -> Vec<EventKind> {
    let agent = Name::lead();
    let call = CallId("streamed".into());
    let piece = |text: &str| AgentEvent::TextDelta { text: text.into() }.of(Name::lead());
    vec![
        piece("The parser "),
        piece("is **done**."),
        AgentEvent::AnswerFinished {
            text: "The parser is **done**.".into(),
            thinking: String::new(),
            thought_ms: 0,
        }
        .of(agent.clone()),
        AgentEvent::ToolStarted {
            call: call.clone(),
            tool: "bash".into(),
            on: "cargo test".into(),
            input: serde_json::json!({"command": "cargo test"}),
        }
        .of(agent.clone()),
        AgentEvent::ToolOutput {
            call: call.clone(),
            chunk: "running 12 tests\n".into(),
        }
        .of(agent.clone()),
        AgentEvent::ToolFinished {
            call,
            tool: "bash".into(),
            outcome: Outcome::Ok,
            output: "running 12 tests\nok".into(),
            diff: String::new(),
            took_ms: 1200,
        }
        .of(agent),
    ]
}

/// Returns the events as the dashboard receives them live, numbered and one second apart.
fn bus_events() -> Vec<Event> {
    let kinds = busy_events().into_iter().chain(streamed_events());
    let event = |(i, kind): (usize, EventKind)| Event {
        seq: i as u64 + 1,
        at: Timestamp(NOON).after(Duration::from_secs(i as u64 + 1)),
        kind,
    };
    kinds.enumerate().map(event).collect()
}

/// Returns the events as the journal stores them: without the pieces of answers and outputs.
fn recorded_events() -> Vec<Event> {
    let events = bus_events().into_iter();
    events.filter(|e| !e.kind.is_delta()).collect()
}

fn replay(width: u16, height: u16) -> UiState {
    let mut state = blank(width, height);
    begin_replay(&mut state, Player::new(recorded_events(), 1.0));
    update(
        &mut state,
        Msg::Tick {
            now: Timestamp(NOON),
        },
    );
    state
}

/// Removes from a screen what only a replay has.
fn as_if_live(mut state: UiState, focus: Focus) -> UiState {
    state.replay = None;
    state.focus = focus;
    state
}

#[test]
fn live_replayed_and_restarted_screens_are_equal() {
    for (width, height) in [(160, 45), (100, 30), (70, 20)] {
        let mut live = blank(width, height);
        live.is_tour_dismissed = true;
        for event in bus_events() {
            update(&mut live, Msg::Event(event));
        }
        let end = live.now;
        // Reaches the end of the replay in three ways: step by step, with jumps back and forth, and by playing.
        let mut steps = replay(width, height);
        for _ in 0..recorded_events().len() {
            press(&mut steps, ".");
        }
        let mut jumps = replay(width, height);
        press(
            &mut jumps,
            "> > > < < . . , > > > > > > > > > > > > > > > > > > > >",
        );
        let mut played = replay(width, height);
        update(
            &mut played,
            Msg::Tick {
                now: Timestamp(NOON + 9e5),
            },
        );
        let mut restarted = blank(width, height);
        restarted.is_tour_dismissed = true;
        recall(&mut restarted, None, &recorded_events());
        let theme = Theme::default();
        for (way, state) in [("steps", steps), ("jumps", jumps), ("played", played)] {
            let mut state = as_if_live(state, live.focus);
            update(&mut state, Msg::Tick { now: end });
            update(&mut live, Msg::Tick { now: end });
            (state.status, live.status) = (None, None);
            assert_eq!(picture(&state), picture(&live), "{way} {width}x{height}");
            assert_eq!(cells(&state, &theme), cells(&live, &theme), "{way}");
        }
        live.end_of_session(end);
        restarted.end_of_session(end);
        assert_eq!(picture(&restarted), picture(&live), "{width}x{height}");
    }
}

#[test]
fn step_back_and_forward_restores_screen() {
    let mut state = replay(160, 45);
    state.set_theme(ThemeName::Light);
    for _ in 0..recorded_events().len() {
        press(&mut state, ".");
        let before = picture(&state);
        press(&mut state, ", .");
        assert_eq!(picture(&state), before);
    }
    assert_eq!(state.theme(), ThemeName::Light);
}

#[test]
fn replay_rejects_changes_with_message() {
    let mut state = replay(160, 45);
    update(
        &mut state,
        Msg::Tick {
            now: Timestamp(NOON + 9e5),
        },
    );
    for keys in ["6 a", "6 r", "4 j !", "i", "alt+m"] {
        let out = press(&mut state, keys);
        assert_eq!(out, [], "{keys}");
        assert!(picture(&state).contains("This is a replay"), "{keys}");
        press(&mut state, "esc");
    }
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
}

#[test]
fn paused_replay_needs_no_tick() {
    let mut state = replay(160, 45);
    assert!(next_tick(&state).is_some());
    press(&mut state, "space");
    assert_eq!(next_tick(&state), None);
    press(&mut state, "space");
    assert!(next_tick(&state).is_some());
}

#[test]
fn click_on_progress_bar_seeks() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut state = replay(160, 45);
    let at = |column| {
        Msg::Mouse(MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column,
            row: 43,
            modifiers: KeyModifiers::NONE,
        })
    };
    let happened = |state: &UiState| state.replay.as_ref().unwrap().past_event_count();
    update(&mut state, at(120));
    let far = happened(&state);
    update(&mut state, at(60));
    let near = happened(&state);
    assert!(
        0 < near && near < far && far <= recorded_events().len(),
        "{near} {far}"
    );
}

#[test]
fn replay_exports_the_conversation_that_it_shows() {
    let mut state = replay(160, 45);
    press(&mut state, "> > > > > > >");
    let effects = press(&mut state, ": \"write this conversation\" enter");
    let [Effect::Export { path, text }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(path.ends_with("-lead.md"), "{path}");
    assert!(text.contains("Replayed up to: "), "{text}");
    assert!(state.popups.is_empty());
}

#[test]
fn replay_opens_no_forms_or_dialogs() {
    let mut state = replay(160, 45);
    press(&mut state, "> > > > > > > >");
    for keys in [
        "esc 3 t", "esc 3 e", "esc 3 C", "esc 3 u", "esc 3 d", "esc 3 W", "esc 3 m", "esc 4 x",
        "esc 4 X", "esc 4 !", "esc 6 a", "esc 6 A", "esc 6 r", "esc 6 c", "esc 6 e",
    ] {
        assert_eq!(press(&mut state, keys), [], "{keys}");
        assert!(state.popups.is_empty(), "{keys}");
        let said = state.status.take().map(|message| message.text);
        let words = "This is a replay: nothing can be changed.";
        assert_eq!(said.as_deref(), Some(words), "{keys}");
    }
}

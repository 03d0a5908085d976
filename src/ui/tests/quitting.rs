//! Quitting by pressing a key twice: what cancels it, custom keys, and the confirmation.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;

use crate::domain::ids::{JobId, Name};
use crate::domain::job::Job;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::{AgentEvent, CrewEvent, Event, EventKind};
use crate::ui::app::QUIT_WINDOW;
use crate::ui::fixture::{
    NOON, apply_events, blank, busy, busy_events, merging_screen, name as fixture_name, picture,
    plan, press, request_event, started_screen,
};
use crate::ui::keymap::KeyMap;
use crate::ui::model::board::branches;
use crate::ui::replay::Player;
use crate::ui::{Effect, Msg, SessionRole, UiState, begin_replay, keys, update};

#[test]
fn key_between_presses_cancels_quit() {
    const OFFER: &str = "Press Ctrl+c again to quit.";
    let click = Msg::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 5,
        row: 5,
        modifiers: KeyModifiers::NONE,
    });
    let second = |state: &UiState| Msg::Tick {
        now: state.now.after(QUIT_WINDOW),
    };
    for between in [
        |_: &UiState| Msg::Paste("three pages".into()),
        |state: &UiState| Msg::Key(keys::parse("x").unwrap(), state.now),
    ] {
        let mut state = started_screen(160, 45);
        press(&mut state, "ctrl+c");
        assert!(picture(&state).contains(OFFER));
        let msg = between(&state);
        update(&mut state, msg);
        assert!(!picture(&state).contains(OFFER), "{}", picture(&state));
        // The first press clears the draft and does not count as the first of the two presses.
        assert_eq!(press(&mut state, "ctrl+c"), []);
        assert!(!picture(&state).contains(OFFER), "{}", picture(&state));
        assert_eq!(press(&mut state, "ctrl+c"), []);
        assert!(picture(&state).contains(OFFER));
        let msg = second(&state);
        update(&mut state, msg);
        assert!(!picture(&state).contains(OFFER), "{}", picture(&state));
    }
    let mut state = started_screen(160, 45);
    press(&mut state, "ctrl+c");
    update(&mut state, click);
    assert!(!picture(&state).contains(OFFER), "{}", picture(&state));
    assert_eq!(press(&mut state, "ctrl+c"), []);
}

#[test]
fn custom_interrupt_key_quits_on_second_press() {
    for (key, keys) in [
        ("alt+k", "alt+k alt+k"),
        ("ctrl+x ctrl+c", "ctrl+x ctrl+c ctrl+x ctrl+c"),
    ] {
        let changes = [("interrupt".to_owned(), vec![key.to_owned()])].into();
        let mut state = started_screen(160, 45);
        state.prefs.keymap = KeyMap::with_overrides(&changes).unwrap().into();
        assert_eq!(press(&mut state, keys), [Effect::Quit], "{key}");
    }
}

/// Returns a screen with a replay at its end, at which agents are working.
fn ended_replay_screen() -> UiState {
    let events = busy_events().into_iter().zip(1..).map(|(kind, seq)| Event {
        seq,
        at: Timestamp(NOON),
        kind,
    });
    let mut state = blank(160, 45);
    begin_replay(&mut state, Player::new(events.collect(), 1.0));
    for at in [NOON, NOON + 9e5] {
        update(&mut state, Msg::Tick { now: Timestamp(at) });
    }
    state
}

fn viewer() -> UiState {
    let mut state = busy(160, 45);
    state.set_role(SessionRole::Viewer(Some(4711)));
    press(&mut state, "esc");
    state
}

#[test]
fn quit_without_running_agents_needs_no_confirmation() {
    for (what, start) in [
        ("recording", ended_replay_screen as fn() -> UiState),
        ("viewer", viewer),
    ] {
        let mut state = start();
        assert!(state.busy() > 0, "{what}");
        assert_eq!(press(&mut state, "q"), [Effect::Quit], "{what}");
        let mut state = start();
        assert_eq!(press(&mut state, "ctrl+c"), [], "{what}");
        assert!(!picture(&state).contains("at work"), "{what}");
        assert_eq!(press(&mut state, "ctrl+c"), [Effect::Quit], "{what}");
    }
    let mut crew = busy(160, 45);
    assert_eq!(press(&mut crew, "esc q"), []);
    assert!(picture(&crew).contains("Quit and stop"));
}

#[test]
fn dialog_keys_are_in_the_dialog_or_beside_a_message_that_covers_it() {
    for (keys, own, buttons) in [
        ("esc q", "y quit  n stay ", "y quit   n stay"),
        ("esc 4 g X", "y kill it  n cancel ", "y kill it   n cancel"),
    ] {
        let mut state = busy(60, 16);
        press(&mut state, keys);
        let line = |state: &UiState| {
            let picture = picture(state);
            let last = picture.lines().last().unwrap_or_default().to_string();
            last.trim_matches(['"', ' ']).to_string()
        };
        state.status = None;
        assert!(picture(&state).contains(buttons), "{}", picture(&state));
        assert!(!line(&state).contains(own.trim_end()), "{}", line(&state));
        state.say("words ".repeat(30));
        assert!(line(&state).starts_with(own), "{}", line(&state));
        assert!(picture(&state).contains("words words"));
    }
}

#[test]
fn quit_dialog_names_what_it_stops() {
    let job = |id: &str| {
        EventKind::Crew(CrewEvent::JobChanged {
            job: Job {
                id: JobId(id.into()),
                agent: Name::lead(),
                command: "sleep 500".into(),
                began: Timestamp(NOON),
                ended: None,
                tail: String::new(),
            },
        })
    };
    let one = "One background job is still running. Quit and kill the job?";
    let two = "2 background jobs are still running. Quit and kill the jobs?";
    for (mut state, jobs, asks) in [
        (started_screen(160, 45), vec![job("j1")], one),
        (started_screen(160, 45), vec![job("j1"), job("j2")], two),
        (
            busy(160, 45),
            vec![job("j1")],
            "One agent is still working, one background job is",
        ),
    ] {
        apply_events(&mut state, jobs);
        assert_eq!(press(&mut state, "esc q"), []);
        let said = picture(&state).replace("│", " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let first = asks.split_once(". ").map_or(asks, |(first, _)| first);
        assert!(said.contains(first), "{said}");
        press(&mut state, "n ctrl+c");
        let again = state.status.as_ref().map(|f| f.text.clone());
        assert!(
            again.is_some_and(|t| t.contains("background job")),
            "{first}"
        );
    }
}

#[test]
fn quit_asks_while_work_waits_for_the_user() {
    let asked = |state: &UiState| {
        let text = picture(state).replace('│', " ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut state = started_screen(160, 45);
    apply_events(&mut state, vec![request_event(&plan("r1", "1. go"))]);
    assert_eq!(press(&mut state, "esc q"), []);
    let text = asked(&state);
    assert!(text.contains("1 request waits for you. Quit?"), "{text}");
    assert_eq!(press(&mut state, "y"), [Effect::Quit]);

    let mut state = merging_screen(160, 45);
    for name in ["lead", "alice", "bob", "carol"] {
        let activity = Activity::Idle;
        let idle = AgentEvent::ActivityChanged { activity }.of(fixture_name(name));
        apply_events(&mut state, vec![idle]);
    }
    let unmerged = branches::unmerged_tasks(&state).len();
    assert_eq!(press(&mut state, "esc q"), []);
    let text = asked(&state);
    let words = format!("{unmerged} branches are unmerged. Quit?");
    assert!(text.contains(&words), "{text}");
    assert_eq!(press(&mut state, "n"), []);
    // A viewer only watches the crew, so its user leaves nothing behind.
    state.set_role(SessionRole::Viewer(None));
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
}

#[test]
fn quit_asks_from_the_first_event_of_a_turn_to_its_last() {
    let activity = |activity| AgentEvent::ActivityChanged { activity }.of(Name::lead());
    let idle = || activity(Activity::Idle);
    let began = || AgentEvent::TurnStarted.of(Name::lead());
    let mut state = started_screen(160, 45);
    for events in [
        vec![idle(), began()],
        vec![activity(Activity::Thinking)],
        vec![idle()],
    ] {
        apply_events(&mut state, events);
        assert_eq!(press(&mut state, "esc q"), []);
        let asked = picture(&state);
        assert!(asked.contains("One agent is still working"), "{asked}");
        assert!(!asked.contains("○ idle"), "{asked}");
        press(&mut state, "n");
    }
}

//! The event log: its keys, and what Enter opens. A replay shows the same log. The scenes check how the log looks.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{NoticeLevel, TurnEnd};
use crate::protocol::{AgentEvent, CrewEvent, EventKind};
use crate::ui::fixture::{
    NOON, apply_events, approval_event, blank, busy, busy_events, name, picture, plan, press,
    top_popup,
};
use crate::ui::keymap::Context;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::event_log::LINES_MAX;
use crate::ui::popups::event_log::EventLogPopup;
use crate::ui::popups::pager::Pager;
use crate::ui::popups::thread::ThreadPage;
use crate::ui::{Effect, UiState};

/// Returns a screen after events of several kinds, some of them failures.
pub fn eventful(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    let notice = |level, text: &str| EventKind::notice(level, text);
    let (alice, bob) = (name("alice"), name("bob"));
    let backoff = Activity::Backoff {
        cause: "the server is overloaded (529)".into(),
        until: Timestamp(state.now.0 + 20.0),
        attempt: 1,
        attempts_max: 0,
    };
    let failed = TurnEnd::Failed {
        error: "no such model".into(),
        hint: "Choose another with m.".into(),
    };
    apply_events(
        &mut state,
        vec![
            AgentEvent::ActivityChanged { activity: backoff }.of(alice),
            notice(NoticeLevel::Info, "wt/task-1 is merged into main."),
            notice(
                NoticeLevel::Warn,
                "Task #3 of dave is offered again: dave left it open, because the process that ran it was ended from outside while it worked.",
            ),
            AgentEvent::TurnEnded { end: failed }.of(bob),
            approval_event(plan("r1", "1. Read"), "user"),
        ],
    );
    state
}

fn view(state: &UiState) -> &EventLogPopup {
    state.popups.top().unwrap()
}

/// Returns the text of the selected line.
fn selected_line_text(state: &UiState) -> String {
    let line = view(state).selected_line(state);
    line.map_or_else(String::new, |l| l.words.clone())
}

#[test]
fn keys_select_filter_and_close() {
    let mut state = eventful(100, 30);
    press(&mut state, "esc @");
    assert_eq!(state.contexts(), [Context::EventLog, Context::Everywhere]);
    assert_eq!(selected_line_text(&state), "you approved bob's plan for #2");
    assert_eq!(view(&state).selected, None);
    press(&mut state, "k");
    let failed = "bob's turn failed: no such model. Choose another with m.";
    assert_eq!(selected_line_text(&state), failed);
    // New events do not move the selection, unless the newest line is selected.
    apply_events(&mut state, vec![EventKind::Crew(CrewEvent::AllIdle)]);
    assert_eq!(selected_line_text(&state), failed);
    press(&mut state, "f");
    assert_eq!(selected_line_text(&state), "all idle, 1/5 done");
    press(&mut state, "g");
    assert_eq!(
        selected_line_text(&state),
        "session s1 started with scripted-demo (script)"
    );
    press(&mut state, "G !");
    assert_eq!(view(&state).filter.text(), "!");
    assert_eq!(selected_line_text(&state), failed);
    press(&mut state, "!");
    assert!(!view(&state).has_filter());
    press(&mut state, "/ \"who:alice kind:mail\"");
    assert!(view(&state).is_typing);
    assert_eq!(selected_line_text(&state), "bob received alice's message");
    press(&mut state, "enter");
    assert_eq!(state.contexts(), [Context::EventLog, Context::Everywhere]);
    assert!(
        picture(&state).contains("who:alice kind:mail (4 of"),
        "{}",
        picture(&state)
    );
    press(&mut state, "/ ctrl+u \"zzz\" enter");
    assert_eq!(selected_line_text(&state), "");
    assert!(picture(&state).contains("No matches."));
    press(&mut state, "enter y esc");
    assert!(!view(&state).has_filter());
    press(&mut state, "@");
    assert!(state.popups.is_empty());
}

#[test]
fn text_below_the_list_does_not_repeat_the_selected_row() {
    let mut state = eventful(160, 45);
    press(&mut state, "esc @");
    state.status = None;
    let count = |state: &UiState, words: &str| picture(state).matches(words).count();
    assert_eq!(count(&state, "you approved bob's plan for #2"), 1);
    assert_eq!(count(&state, "kind:request who:bob who:you"), 1);
    // The list cuts this line, so its whole text is below the list.
    press(&mut state, "k k");
    assert_eq!(count(&state, "Task #3 of dave is offered again"), 2);
    assert_eq!(count(&state, "from outside while it worked."), 1);
    // A line break in a message is a blank.
    assert_eq!(count(&state, "has the header? I guess little."), 1);
}

#[test]
fn palette_and_help_list_event_log() {
    let mut state = eventful(100, 30);
    press(&mut state, "esc ctrl+p \"event log\" enter");
    assert!(view(&state).selected.is_none() && !view(&state).has_filter());
    press(&mut state, "f1");
    let help = picture(&state);
    assert!(help.contains("Event log"), "{help}");
    assert!(help.contains("copy the line"), "{help}");
}

#[test]
fn copied_line_has_time_and_kind() {
    let mut state = eventful(100, 30);
    let done = press(&mut state, "esc @ y");
    let text = "12:00:27 request you approved bob's plan for #2";
    assert_eq!(done, [Effect::Copy(text.into())]);
}

/// Opens what the first line that contains `words` is about.
fn enter(state: &mut UiState, words: &str) {
    press(state, &format!("esc @ / \"{words}\" enter enter"));
}

#[test]
fn enter_opens_subject_of_line() {
    let mut state = eventful(100, 30);
    enter(&mut state, "offered again");
    assert!(picture(&state).contains("╭ Task #3 "));
    // After Esc, the same line of the log is selected.
    press(&mut state, "esc");
    assert!(selected_line_text(&state).contains("offered again"));
    press(&mut state, "esc esc");
    enter(&mut state, "byte order");
    let thread = state.popups.top::<Pager<ThreadPage>>();
    assert_eq!(thread.unwrap().page.number, 1);
    press(&mut state, "esc esc esc");
    enter(&mut state, "no such model");
    assert_eq!(
        (&state.shown, state.focus),
        (&name("bob"), Focus::Pane(Pane::Lead))
    );
    // For a request that is decided, Enter opens the conversation of the agent that made it.
    press(&mut state, "esc");
    enter(&mut state, "approved bob's plan");
    assert_eq!(state.shown, name("bob"));
    let mut state = busy(100, 30);
    enter(&mut state, "asks you to approve");
    assert!(state.popups.is_empty());
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    // If there is nothing to open, a status message says so.
    enter(&mut state, "asks you to approve");
    apply_events(
        &mut state,
        vec![EventKind::notice(NoticeLevel::Info, "a notice")],
    );
    press(&mut state, "esc @ enter");
    assert!(picture(&state).contains("This event has no details."));
}

#[test]
fn mouse_selects_and_opens() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut state = eventful(100, 30);
    press(&mut state, "esc @");
    let picture = picture(&state);
    let row = picture
        .lines()
        .position(|l| l.contains("offered again"))
        .unwrap();
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 40,
        row: u16::try_from(row).unwrap(),
        modifiers: KeyModifiers::NONE,
    };
    crate::ui::update(&mut state, crate::ui::Msg::Mouse(click));
    assert!(selected_line_text(&state).contains("offered again"));
    crate::ui::update(&mut state, crate::ui::Msg::Mouse(click));
    assert_eq!(top_popup(&state), "TaskPage");
}

#[test]
fn long_log_says_where_older_events_are() {
    let mut state = busy(100, 30);
    for i in 0..LINES_MAX {
        let text = format!("notice number {i}");
        apply_events(&mut state, vec![EventKind::notice(NoticeLevel::Info, text)]);
    }
    press(&mut state, "esc @");
    let picture = picture(&state);
    let path = ".crewdeck/sessions/s1/journal.jsonl";
    assert!(picture.contains(path), "{picture}");
    // At a start with a long journal, only its end is loaded.
    let mut late = blank(100, 30);
    let event = |seq, kind| crate::protocol::Event {
        seq,
        at: Timestamp(NOON),
        kind,
    };
    let first = event(500, EventKind::notice(NoticeLevel::Info, "late"));
    crate::ui::update(&mut late, crate::ui::Msg::Event(first));
    assert!(late.event_log.is_cut());
}

#[test]
fn replay_shows_same_log() {
    let kinds = busy_events().into_iter();
    let events: Vec<crate::protocol::Event> = kinds
        .enumerate()
        .map(|(i, kind)| crate::protocol::Event {
            seq: i as u64 + 1,
            at: Timestamp(NOON).after(Duration::from_secs(i as u64)),
            kind,
        })
        .collect();
    let mut live = blank(100, 30);
    for event in &events {
        crate::ui::update(&mut live, crate::ui::Msg::Event(event.clone()));
    }
    let mut back = blank(100, 30);
    let player = crate::ui::replay::Player::new(events.clone(), 1.0);
    crate::ui::begin_replay(&mut back, player);
    press(&mut back, "> > > > > > < < , , , . > > > > >");
    let mut again = blank(100, 30);
    crate::ui::recall(&mut again, None, &events);
    let lines = |state: &UiState| state.model.event_log.lines().cloned().collect::<Vec<_>>();
    let words = |state: &UiState| {
        lines(state)
            .into_iter()
            .map(|l| (l.at, l.words))
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&back), words(&live));
    assert_eq!(lines(&again), lines(&live));
    assert!(!lines(&live).is_empty());
    assert_eq!(back.shown, Name::lead());
}

//! A viewer (a second dashboard in the same directory): its labels, its keys, and what it keeps when another crew
//! starts.

use crate::domain::timestamp::Timestamp;
use crate::protocol::event::NoticeLevel;
use crate::protocol::{Command, EventKind};
use crate::ui::fixture::{
    NOON, after_events, apply_events, busy, busy_events, hosts_event, hosts_with_one_lost, picture,
    press, three_hosts,
};
use crate::ui::{Effect, HubOutage, SessionRole, ThemeName, UiState};

fn viewer(width: u16, height: u16) -> UiState {
    let mut state = after_events(width, height, busy_events());
    state.set_role(SessionRole::Viewer(Some(4711)));
    state
}

#[test]
fn status_line_shows_session_role() {
    for (seat, mark) in [
        (
            SessionRole::Viewer(Some(7)),
            "viewer · crew runs in process 7",
        ),
        (
            SessionRole::Viewer(None),
            "viewer · crew runs in another process",
        ),
        (SessionRole::Taking, "taking over the crew…"),
        (SessionRole::NoCrew, "viewer · no crew runs"),
    ] {
        let mut state = viewer(160, 45);
        state.set_role(seat);
        let top = picture(&state)
            .lines()
            .next()
            .unwrap_or_default()
            .to_string();
        assert!(top.contains(mark), "{top}");
    }
    let mut state = viewer(160, 45);
    state.set_role(SessionRole::Taken(Some(7)));
    let news = "Process 7 ended. The crew now runs in this window";
    assert!(picture(&state).contains(news));
    assert!(!picture(&state).contains("viewer · "));
    state.dismiss_takeover();
    assert!(!picture(&state).contains(news));
}

#[test]
fn viewer_rejects_crew_only_actions() {
    let mut state = viewer(160, 45);
    for key in ["ctrl+c", "ctrl+c"] {
        let done = press(&mut state, key);
        let stops = |d: &Effect| matches!(d, Effect::Command(Command::Interrupt { .. }));
        assert!(!done.iter().any(stops), "{done:?}");
    }
    let mut state = viewer(160, 45);
    press(&mut state, "ctrl+c");
    assert!(picture(&state).contains("Press Ctrl+c again to leave. The crew keeps running."));
    assert_eq!(press(&mut state, "ctrl+c"), [Effect::Quit]);
    let mut state = viewer(160, 45);
    press(&mut state, "alt+w");
    assert_eq!(press(&mut state, "A"), []);
    let screen = picture(&state);
    assert!(screen.contains(
        "Only the crewdeck that runs this crew can do that: use its window (process 4711)."
    ));
    assert!(!screen.contains("for the team"), "{screen}");
}

#[test]
fn draft_survives_crew_change() {
    let mut state = viewer(160, 45);
    press(&mut state, "h i");
    state.set_theme(ThemeName::Light);
    state.forget_crew();
    assert_eq!(state.theme(), ThemeName::Light);
    assert_eq!(state.composer_text(), "hi");
    assert!(picture(&state).contains("viewer · crew runs in process 4711"));
    apply_events(&mut state, busy_events());
    state.end_crew(Timestamp(900.0));
    assert_eq!(state.composer_text(), "hi");
    apply_events(
        &mut state,
        vec![EventKind::notice(NoticeLevel::Info, "old news")],
    );
    assert!(picture(&state).contains("old news"));
    state.mark_seen(Timestamp(901.0));
    let hints = picture(&state)
        .lines()
        .last()
        .unwrap_or_default()
        .to_string();
    assert!(!hints.contains("old news"), "{hints}");
}

#[test]
fn status_line_and_problems_show_that_the_hub_cannot_be_reached() {
    let mut state = viewer(160, 45);
    let unreachable = "hub unreachable since 12:00: no answer within 3 s";
    state.set_role(SessionRole::HubViewer {
        crew: "web".into(),
        host: Some("gpu-box".into()),
        outage: Some(HubOutage {
            cause: "no answer within 3 s".into(),
            since: Timestamp(NOON),
        }),
    });
    assert!(picture(&state).contains(unreachable));
    press(&mut state, "esc p");
    let problem = "the hub cannot be reached since 12:00: no answer within 3 s";
    assert!(picture(&state).contains(problem));
    state.set_role(hub_viewer(Some("gpu-box")));
    assert!(!picture(&state).contains("hub unreachable"));
}

fn hub_viewer(host: Option<&str>) -> SessionRole {
    SessionRole::HubViewer {
        crew: "web".into(),
        host: host.map(String::from),
        outage: None,
    }
}

/// Returns the status message after the user has sent a message in a crew whose host `mini`, which runs `dave`, is lost.
fn said_after_sending(role: SessionRole, text: &str) -> String {
    let mut state = busy(160, 45);
    apply_events(&mut state, three_hosts());
    apply_events(&mut state, vec![hosts_event(hosts_with_one_lost())]);
    state.set_role(role);
    press(&mut state, &format!("\"{text}\" enter"));
    let said = state.status.as_ref().map(|said| said.text.clone());
    said.unwrap_or_default()
}

#[test]
fn message_says_when_its_recipient_reads_it() {
    let with_lead = || hub_viewer(Some("laptop"));
    let next_step = "Sent to lead as a message. lead reads it before its next step.";
    let no_lead = "No lead runs now, so the message waits until one starts.";
    let lost = "Its host mini is lost, so the message waits until mini is back.";
    for (role, text, expected) in [
        (with_lead(), "@lead hello", next_step),
        (hub_viewer(None), "@lead hello", no_lead),
        (with_lead(), "@dave hello", lost),
        (hub_viewer(None), "@dave hello", lost),
        (SessionRole::Crew, "@dave hello", lost),
        (SessionRole::NoCrew, "@lead hello", "No crew runs now"),
    ] {
        let said = said_after_sending(role.clone(), text);
        assert!(said.contains(expected), "{role:?} {text}: {said}");
    }
}

//! The focus between consecutive requests, and keys that are pressed too soon after the focus or its content has
//! changed by itself.

use pretty_assertions::assert_eq;

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Request, RequestStatus, Verdict};
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::TurnEnd;
use crate::protocol::{AgentEvent, BoardEvent, Command, Event, EventKind, TeamEvent};
use crate::ui::app::key_guard::SETTLE;
use crate::ui::fixture::{
    apply_events, busy, decision, permission, picture, press, question, request_event,
    started_screen,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::{Effect, Msg, UiState, keys, update};

const NEEDS: Focus = Focus::Pane(Pane::Needs);

/// Returns a permission request of the lead that was created `after` seconds after the usual ones.
fn lead_permission_after(id: &str, after: f64) -> Request {
    let mut request = permission(id);
    request.from = Name::lead();
    request.target = Name::lead();
    request.task = None;
    request.body = format!("bash\nrm -rf {id}\n\nIt deletes files.");
    request.created_at.0 += after;
    request
}

fn rejection_event(request: &Request) -> EventKind {
    let mut request = request.clone();
    request.status = RequestStatus::Rejected;
    request.decided_by = "user".into();
    request_event(&request)
}

/// Returns a screen on which the lead is in a turn and has the open request `request`.
fn screen_with_request(request: &Request) -> UiState {
    let mut state = started_screen(160, 45);
    let agent = Name::lead();
    apply_events(
        &mut state,
        vec![
            AgentEvent::TurnStarted.of(agent.clone()),
            AgentEvent::ActivityChanged {
                activity: Activity::Thinking,
            }
            .of(agent),
            request_event(request),
        ],
    );
    state
}

/// Applies an event `after` seconds after the previous input.
fn event(state: &mut UiState, after: f64, kind: EventKind) {
    let at = Timestamp(state.now.0 + after);
    update(state, Msg::Event(Event { seq: 1, at, kind }));
}

/// Presses a key `after` seconds after the previous input.
fn key(state: &mut UiState, after: f64, name: &str) -> Vec<Effect> {
    let at = Timestamp(state.now.0 + after);
    update(state, Msg::Key(keys::parse(name).unwrap(), at))
}

/// Ends the turn of the lead, which is then idle.
fn end(state: &mut UiState, after: f64) {
    let (agent, activity) = (Name::lead(), Activity::Idle);
    let end = TurnEnd::Done;
    event(
        state,
        after,
        AgentEvent::TurnEnded { end }.of(agent.clone()),
    );
    event(
        state,
        0.0,
        AgentEvent::ActivityChanged { activity }.of(agent),
    );
}

#[test]
fn focus_stays_in_needs_you_between_requests() {
    let (one, two) = (
        lead_permission_after("one", 0.0),
        lead_permission_after("two", 9.0),
    );
    let mut state = screen_with_request(&one);
    assert_eq!(
        press(&mut state, "alt+w r"),
        [decision(&one, Verdict::Reject, "")]
    );
    event(&mut state, 0.1, rejection_event(&one));
    assert_eq!(state.focus, NEEDS);
    let text = picture(&state);
    assert!(
        text.contains("lead continues; its next request appears here."),
        "{text}"
    );
    event(&mut state, 2.0, request_event(&two));
    assert_eq!(state.focus, NEEDS);
    assert_eq!(
        press(&mut state, "r"),
        [decision(&two, Verdict::Reject, "")]
    );
    assert_eq!(state.input.composer.text(), "");
}

#[test]
fn double_press_decides_one_request() {
    let (one, two) = (
        lead_permission_after("one", 0.0),
        lead_permission_after("two", 9.0),
    );
    for second in ["a", "r", "A", "c", "e", "o", "enter"] {
        let mut state = screen_with_request(&one);
        press(&mut state, "alt+w r");
        event(&mut state, 0.05, rejection_event(&one));
        event(&mut state, 0.05, request_event(&two));
        assert_eq!(key(&mut state, 0.05, second), [], "{second}");
        let text = picture(&state);
        assert!(text.contains("Key ignored: a new request from"), "{text}");
        assert!(state.popups.is_empty() && state.focus == NEEDS, "{second}");
        // The key also decides and writes nothing if no further request follows.
        let mut state = screen_with_request(&one);
        press(&mut state, "alt+w r");
        event(&mut state, 0.05, rejection_event(&one));
        assert_eq!(key(&mut state, 0.05, second), [], "{second}");
        end(&mut state, 0.05);
        assert_eq!(key(&mut state, 0.05, second), [], "{second}");
        assert_eq!(state.input.composer.text(), "", "{second}");
    }
}

#[test]
fn keys_are_ignored_until_typing_pauses() {
    let one = lead_permission_after("one", 0.0);
    let mut state = screen_with_request(&one);
    press(&mut state, "alt+w r");
    event(&mut state, 0.05, rejection_event(&one));
    event(
        &mut state,
        0.05,
        request_event(&lead_permission_after("two", 9.0)),
    );
    // Typing continues for more than twice the time for which a single key is ignored.
    for c in "a rather long remark".chars().filter(|c| *c != ' ') {
        assert_eq!(key(&mut state, 0.1, &c.to_string()), []);
    }
    assert!(state.popups.is_empty() && state.focus == NEEDS);
    // Focus keys and the interrupt key are never ignored.
    assert_eq!(key(&mut state, 0.1, "alt+1"), []);
    assert_eq!(state.focus, Focus::Pane(Pane::Lead));
}

#[test]
fn focus_stays_in_needs_you_until_user_leaves() {
    let one = lead_permission_after("one", 0.0);
    let mut by_lead = one.clone();
    by_lead.status = RequestStatus::Approved;
    by_lead.decided_by = "lead".into();
    for (closed, said) in [
        (rejection_event(&one), "Rejected lead's permission request."),
        (
            request_event(&by_lead),
            "lead approved lead's permission request.",
        ),
    ] {
        for (keys, expected) in [
            ("esc", Focus::Composer),
            ("i", Focus::Composer),
            ("3", Focus::Pane(Pane::Board)),
        ] {
            let mut state = screen_with_request(&one);
            press(&mut state, "alt+w");
            event(&mut state, 0.1, closed.clone());
            // Neither time nor other keys nor the end of the turn move the focus.
            let now = Timestamp(state.now.0 + 100.0);
            update(&mut state, Msg::Tick { now });
            assert_eq!(key(&mut state, 1.0, "r"), []);
            let now = Timestamp(state.now.0 + 100.0);
            update(&mut state, Msg::Tick { now });
            let text = picture(&state);
            let next = "lead continues; its next request appears here.";
            assert!(text.contains(said) && text.contains(next), "{text}");
            end(&mut state, 1.0);
            assert_eq!(state.focus, NEEDS);
            let text = picture(&state);
            let next = "No other request is open. Esc goes back.";
            assert!(text.contains(said) && text.contains(next), "{text}");
            // The next key counts at once, because the focus has not moved.
            assert_eq!(key(&mut state, 0.1, keys), []);
            assert_eq!(state.focus, expected, "{keys}");
            // The empty pane names the decision only until the user has left it.
            press(&mut state, "esc 6");
            assert!(!picture(&state).contains(said));
        }
    }
}

#[test]
fn keys_for_auto_closed_dialog_are_ignored() {
    let (one, two) = (question("q1", &[]), lead_permission_after("two", 9.0));
    let mut state = screen_with_request(&two);
    apply_events(&mut state, vec![request_event(&one)]);
    press(&mut state, "alt+w c \"1\"");
    assert_eq!(state.popups.len(), 1);
    let mut withdrawn = one;
    withdrawn.status = RequestStatus::Withdrawn;
    event(
        &mut state,
        0.0,
        EventKind::Team(TeamEvent::RequestChanged { request: withdrawn }),
    );
    for c in "raA".chars() {
        assert_eq!(key(&mut state, 0.1, &c.to_string()), []);
    }
    assert_eq!(state.panes.needs.selected, Some(RequestId("two".into())));
    assert_eq!(
        key(&mut state, SETTLE.as_secs_f64(), "a"),
        [decision(&two, Verdict::Approve, "")]
    );
}

#[test]
fn popup_opened_by_user_accepts_keys_at_once() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    let diff = EventKind::Board(BoardEvent::DiffShown {
        task: crate::domain::ids::TaskId(1),
        stat: " a | 1 +".into(),
        text: "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n".into(),
        untracked: vec![],
    });
    event(&mut state, 0.1, diff);
    assert_eq!(state.popups.len(), 1);
    assert_eq!(key(&mut state, 0.05, "q"), []);
    assert!(state.popups.is_empty());
}

#[test]
fn ctrl_c_clears_draft_without_arming_quit() {
    let mut state = busy(160, 45);
    // The lead is idle; two teammates are working.
    let agent = Name::lead();
    let activity = Activity::Idle;
    apply_events(
        &mut state,
        vec![AgentEvent::ActivityChanged { activity }.of(agent)],
    );
    press(&mut state, "\"half a thought\"");
    assert_eq!(key(&mut state, 1.0, "ctrl+c"), []);
    assert_eq!(state.input.composer.text(), "");
    assert!(
        picture(&state).contains("Draft cleared. ↑ brings it back."),
        "{}",
        picture(&state)
    );
    assert_eq!(key(&mut state, 0.1, "ctrl+c"), []);
    assert!(picture(&state).contains("again to quit"));
    assert_eq!(key(&mut state, 0.1, "up"), []);
    assert_eq!(state.input.composer.text(), "half a thought");
    // A draft is kept if the composer does not have the focus.
    press(&mut state, "esc");
    assert_eq!(key(&mut state, 1.0, "ctrl+c"), []);
    assert_eq!(state.input.composer.text(), "half a thought");
    assert!(picture(&state).contains("again to quit"));
}

#[test]
fn ctrl_c_interrupts_agent_without_arming_quit() {
    let mut state = screen_with_request(&lead_permission_after("one", 0.0));
    press(&mut state, "\"half a thought\"");
    let stop = Effect::Command(Command::Interrupt {
        agent: Name::lead(),
    });
    assert_eq!(key(&mut state, 1.0, "ctrl+c"), [stop]);
    assert_eq!(state.input.composer.text(), "half a thought");
    assert_eq!(key(&mut state, 0.1, "ctrl+c"), []);
    assert_eq!(state.input.composer.text(), "");
    assert_eq!(key(&mut state, 0.1, "ctrl+c"), []);
    // Ctrl+d and Esc never quit.
    for keys in ["ctrl+d ctrl+d ctrl+d", "esc esc esc"] {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, keys), [], "{keys}");
    }
}

#[test]
fn esc_leaves_a_request_that_has_just_appeared() {
    let first = lead_permission_after("one", 0.0);
    let next = lead_permission_after("two", 9.0);
    let another_appears = |state: &mut UiState| {
        event(state, 0.1, request_event(&next));
        event(state, 0.1, rejection_event(&first));
        assert_eq!(state.focus, NEEDS);
        assert_eq!(key(state, 0.1, "a"), []);
        assert!(picture(state).contains("Key ignored"));
    };
    let mut state = screen_with_request(&first);
    press(&mut state, "alt+w");
    another_appears(&mut state);
    assert_eq!(key(&mut state, 0.0, "esc"), []);
    assert_ne!(state.focus, NEEDS);
    // A key that the user presses in the pane that Esc has led to counts at once.
    assert_eq!(key(&mut state, 0.0, "?"), []);
    assert_eq!(state.popups.len(), 1);
}

#[test]
fn esc_that_closes_the_preview_lets_no_decision_through() {
    let mut first = lead_permission_after("one", 0.0);
    first.body = format!("bash\n{}", "true\n".repeat(90));
    let next = lead_permission_after("two", 9.0);
    let mut state = screen_with_request(&first);
    press(&mut state, "alt+w space");
    assert_eq!(state.popups.len(), 1);
    event(&mut state, 0.1, request_event(&next));
    event(&mut state, 0.1, rejection_event(&first));
    assert_eq!(key(&mut state, 0.1, "esc"), []);
    assert!(state.popups.is_empty());
    for keys in ["a", "r"] {
        assert_eq!(key(&mut state, 0.0, keys), [], "{keys}");
    }
    assert_eq!(state.selected_request().map(|r| &r.id), Some(&next.id));
}

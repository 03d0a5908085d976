//! Approving and rejecting the request of the shown agent from the composer.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::domain::request::{Approver, Request, RequestKind, RequestStatus, Verdict};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{Command, Event, EventKind};
use crate::ui::fixture::{
    NOON, after_events, apply_events, blank, busy, decision, name, permission, picture, plan,
    press, question, ready, request_event, team_event,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::replay::Player;
use crate::ui::{Effect, Msg, SessionRole, UiState, begin_replay, keys, update};

const SIZES: [(u16, u16); 4] = [(160, 45), (120, 35), (100, 30), (80, 24)];

/// Returns the event of a request that the user has decided.
fn decision_event(request: &Request, status: RequestStatus, comment: &str) -> EventKind {
    let mut request = request.clone();
    request.status = status;
    request.decided_by = "user".into();
    request.comment = comment.into();
    request_event(&request)
}

/// Returns a screen with a team and the conversation of the agent that made `request`; the composer has the focus.
fn screen_with_request(request: &Request, (width, height): (u16, u16)) -> UiState {
    let mut state = after_events(width, height, vec![ready(), team_event()]);
    state.open_conversation(&request.target);
    apply_events(&mut state, vec![request_event(request)]);
    state.focus = Focus::Composer;
    state
}

fn of_kind(kind: RequestKind) -> Request {
    let mut request = plan("r1", "1. Read it.\n2. Change it.");
    request.kind = kind;
    request
}

#[test]
fn each_kind_is_decided_by_key_and_by_command_with_and_without_comment() {
    use Verdict::{Approve, Reject};
    let cases = [
        ("alt+a", Approve, ""),
        ("alt+r", Reject, ""),
        ("\"use serde\" alt+a", Approve, "use serde"),
        ("\"not yet\" alt+r", Reject, "not yet"),
        ("\"/approve\" enter", Approve, ""),
        ("\"/reject\" enter", Reject, ""),
        ("\"/approve use serde\" enter", Approve, "use serde"),
        ("\"/reject not yet\" enter", Reject, "not yet"),
        ("\"/reject not yet\" alt+a", Approve, "not yet"),
        ("esc alt+a", Approve, ""),
        ("esc alt+r", Reject, ""),
    ];
    for kind in [
        RequestKind::Plan,
        RequestKind::Permission,
        RequestKind::Shutdown,
        RequestKind::Budget,
    ] {
        for (keys, verdict, comment) in cases {
            let request = of_kind(kind);
            let mut state = screen_with_request(&request, (80, 24));
            let effects = press(&mut state, keys);
            assert_eq!(
                effects,
                [decision(&request, verdict, comment)],
                "{kind} {keys}"
            );
            assert_eq!(state.input.composer.text(), "", "{keys}");
            // Once the request is decided, further presses send nothing.
            assert_eq!(press(&mut state, "alt+a alt+r"), [], "{keys}");
        }
    }
}

#[test]
fn keys_right_after_the_request_appeared_decide_nothing() {
    let request = of_kind(RequestKind::Plan);
    for key in ["alt+a", "alt+r"] {
        let mut state = screen_with_request(&request, (80, 24));
        let soon = Timestamp(state.now.0 + 0.3);
        let parsed = keys::parse(key).unwrap();
        assert_eq!(update(&mut state, Msg::Key(parsed, soon)), [], "{key}");
        assert!(picture(&state).contains("Read it first."));
    }
}

#[test]
fn enter_sends_a_message_while_a_decision_is_open() {
    let request = of_kind(RequestKind::Plan);
    let mut state = screen_with_request(&request, (160, 45));
    apply_events(&mut state, crate::ui::fixture::busy_events());
    press(&mut state, "\"go on\"");
    let text = picture(&state);
    assert!(text.contains("approve with"), "{text}");
    let message = Command::prompt(name("bob"), "go on");
    assert_eq!(press(&mut state, "enter"), [Effect::Command(message)]);
}

#[test]
fn permission_that_was_not_wholly_visible_is_shown_before_it_is_approved() {
    let mut request = permission("p1");
    request.body = format!("bash\n{}", "rm -rf build\n".repeat(60));
    for size in SIZES {
        let mut state = screen_with_request(&request, size);
        assert_eq!(press(&mut state, "\"ok\" alt+a"), [], "{size:?}");
        assert_eq!(state.focus, Focus::Pane(Pane::Needs), "{size:?}");
        assert_eq!(state.input.composer.text(), "ok");
        assert!(picture(&state).contains("Part of the request was hidden."));
        // The request counts as read once its end was visible.
        assert_eq!(
            press(&mut state, "G i alt+a"),
            [decision(&request, Verdict::Approve, "ok")]
        );
        let mut state = screen_with_request(&request, size);
        assert_eq!(
            press(&mut state, "alt+r"),
            [decision(&request, Verdict::Reject, "")]
        );
    }
    // If comments are folded, the pane "Needs you" says so before the request can be approved.
    request.body = format!("bash\n$ rm -rf build # {}", "x ".repeat(400));
    let mut state = screen_with_request(&request, (160, 45));
    assert_eq!(press(&mut state, "alt+a"), []);
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
}

#[test]
fn card_is_apart_from_the_composer_and_marks_a_cut() {
    let mut request = permission("p1");
    let rows = |request: &Request| -> Vec<String> {
        let text = picture(&screen_with_request(request, (80, 24)));
        let rows = text.lines().map(|row| row.trim_matches(['"', ' ']));
        rows.map(str::to_string).collect()
    };
    let place = |rows: &[String], words: &str| {
        let found = rows.iter().position(|row| row.contains(words));
        found.unwrap_or_else(|| panic!("{words}: {rows:#?}"))
    };
    request.body = "bash\n$ cargo test\n\nIt runs the tests".into();
    let whole = rows(&request);
    let end = place(&whole, "Alt+a or /approve");
    assert_eq!(whole[end - 2..end].to_vec(), ["It runs the tests", ""]);
    // The directory is first, as in the pane "Needs you".
    assert!(place(&whole, "in ~/src/parser") < place(&whole, "$ cargo test"));
    request.body = format!("bash\n$ {}", "echo one two three; ".repeat(60));
    let cut = rows(&request);
    let end = place(&cut, "Alt+a or /approve");
    assert_eq!(cut[end - 1], "");
    assert!(cut[end - 2].ends_with('…'), "{cut:#?}");
}

#[test]
fn only_requests_to_the_user_by_the_shown_agent_are_decided() {
    let request = of_kind(RequestKind::Plan);
    let mut state = screen_with_request(&request, (80, 24));
    state.open_conversation(&Name::lead());
    assert_eq!(press(&mut state, "alt+a"), []);
    assert!(picture(&state).contains("lead has no open request."));
    let mut for_lead = request.clone();
    for_lead.approver = Approver::Lead;
    assert_eq!(
        press(&mut screen_with_request(&for_lead, (80, 24)), "alt+a"),
        []
    );
    let mut state = screen_with_request(&request, (80, 24));
    state.set_role(SessionRole::NoCrew);
    assert_eq!(press(&mut state, "alt+a"), []);
    let asked = question("q1", &["1.0", "2.0"]);
    let mut state = screen_with_request(&asked, (80, 24));
    assert_eq!(press(&mut state, "alt+a"), []);
    assert!(picture(&state).contains("type 1-2 or your own answer"));
    assert_eq!(
        press(&mut state, "alt+r"),
        [decision(&asked, Verdict::Reject, "")]
    );
}

#[test]
fn card_is_above_the_composer_only_where_needs_you_does_not_show_the_request() {
    let request = of_kind(RequestKind::Plan);
    for (size, has_card) in SIZES.into_iter().zip([false, false, false, true]) {
        let state = screen_with_request(&request, size);
        let text = picture(&state);
        let headings = ["bob asks you to approve its plan", "bob: plan"];
        let shown = headings.map(|words| text.matches(words).count());
        assert_eq!(shown.iter().sum::<usize>(), 1, "{size:?}: {text}");
        assert_eq!(
            text.contains("◆ bob asks you to approve its plan for #2 ──"),
            has_card,
            "{text}"
        );
        assert!(text.contains("Alt+a or /approve"), "{text}");
    }
    // The same applies while another, older request is open.
    let mut state = screen_with_request(&request, (160, 45));
    let mut other = question("q0", &[]);
    other.created_at.0 -= 60.0;
    apply_events(&mut state, vec![request_event(&other)]);
    let text = picture(&state);
    assert!(
        !text.contains("1 more: Alt+w"),
        "the selected card stays: {text}"
    );
    press(&mut state, "alt+w 1");
    let text = picture(&state);
    assert!(text.contains("1 more: w"), "{text}");
}

#[test]
fn request_is_announced_in_two_places_on_a_narrow_screen() {
    for request in [of_kind(RequestKind::Plan), question("q1", &["1.0", "2.0"])] {
        for keys in ["", "esc", "3"] {
            let mut state = screen_with_request(&request, (80, 24));
            press(&mut state, if keys == "3" { "esc 3" } else { keys });
            let text = picture(&state);
            let places = text.lines().filter(|l| {
                ["asks you", "needs you", "Needs (1)", "need you"]
                    .iter()
                    .any(|w| l.contains(w))
            });
            assert_eq!(places.count(), 2, "{keys}: {text}");
        }
    }
}

#[test]
fn decision_stands_in_the_conversation_once() {
    use RequestStatus::{Approved, Rejected};
    let cases = [
        (
            RequestKind::Plan,
            Approved,
            "✓ you approved the plan · mind the header",
        ),
        (
            RequestKind::Plan,
            Rejected,
            "✗ you rejected the plan · mind the header",
        ),
        (
            RequestKind::Permission,
            Approved,
            "✓ you approved the permission request · mind the header",
        ),
        (
            RequestKind::Shutdown,
            Rejected,
            "✗ you rejected the shutdown of bob · mind the header",
        ),
        (
            RequestKind::Budget,
            Approved,
            "✓ you approved a higher budget · mind the header",
        ),
    ];
    for (kind, status, expected) in cases {
        let request = of_kind(kind);
        let mut state = screen_with_request(&request, (160, 45));
        let event = decision_event(&request, status, "mind the header");
        // A second event about the same decision adds nothing to the conversation.
        apply_events(&mut state, vec![event.clone(), event]);
        let text = picture(&state);
        assert_eq!(text.matches(expected).count(), 1, "{text}");
    }
    // The conversation does not show a decision of the lead as the user's decision.
    let request = of_kind(RequestKind::Plan);
    let mut state = screen_with_request(&request, (160, 45));
    let mut by_lead = request.clone();
    by_lead.status = Approved;
    by_lead.decided_by = "lead".into();
    apply_events(&mut state, vec![request_event(&by_lead)]);
    assert!(!picture(&state).contains("you approved"));
    assert!(busy(80, 24).model.requests.for_user() > 0);
}

#[test]
fn decision_stands_in_the_replay_of_a_journal() {
    let request = of_kind(RequestKind::Plan);
    let kinds = [
        crate::ui::fixture::ready(),
        request_event(&request),
        decision_event(&request, RequestStatus::Approved, "mind the header"),
    ];
    let event = |(seq, kind)| Event {
        seq,
        at: Timestamp(NOON + 1.0),
        kind,
    };
    let events = (1..).zip(kinds).map(event).collect();
    let mut state = blank(160, 45);
    begin_replay(&mut state, Player::new(events, 1.0));
    press(&mut state, ">");
    state.open_conversation(&name("bob"));
    let text = picture(&state);
    assert!(
        text.contains("✓ you approved the plan · mind the header"),
        "{text}"
    );
    assert!(!text.contains("Alt+a"), "{text}");
}

#[test]
fn click_on_a_choice_of_the_card_answers() {
    let asked = question("q1", &["1.0", "2.0"]);
    let mut state = screen_with_request(&asked, (80, 24));
    let row = |state: &UiState| {
        let text = picture(state);
        text.lines().position(|l| l.contains("2  2.0")).unwrap()
    };
    let click = |row: usize| {
        Msg::Mouse(MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column: 5,
            row: u16::try_from(row).unwrap(),
            modifiers: KeyModifiers::NONE,
        })
    };
    // If the composer does not have the focus, a click on the card only focuses the composer.
    press(&mut state, "esc");
    let at = row(&state);
    assert_eq!(update(&mut state, click(at)), []);
    assert_eq!(state.focus, Focus::Composer);
    let at = row(&state);
    assert_eq!(
        update(&mut state, click(at)),
        [decision(&asked, Verdict::Approve, "2.0")]
    );
}

#[test]
fn rejected_command_brings_the_comment_back() {
    let request = of_kind(RequestKind::Plan);
    let mut state = screen_with_request(&request, (80, 24));
    press(&mut state, "\"use serde\" alt+a");
    let refused = EventKind::rejection(crate::protocol::CommandId(1), "the disk is full");
    apply_events(&mut state, vec![refused]);
    assert_eq!(state.input.composer.text(), "use serde");
}

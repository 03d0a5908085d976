//! The pane "Needs you": what each key does for each kind of request.

use pretty_assertions::assert_eq;

use crate::domain::ids::RequestId;
use crate::domain::permission::PermissionScope;
use crate::domain::request::{Approver, Request, RequestStatus, Verdict};
use crate::protocol::{Command, EventKind, TeamEvent};
use crate::ui::fixture::{
    apply_events, busy, cells, decision, permission, picture, plan, press, question, started_screen,
};
use crate::ui::notifier::WindowFocus;
use crate::ui::tests::scenes::scene_data::{permission_request, rules};
use crate::ui::{ColorDepth, Effect, Msg, Theme, ThemeName, UiState, update};

pub(super) fn screen_with_requests(width: u16, height: u16, requests: Vec<Request>) -> UiState {
    let mut state = started_screen(width, height);
    let events = requests.into_iter();
    let events = events.map(|request| EventKind::Team(TeamEvent::RequestChanged { request }));
    apply_events(&mut state, events.collect());
    state
}

#[test]
fn question_is_answered_by_number_text_or_declined() {
    let (yes, no) = (Verdict::Approve, Verdict::Reject);
    let asked = question("q1", &["version 1", "version 2"]);
    let cases: Vec<(&str, Vec<Effect>)> = vec![
        ("alt+w 2", vec![decision(&asked, yes, "version 2")]),
        ("alt+w 1 2", vec![decision(&asked, yes, "version 1")]),
        ("alt+w 3", vec![]),
        ("alt+w a", vec![]),
        ("alt+w r", vec![decision(&asked, no, "")]),
        (
            "alt+w c \"both 1 and 2\" enter",
            vec![decision(&asked, yes, "both 1 and 2")],
        ),
        (
            "alt+w c \"2 of them\" enter",
            vec![decision(&asked, yes, "2 of them")],
        ),
        // The field for the own answer takes a number as it is.
        ("alt+w c \"2\" enter", vec![decision(&asked, yes, "2")]),
        ("alt+w c enter", vec![]),
        ("alt+w c \"both\" esc", vec![]),
        ("\"2\"", vec![]),
        ("esc 2", vec![]),
    ];
    for (keys, expected) in cases {
        let mut state = screen_with_requests(160, 45, vec![asked.clone()]);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
    }
}

#[test]
fn truncated_permission_needs_second_press() {
    let mut asked = permission("r1");
    let command = format!("$ echo {}; rm -rf x", "hello ".repeat(9000));
    asked.body = crate::domain::text::head_and_tail(&command, 16 * 1024);
    let mut state = screen_with_requests(160, 45, vec![asked.clone()]);
    assert_eq!(press(&mut state, "alt+w end a"), []);
    let text = picture(&state);
    assert!(text.contains("bytes in the middle are hidden"), "{text}");
    let yes = decision(&asked, Verdict::Approve, "");
    assert_eq!(press(&mut state, "a"), [yes]);
}

/// Returns a screen of `width` columns with a selected permission request, part of which is a folded comment, and that
/// request.
fn screen_with_folded_command(width: u16) -> (UiState, Request) {
    let mut asked = permission("r1");
    asked.body = format!("bash\n$ echo hello # {}\nrm -rf gone", "x".repeat(3000));
    (screen_with_requests(width, 30, vec![asked.clone()]), asked)
}

#[test]
fn double_press_keeps_notice_of_folded_text() {
    let (mut state, asked) = screen_with_folded_command(100);
    press(&mut state, "alt+w end");
    let key = crate::ui::keys::parse("a").unwrap();
    let now = state.now;
    for after in [0.0, 0.1] {
        let at = crate::domain::timestamp::Timestamp(now.0 + after);
        assert_eq!(update(&mut state, Msg::Key(key, at)), []);
        let text = picture(&state);
        assert!(
            text.contains("of the command's comments are hidden"),
            "{text}"
        );
        assert!(!text.contains("request from"), "{text}");
    }
    let yes = decision(&asked, Verdict::Approve, "");
    assert_eq!(press(&mut state, "a"), [yes]);
    // The warning about folded comments is gone, because it asked for this key press.
    let text = picture(&state);
    assert!(
        !text.contains("of the command's comments are hidden"),
        "{text}"
    );
}

#[test]
fn double_press_keeps_notice_of_hidden_request() {
    let asked = ["r1", "r2"].map(permission);
    let mut state = screen_with_requests(100, 30, asked.to_vec());
    press(&mut state, "alt+w c \"yes\" enter");
    state.panes.needs.selected = Some(RequestId("r2".into()));
    let key = crate::ui::keys::parse("a").unwrap();
    let now = state.now;
    for after in [0.0, 0.1] {
        let at = crate::domain::timestamp::Timestamp(now.0 + after);
        assert_eq!(update(&mut state, Msg::Key(key, at)), []);
        let text = picture(&state);
        assert!(text.contains("was not visible"), "{text}");
    }
}

#[test]
fn unrelated_warning_does_not_hide_new_request_notice() {
    let mut state = screen_with_requests(100, 30, vec![permission("r1")]);
    press(&mut state, "alt+w end");
    state.panes.needs.since = state.now;
    state.warn("The journal cannot be written.");
    let key = crate::ui::keys::parse("a").unwrap();
    let at = crate::domain::timestamp::Timestamp(state.now.0 + 0.1);
    assert_eq!(update(&mut state, Msg::Key(key, at)), []);
    let text = picture(&state);
    assert!(text.contains("a new request from"), "{text}");
}

#[test]
fn long_status_message_wraps() {
    let (mut state, _) = screen_with_folded_command(80);
    press(&mut state, "alt+w end a");
    let text = picture(&state);
    let rows: Vec<&str> = text.lines().rev().take(3).collect();
    assert!(rows[0].contains("a approve  r reject"), "{text}");
    assert!(rows[0].contains("? help"), "{text}");
    assert!(
        rows[1].contains("   approve without reading them."),
        "{text}"
    );
    let said = "▲ 2922 characters of the command's comments are hidden. Press a again to ";
    assert!(rows[2].contains(said), "{text}");
}

#[test]
fn unselected_permission_is_not_read() {
    let asked = ["r1", "r2"].map(|id| {
        let mut request = permission(id);
        request.body = format!("bash\n$ rm -rf {id}");
        request
    });
    let mut state = screen_with_requests(160, 45, asked.to_vec());
    press(&mut state, "alt+w c \"yes\" enter");
    let written_to = Some(RequestId("r1".into()));
    state.panes.needs.selected = Some(RequestId("r2".into()));
    assert_eq!(press(&mut state, "a"), []);
    assert!(picture(&state).contains("was not visible"));
    assert_eq!(state.panes.needs.selected, written_to);
    // The request is now fully visible, so it can be approved.
    let yes = decision(&asked[0], Verdict::Approve, "yes");
    assert_eq!(press(&mut state, "a"), [yes]);
}

#[test]
fn number_keys_focus_panes_without_choices() {
    let asked = question("q1", &[]);
    let mut state = screen_with_requests(160, 45, vec![asked.clone()]);
    assert_eq!(press(&mut state, "alt+w 3"), []);
    assert_eq!(state.focus.pane(), crate::ui::keymap::pane::Pane::Board);
    let answered = decision(&asked, Verdict::Approve, "the newest");
    assert_eq!(
        press(&mut state, "w c \"the newest\" enter"),
        [answered],
        "{}",
        picture(&state)
    );
}

#[test]
fn plan_is_edited_and_returned_as_comment() {
    let asked = plan("r1", "1. read\n2. write");
    let mut state = screen_with_requests(100, 30, vec![asked.clone()]);
    assert_eq!(press(&mut state, "alt+w e"), [Effect::EditComposer]);
    assert_eq!(
        state.composer_text(),
        "The plan as I want it:\n\n1. read\n2. write"
    );
    update(&mut state, Msg::Edited("1. write\n".into()));
    let expected = decision(&asked, Verdict::Reject, "1. write");
    assert_eq!(press(&mut state, "enter r"), [expected]);
    assert_eq!(state.composer_text(), "");
}

#[test]
fn answer_goes_to_its_own_question() {
    let (one, mut two) = (question("q1", &["a", "b"]), question("q2", &["c", "d"]));
    two.created_at.0 += 60.0;
    let mut state = screen_with_requests(100, 30, vec![one.clone(), two.clone()]);
    press(&mut state, "alt+w 2");
    let mut done = one;
    done.status = crate::domain::request::RequestStatus::Approved;
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::RequestChanged { request: done })],
    );
    let key = crate::ui::keys::parse("2").unwrap();
    let soon = crate::domain::timestamp::Timestamp(state.now.0 + 0.1);
    assert_eq!(update(&mut state, Msg::Key(key, soon)), []);
    assert_eq!(
        press(&mut state, "2"),
        [decision(&two, Verdict::Approve, "d")]
    );
    assert_eq!(state.panes.needs.selected, Some(RequestId("q2".into())));
}

fn done(mut request: Request) -> EventKind {
    request.status = RequestStatus::Approved;
    request.decided_by = "user".into();
    EventKind::Team(TeamEvent::RequestChanged { request })
}

const PUSH: &str = "git push origin main";

#[test]
fn identical_requests_share_card_and_decision() {
    let (one, two) = (
        permission_request("r1", "alice", PUSH, 0.0),
        permission_request("r2", "bob", PUSH, 1.0),
    );
    let other = permission_request("r3", "carol", "git push --force", 2.0);
    let mut state = screen_with_requests(160, 45, vec![one.clone(), two.clone(), other.clone()]);
    assert_eq!(state.title(), "crewdeck (2 need you) · parser");
    let text = picture(&state);
    assert!(text.contains("also asked by bob in "), "{text}");
    assert!(!text.contains("bob asks for permission"), "{text}");
    assert_eq!(
        press(&mut state, "alt+w a"),
        [decision(&one, Verdict::Approve, "")]
    );
    // The second request is being answered too, so no key decides it again.
    apply_events(&mut state, vec![done(one)]);
    assert_eq!(press(&mut state, "a r A"), []);
    apply_events(&mut state, vec![done(two)]);
    assert_eq!(
        press(&mut state, "r"),
        [decision(&other, Verdict::Reject, "")]
    );
}

#[test]
fn team_permission_uses_chosen_scope() {
    let allow = |scope| {
        Effect::Command(Command::Allow {
            request: RequestId("r1".into()),
            scope,
        })
    };
    let exact = allow(PermissionScope::Exact {
        command: PUSH.into(),
    });
    let begins = allow(PermissionScope::Begins {
        words: "git push".into(),
    });
    let cases = [
        ("alt+w A enter", vec![exact.clone()]),
        ("alt+w A down enter", vec![begins.clone()]),
        ("alt+w A \"begins\" enter", vec![begins]),
        ("alt+w A \"nonsense\" enter", vec![]),
        ("alt+w A esc", vec![]),
        ("alt+w A enter A enter a", vec![exact]),
    ];
    for (keys, expected) in cases {
        let mut state =
            screen_with_requests(100, 30, vec![permission_request("r1", "alice", PUSH, 0.0)]);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
    }
    // For a permission that can only be granted once, and for requests of other kinds, the key for the whole team opens
    // no picker.
    let mut once = permission_request("r1", "alice", "kill $PID", 0.0);
    if let Some(call) = &mut once.call {
        call.scopes.clear();
    }
    for (request, said) in [
        (once, "only be allowed once"),
        (plan("r1", "1. go"), "Only tool permissions"),
        (question("r1", &["a", "b"]), "Only tool permissions"),
    ] {
        let mut state = screen_with_requests(100, 30, vec![request]);
        assert_eq!(press(&mut state, "alt+w A enter"), []);
        assert!(state.popups.is_empty());
        let text = picture(&state);
        assert!(
            text.contains(said) || !text.contains("A for the team"),
            "{text}"
        );
    }
}

#[test]
fn scope_picker_closes_when_decided_elsewhere() {
    let request = permission_request("r1", "alice", PUSH, 0.0);
    let mut state = screen_with_requests(100, 30, vec![request.clone()]);
    press(&mut state, "alt+w A");
    let mut decided = request;
    decided.status = RequestStatus::Rejected;
    decided.decided_by = "lead".into();
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::RequestChanged {
            request: decided,
        })],
    );
    assert!(state.popups.is_empty());
    assert!(picture(&state).contains("already rejected by lead"));
}

#[test]
fn permission_is_revoked_by_key() {
    let mut state = busy(100, 30);
    press(&mut state, "\"/rules\" enter");
    assert!(picture(&state).contains("No permissions yet."));
    press(&mut state, "esc");
    apply_events(&mut state, vec![rules()]);
    assert_eq!(
        press(&mut state, "esc R down enter"),
        [Effect::Command(Command::RevokePermission { rule: 4 })]
    );
    assert!(state.popups.is_empty());
}

#[test]
fn lead_requests_are_last_and_not_counted() {
    let mut leads = plan("r1", "1. go");
    leads.approver = Approver::Lead;
    leads.created_at.0 -= 100.0;
    let mut state = screen_with_requests(160, 45, vec![leads.clone()]);
    assert_eq!(state.title(), "crewdeck · parser");
    let text = picture(&state);
    assert!(
        text.contains("the lead may decide this") && !text.contains("1 needs you"),
        "{text}"
    );
    // The user can decide a request that the lead may decide.
    assert_eq!(
        press(&mut state, "esc 6 a"),
        [decision(&leads, Verdict::Approve, "")]
    );
    update(&mut state, Msg::Window(WindowFocus::Unfocused));
    let own = permission_request("r2", "alice", PUSH, 0.0);
    let events = vec![EventKind::Team(TeamEvent::RequestChanged {
        request: own.clone(),
    })];
    assert!(
        apply_events(&mut state, events)
            .contains(&Effect::Notify("alice asks for permission".into()))
    );
    assert_eq!(state.title(), "crewdeck (1 needs you) · parser");
    press(&mut state, "esc w");
    assert_eq!(state.panes.needs.selected, Some(own.id));
    // A request that a rule decides is decided at once, without the user.
    let mut ruled = plan("r3", "1. go");
    ruled.approver = Approver::Auto;
    let events = vec![EventKind::Team(TeamEvent::RequestChanged {
        request: ruled,
    })];
    assert_eq!(apply_events(&mut state, events), []);
}

#[test]
fn command_lines_with_signs_are_not_a_diff() {
    let mut asked = permission("p1");
    asked.body =
        "bash\n$ curl\n-X POST https://example.com\n+ x\n\nIt connects to other machines".into();
    let state = screen_with_requests(100, 30, vec![asked]);
    let theme = Theme::new(ThemeName::Light, ColorDepth::True);
    let cells = cells(&state, &theme);
    for at in cells.area.positions() {
        assert_ne!(Some(cells[at].fg), theme.removed.fg, "{at:?}");
    }
}

#[test]
fn banner_shows_open_request_if_room() {
    let mut asked = permission("p1");
    asked.body = "bash\n$ git push --force\n\nIt changes another repository".into();
    asked.task = None;
    let line = |width: u16, requests: Vec<Request>| {
        let picture = picture(&screen_with_requests(width, 16, requests));
        let line = picture.lines().find(|l| l.contains("shows it"));
        let words = line
            .unwrap_or_default()
            .trim_matches('"')
            .split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    let choose = question("q1", &[]);
    for (width, requests, expected) in [
        (
            70,
            vec![asked.clone()],
            "◆ alice asks for permission git push --force Alt+w shows it",
        ),
        (
            60,
            vec![asked.clone()],
            "◆ alice asks for permission git push --fo… Alt+w shows it",
        ),
        (
            70,
            vec![asked, choose],
            "◆ alice asks for permission and 1 more Alt+w shows it",
        ),
        (
            70,
            vec![plan("r1", "1. go")],
            "◆ bob asks you to approve its plan for #2 Alt+w shows it",
        ),
    ] {
        assert_eq!(line(width, requests), expected);
    }
}

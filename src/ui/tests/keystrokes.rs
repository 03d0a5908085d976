//! Tables of keys with their effect on the focus and the commands that they send.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decision, RequestKind, Verdict};
use crate::protocol::{AgentEvent, Command, CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{
    apply_events, approval_event, busy, name, permission, picture, plan, press, started_screen,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::shell::layout::layout;
use crate::ui::{Effect, Msg, UiState, update};

fn prompt(to: &str, text: &str) -> Effect {
    Effect::Command(Command::prompt(name(to), text))
}

fn decision(id: &str, kind: RequestKind, target: &str, verdict: Verdict, comment: &str) -> Effect {
    Effect::Command(Command::Decide(Decision {
        id: RequestId(id.into()),
        kind,
        target: name(target),
        verdict,
        by: Name::user(),
        comment: comment.into(),
    }))
}

#[test]
fn keys_move_the_focus() {
    let pane = Focus::Pane;
    let cases = [
        ("", Focus::Composer),
        ("\"j3w?\"", Focus::Composer),
        ("esc", pane(Pane::Board)),
        ("esc i", Focus::Composer),
        ("esc 1", pane(Pane::Lead)),
        ("esc 2", pane(Pane::Todo)),
        ("esc 4", pane(Pane::Team)),
        ("alt+5", pane(Pane::Inbox)),
        ("esc 5 tab", pane(Pane::Needs)),
        ("esc 6 tab", pane(Pane::Lead)),
        ("esc 1 shift+tab", pane(Pane::Needs)),
        ("esc 1 l l", pane(Pane::Board)),
        ("tab", pane(Pane::Todo)),
        ("alt+w", pane(Pane::Needs)),
        ("f2 esc", Focus::Composer),
        ("esc w", pane(Pane::Needs)),
        ("esc 4 enter", pane(Pane::Lead)),
        ("esc 4 enter i esc", pane(Pane::Lead)),
        ("esc 4 enter i esc esc", pane(Pane::Team)),
        ("esc 4 j enter esc", pane(Pane::Team)),
        ("esc 5 i esc", pane(Pane::Inbox)),
    ];
    for (keys, expected) in cases {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, keys), [], "{keys}");
        assert_eq!(state.focus, expected, "{keys}");
    }
}

#[test]
fn keys_send_commands_to_crew() {
    let shutdown = |who: &str| Effect::Command(Command::AskShutdown { member: name(who) });
    let models = || Effect::Command(Command::ListModels);
    let team = |preset| Effect::Command(Command::StartTeam { preset });
    let nudge = |who: &str| Effect::Command(Command::Nudge { member: name(who) });
    let two_lines = || vec![prompt("lead", "one\ntwo")];
    let yes = Verdict::Approve;
    let no = Verdict::Reject;
    let by = |verdict, comment| decision("r1", RequestKind::Plan, "bob", verdict, comment);
    let cases: Vec<(&str, Vec<Effect>)> = vec![
        ("\"do it\" enter", vec![prompt("lead", "do it")]),
        ("\"one\" ctrl+j \"two\" enter", two_lines()),
        ("\"one\" alt+enter \"two\" enter", two_lines()),
        ("\"  \" enter", vec![]),
        ("\"@BOB, look\" enter", vec![prompt("bob", "look")]),
        ("\"@lead look\" enter", vec![prompt("lead", "look")]),
        ("\"@zoe look\" enter", vec![]),
        ("\"@bob\" enter", vec![]),
        ("\"@dave: hi\" enter", vec![]),
        (
            "\"/usr/bin is full\" enter",
            vec![prompt("lead", "/usr/bin is full")],
        ),
        ("\"/nonsense\" enter", vec![]),
        ("esc 4 j enter i \"hi\" enter", vec![prompt("bob", "hi")]),
        (
            "\"again\" enter up enter",
            vec![prompt("lead", "again"), prompt("lead", "again")],
        ),
        ("alt+w a", vec![by(yes, "")]),
        ("alt+w r", vec![by(no, "")]),
        ("alt+w a a r", vec![by(yes, "")]),
        ("alt+w c \"use u64\" enter r", vec![by(no, "use u64")]),
        (
            "alt+w c \"fine\" enter esc \" so\" enter a",
            vec![by(yes, "fine so")],
        ),
        ("alt+w c \"a r\" esc", vec![]),
        ("alt+w j k pgdn G g", vec![]),
        ("esc 3 a r", vec![]),
        ("esc 4 x", vec![shutdown("alice")]),
        ("esc 4 j x", vec![shutdown("bob")]),
        ("esc 4 G x", vec![]),
        ("esc 4 X", vec![]),
        ("esc 4 X n", vec![]),
        (
            "esc 4 j X y",
            vec![Effect::Command(Command::Force {
                member: name("bob"),
            })],
        ),
        ("esc 4 !", vec![nudge("alice")]),
        ("esc q", vec![]),
        ("esc q y", vec![Effect::Quit]),
        ("esc q n", vec![]),
        ("\"/quit\" enter enter", vec![Effect::Quit]),
        ("ctrl+c ctrl+c", vec![Effect::Quit]),
        ("ctrl+c esc ctrl+c", vec![]),
        ("\"text\" ctrl+c up enter", vec![prompt("lead", "text")]),
        ("ctrl+z", vec![Effect::Suspend]),
        ("\"draft\" ctrl+l", vec![Effect::Redraw]),
        ("alt+3 enter ctrl+l", vec![Effect::Redraw]),
        ("ctrl+x e", vec![Effect::EditComposer]),
        ("ctrl+x q", vec![]),
        ("esc M", vec![Effect::CaptureMouse(true)]),
        ("esc 4 y", vec![Effect::Copy("alice".into())]),
        (
            "esc 1 y",
            vec![Effect::Copy(
                "I split this into five tasks and spawn three teammates.".into(),
            )],
        ),
        (
            "esc 4 enter ctrl+c",
            vec![Effect::Command(Command::Interrupt {
                agent: name("alice"),
            })],
        ),
        ("\"/model\" enter", vec![models()]),
        ("\"/team web\" enter", vec![team("web".into())]),
        (
            "esc 1 alt+m \"gpt-x\" enter",
            vec![
                models(),
                Effect::Command(Command::UseModel {
                    name: "gpt-x".into(),
                    agent: None,
                }),
            ],
        ),
        ("ctrl+p \"suspend\" enter", vec![Effect::Suspend]),
        ("esc : \"yes\" esc", vec![]),
        ("esc 4 : \"shut down\" enter", vec![shutdown("alice")]),
    ];
    for (keys, expected) in cases {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
    }
}

#[test]
fn dialog_needs_its_own_key_and_closes_by_any_cancel_key() {
    let member = name("bob");
    let force = Effect::Command(Command::Force { member });
    for (keys, expected) in [
        ("esc 4 j X ctrl+c", vec![]),
        ("esc 4 j X enter", vec![]),
        ("esc 4 j X enter y", vec![force]),
        ("esc 4 j X ctrl+c ctrl+c ctrl+c", vec![Effect::Quit]),
        ("esc q enter", vec![Effect::Quit]),
        ("esc q ctrl+c", vec![Effect::Quit]),
    ] {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
    }
}

#[test]
fn interrupt_is_sent_once_then_offers_quit() {
    let mut state = busy(160, 45);
    apply_events(&mut state, vec![AgentEvent::TurnStarted.of(Name::lead())]);
    let interrupt = Effect::Command(Command::Interrupt {
        agent: Name::lead(),
    });
    assert_eq!(press(&mut state, "ctrl+c"), [interrupt]);
    assert_eq!(press(&mut state, "ctrl+c"), []);
    assert_eq!(press(&mut state, "ctrl+c"), [Effect::Quit]);
}

#[test]
fn second_press_quits_within_two_seconds() {
    let mut state = started_screen(160, 45);
    press(&mut state, "ctrl+c");
    let later = state.now.0 + 2.5;
    update(
        &mut state,
        Msg::Tick {
            now: crate::domain::timestamp::Timestamp(later),
        },
    );
    assert_eq!(press(&mut state, "ctrl+c"), []);
    assert_eq!(press(&mut state, "ctrl+c"), [Effect::Quit]);
    assert_eq!(press(&mut started_screen(160, 45), "esc q"), [Effect::Quit]);
}

#[test]
fn replacing_request_is_not_decided_by_same_press() {
    let mut state = busy(160, 45);
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::RequestChanged {
            request: permission("r2"),
        })],
    );
    assert_eq!(press(&mut state, "alt+w a").len(), 1);
    apply_events(&mut state, vec![approval_event(plan("r1", ""), "user")]);
    let key = crate::ui::keys::parse("a").unwrap();
    let soon = crate::domain::timestamp::Timestamp(state.now.0 + 0.1);
    assert_eq!(update(&mut state, Msg::Key(key, soon)), []);
    let expected = decision("r2", RequestKind::Permission, "alice", Verdict::Approve, "");
    assert_eq!(press(&mut state, "a"), [expected]);
}

#[test]
fn first_request_is_decidable_once_focused() {
    let mut state = started_screen(160, 45);
    let request = plan("r1", "");
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::RequestChanged { request })],
    );
    let at = state.now;
    let mut soon = |key: &str| {
        update(
            &mut state,
            Msg::Key(crate::ui::keys::parse(key).unwrap(), at),
        )
    };
    assert_eq!(soon("alt+w"), []);
    let expected = decision("r1", RequestKind::Plan, "bob", Verdict::Approve, "");
    assert_eq!(soon("a"), [expected]);
}

#[test]
fn new_request_keeps_selection_and_esc_returns_focus() {
    let mut state = busy(160, 45);
    press(&mut state, "\"draft\" alt+w");
    let mut older = permission("r0");
    older.created_at = crate::domain::timestamp::Timestamp(1.0);
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::RequestChanged {
            request: older.clone(),
        })],
    );
    let expected = decision("r1", RequestKind::Plan, "bob", Verdict::Reject, "");
    assert_eq!(press(&mut state, "r"), [expected]);
    apply_events(
        &mut state,
        vec![
            approval_event(plan("r1", ""), "user"),
            approval_event(older, "lead"),
        ],
    );
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    press(&mut state, "esc");
    assert_eq!(state.focus, Focus::Composer);
    assert_eq!(state.composer_text(), "draft");
}

#[test]
fn comment_closes_when_decided_elsewhere() {
    let mut state = busy(160, 45);
    press(&mut state, "alt+w c \"hm\"");
    apply_events(&mut state, vec![approval_event(plan("r1", ""), "lead")]);
    assert!(state.popups.is_empty());
    assert!(picture(&state).contains("already approved by lead"));
}

#[test]
fn filter_shows_matches_and_esc_clears_it() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3 / \"header\"");
    let shown = |state: &UiState| state.panes.board.rows(state).len();
    assert_eq!(shown(&state), 2);
    press(&mut state, "enter j");
    assert_eq!(state.panes.board.selected.map(|id| id.0), Some(4));
    press(&mut state, "esc");
    assert_eq!(shown(&state), 5);
    press(&mut state, "/ \"@bob progress\"");
    assert_eq!(shown(&state), 1);
    press(&mut state, "esc");
    assert_eq!(shown(&state), 5);
}

#[test]
fn popups_take_focus_and_return_it() {
    let mut state = busy(100, 30);
    for (keys, text) in [
        ("esc 3 enter", "Task #2"),
        ("esc 3 j enter", "Task #3"),
        ("esc 5 enter", "Message from lead to all"),
        ("esc @", "Event log"),
        ("esc S", "No skills yet."),
        ("\"/skills\" enter", "No skills yet."),
        ("ctrl+p \"skills\" enter", "No skills yet."),
        ("f1", "Keys"),
        ("esc ?", "Keys"),
        ("ctrl+p", "Actions"),
    ] {
        press(&mut state, keys);
        assert!(picture(&state).contains(text), "{keys}");
        press(&mut state, "esc");
        assert!(state.popups.is_empty(), "{keys}");
        press(&mut state, "i");
    }
}

#[test]
fn model_is_chosen_from_server_list() {
    let mut state = started_screen(100, 30);
    press(&mut state, "\"/model\" enter");
    assert!(picture(&state).contains("Loading models"));
    apply_events(
        &mut state,
        vec![EventKind::Crew(CrewEvent::ModelsListed {
            names: vec!["big-1".into(), "small-2".into(), "small-3".into()],
        })],
    );
    let done = press(&mut state, "\"small\" down enter");
    assert_eq!(
        done,
        [Effect::Command(Command::UseModel {
            name: "small-3".into(),
            agent: None,
        })]
    );
    assert!(state.popups.is_empty());
}

#[test]
fn paste_is_text_and_never_runs_actions() {
    let mut state = started_screen(100, 30);
    update(&mut state, Msg::Paste("a\rb\nq".into()));
    assert_eq!(state.composer_text(), "a\nb\nq");
    press(&mut state, "esc");
    assert_eq!(update(&mut state, Msg::Paste("q".into())), []);
    assert_eq!(state.composer_text(), "a\nb\nq");
    press(&mut state, "i");
    update(&mut state, Msg::Paste("x".repeat(1_000_000)));
    assert!(picture(&state).contains("Pasted 247 KiB of 976 KiB"));
}

#[test]
fn interrupt_says_what_happens_to_queued_messages() {
    let mut state = busy(160, 45);
    let agent = Name::lead();
    apply_events(&mut state, vec![AgentEvent::TurnStarted.of(agent)]);
    press(&mut state, "\"and this\" enter ctrl+c");
    let text = picture(&state);
    assert!(text.contains("Your queued message is sent next."), "{text}");
    assert!(text.contains("queued: and this"), "{text}");
}

#[test]
fn sent_message_is_shown_until_read() {
    let mut state = busy(160, 45);
    press(&mut state, "\"next thing\" enter");
    assert!(picture(&state).contains("sending: next thing"));
    apply_events(
        &mut state,
        vec![AgentEvent::prompt("next thing").of(Name::lead())],
    );
    assert!(!picture(&state).contains("sending: "));
}

#[test]
fn second_press_of_pane_number_toggles_full_screen() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    assert_eq!(state.arrangement.zoom, None);
    press(&mut state, "4 4");
    assert!(!picture(&state).contains("to lead"));
    press(&mut state, "esc");
    assert!(picture(&state).contains("to lead"));
    press(&mut state, "4 3");
    assert_eq!(state.arrangement.zoom, None);
}

#[test]
fn wheel_scrolls_pane_under_mouse_and_click_focuses() {
    let mut state = busy(160, 45);
    let inbox = layout(&state, state.size).pane(Pane::Inbox).unwrap();
    let mouse = |state: &mut UiState, kind| {
        let event = MouseEvent {
            kind,
            column: inbox.x + 2,
            row: inbox.y + 2,
            modifiers: KeyModifiers::NONE,
        };
        assert_eq!(update(state, Msg::Mouse(event)), []);
    };
    mouse(&mut state, MouseEventKind::ScrollUp);
    assert_eq!(state.panes.inbox.selected, Some(0));
    assert_eq!(state.focus, Focus::Composer);
    mouse(&mut state, MouseEventKind::ScrollDown);
    assert_eq!(state.panes.inbox.selected, None);
    mouse(&mut state, MouseEventKind::Down(MouseButton::Left));
    assert_eq!(state.focus, Focus::Pane(Pane::Inbox));
}

#[test]
fn status_message_leaves_hints_and_clears_on_key_once_read() {
    let mut state = busy(160, 45);
    press(&mut state, "esc y");
    let last = |state: &UiState| {
        let shown = picture(state);
        shown.lines().last().unwrap_or_default().to_string()
    };
    let line = last(&state);
    assert!(line.contains("Copied") && line.contains("? help"), "{line}");
    // Further keys do not remove the status message before the user can have read it.
    press(&mut state, "j");
    assert!(last(&state).contains("Copied"));
    let later = state.now.after(std::time::Duration::from_secs(2));
    update(&mut state, Msg::Tick { now: later });
    press(&mut state, "j");
    assert!(!last(&state).contains("Copied"), "{}", last(&state));
}

#[test]
fn filter_of_an_empty_pane_does_not_overlap_its_placeholder() {
    for (keys, pane) in [
        ("esc 3 /", "Board"),
        ("esc 4 /", "Team"),
        ("esc 5 /", "Inbox"),
    ] {
        for typed in ["", " t h e m e"] {
            let mut state = started_screen(80, 24);
            press(&mut state, &format!("{keys}{typed}"));
            let drawn = picture(&state);
            let is_filter = |line: &&str| line.contains(" / ") || line.contains("│/ ");
            let row = drawn.lines().find(is_filter);
            let row = row.unwrap_or_else(|| panic!("{pane}: no filter in {drawn}"));
            assert!(!row.contains("yet"), "{pane}: {row}");
        }
    }
}

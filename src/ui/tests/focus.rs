//! Where the focus is while requests follow one another, and keys that come too soon after it changed by itself.

use pretty_assertions::assert_eq;

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decision, Request, RequestStatus, Verdict};
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::protocol::event::TurnEnd;
use crate::protocol::{Command, Event, EventKind};
use crate::ui::app::key_guard::{HOLD, SETTLE};
use crate::ui::fixture::{busy, permission, picture, press, question, started, tell};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::shell::tick::next_tick;
use crate::ui::{Do, Msg, UiState, keys, update};

const NEEDS: Focus = Focus::Pane(Pane::Needs);

/// A permission that the lead asks for.
fn asked(id: &str, after: f64) -> Request {
    let mut request = permission(id);
    request.from = Name::lead();
    request.target = Name::lead();
    request.task = None;
    request.body = format!("bash\nrm -rf {id}\n\nIt deletes files.");
    request.created_at.0 += after;
    request
}

fn changed(request: &Request) -> EventKind {
    EventKind::RequestChanged {
        request: request.clone(),
    }
}

fn decided(request: &Request) -> EventKind {
    let mut request = request.clone();
    request.status = RequestStatus::Rejected;
    request.decided_by = "user".into();
    EventKind::RequestChanged { request }
}

fn decision(request: &Request, verdict: Verdict) -> Do {
    Do::Command(Command::Decide(Decision::on(
        request,
        verdict,
        Name::user(),
        String::new(),
    )))
}

/// The lead is in a turn and asks.
fn asking(request: &Request) -> UiState {
    let mut state = started(160, 45);
    let agent = Name::lead();
    tell(
        &mut state,
        vec![
            EventKind::TurnStarted {
                agent: agent.clone(),
            },
            EventKind::ActivityChanged {
                agent,
                activity: Activity::Thinking,
            },
            changed(request),
        ],
    );
    state
}

/// An event so many seconds after the last thing that happened.
fn event(state: &mut UiState, after: f64, kind: EventKind) {
    let at = Stamp(state.now.0 + after);
    update(state, Msg::Event(Event { seq: 1, at, kind }));
}

/// A key so many seconds after the last thing that happened.
fn key(state: &mut UiState, after: f64, name: &str) -> Vec<Do> {
    let at = Stamp(state.now.0 + after);
    update(state, Msg::Key(keys::parse(name).unwrap(), at))
}

/// The turn of the lead ends, and with it the lead is idle.
fn end(state: &mut UiState, after: f64) {
    let (agent, activity) = (Name::lead(), Activity::Idle);
    let end = TurnEnd::Done;
    event(
        state,
        after,
        EventKind::TurnEnded {
            agent: agent.clone(),
            end,
        },
    );
    event(state, 0.0, EventKind::ActivityChanged { agent, activity });
}

#[test]
fn focus_stays_in_needs_you_while_requests_follow() {
    let (one, two) = (asked("one", 0.0), asked("two", 9.0));
    let mut state = asking(&one);
    assert_eq!(
        press(&mut state, "alt+w r"),
        [decision(&one, Verdict::Reject)]
    );
    event(&mut state, 0.1, decided(&one));
    assert_eq!(state.focus, NEEDS);
    let text = picture(&state);
    assert!(
        text.contains("lead goes on: its next request comes here."),
        "{text}"
    );
    event(&mut state, 2.0, changed(&two));
    assert_eq!(state.focus, NEEDS);
    assert_eq!(press(&mut state, "r"), [decision(&two, Verdict::Reject)]);
    assert_eq!(state.input.composer.text(), "");
}

#[test]
fn a_double_tap_decides_one_request() {
    let (one, two) = (asked("one", 0.0), asked("two", 9.0));
    for second in ["a", "r", "A", "c", "e", "o", "enter"] {
        let mut state = asking(&one);
        press(&mut state, "alt+w r");
        event(&mut state, 0.05, decided(&one));
        event(&mut state, 0.05, changed(&two));
        assert_eq!(key(&mut state, 0.05, second), [], "{second}");
        let text = picture(&state);
        assert!(text.contains("Key ignored: a new request from"), "{text}");
        assert!(state.popups.is_empty() && state.focus == NEEDS, "{second}");
        // Nor where nothing follows.
        let mut state = asking(&one);
        press(&mut state, "alt+w r");
        event(&mut state, 0.05, decided(&one));
        assert_eq!(key(&mut state, 0.05, second), [], "{second}");
        end(&mut state, 0.05);
        assert_eq!(state.focus, Focus::Composer);
        assert_eq!(key(&mut state, 0.05, second), [], "{second}");
        assert_eq!(state.input.composer.text(), "", "{second}");
    }
}

#[test]
fn typing_goes_on_being_ignored_until_a_pause() {
    let one = asked("one", 0.0);
    let mut state = asking(&one);
    press(&mut state, "alt+w r");
    event(&mut state, 0.05, decided(&one));
    event(&mut state, 0.05, changed(&asked("two", 9.0)));
    // Twice as long as one key is ignored.
    for c in "a rather long remark".chars().filter(|c| *c != ' ') {
        assert_eq!(key(&mut state, 0.1, &c.to_string()), []);
    }
    assert!(state.popups.is_empty() && state.focus == NEEDS);
    // What chooses the focus and what stops is never ignored.
    assert_eq!(key(&mut state, 0.1, "alt+1"), []);
    assert_eq!(state.focus, Focus::Pane(Pane::Lead));
}

#[test]
fn the_focus_goes_back_when_the_turn_ends_or_after_a_while() {
    let one = asked("one", 0.0);
    let held = || {
        let mut state = asking(&one);
        press(&mut state, "alt+w r");
        event(&mut state, 0.1, decided(&one));
        assert_eq!(state.focus, NEEDS);
        state
    };
    let mut state = held();
    end(&mut state, 1.0);
    assert_eq!(state.focus, Focus::Composer);
    // The clock alone ends it, and the dashboard knows when.
    let mut state = held();
    assert!(next_tick(&state).is_some_and(|due| due <= HOLD));
    let long = HOLD.as_secs_f64();
    for (after, expected) in [(long - 0.5, NEEDS), (1.0, Focus::Composer)] {
        let now = Stamp(state.now.0 + after);
        update(&mut state, Msg::Tick { now });
        assert_eq!(state.focus, expected, "{after}");
    }
    // Where the agent does not go on, or another one decided, it goes back at once.
    let mut state = asking(&one);
    press(&mut state, "alt+w r");
    end(&mut state, 0.1);
    event(&mut state, 0.1, decided(&one));
    assert_eq!(state.focus, Focus::Composer);
    let mut state = asking(&one);
    press(&mut state, "alt+w");
    let mut by_lead = one.clone();
    by_lead.status = RequestStatus::Approved;
    by_lead.decided_by = "lead".into();
    event(&mut state, 0.1, changed(&by_lead));
    assert_eq!(state.focus, Focus::Composer);
}

#[test]
fn the_user_can_leave_needs_you_while_it_waits_for_more() {
    let one = asked("one", 0.0);
    for (keys, expected) in [
        ("esc", Focus::Composer),
        ("i", Focus::Composer),
        ("3", Focus::Pane(Pane::Board)),
    ] {
        let mut state = asking(&one);
        press(&mut state, "alt+w r");
        event(&mut state, 0.1, decided(&one));
        press(&mut state, keys);
        assert_eq!(state.focus, expected, "{keys}");
        // It is not taken away again.
        end(&mut state, HOLD.as_secs_f64());
        assert_eq!(state.focus, expected, "{keys}");
        assert_eq!(state.keys.guard.hold, None, "{keys}");
    }
}

#[test]
fn keys_for_a_dialog_that_closes_by_itself_go_nowhere() {
    let (one, two) = (question("q1", &[]), asked("two", 9.0));
    let mut state = asking(&two);
    tell(&mut state, vec![changed(&one)]);
    press(&mut state, "alt+w c \"1\"");
    assert_eq!(state.popups.len(), 1);
    let mut withdrawn = one;
    withdrawn.status = RequestStatus::Withdrawn;
    event(
        &mut state,
        0.0,
        EventKind::RequestChanged { request: withdrawn },
    );
    for c in "raA".chars() {
        assert_eq!(key(&mut state, 0.1, &c.to_string()), []);
    }
    assert_eq!(state.selected.request, Some(RequestId("two".into())));
    assert_eq!(
        key(&mut state, SETTLE.as_secs_f64(), "a"),
        [decision(&two, Verdict::Approve)]
    );
}

#[test]
fn what_the_user_has_asked_for_takes_keys_at_once() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    let diff = EventKind::DiffShown {
        task: crate::domain::ids::TaskId(1),
        stat: " a | 1 +".into(),
        text: "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n".into(),
        untracked: vec![],
    };
    event(&mut state, 0.1, diff);
    assert_eq!(state.popups.len(), 1);
    assert_eq!(key(&mut state, 0.05, "q"), []);
    assert!(state.popups.is_empty());
}

#[test]
fn ctrl_c_on_a_draft_clears_it_and_does_not_arm_quit() {
    let mut state = busy(160, 45);
    // The lead is idle, two teammates work.
    let agent = Name::lead();
    let activity = Activity::Idle;
    tell(
        &mut state,
        vec![EventKind::ActivityChanged { agent, activity }],
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
    // A draft that does not have the keys is not cleared.
    press(&mut state, "esc");
    assert_eq!(key(&mut state, 1.0, "ctrl+c"), []);
    assert_eq!(state.input.composer.text(), "half a thought");
    assert!(picture(&state).contains("again to quit"));
}

#[test]
fn ctrl_c_that_stops_an_agent_does_not_arm_quit() {
    let mut state = asking(&asked("one", 0.0));
    press(&mut state, "\"half a thought\"");
    let stop = Do::Command(Command::Interrupt {
        agent: Name::lead(),
    });
    assert_eq!(key(&mut state, 1.0, "ctrl+c"), [stop]);
    assert_eq!(state.input.composer.text(), "half a thought");
    assert_eq!(key(&mut state, 0.1, "ctrl+c"), []);
    assert_eq!(state.input.composer.text(), "");
    assert_eq!(key(&mut state, 0.1, "ctrl+c"), []);
    // Neither Ctrl+d nor Esc quits at all.
    for keys in ["ctrl+d ctrl+d ctrl+d", "esc esc esc"] {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, keys), [], "{keys}");
    }
}

//! Tests of the tour line: its text as the demo progresses, and when it is shown.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::mail::MailKind;
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::team::{Activity, MemberStatus};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{Branch, BranchState, WorktreeName};
use crate::protocol::event::{DeliveryState, SessionInfo};
use crate::protocol::{AgentEvent, BoardEvent, Command, CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{
    after_events, apply_events, board_event, mail_message, name, picture, plan, press, ready,
    request_event, team,
};
use crate::ui::shell::layout::layout;
use crate::ui::shell::tour::tests::tips::{DidIt, at_teammate, on_board, tips};
use crate::ui::shell::tour::*;
use crate::ui::{Effect, Msg, update};

fn demo() -> EventKind {
    match ready() {
        EventKind::Crew(CrewEvent::Ready(setup)) => {
            EventKind::Crew(CrewEvent::Ready(SessionInfo {
                provider: DEMO.into(),
                ..setup
            }))
        }
        other => other,
    }
}

fn complete(board: &mut TaskGraph, id: u64) {
    let claimer = Claimer {
        name: name("alice"),
        tags: vec![],
    };
    board.claim(TaskId(id), &claimer, Timestamp(2.0)).unwrap();
    board
        .complete(TaskId(id), &claimer.name, Timestamp(3.0))
        .unwrap();
}

/// A board with a task for each subject, the first `done` of them completed.
fn with_tasks(subjects: &[&str], done: u64) -> EventKind {
    let mut board = TaskGraph::default();
    for (id, subject) in (1..).zip(subjects) {
        let new = NewTask {
            subject: (*subject).into(),
            ..NewTask::default()
        };
        board.create(TaskId(id), new, Timestamp(1.0)).unwrap();
        if id <= done {
            complete(&mut board, id);
        }
    }
    board_event(&board)
}

/// A board of six tasks, the first `done` of them completed; the last one resolves a conflict.
fn six(done: u64) -> EventKind {
    let mut subjects = ["Work"; 6];
    subjects[5] = "Merge main into wt/task-5: conflict in a";
    with_tasks(&subjects, done)
}

/// A board of eight tasks, the first `done` of them completed.
fn eight(done: u64) -> Vec<EventKind> {
    vec![demo(), with_tasks(&["Work"; 8], done), has_team()]
}

fn without_conflict(done: u64) -> Vec<EventKind> {
    vec![demo(), six(done), removal_event(6), has_team()]
}

fn removal_event(id: u64) -> EventKind {
    EventKind::Board(BoardEvent::BoardChanged {
        changed: vec![],
        removed: vec![TaskId(id)],
    })
}

fn has_team() -> EventKind {
    EventKind::Team(TeamEvent::RosterChanged {
        team: team().into(),
    })
}

fn all_idle() -> EventKind {
    let mut team = team();
    for member in &mut team.members {
        member.status = MemberStatus::Idle;
    }
    EventKind::Team(TeamEvent::RosterChanged { team: team.into() })
}

/// A team whose members have all shut down.
fn all_gone() -> EventKind {
    let mut team = team();
    for member in &mut team.members {
        member.status = MemberStatus::Shutdown;
    }
    EventKind::Team(TeamEvent::RosterChanged { team: team.into() })
}

fn two_messages() -> Vec<EventKind> {
    let moved = |id| {
        EventKind::Team(TeamEvent::MessageMoved {
            message: mail_message(id, MailKind::Message, "alice", "bob", "hello"),
            step: DeliveryState::Sent,
        })
    };
    vec![moved("a"), moved("b")]
}

/// The lead asks the user to let carol shut down.
fn lead_asks() -> EventKind {
    let mut request = plan("r1", "The work is done.");
    request.kind = RequestKind::Shutdown;
    request.from = name("lead");
    request.target = name("carol");
    request_event(&request)
}

fn asks(kind: RequestKind) -> EventKind {
    let mut request = plan("r1", "1. Look");
    request.kind = kind;
    EventKind::Team(TeamEvent::RequestChanged { request })
}

#[path = "tour_tips.rs"]
mod tips;

/// A new activity of the lead.
fn lead(activity: Activity) -> EventKind {
    AgentEvent::ActivityChanged { activity }.of(name("lead"))
}

/// A board of five completed tasks with worktrees; the branches of `unmerged` are not merged.
fn branches(unmerged: &[u64]) -> Vec<EventKind> {
    let mut board = TaskGraph::default();
    for id in 1..=5 {
        let new = NewTask {
            subject: "Work".into(),
            worktree: format!("task-{id}"),
            ..NewTask::default()
        };
        board.create(TaskId(id), new, Timestamp(1.0)).unwrap();
        complete(&mut board, id);
    }
    let branch = |id: u64| Branch {
        worktree: WorktreeName::new(&format!("task-{id}")).unwrap(),
        state: if unmerged.contains(&id) {
            BranchState::Unmerged {
                into: "main".into(),
                size: None,
            }
        } else {
            BranchState::Merged {
                into: "main".into(),
                commit: String::new(),
            }
        },
    };
    let branches = (1..=5).map(branch).collect();
    vec![
        demo(),
        board_event(&board),
        has_team(),
        EventKind::Board(BoardEvent::BranchesChanged { branches }),
    ]
}

#[test]
fn tips_follow_the_state_and_fit_the_line() {
    for tip in tips() {
        let mut state = after_events(70, 20, tip.events);
        press(&mut state, tip.before);
        assert_eq!(line(&state).as_deref(), Some(tip.says), "{}", tip.before);
        let columns = width(tip.says);
        assert!(columns <= 56, "too wide for 70 columns: {}", tip.says);
    }
}

#[test]
fn keys_named_in_tips_do_what_the_tip_says() {
    for tip in tips() {
        let mut all = String::new();
        for (keys, does) in &tip.ways {
            let mut state = after_events(70, 20, tip.events.clone());
            press(&mut state, tip.before);
            assert_eq!(line(&state).as_deref(), Some(tip.says));
            let done = press(&mut state, keys);
            assert!(does(&state, &done), "{keys}: {}: {done:?}", tip.says);
            all.push_str(&keys.replace('"', " "));
            all.push(' ');
        }
        for key in keys_in(tip.says) {
            let is_pressed = all.split_whitespace().any(|pressed| pressed == key);
            assert!(is_pressed, "nothing tries {key}: {}", tip.says);
        }
    }
}

/// Returns the keys that a text names, in the syntax of `press`.
fn keys_in(text: &str) -> Vec<String> {
    let words = text
        .split([' ', ',', ':', '/', '.'])
        .filter(|w| !w.is_empty());
    let is_key = |word: &&str| {
        let is_single = word.len() == 1 && word.chars().all(|c| c.is_ascii_alphanumeric());
        let is_named = ["Enter", "Esc", "F1", "Space"].contains(word);
        word.starts_with("Alt+") || word.starts_with("Ctrl+") || is_single || is_named
    };
    let pressed = |word: &str| match word.len() {
        1 => word.to_string(),
        _ => word.to_lowercase(),
    };
    // Words that look like keys: the article "a", and counts of tasks.
    let is_prose = |word: &&str| {
        let article = *word == "a" && !text.contains("then a") && !text.starts_with("a ");
        let article = article || *word == "A" && text.starts_with("A ");
        article || text.contains(&format!(", {word} not merged"))
    };
    let keys = words.filter(is_key).filter(|word| !is_prose(word));
    keys.map(pressed).collect()
}

/// The keys that the scripted lead of the demo names work wherever the focus is.
#[test]
fn keys_in_the_demo_script_work_from_everywhere() {
    const SCRIPT: &str = include_str!("../../../assets/demo/script.yaml");
    let tried: [(&str, &str, DidIt); 5] = [
        ("`Alt+3`", "alt+3", on_board),
        ("`Ctrl+x 3`", "ctrl+x 3", on_board),
        ("`D`", "alt+3 D", |_, done| {
            matches!(done, [Effect::Command(Command::ShowDiff { .. })])
        }),
        ("`Alt+4`", "alt+4", |state, _| {
            state.focus == Focus::Pane(Pane::Team)
        }),
        ("`Enter`", "alt+4 enter", at_teammate),
    ];
    let quoted = SCRIPT
        .lines()
        .filter(|line| !line.trim_start().starts_with("command:"));
    for line in quoted.filter(|line| line.contains("`Alt+") || line.contains("(`")) {
        for word in line.split('`').skip(1).step_by(2) {
            let is_tried = tried
                .iter()
                .any(|(name, ..)| name.trim_matches('`') == word);
            assert!(is_tried || word == "/quit", "nothing tries {word}: {line}");
        }
    }
    for before in ["", "esc", "alt+5", "alt+4 enter", "alt+4 enter i"] {
        for (name, keys, does) in tried {
            let mut state = after_events(160, 45, branches(&[]));
            press(&mut state, before);
            let done = press(&mut state, keys);
            assert!(does(&state, &done), "{name} after {before:?}: {done:?}");
        }
    }
}

#[test]
fn line_is_only_in_the_demo_and_a_key_toggles_it() {
    let state = after_events(70, 20, vec![ready()]);
    assert_eq!(line(&state), None);
    let mut state = after_events(70, 20, without_conflict(0));
    assert!(picture(&state).contains("watch a teammate"));
    press(&mut state, "alt+h");
    assert_eq!(line(&state), None);
    apply_events(&mut state, vec![asks(RequestKind::Plan), six(2)]);
    press(&mut state, "esc 4");
    assert_eq!(line(&state), None);
    assert!(!picture(&state).contains(&dismissed_by(&state.prefs)));
    press(&mut state, "alt+h");
    assert!(line(&state).is_some());
}

/// A reader who takes three minutes for each step of the demo misses no tip: a tip stays until it is followed.
#[test]
fn slow_reader_gets_each_tip_until_it_is_followed() {
    let mut state = after_events(70, 20, eight(0));
    let wait = |state: &mut UiState, events: Vec<EventKind>| {
        apply_events(state, events);
        let now = Timestamp(state.now.0 + 180.0);
        update(state, Msg::Tick { now });
        line(state).unwrap()
    };
    let watch = "Alt+4, then Enter: watch a teammate, live";
    assert_eq!(wait(&mut state, vec![]), watch);
    let asked = wait(&mut state, vec![asks(RequestKind::Plan)]);
    assert!(asked.contains("bob's plan needs approval"), "{asked}");
    let mut answered = plan("r1", "1. Look");
    answered.status = RequestStatus::Approved;
    let after = vec![request_event(&answered), with_tasks(&["Work"; 8], 5)];
    assert_eq!(wait(&mut state, after), watch);
    assert_eq!(wait(&mut state, two_messages()), watch);
    for (keys, next) in [
        (
            "alt+4 enter",
            "This is alice, live. Esc goes back to the lead",
        ),
        ("esc i", "Alt+3, then v: the board as graph or list"),
        ("alt+3 v i", "Alt+5: the messages between agents"),
        ("alt+5 i", "/log: what happened so far, and why"),
    ] {
        press(&mut state, keys);
        for done in [5, 7] {
            let tip = wait(&mut state, vec![with_tasks(&["Work"; 8], done)]);
            assert_eq!(tip, next, "{keys}, {done} tasks are done");
        }
    }
}

#[test]
fn no_row_moves_when_a_popup_opens_while_a_request_waits() {
    let request = request_event(&plan("r1", "1. Read it.\n2. Change it."));
    let mut state = after_events(80, 24, vec![demo(), has_team(), request]);
    let areas = |state: &UiState| {
        let layout = layout(state, state.size);
        (layout.panes, layout.composer, layout.tabs)
    };
    let before = areas(&state);
    assert!(picture(&state).contains("bob's plan needs approval"));
    press(&mut state, "f1");
    assert_eq!(state.popups.len(), 1);
    assert_eq!(areas(&state), before);
    // The tour line is about the popup now; the tab still announces the request.
    let text = picture(&state);
    let tabs = text.lines().nth(1).unwrap_or_default();
    assert!(tabs.contains("6 Needs (1)"), "{text}");
}

#[test]
fn request_with_its_keys_on_the_screen_needs_no_tip() {
    for (width, height) in [(60, 16), (70, 20), (80, 24), (160, 45)] {
        let events = vec![demo(), six(0), has_team(), lead_asks()];
        let mut state = after_events(width, height, events);
        let text = picture(&state);
        assert!(!text.contains("needs approval"), "{text}");
        assert_eq!(text.matches("Alt+a").count(), 1, "{text}");
        // A wide screen also has the pane of teammates.
        let most = if width > 80 { 2 } else { 1 };
        assert!(text.matches("shut").count() <= most, "{text}");
        // The card shows its keys, so the tip does not.
        press(&mut state, "alt+w");
        let tip = line(&state).unwrap();
        assert_eq!(tip, "lead waits for your decision; Esc leaves it open");
    }
}

#[test]
fn tip_names_the_key_that_quits_in_full_screen() {
    let events = [branches(&[]), vec![lead(Activity::Idle), all_idle()]].concat();
    let mut state = after_events(160, 45, events);
    press(&mut state, "alt+1 z");
    assert!(state.arrangement.zoom.is_some());
    let tip = line(&state).unwrap();
    assert!(tip.starts_with("Demo over: q twice leaves."), "{tip}");
    assert_eq!(press(&mut state, "q"), []);
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
}

#[test]
fn message_covers_a_tip_and_leaves_the_hints() {
    let events = || vec![demo(), six(0), has_team()];
    let rows = |state: &UiState| {
        let text = picture(state);
        let rows: Vec<String> = text.lines().rev().take(3).map(String::from).collect();
        rows
    };
    for (width, height) in [(60, 16), (80, 24), (160, 45)] {
        let mut state = after_events(width, height, events());
        state.status = None;
        let before = rows(&state);
        state.say("Draft cleared.");
        let after = rows(&state);
        assert_eq!(after[0], before[0]);
        assert!(after[1].contains("Draft cleared."), "{after:?}");
        assert!(!after[1].contains("hide"), "{after:?}");
        // So does the tip that announces a request, until the message is gone.
        let mut state = after_events(
            width,
            height,
            [events(), vec![asks(RequestKind::Plan)]].concat(),
        );
        state.say("Draft cleared.");
        let after = rows(&state);
        assert!(after[1].contains("Draft cleared."), "{after:?}");
        state.status = None;
        let after = rows(&state);
        assert!(after[1].contains("bob's plan needs approval"), "{after:?}");
    }
}

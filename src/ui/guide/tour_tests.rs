//! Test: what the line says as the work goes on, and when it is there.

use super::*;
use crate::domain::graph::{NewTask, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::mail::LetterKind;
use crate::domain::request::RequestKind;
use crate::domain::stamp::Stamp;
use crate::domain::team::MemberStatus;
use crate::protocol::EventKind;
use crate::protocol::event::{LetterStep, Setup};
use crate::ui::fixture::{board_told, letter, name, picture, plan};
use crate::ui::fixture::{press, ready, team, tell, told};
use pretty_assertions::assert_eq;

fn demo() -> EventKind {
    match ready() {
        EventKind::CrewReady(setup) => EventKind::CrewReady(Setup {
            provider: DEMO.into(),
            ..setup
        }),
        other => other,
    }
}

/// A board of six, the first `done` of them completed; the last one solves a conflict.
fn six(done: u64) -> EventKind {
    let mut board = TaskGraph::default();
    for id in 1..=6 {
        let subject = if id == 6 {
            "Merge main into wt/task-5: conflict in a"
        } else {
            "Work"
        };
        let new = NewTask {
            subject: subject.into(),
            ..NewTask::default()
        };
        board.create(TaskId(id), new, Stamp(1.0)).unwrap();
        if id <= done {
            let who = name("alice");
            let claimer = crate::domain::graph::Claimer {
                name: who.clone(),
                tags: vec![],
            };
            board.claim(TaskId(id), &claimer, Stamp(2.0)).unwrap();
            board.complete(TaskId(id), &who, Stamp(3.0)).unwrap();
        }
    }
    board_told(&board)
}

fn without_conflict(done: u64) -> Vec<EventKind> {
    vec![demo(), six(done), removed(6), has_team()]
}

fn renamed(id: u64) -> EventKind {
    let mut board = TaskGraph::default();
    let new = NewTask {
        subject: "Work".into(),
        ..NewTask::default()
    };
    board.create(TaskId(id), new, Stamp(4.0)).unwrap();
    board_told(&board)
}

fn removed(id: u64) -> EventKind {
    EventKind::BoardChanged {
        changed: vec![],
        removed: vec![TaskId(id)],
    }
}

fn has_team() -> EventKind {
    EventKind::TeamChanged {
        team: team().into(),
    }
}

fn at_rest() -> EventKind {
    let mut team = team();
    for member in &mut team.members {
        member.status = MemberStatus::Idle;
    }
    EventKind::TeamChanged { team: team.into() }
}

fn two_letters() -> Vec<EventKind> {
    let moved = |id| EventKind::LetterMoved {
        letter: letter(id, LetterKind::Message, "alice", "bob", "hello"),
        step: LetterStep::Sent,
    };
    vec![moved("a"), moved("b")]
}

fn asks(kind: RequestKind) -> EventKind {
    let mut request = plan("r1", "1. Look");
    request.kind = kind;
    EventKind::RequestChanged { request }
}

#[test]
fn what_happens_decides_what_to_press_next() {
    let with = |mut events: Vec<EventKind>, more: Vec<EventKind>| {
        events.extend(more);
        events
    };
    let cases = [
        (
            vec![demo()],
            "",
            "You want a program built; the lead reads and plans",
        ),
        (
            vec![demo(), six(0)],
            "",
            "Alt+3 is the board: who waits for whom",
        ),
        (
            without_conflict(1),
            "",
            "Alt+4, then Enter: watch a teammate, live",
        ),
        (
            without_conflict(1),
            "esc",
            "4, then Enter: watch a teammate, live",
        ),
        (
            without_conflict(2),
            "",
            "Alt+3, then v: the board as graph or list",
        ),
        (
            without_conflict(5),
            "",
            "All tasks are done: the lead merges the branches",
        ),
        (
            with(without_conflict(5), vec![at_rest()]),
            "",
            "Now yours: /quit, then crewdeck in your own project",
        ),
        (
            vec![demo(), six(5), has_team()],
            "",
            "A conflict became task #6: Alt+3 shows who solves it",
        ),
        (
            with(vec![demo(), six(5), has_team(), renamed(6)], two_letters()),
            "",
            "Alt+5: what they write to one another",
        ),
        (
            with(without_conflict(0), vec![asks(RequestKind::Plan)]),
            "",
            "The plan of bob waits for you: Alt+w, then a",
        ),
        (
            with(without_conflict(0), vec![asks(RequestKind::Shutdown)]),
            "esc",
            "The shutdown of bob waits for you: w, then a",
        ),
        (
            with(without_conflict(0), vec![asks(RequestKind::Permission)]),
            "alt+w",
            "a says yes, r says no, c either with a comment",
        ),
        (
            without_conflict(0),
            "alt+3",
            "v: graph or list, Enter: the task, D: its changes",
        ),
        (
            without_conflict(0),
            "alt+4",
            "Enter opens the live transcript of a teammate",
        ),
        (
            without_conflict(0),
            "alt+5",
            "k and j choose a letter, Enter reads it",
        ),
        (
            without_conflict(0),
            "alt+4 enter",
            "This is alice, live. Esc goes back to the lead",
        ),
    ];
    for (events, keys, expected) in cases {
        let mut state = told(70, 20, events);
        press(&mut state, keys);
        assert_eq!(line(&state).as_deref(), Some(expected), "{keys}");
        assert!(width(expected) <= 54, "too wide for 70 columns: {expected}");
    }
}

#[test]
fn over_a_popup_it_says_what_that_is_for() {
    let cases = [
        ("f1", "All keys, those of this place first"),
        (
            "alt+3 space",
            "j and k go on in the list, and this goes along",
        ),
        (
            "alt+3 enter",
            "All that is known of the task, and what happened to it",
        ),
    ];
    for (keys, expected) in cases {
        let mut state = told(70, 20, without_conflict(0));
        press(&mut state, keys);
        assert_eq!(line(&state).as_deref(), Some(expected), "{keys}");
        assert!(width(expected) <= 54, "too wide for 70 columns: {expected}");
    }
}

#[test]
fn it_is_only_in_the_demo_and_a_key_puts_it_away_and_brings_it_back() {
    let state = told(70, 20, vec![ready()]);
    assert_eq!(line(&state), None);
    let mut state = told(70, 20, without_conflict(0));
    assert!(picture(&state).contains("watch a teammate"));
    press(&mut state, "alt+h");
    assert_eq!(line(&state), None);
    tell(&mut state, vec![asks(RequestKind::Plan), six(2)]);
    press(&mut state, "esc 4");
    assert_eq!(line(&state), None);
    assert!(!picture(&state).contains(&dismissed_by(&state)));
    press(&mut state, "alt+h");
    assert!(line(&state).is_some());
}

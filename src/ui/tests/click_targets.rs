//! All click targets on every kind of screen. Each is hit where it is drawn, and a click on it does what its key does.

use std::collections::BTreeSet;
use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;

use crate::domain::ids::JobId;
use crate::domain::job::Job;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::CheckedOut;
use crate::protocol::{BoardEvent, CrewEvent, Event, EventKind, TeamEvent};
use crate::ui::app::popup::Popup;
use crate::ui::fixture::{
    NOON, apply_events, blank, busy, busy_events, name, permission, picture, press, question,
    top_popup,
};
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyLookup, TABLE};
use crate::ui::popups::diff::DiffPage;
use crate::ui::popups::event_log::EventLogPopup;
use crate::ui::popups::help::{EntryEffect, HelpPopup};
use crate::ui::popups::pager::Pager;
use crate::ui::replay::Player;
use crate::ui::shell::hit_test;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::{Effect, Msg, UiState, begin_replay, update};

pub const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (70, 20)];

fn click(state: &mut UiState, (column, row): (u16, u16)) -> Vec<Effect> {
    update(
        state,
        Msg::Mouse(MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }),
    )
}

/// Returns a screen with content in every pane, after the keys `keys` were pressed.
pub fn crew(size: (u16, u16), keys: &str) -> UiState {
    let mut state = busy(size.0, size.1);
    let asks = |request| EventKind::Team(TeamEvent::RequestChanged { request });
    apply_events(
        &mut state,
        vec![
            asks(permission("p1")),
            asks(question("q1", &["the old one", "the new one"])),
            EventKind::Crew(CrewEvent::JobChanged { job: job() }),
        ],
    );
    state.prefs.captures_mouse = true;
    press(&mut state, keys);
    // A status message from the pressed keys would cover the hints.
    state.status = None;
    state
}

fn job() -> Job {
    Job {
        id: JobId("bg_0001".into()),
        agent: name("alice"),
        command: "make".into(),
        began: Timestamp(NOON),
        ended: None,
        tail: String::new(),
    }
}

fn replay(size: (u16, u16)) -> UiState {
    let event = |(i, kind): (usize, EventKind)| Event {
        seq: i as u64 + 1,
        at: Timestamp(NOON).after(Duration::from_secs(i as u64 + 1)),
        kind,
    };
    let events = busy_events().into_iter().enumerate().map(event).collect();
    let mut state = blank(size.0, size.1);
    begin_replay(&mut state, Player::new(events, 1.0));
    update(
        &mut state,
        Msg::Tick {
            now: Timestamp(NOON),
        },
    );
    state.prefs.captures_mouse = true;
    press(&mut state, "> >");
    state.status = None;
    state
}

/// Sequences of keys, each of which leads to another view.
pub const LOOKS: &[&str] = &[
    "",
    "esc 1",
    "esc 1 J k k k k k k",
    "esc 2",
    "esc 3",
    "esc 3 v",
    "esc 3 / \"own\" enter",
    "esc 4",
    "esc 5",
    "alt+w",
    "alt+w l",
    "alt+w l l",
    "esc =",
    "esc = =",
    "esc 3 3",
    "ctrl+x",
    "esc ?",
    "esc 3 ? / \"open\"",
    "f1",
    "ctrl+p",
    "esc T",
    "esc b",
    "esc p",
    "esc @",
    "esc 3 enter",
    "esc 2 enter",
    "alt+w c",
    "alt+w c \"x\" enter",
    "alt+w l A",
    "esc q",
    "esc 4 X",
];

/// Texts that open the completion list when they are typed.
const TYPED: &[&str] = &["\"/\"", "\"@\""];

/// Returns each click target with its first cell that no other target covers.
fn cells(state: &UiState) -> Vec<((u16, u16), Hit)> {
    let all = hit_test::targets(state);
    let mut out = Vec::new();
    for (i, PlacedPart { at, what }) in all.iter().enumerate() {
        assert_eq!(at.intersection(state.size), *at, "{what:?} is outside");
        let is_free = |here| !all[..i].iter().any(|above| above.at.contains(here));
        if let Some(here) = at.positions().find(|here| is_free(*here)) {
            out.push(((here.x, here.y), what.clone()));
        }
    }
    out
}

/// Returns the key that runs `action` in the current context.
fn key_of(state: &UiState, action: Action) -> Option<String> {
    let contexts = state.contexts();
    let bound = contexts
        .iter()
        .flat_map(|c| state.prefs.keymap.in_context(*c));
    let keys = bound.filter(|b| b.action == action).flat_map(|b| &b.keys);
    let mut meant =
        keys.filter(|key| state.prefs.keymap.lookup(&contexts, key) == KeyLookup::Action(action));
    let key = meant.next()?;
    match &state.keys.prefix {
        // If the first key of a sequence was already pressed, only the second key remains to be pressed.
        Some(first) => key
            .strip_prefix(first.as_str())
            .map(|rest| rest.trim().into()),
        None => Some(key.clone()),
    }
}

/// Returns what the test compares: the screen as text, the effects and the focus.
fn observe(state: &mut UiState, done: Vec<Effect>, at: Timestamp) -> (String, Vec<Effect>, Focus) {
    update(state, Msg::Tick { now: at });
    (picture(state), done, state.focus)
}

/// Checks that a click on the cell `here` does the same as the keys `keys`, on two screens made by `make`.
fn same(make: &dyn Fn() -> UiState, here: (u16, u16), keys: &str, what: &str) {
    let (mut clicked, mut pressed) = (make(), make());
    let now = clicked.now.after(Duration::from_secs(9));
    // `press` presses the keys one second apart, so the click happens after the same time.
    let keyed = Duration::from_secs(keys.split_whitespace().count() as u64);
    let then = clicked.now.after(keyed);
    update(&mut clicked, Msg::Tick { now: then });
    let by_click = click(&mut clicked, here);
    let by_key = press(&mut pressed, keys);
    let (a, b) = (
        observe(&mut clicked, by_click, now),
        observe(&mut pressed, by_key, now),
    );
    assert_eq!(a, b, "{what}: a click on {here:?} against {keys:?}");
}

#[test]
fn topmost_element_is_hit_and_cells_are_unambiguous() {
    for size in SIZES {
        for look in LOOKS {
            let state = crew(size, look);
            for ((x, y), what) in cells(&state) {
                assert_eq!(hit_test::at(&state, x, y), what, "{size:?} {look}");
            }
        }
    }
}

#[test]
fn click_equals_key_press() {
    for (size, looks) in [
        (SIZES[0], LOOKS),
        (SIZES[2], &["", "esc 3", "alt+w l l", "f1"]),
    ] {
        let mut checked = BTreeSet::new();
        for look in looks.iter().chain(TYPED) {
            check_keys(
                &|| crew(size, look),
                &format!("{size:?} {look}"),
                &mut checked,
            );
        }
        checked.clear();
        check_keys(&|| replay(size), "replay", &mut checked);
    }
}

/// Checks all click targets that have a key, on the screen made by `make`. Each button is checked once per key context;
/// `checked` holds the buttons that were checked on earlier screens.
fn check_keys(make: &dyn Fn() -> UiState, look: &str, checked: &mut BTreeSet<String>) {
    let state = make();
    // The help has many similar rows, so only some are checked.
    let mut rows_of_help = 0;
    for (here, what) in cells(&state) {
        let words = format!("{look}: {what:?}");
        match what {
            Hit::Button(action) => {
                assert!(
                    TABLE.iter().any(|b| b.action == action),
                    "{words} has no key"
                );
                let place = format!("{action:?} {:?} {}", state.contexts(), top_popup(&state));
                if let Some(key) = key_of(&state, action).filter(|_| checked.insert(place)) {
                    same(make, here, &key, &words);
                }
            }
            Hit::PopupPart(file) if top_popup(&state) == "DiffPage" => {
                let mut state = make();
                click(&mut state, here);
                let diff = state.popups.top::<Pager<DiffPage>>().unwrap();
                assert_eq!(diff.page.file, file, "{words}");
            }
            Hit::PopupPart(entry) if top_popup(&state) == "HelpPopup" && rows_of_help < 12 => {
                rows_of_help += 1;
                let help = state.popups.top::<HelpPopup>().unwrap();
                let close = if help.context() == Context::Filter {
                    "esc esc"
                } else {
                    "esc"
                };
                let entry = help.entry(&state, entry).unwrap();
                let EntryEffect::Here(action) = entry.effect else {
                    panic!("{words}");
                };
                let mut below = make();
                press(&mut below, close);
                if let Some(key) = key_of(&below, action) {
                    same(make, here, &format!("{close} {key}"), &words);
                }
            }
            Hit::Row(pane, at) => rows_select(make(), pane, at, here),
            Hit::Tab(pane) | Hit::Pane(pane) | Hit::In(pane, _) => {
                let mut state = make();
                click(&mut state, here);
                assert_eq!(state.focus, Focus::Pane(pane), "{words}");
            }
            Hit::PopupRow(at) => {
                let mut state = make();
                click(&mut state, here);
                if let Some(log) = state.popups.top::<EventLogPopup>() {
                    assert_eq!(log.row(&log.rows(&state)), Some(at), "{words}");
                } else {
                    let selected = format!("row: {at},");
                    let popup = format!("{:?}", state.popups.last());
                    assert!(popup.contains(&selected), "{words}: {popup}");
                }
            }
            Hit::CompletionRow(at) => {
                same(make, here, &format!("{}enter", "down ".repeat(at)), &words);
            }
            Hit::BesidePopup => same(make, here, "ctrl+c", &words),
            Hit::Composer => {
                let mut state = make();
                click(&mut state, here);
                assert_eq!(state.focus, Focus::Composer, "{words}");
            }
            Hit::PopupPart(_)
            | Hit::Nothing
            | Hit::Replay(_)
            | Hit::Scrollbar(..)
            | Hit::Border
            | Hit::Ground(_)
            | Hit::ConversationRow(_)
            | Hit::Popup => {}
        }
    }
}

/// Checks that the first click on a row selects it and the second click opens it, as Enter does.
fn rows_select(mut state: UiState, pane: Pane, at: usize, here: (u16, u16)) {
    let selected = |state: &UiState| match pane {
        Pane::Todo => state.panes.todo.selected_row(state),
        Pane::Team => state.panes.team.selected_member(state).map(|(at, _)| at),
        Pane::Inbox => state.panes.inbox.selected_message(state).map(|(at, _)| at),
        Pane::Needs => state.panes.needs.selected_request(state).map(|(at, _)| at),
        Pane::Board => state.panes.board.selected_row(state).map(|(at, _)| at),
        Pane::Lead => None,
    };
    press(
        &mut state,
        match pane {
            Pane::Todo => "esc 2",
            Pane::Team => "esc 4",
            Pane::Inbox => "esc 5",
            Pane::Needs => "esc 6",
            Pane::Lead | Pane::Board => "",
        },
    );
    if hit_test::at(&state, here.0, here.1) != Hit::Row(pane, at) {
        // The pane changes its height when it gets the focus, so the row has moved.
        return;
    }
    click(&mut state, here);
    assert_eq!(selected(&state), Some(at), "{pane:?}");
}

#[test]
fn second_click_equals_enter() {
    let cases = [
        ("esc 2", Pane::Todo),
        ("esc 4", Pane::Team),
        ("esc 5", Pane::Inbox),
        ("esc 6", Pane::Needs),
    ];
    for (look, pane) in cases {
        let make = || crew(SIZES[0], look);
        let state = make();
        let of_pane = |what: &Hit| matches!(what, Hit::Row(p, _) if *p == pane);
        let mut rows = cells(&state).into_iter().filter(|(_, what)| of_pane(what));
        let (here, _) = rows.nth(1).unwrap();
        let once = || {
            let mut state = make();
            click(&mut state, here);
            state
        };
        same(&once, here, "enter", look);
    }
}

#[test]
fn small_screen_has_no_click_targets() {
    let mut state = crew((59, 15), "");
    assert!(hit_test::targets(&state).is_empty());
    for row in 0..15 {
        assert_eq!(click(&mut state, (3, row)), []);
    }
    assert!(state.popups.is_empty());
}

#[test]
fn status_line_shows_branch_if_room() {
    let line = |width: u16, head: Option<CheckedOut>| {
        let mut state = crew((width, 40), "");
        let events = head.map(|head| EventKind::Board(BoardEvent::HeadChanged { head }));
        apply_events(&mut state, events.into_iter().collect());
        state.status = None;
        picture(&state).lines().next().unwrap().to_string()
    };
    let branch = |name: &str| Some(CheckedOut::Branch(name.into()));
    assert!(line(160, branch("main")).contains(" parser  on main "));
    let commit = Some(CheckedOut::Commit("0123abc".into()));
    assert!(line(160, commit).contains(" parser  at 0123abc "));
    let long = line(240, branch(&"a-long-branch/".repeat(9)));
    let cut = format!(" on {}a-long-branc… ", "a-long-branch/".repeat(4));
    assert!(long.contains(&cut), "{long}");
    // A branch name that is too long is truncated, so that it does not take all the room.
    let name = "feature/names-that-are-longer-than-most-others-are";
    assert!(line(240, branch(name)).contains(&format!(" on {name} ")));
    let narrow = line(160, branch(name));
    assert!(!narrow.contains("names-that-are-longer"), "{narrow}");
    // On a narrow screen, the branch is dropped before all other pieces.
    for width in [70, 100, 112] {
        assert_eq!(line(width, branch(&"b".repeat(90))), line(width, None));
    }
}

#[test]
fn status_line_pieces_are_clickable() {
    let by = |words: &str| {
        let mut state = crew(SIZES[0], "");
        let line = picture(&state)
            .lines()
            .next()
            .unwrap()
            .trim_matches('"')
            .to_string();
        let at = line[..line.find(words).unwrap()].chars().count();
        click(&mut state, (u16::try_from(at).unwrap(), 0));
        state
    };
    assert_eq!(by("need you").focus, Focus::Pane(Pane::Needs));
    assert_eq!(by("working").focus, Focus::Pane(Pane::Team));
    assert_eq!(top_popup(&by("1 job")), "JobsPopup");
    assert_eq!(top_popup(&by("scripted model")), "ModelChoices");
}

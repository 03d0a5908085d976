//! Tests of the board pane.

mod keys;
pub mod merging;
mod node_positions;
mod possible;
pub mod user_actions;

use pretty_assertions::assert_eq;
use ratatui::layout::Rect;

use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;
use crate::domain::timestamp::Timestamp;
use crate::ui::fixture::{
    NOON, after_events, apply_events, blank, cells, name, picture, press, ready,
};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::board::index;
use crate::ui::panes::board::label::label;
use crate::ui::panes::board::{ListReason, Shown};
use crate::ui::shell::layout::layout;
use crate::ui::text::width;
use crate::ui::{Msg, Theme, UiState, update};

const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (70, 20)];

/// Returns a board of `count` tasks, of which the first `done` are completed and the next one is in progress. In each
/// edge, the first task blocks the second one.
pub fn board(count: u64, edges: &[(u64, u64)], done: u64) -> TaskGraph {
    let subjects = [
        "Write the grammar down",
        "Parse the header",
        "Read compressed blocks, 解压缩块",
        "Join both",
        "Describe the format 👍",
        "Fuzz it",
    ];
    let mut board = TaskGraph::default();
    for (id, subject) in (1..=count).zip(subjects.iter().cycle()) {
        let before = edges.iter().filter(|(_, to)| *to == id);
        let new = NewTask {
            subject: (*subject).into(),
            blocked_by: before.map(|(from, _)| TaskId(*from)).collect(),
            tags: if id % 5 == 0 {
                vec!["rust".into()]
            } else {
                vec![]
            },
            ..NewTask::default()
        };
        board.create(TaskId(id), new, Timestamp(NOON)).unwrap();
    }
    let who = name("alice");
    for id in (1..=done + 1).filter(|id| *id <= count) {
        let claimer = Claimer {
            name: who.clone(),
            tags: vec!["rust".into()],
        };
        board.claim(TaskId(id), &claimer, Timestamp(NOON)).unwrap();
        if id <= done {
            board.complete(TaskId(id), &who, Timestamp(NOON)).unwrap();
        }
    }
    board
}

/// Returns random edges for `count` tasks, the same in every run: each task has up to two earlier tasks as blockers.
pub fn random(count: u64) -> Vec<(u64, u64)> {
    let mut seed = 7_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    (2..=count)
        .flat_map(|id| [(1 + next(id - 1), id), (1 + next(id - 1), id)])
        .filter(|(_, to)| to % 3 != 0)
        .collect()
}

#[allow(clippy::needless_pass_by_value)] // callers build the board in place
pub fn state(size: (u16, u16), board: TaskGraph) -> UiState {
    let board = crate::ui::fixture::board_event(&board);
    let mut state = after_events(size.0, size.1, vec![ready(), board]);
    press(&mut state, "esc 3");
    state
}

pub fn area(state: &UiState) -> Rect {
    layout(state, state.size).pane(Pane::Board).unwrap()
}

fn pane(state: &UiState) -> String {
    let buffer = cells(state, &Theme::default());
    let mut out = String::new();
    for row in area(state).rows() {
        let mut hidden = 0;
        for at in row.columns() {
            // Skip the second cell of a wide character.
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            let symbol = buffer[(at.x, at.y)].symbol();
            hidden = width(symbol).saturating_sub(1);
            out += symbol;
        }
        out.push('\n');
    }
    out
}

#[test]
fn boards_match_their_snapshots() {
    let fan: Vec<(u64, u64)> = (2..=13).flat_map(|n| [(1, n), (n, 14)]).collect();
    let cases = [
        ("empty", 0, vec![], 0),
        ("one", 1, vec![], 0),
        ("chain", 6, (1..6).map(|n| (n, n + 1)).collect(), 2),
        ("diamond", 5, vec![(1, 2), (1, 3), (2, 4), (3, 4)], 1),
        ("fan", 14, fan, 3),
        (
            "parts",
            10,
            vec![(1, 2), (2, 3), (4, 5), (4, 6), (7, 9), (8, 9)],
            1,
        ),
        ("random", 200, random(200), 20),
    ];
    for (what, count, edges, done) in cases {
        let at = |size| state(size, board(count, &edges, done));
        insta::assert_snapshot!(what, SIZES.map(at).iter().map(pane).collect::<String>());
    }
}

#[test]
fn v_draws_a_graph_that_does_not_fit_and_counts_the_rest() {
    let chain: Vec<(u64, u64)> = (1..30).map(|n| (n, n + 1)).collect();
    let mut state = state((160, 45), board(30, &chain, 3));
    assert!(pane(&state).contains("Board · list ─"));
    press(&mut state, "v");
    assert!(pane(&state).contains("25 more →"), "{}", pane(&state));
    insta::assert_snapshot!("drawn_by_hand", pane(&state));
    press(&mut state, "v");
    assert!(pane(&state).contains("Board · list ─"));
}

#[test]
fn title_says_that_a_list_is_shown() {
    let chain: Vec<(u64, u64)> = (1..9).map(|n| (n, n + 1)).collect();
    let cases = [
        ((160, 45), board(5, &[(1, 2)], 0), "", "3 Board ─"),
        ((160, 45), board(5, &[(1, 2)], 0), "v", "Board · list ─"),
        ((160, 45), board(5, &[(1, 2)], 0), "v v", "3 Board ─"),
        ((100, 30), board(9, &chain, 0), "", " list ─"),
        ((160, 45), board(390, &random(390), 0), "", "Board · list ─"),
        ((160, 45), board(120, &[], 0), "", "Board · list ─"),
        ((160, 45), board(120, &[], 0), "v", "3 Board ─"),
        ((160, 45), board(401, &[], 0), "v", "Board · list ─"),
        (
            (160, 45),
            board(9, &chain, 0),
            "/ \"join\"",
            "Board · 1 of 9",
        ),
        (
            (160, 45),
            board(9, &chain, 0),
            "/ \"zzz\" enter v",
            "Board · 0 of 9",
        ),
        (
            (160, 45),
            board(9, &chain, 0),
            "/ \"status:done\" esc",
            "Board · list ─",
        ),
    ];
    for (size, board, keys, expected) in cases {
        let mut state = state(size, board);
        press(&mut state, keys);
        let picture = pane(&state);
        assert!(picture.contains(expected), "{keys}: {expected}\n{picture}");
    }
}

#[test]
fn filter_reports_invalid_terms_and_shows_its_syntax() {
    let mut state = state((160, 45), board(5, &[(1, 2)], 0));
    press(&mut state, "/");
    assert!(pane(&state).contains("words  owner:NAME  status:ready"));
    press(&mut state, "\"color:red fuzz\"");
    assert!(pane(&state).contains("▲ no key color: use owner:, status: or tag:"));
    press(&mut state, "ctrl+u \"status:nix\"");
    assert!(
        pane(&state).contains("▲ no status nix: ready"),
        "{}",
        pane(&state)
    );
    press(&mut state, "ctrl+u \"status:ready tag:rust\" enter");
    assert!(pane(&state).contains("1 of 5"), "{}", pane(&state));
}

#[test]
fn cycles_and_missing_blockers_do_not_hide_tasks() {
    let mut tasks: Vec<_> = board(4, &[(1, 2), (2, 3)], 0).tasks().cloned().collect();
    tasks[0].blocked_by = vec![TaskId(3), TaskId(99)];
    tasks[0].status = TaskStatus::Pending;
    tasks[3].blocked_by = vec![TaskId(4)];
    for size in SIZES {
        let mut state = state(size, TaskGraph::new(tasks.clone()));
        assert_eq!(state.panes.board.rows(&state).len(), 4, "no task is lost");
        pane(&state);
        press(&mut state, "v j j l h enter");
        pane(&state);
    }
    let shown = state((160, 45), TaskGraph::new(tasks));
    assert!(pane(&shown).contains("cycle: 1 edge not drawn"));
}

#[test]
fn cached_values_are_dropped_when_the_board_changes() {
    let mut state = state((160, 45), board(3, &[(1, 2)], 0));
    assert_eq!(state.panes.board.rows(&state).len(), 3);
    let board = crate::ui::fixture::board_event(&board(9, &[(1, 2)], 1));
    apply_events(&mut state, vec![board]);
    assert_eq!(
        (state.panes.board.rows(&state).len(), index(&state).len()),
        (9, 9)
    );
    // The selection has stayed on its task, so both screens are moved to the first task before they are compared.
    press(&mut state, "g");
    let afresh = {
        let mut other = blank(160, 45);
        let board = crate::ui::fixture::board_event(&self::board(9, &[(1, 2)], 1));
        apply_events(&mut other, vec![ready(), board]);
        press(&mut other, "esc 3 g");
        update(&mut other, Msg::Tick { now: state.now });
        pane(&other)
    };
    assert_eq!(pane(&state), afresh);
}

#[test]
fn zooming_out_shows_less_of_each_task() {
    let edges = random(40);
    let numbers = SIZES.map(|size| {
        let mut state = state(size, board(40, &edges, 3));
        press(&mut state, "v - -");
        pane(&state)
    });
    insta::assert_snapshot!("numbers", numbers.concat());
    let chain: Vec<(u64, u64)> = (1..6).map(|n| (n, n + 1)).collect();
    let mut state = state((160, 45), board(6, &chain, 0));
    assert!(pane(&state).contains("#3 Read"));
    press(&mut state, "- -");
    assert!(pane(&state).contains("━▸ ◌ #3 ━"), "{}", pane(&state));
    press(&mut state, "+ + +");
    assert!(pane(&state).contains("#3 Read"));
}

#[test]
fn selected_task_lists_what_it_unblocks() {
    let edges = [(1, 3), (1, 4), (2, 4), (4, 5), (1, 6)];
    let mut state = state((160, 45), board(6, &edges, 0));
    press(&mut state, "g");
    let shown = pane(&state);
    assert!(shown.contains(" → unblocks #3 #6, 1 later"), "{shown}");
    press(&mut state, "enter");
    let page = crate::ui::fixture::picture(&state);
    assert!(page.contains("unblocks       #3 #6"), "{page}");
    assert!(page.contains("task 1 of 3 in the longest chain"), "{page}");
}

#[test]
fn task_page_shows_the_history() {
    let before = board(3, &[(1, 2)], 0);
    let mut state = state((100, 30), before.clone());
    let mut after = before.clone();
    after
        .complete(TaskId(1), &name("alice"), state.now)
        .unwrap();
    let claimer = Claimer {
        name: name("bob"),
        tags: vec![],
    };
    after.claim(TaskId(2), &claimer, state.now).unwrap();
    let delta = before.delta(&after);
    let change = crate::protocol::EventKind::Board(crate::protocol::BoardEvent::BoardChanged {
        changed: delta.changed,
        removed: delta.removed,
    });
    apply_events(&mut state, vec![change]);
    press(&mut state, "g enter");
    let page = crate::ui::fixture::picture(&state);
    assert!(page.contains("completed by alice"), "{page}");
    press(&mut state, "esc l enter");
    insta::assert_snapshot!("task_history_100x30", crate::ui::fixture::picture(&state));
}

#[test]
fn graph_with_unreadable_names_becomes_a_list() {
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4)];
    let mut state = state((160, 45), board(4, &edges, 0));
    let mut reasons = Vec::new();
    for (width, height) in (20..140).flat_map(|width| [(width, 3), (width, 30)]) {
        let room = Rect::new(0, 0, width, height);
        let pane = &state.panes.board;
        match pane.layout(&state, room).shown {
            Shown::Graph(drawing) => {
                let nodes = state.model.board.tasks().zip(&drawing.nodes);
                for (task, node) in nodes {
                    let label = label(task);
                    assert!(label.is_readable(node.width, node.height, 7), "{width}");
                }
            }
            Shown::List(reason) => reasons.push((reason, room)),
        }
    }
    let narrow = reasons.iter().find(|(r, _)| *r == ListReason::Narrow);
    let (_, room) = *narrow.unwrap();
    // The user can have the graph nevertheless.
    let UiState { app, panes, .. } = &mut state;
    panes.board.toggle_shape(app, room, &mut Vec::new());
    let shown = panes.board.layout(app, room).shown;
    assert!(matches!(shown, Shown::Graph(_)), "{shown:?}");
    assert!(picture(&state).contains("too narrow for whole names"));
}

#[test]
fn selected_node_has_one_mark_before_its_symbol() {
    let mut state = state((160, 45), board(5, &[(1, 2), (2, 3)], 1));
    assert!(pane(&state).contains("─› ● #2 "), "{}", pane(&state));
    assert!(pane(&state).contains("▸ ◌ #3 "), "{}", pane(&state));
    press(&mut state, "h");
    assert!(pane(&state).contains("│› ✓ #1 "), "{}", pane(&state));
    assert!(pane(&state).contains("▸ ● #2 "), "{}", pane(&state));
}

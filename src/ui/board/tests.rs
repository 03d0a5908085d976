//! What the board's pane shows and where its keys lead.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Instant;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use ratatui::layout::Rect;

use super::{Shown, Step, Why, index, places, rows, selected, step};
use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::stamp::Stamp;
use crate::domain::task::TaskStatus;
use crate::protocol::EventKind;
use crate::ui::fixture::{self, NOON, blank, cells, name, press, ready, tell, told};
use crate::ui::graph::{Drawing, Wanted, draw};
use crate::ui::layout::{inside, layout};
use crate::ui::pane::Pane;
use crate::ui::textual::width;
use crate::ui::{Msg, Theme, UiState, update};

const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (70, 20)];

/// A board of `count` tasks with these edges, the first `done` of them completed, one more at work.
fn board(count: u64, edges: &[(u64, u64)], done: u64) -> TaskGraph {
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
        board.create(TaskId(id), new, Stamp(NOON)).unwrap();
    }
    let who = name("alice");
    for id in (1..=done + 1).filter(|id| *id <= count) {
        let claimer = Claimer {
            name: who.clone(),
            tags: vec!["rust".into()],
        };
        board.claim(TaskId(id), &claimer, Stamp(NOON)).unwrap();
        if id <= done {
            board.complete(TaskId(id), &who, Stamp(NOON)).unwrap();
        }
    }
    board
}

/// Edges as boards have them, from a fixed seed: each task waits for up to two of those before it.
fn random(count: u64) -> Vec<(u64, u64)> {
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

fn state(size: (u16, u16), board: TaskGraph) -> UiState {
    let board = EventKind::BoardChanged {
        board: board.into(),
    };
    let mut state = told(size.0, size.1, vec![ready(), board]);
    press(&mut state, "esc 3");
    state
}

fn area(state: &UiState) -> Rect {
    layout(state, state.size).pane(Pane::Board).unwrap()
}

/// The pane as text.
fn pane(state: &UiState) -> String {
    let buffer = cells(state, &Theme::default());
    let mut out = String::new();
    for row in area(state).rows() {
        let mut hidden = 0;
        for at in row.columns() {
            // The cell behind a wide character is not drawn.
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
fn pictures() {
    let fan: Vec<(u64, u64)> = (2..=13).flat_map(|n| [(1, n), (n, 14)]).collect();
    let cases: Vec<(&str, u64, Vec<(u64, u64)>, u64)> = vec![
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
        for size in SIZES {
            let state = state(size, board(count, &edges, done));
            insta::assert_snapshot!(format!("{what}_{}x{}", size.0, size.1), pane(&state));
        }
    }
}

#[test]
fn what_does_not_fit_can_be_drawn_by_hand_and_tells_what_is_beyond() {
    let chain: Vec<(u64, u64)> = (1..30).map(|n| (n, n + 1)).collect();
    let mut state = state((160, 45), board(30, &chain, 3));
    assert!(pane(&state).contains("Board · list: 30 steps deep"));
    press(&mut state, "v");
    assert!(pane(&state).contains("← 1  24 more →"), "{}", pane(&state));
    insta::assert_snapshot!("drawn_by_hand", pane(&state));
    press(&mut state, "v");
    assert!(pane(&state).contains("Board · list ─"));
}

#[test]
fn a_list_says_why_it_is_one() {
    let chain: Vec<(u64, u64)> = (1..9).map(|n| (n, n + 1)).collect();
    let cases = [
        ((160, 45), board(5, &[(1, 2)], 0), "", "3 Board ─"),
        ((160, 45), board(5, &[(1, 2)], 0), "v", "Board · list ─"),
        ((160, 45), board(5, &[(1, 2)], 0), "v v", "3 Board ─"),
        ((100, 30), board(9, &chain, 0), "", "list: 9 steps deep"),
        ((160, 45), board(60, &[], 0), "", "list: 60 tasks"),
        ((160, 45), board(60, &[], 0), "v", "3 Board ─"),
        ((160, 45), board(401, &[], 0), "v", "list: 401 tasks"),
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
            "list: 9 steps deep",
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
fn keys_move_along_the_drawing() {
    // 1 leads to 2 and 3, these to 4; 5 leads to 6; 7 and 8 are alone.
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4), (5, 6)];
    let cases = [
        ("", 1),
        ("g", 1),
        ("g l l", 4),
        ("g l l l", 4),
        ("g right left", 1),
        ("g l l h k", 2),
        ("g l l h k j", 3),
        ("g l l h k k", 2),
        ("g j", 5),
        ("g j l", 6),
        ("g j j", 7),
        ("g j j j", 8),
        ("g j j j j", 8),
        ("g j j k", 5),
        ("g G", 8),
        ("g pgdn", 8),
        ("g G pgup", 1),
        ("g G ctrl+u g", 1),
    ];
    for (keys, expected) in cases {
        let mut state = state((160, 45), board(8, &edges, 0));
        press(&mut state, keys);
        let at = selected(&state).map(|(_, id)| id.0);
        assert_eq!(at, Some(expected), "{keys}\n{}", pane(&state));
    }
}

#[test]
fn keys_move_along_the_list() {
    // At work: 1; below it 2 and 3, below 3 the join 4. Ready: 5, below it 6.
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4), (5, 6)];
    let order: Vec<u64> = {
        let state = state((160, 45), board(7, &edges, 0));
        let (index, rows) = (index(&state), rows(&state));
        let tasks = rows.from(0).iter().map(|r| index.id(r.task).unwrap().0);
        tasks.collect()
    };
    assert_eq!(order, [1, 2, 3, 4, 5, 6, 7]);
    let cases = [
        ("v", 1),
        ("v j j", 3),
        ("v l", 2),
        ("v l l", 4),
        ("v l l h", 3),
        ("v G", 7),
        ("v G g", 1),
        ("v j v l", 4),
        ("v k", 1),
    ];
    for (keys, expected) in cases {
        let mut state = state((160, 45), board(7, &edges, 0));
        press(&mut state, keys);
        assert_eq!(
            selected(&state).map(|(_, id)| id.0),
            Some(expected),
            "{keys}"
        );
    }
}

#[test]
fn lines_of_the_list_lead_to_what_waits() {
    let edges = [(1, 2), (2, 3), (2, 4), (1, 5), (6, 7)];
    let state = state((160, 45), board(8, &edges, 0));
    let (index, rows) = (index(&state), rows(&state));
    let mut out = String::new();
    for row in rows.from(0) {
        writeln!(out, "{}{}", row.guide(), index.id(row.task).unwrap()).unwrap();
    }
    let expected = "#1\n├ #2\n│ ├ #3\n│ ╰ #4\n╰ #5\n#6\n╰ #7\n#8\n";
    assert_eq!(out, expected);
}

#[test]
fn a_click_selects_what_is_there() {
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4)];
    for keys in ["", "v", "/ \"o\" enter"] {
        let mut state = state((160, 45), board(5, &edges, 0));
        press(&mut state, keys);
        for id in 1..=5 {
            let picture = cells(&state, &Theme::default());
            let number = format!("#{id} ");
            let found = area(&state).positions().find(|at| {
                let text = (at.x..(at.x + 3).min(160)).map(|x| picture[(x, at.y)].symbol());
                // Below the drawing stand words about the selected one.
                text.collect::<String>() == number && at.y + 3 < area(&state).bottom()
            });
            let Some(at) = found else { continue };
            press(&mut state, "1");
            let event = MouseEvent {
                kind: MouseEventKind::Down(MouseButton::Left),
                column: at.x,
                row: at.y,
                modifiers: KeyModifiers::NONE,
            };
            update(&mut state, Msg::Mouse(event));
            assert_eq!(selected(&state).map(|(_, id)| id.0), Some(id), "{keys}");
            assert_eq!(state.focus.pane(), Pane::Board);
        }
    }
}

#[test]
fn a_filter_tells_what_means_nothing_and_how_it_is_written() {
    let mut state = state((160, 45), board(5, &[(1, 2)], 0));
    press(&mut state, "/");
    assert!(pane(&state).contains("words  owner:NAME  status:ready"));
    press(&mut state, "\"color:red fuzz\"");
    assert!(pane(&state).contains("▲ color: is no key; owner: status: tag: are"));
    press(&mut state, "ctrl+u \"status:nix\"");
    assert!(
        pane(&state).contains("▲ nix is no status"),
        "{}",
        pane(&state)
    );
    press(&mut state, "ctrl+u \"status:ready tag:rust\" enter");
    assert!(pane(&state).contains("1 of 5"), "{}", pane(&state));
}

#[test]
fn a_board_from_elsewhere_may_have_circles_and_lose_tasks() {
    let mut tasks: Vec<_> = board(4, &[(1, 2), (2, 3)], 0).tasks().cloned().collect();
    tasks[0].blocked_by = vec![TaskId(3), TaskId(99)];
    tasks[0].status = TaskStatus::Pending;
    tasks[3].blocked_by = vec![TaskId(4)];
    for size in SIZES {
        let mut state = state(size, TaskGraph::new(tasks.clone()));
        assert_eq!(rows(&state).len(), 4, "none gets lost");
        pane(&state);
        press(&mut state, "v j j l h enter");
        pane(&state);
    }
    let shown = state((160, 45), TaskGraph::new(tasks));
    assert!(pane(&shown).contains("1 line of a circle left out"));
}

#[test]
fn what_is_kept_is_given_up_with_the_board() {
    let mut state = state((160, 45), board(3, &[(1, 2)], 0));
    assert_eq!(rows(&state).len(), 3);
    let board = EventKind::BoardChanged {
        board: board(9, &[(1, 2)], 1).into(),
    };
    tell(&mut state, vec![board]);
    assert_eq!((rows(&state).len(), index(&state).len()), (9, 9));
    let afresh = {
        let mut other = blank(160, 45);
        let board = EventKind::BoardChanged {
            board: self::board(9, &[(1, 2)], 1).into(),
        };
        tell(&mut other, vec![ready(), board]);
        press(&mut other, "esc 3");
        pane(&other)
    };
    assert_eq!(pane(&state), afresh);
}

fn any_drawing() -> impl Strategy<Value = Drawing> {
    (
        1_usize..24,
        prop::collection::vec((0_usize..24, 0_usize..24), 0..40),
    )
        .prop_map(|(count, edges)| {
            let edges = edges.into_iter().map(|(a, b)| (a % count, b % count));
            let wanted = Wanted {
                widths: vec![20; count],
                edges: edges.map(|(a, b)| (a.min(b), a.max(b))).collect(),
                columns: 80,
                ..Wanted::default()
            };
            draw(&wanted).unwrap()
        })
}

proptest! {
    #[test]
    fn every_node_can_be_reached_from_every_other(drawing in any_drawing()) {
        let moves = [Step::Left, Step::Right, Step::Up(1), Step::Down(1)];
        for start in 0..drawing.nodes.len() {
            let mut seen = BTreeSet::from([start]);
            let mut todo = vec![start];
            while let Some(at) = todo.pop() {
                for way in moves {
                    let next = step(&drawing, at, way);
                    if seen.insert(next) {
                        todo.push(next);
                    }
                }
            }
            prop_assert_eq!(seen.len(), drawing.nodes.len(), "from {}", start);
        }
    }

    #[test]
    fn the_selected_node_is_in_view(drawing in any_drawing(), columns in 20_u16..90, rows in 2_u16..20) {
        let room = Rect::new(0, 0, columns, rows);
        for (at, node) in drawing.nodes.iter().enumerate() {
            let (left, top) = super::window(&drawing, at, room);
            prop_assert!(left <= node.x && node.x + node.width <= left + usize::from(columns));
            prop_assert!(top <= node.y && node.y < top + usize::from(rows));
        }
    }
}

/// Not a test of right and wrong: prints what a frame costs. `cargo test --release --lib frames -- --ignored --nocapture`
#[test]
#[ignore = "prints times"]
fn frames_cost_the_same_with_many_tasks() {
    for count in [12, 200, 10_000] {
        let mut state = state((160, 45), many(count));
        cells(&state, &Theme::default());
        let time = |state: &mut UiState, keys: &str| {
            let began = Instant::now();
            for _ in 0..200 {
                press(state, keys);
                fixture::picture_only(state);
            }
            began.elapsed().as_micros() / 200
        };
        let still = time(&mut state, "");
        let moving = time(&mut state, "j");
        let began = Instant::now();
        state.board_kept.outdated();
        let shown = places(&state, inside(area(&state))).shown;
        rows(&state);
        let rebuilt = began.elapsed();
        let began = Instant::now();
        press(&mut state, "/ \"owner:alice fuzz\"");
        rows(&state);
        let filtered = began.elapsed() / 17;
        let is_list = matches!(shown, Shown::List(Why::Many(_)));
        println!(
            "{count} tasks (list: {is_list}): frame {still} µs, with a move {moving} µs, rebuilt in {rebuilt:?}, a key of the filter {filtered:?}"
        );
    }
    let began = Instant::now();
    let mut state = state((160, 45), board(200, &random(200), 20));
    let told = began.elapsed();
    press(&mut state, "v");
    let began = Instant::now();
    let shown = places(&state, inside(area(&state))).shown;
    println!(
        "200 random tasks: told in {told:?}, drawn in {:?}",
        began.elapsed()
    );
    assert!(matches!(shown, Shown::Graph(_)));
}

/// Many tasks without the time that it takes to create them one by one.
fn many(count: u64) -> TaskGraph {
    let pattern: Vec<_> = board(6, &[], 1).tasks().cloned().collect();
    let tasks = (1..=count).zip(pattern.into_iter().cycle());
    TaskGraph::new(tasks.map(|(id, mut task)| {
        task.id = TaskId(id);
        if task.status == TaskStatus::Pending && id > 3 && id % 4 != 0 {
            task.blocked_by = vec![TaskId(id - 3), TaskId(id / 2)];
        }
        task
    }))
}

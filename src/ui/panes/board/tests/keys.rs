//! Tests of keyboard and mouse navigation on the board.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use ratatui::layout::Rect;

use crate::ui::fixture::{cells, press};
use crate::ui::graph::navigation::{GraphMove, step};
use crate::ui::graph::viewport::window;
use crate::ui::graph::{Drawing, GraphInput, draw};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::board::index;
use crate::ui::panes::board::tests::{area, board, pane, state};
use crate::ui::{Msg, Theme, update};

#[test]
fn keys_move_along_the_graph() {
    // Task 1 blocks 2 and 3, which block 4; 5 blocks 6; 7 and 8 have no edges.
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
        let at = state.panes.board.selected_row(&state).map(|(_, id)| id.0);
        assert_eq!(at, Some(expected), "{keys}\n{}", pane(&state));
    }
}

#[test]
fn keys_scroll_the_view_and_a_selection_resets_it() {
    let chain: Vec<(u64, u64)> = (1..30).map(|n| (n, n + 1)).collect();
    // Each case: the keys, and the expected number of tasks to the left of the visible part.
    let cases = [
        ("v g", 0),
        ("v g L", 2),
        ("v g L L L", 4),
        ("v g shift+right", 2),
        ("v g L H", 0),
        ("v g L shift+left", 0),
        ("v g H H H L", 2),
        ("v g L L L l", 0),
        ("v g L L L L enter esc l h", 0),
        ("v g J K", 0),
        ("v g L v v", 2),
    ];
    for (keys, expected) in cases {
        let mut state = state((160, 45), board(30, &chain, 0));
        press(&mut state, keys);
        let shown = pane(&state);
        let before = shown.split_once(" more ←");
        let left = before.and_then(|(text, _)| text.rsplit(' ').next()?.parse().ok());
        assert_eq!(left.unwrap_or(0), expected, "{keys}\n{shown}");
    }
}

#[test]
fn keys_move_along_the_list() {
    // Task 1 is in progress; 2 and 3 are indented below it, and 4, which both block, below 3. Task 5 is ready; 6 is
    // indented below it.
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4), (5, 6)];
    let order: Vec<u64> = {
        let state = state((160, 45), board(7, &edges, 0));
        let (index, rows) = (index(&state), state.panes.board.rows(&state));
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
            state.panes.board.selected_row(&state).map(|(_, id)| id.0),
            Some(expected),
            "{keys}"
        );
    }
}

#[test]
fn guide_lines_lead_to_blocked_tasks() {
    let edges = [(1, 2), (2, 3), (2, 4), (1, 5), (6, 7)];
    let state = state((160, 45), board(8, &edges, 0));
    let (index, rows) = (index(&state), state.panes.board.rows(&state));
    let mut out = String::new();
    for row in rows.from(0) {
        writeln!(out, "{}{}", row.guide(), index.id(row.task).unwrap()).unwrap();
    }
    let expected = "#1\n├ #2\n│ ├ #3\n│ ╰ #4\n╰ #5\n#6\n╰ #7\n#8\n";
    assert_eq!(out, expected);
}

#[test]
fn click_selects_the_task_under_it() {
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4)];
    for keys in ["", "v", "/ \"o\" enter"] {
        let mut state = state((160, 45), board(5, &edges, 0));
        press(&mut state, keys);
        for id in 1..=5 {
            let picture = cells(&state, &Theme::default());
            let number = format!("#{id} ");
            let found = area(&state).positions().find(|at| {
                let text = (at.x..(at.x + 3).min(160)).map(|x| picture[(x, at.y)].symbol());
                // The line below the graph that describes the selected task also contains its number, so that line is
                // left out.
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
            assert_eq!(
                state.panes.board.selected_row(&state).map(|(_, id)| id.0),
                Some(id),
                "{keys}"
            );
            assert_eq!(state.focus.pane(), Pane::Board);
        }
    }
}

fn any_drawing() -> impl Strategy<Value = Drawing> {
    (
        1_usize..24,
        prop::collection::vec((0_usize..24, 0_usize..24), 0..40),
    )
        .prop_map(|(count, edges)| {
            let edges = edges.into_iter().map(|(a, b)| (a % count, b % count));
            let wanted = GraphInput {
                widths: vec![20; count],
                edges: edges.map(|(a, b)| (a.min(b), a.max(b))).collect(),
                columns: 80,
                ..GraphInput::default()
            };
            draw(&wanted).unwrap()
        })
}

proptest! {
    #[test]
    fn every_node_can_be_reached_from_every_other(drawing in any_drawing()) {
        let moves = [GraphMove::Left, GraphMove::Right, GraphMove::Up(1), GraphMove::Down(1)];
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
            let (left, top) = window(&drawing, at, room);
            prop_assert!(left <= node.x && node.x + node.width <= left + usize::from(columns));
            prop_assert!(top <= node.y && node.y < top + usize::from(rows));
        }
    }
}

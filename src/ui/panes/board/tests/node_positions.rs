//! Tests that owners do not change the positions of graph nodes, and tests of junctions on the critical path.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::ui::fixture::{NOON, name, press};
use crate::ui::frame::layout::inside;
use crate::ui::graph::{Node, ROWS_MAX};
use crate::ui::model::board::index;
use crate::ui::panes::board::Shown;
use crate::ui::panes::board::label::label;
use crate::ui::panes::board::tests::{area, board, pane, state};

fn nodes(size: (u16, u16), board: TaskGraph) -> Vec<Node> {
    let state = state(size, board);
    match state.panes.board.layout(&state, inside(area(&state))).shown {
        Shown::Graph(drawing) => drawing.nodes.clone(),
        Shown::List(why) => panic!("listed: {why:?}"),
    }
}

#[test]
fn claims_do_not_move_graph_nodes() {
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 6)];
    for size in [(160, 45), (200, 50), (240, 60)] {
        let free = board(6, &edges, 1);
        let before = nodes(size, free.clone());
        let mut owned = free;
        for (id, who) in [(3, "bob"), (5, "carol")] {
            let claimer = Claimer {
                name: name(who),
                tags: vec!["rust".into()],
            };
            owned.claim(TaskId(id), &claimer, Timestamp(NOON)).unwrap();
        }
        let shown = pane(&state(size, owned.clone()));
        assert!(
            shown.contains("@bob") && shown.contains("@carol"),
            "{shown}"
        );
        assert_eq!(nodes(size, owned), before, "{size:?}");
    }
}

#[test]
fn nodes_have_the_rows_that_their_words_need_if_the_pane_has_them() {
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 6)];
    let mut wrapped = 0;
    for columns in 60..160 {
        let mut state = state((columns, 60), board(6, &edges, 0));
        press(&mut state, "z");
        let owners = crate::ui::panes::board::owners(&state);
        let places = state.panes.board.layout(&state, inside(area(&state)));
        let Shown::Graph(drawing) = places.shown else {
            continue;
        };
        for (at, node) in drawing.nodes.iter().enumerate() {
            let id = index(&state).id(at).unwrap();
            let label = label(state.model.board.get(id).unwrap());
            let needed = label.rows_needed(node.width, owners).unwrap_or(ROWS_MAX);
            let is_whole = node.width >= label.width(owners);
            assert!(
                is_whole || node.height >= needed.min(ROWS_MAX),
                "{columns}: {label:?} {node:?} {needed}"
            );
            wrapped += usize::from(!is_whole);
        }
    }
    assert!(wrapped > 0);
}

#[test]
fn only_critical_arms_of_a_junction_are_heavy() {
    // The critical path is 1, 2, 4, 5. Task 3 is between 1 and 4, so edges fork at 1 and join at 4.
    let edges = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)];
    let shown = pane(&state((160, 45), board(5, &edges, 0)));
    // At #1, the critical path goes up and the other edge goes straight on. At #4, the critical path comes from above.
    for joint in ["━┹▸", "─┺▸", "━▸"] {
        assert!(shown.contains(joint), "{joint} is missing: {shown}");
    }
    for light in ["┬", "┴", "┼"] {
        assert!(!shown.contains(light), "{light}: {shown}");
    }
}

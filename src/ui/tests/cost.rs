//! What a frame of the board costs.

use std::time::Instant;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;
use crate::ui::UiState;
use crate::ui::board::tests::{area, board, random, state};
use crate::ui::board::{Shown, Why, places, rows};
use crate::ui::fixture::{self, press};
use crate::ui::layout::inside;

/// Not a test of right and wrong: prints what a frame costs. `cargo test --release --lib frames -- --ignored --nocapture`
#[test]
#[ignore = "prints times"]
fn frames_cost_the_same_with_many_tasks() {
    for count in [12, 200, 10_000] {
        let mut state = state((160, 45), many(count));
        for _ in 0..100 {
            fixture::picture_only(&state);
        }
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
        press(&mut state, "/");
        let began = Instant::now();
        for key in "owner:alic".chars() {
            press(&mut state, &key.to_string());
            rows(&state);
        }
        let filtered = began.elapsed() / 10;
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

//! Status messages about the current state are removed once they are no longer true.

use crate::domain::ids::TaskId;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::BranchState;
use crate::protocol::event::{Compaction, CompactionMethod, TurnEnd};
use crate::protocol::{AgentEvent, EventKind, TeamEvent};
use crate::ui::UiState;
use crate::ui::fixture::{
    apply_branches, apply_events, board_event, busy, merging_screen, name, picture, plan, press,
    started_screen,
};

/// A case with a status message: the screen, the keys that produce the message, its text, and a change that makes it
/// outdated.
type Case = (
    fn() -> UiState,
    &'static str,
    &'static str,
    fn(&mut UiState),
);

fn on_board(id: u64) -> UiState {
    let mut state = merging_screen(160, 45);
    press(&mut state, "esc 3");
    state.panes.board.selected = Some(TaskId(id));
    state
}

fn merged_branch() -> BranchState {
    BranchState::Merged {
        into: "main".into(),
        commit: String::new(),
    }
}

fn turn_ends(state: &mut UiState) {
    let (agent, end) = (name("lead"), TurnEnd::Done);
    apply_events(state, vec![AgentEvent::TurnEnded { end }.of(agent)]);
}

fn is_compacted(state: &mut UiState) {
    let compaction = Compaction {
        how: CompactionMethod::Summary {
            transcript: "x".into(),
        },
        before: 900,
        after: 200,
    };
    let agent = name("lead");
    apply_events(state, vec![AgentEvent::Compacted { compaction }.of(agent)]);
}

fn working_screen() -> UiState {
    let mut state = busy(160, 45);
    let (agent, activity) = (name("lead"), Activity::Thinking);
    apply_events(
        &mut state,
        vec![AgentEvent::ActivityChanged { activity }.of(agent)],
    );
    state
}

const CASES: &[Case] = &[
    (
        || started_screen(160, 45),
        "alt+w",
        "No open requests.",
        |state| {
            let request = plan("r1", "1. Look");
            apply_events(
                state,
                vec![EventKind::Team(TeamEvent::RequestChanged { request })],
            );
        },
    ),
    (
        || started_screen(160, 45),
        "\"/compact\" enter",
        "Compacting the conversation of lead…",
        is_compacted,
    ),
    (
        || started_screen(160, 45),
        "\"/compact names\" enter",
        "Compacting the conversation of lead…",
        turn_ends,
    ),
    (working_screen, "ctrl+c", "Stopping lead.", turn_ends),
    (
        || started_screen(160, 45),
        "esc 3 m",
        "No tasks yet.",
        |state| {
            let board = merging_screen(160, 45).board.as_ref().clone();
            apply_events(state, vec![board_event(&board)]);
        },
    ),
    (
        || on_board(4),
        "m",
        "Not merged: #4 is still in progress.",
        |state| {
            let mut board = state.model.board.as_ref().clone();
            board
                .complete(TaskId(4), &name("alice"), Timestamp(1.0))
                .unwrap();
            apply_events(state, vec![board_event(&board)]);
        },
    ),
    (
        || on_board(2),
        "m y",
        "Merging the branch of #2…",
        |state| apply_branches(state, &[("task-2", merged_branch())]),
    ),
    (
        || on_board(2),
        "m A",
        "Merging 3 branches…",
        |state| {
            let all = ["task-2", "task-6", "task-1"].map(|tree| (tree, merged_branch()));
            apply_branches(state, &all);
        },
    ),
    (
        || on_board(3),
        "m",
        "#3 is already merged",
        |state| {
            let into = "main".to_string();
            let unmerged = BranchState::Unmerged { into, size: None };
            apply_branches(state, &[("task-3", unmerged)]);
        },
    ),
];

#[test]
fn status_message_is_removed_when_outdated() {
    for (make, keys, says, change) in CASES {
        let mut state = make();
        press(&mut state, keys);
        assert!(picture(&state).contains(says), "{keys}: {says}");
        // An event that has nothing to do with the status message does not remove it.
        let (agent, text) = (name("carol"), "x".to_string());
        apply_events(&mut state, vec![AgentEvent::TextDelta { text }.of(agent)]);
        let message = state.status.as_ref().map(|message| message.text.as_str());
        assert!(message.is_some_and(|text| text.starts_with(says)), "{says}");
        change(&mut state);
        let message = state.status.as_ref().map(|message| message.text.as_str());
        assert!(
            !message.is_some_and(|text| text.starts_with(says)),
            "{says}"
        );
        assert!(state.take_dirty(), "{says}: the screen is redrawn");
    }
}

#[test]
fn interrupted_agent_is_named_until_its_next_turn() {
    let lead = |event: AgentEvent| event.of(name("lead"));
    let interrupted = || {
        lead(AgentEvent::TurnEnded {
            end: TurnEnd::Interrupted,
        })
    };
    let message = |state: &UiState| state.status.as_ref().map(|message| message.text.clone());
    let mut state = working_screen();
    press(&mut state, "ctrl+c");
    apply_events(&mut state, vec![interrupted()]);
    let expected = "lead is interrupted. Partial work is kept.";
    assert_eq!(message(&state).as_deref(), Some(expected));
    apply_events(&mut state, vec![lead(AgentEvent::TurnStarted)]);
    assert_eq!(message(&state), None);

    // After a second press, the message says both, and the end of the turn does not replace the question.
    let mut state = working_screen();
    press(&mut state, "ctrl+c ctrl+c");
    let asks = "Stopping lead. Press Ctrl+c again to quit.";
    assert!(message(&state).is_some_and(|text| text.starts_with(asks)));
    apply_events(&mut state, vec![interrupted()]);
    assert!(message(&state).is_some_and(|text| text.starts_with(asks)));

    // Nor does it replace what the second press did to a draft.
    let mut state = working_screen();
    press(&mut state, "i \"draft\" ctrl+c ctrl+c");
    apply_events(&mut state, vec![interrupted()]);
    assert!(message(&state).is_some_and(|text| text.starts_with("Draft cleared.")));

    // A turn that another window has interrupted is not announced here.
    let mut state = working_screen();
    apply_events(&mut state, vec![interrupted()]);
    assert_ne!(message(&state).as_deref(), Some(expected));
}

#[test]
fn event_message_is_not_removed_early() {
    let mut state = started_screen(160, 45);
    state.say("Copied the message.");
    turn_ends(&mut state);
    assert!(state.status.is_some());
}

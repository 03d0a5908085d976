//! The user's own actions on the board: commands, confirmations and error messages.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, NewTask, TaskEdit};
use crate::domain::ids::{Name, TaskId};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::Losses;
use crate::protocol::event::UserAction;
use crate::protocol::{Command, CommandRef, EventKind, TaskCommand};
use crate::ui::app::popup::Popup;
use crate::ui::fixture::{NOON, apply_events, board_event, hands, name, picture, press};
use crate::ui::panes::board::tests::merging::on as merging_on;
use crate::ui::{Effect, UiState};

/// A state with a task selected on the board. `own` is claimed by the user.
pub fn at(width: u16, height: u16, own: Option<u64>, id: u64) -> UiState {
    let mut state = hands(width, height, own);
    press(&mut state, "esc 3");
    state.panes.board.selected = Some(TaskId(id));
    state
}

fn wish(wish: TaskCommand) -> Effect {
    Effect::Command(Command::Task(Box::new(wish)))
}

fn claim(id: u64) -> Effect {
    wish(TaskCommand::Claim { task: TaskId(id) })
}

fn complete(id: u64) -> Effect {
    wish(TaskCommand::Complete { task: TaskId(id) })
}

fn release(id: u64, from: &str) -> Effect {
    let (task, from) = (TaskId(id), Name::party(from).unwrap());
    wish(TaskCommand::Release { task, from })
}

#[test]
fn own_tasks_need_no_confirmation_others_do() {
    let none = || vec![];
    for (own, id, keys, expected) in [
        (None, 6, "c", vec![claim(6)]),
        (None, 5, "c", vec![claim(5)]),
        (Some(6), 6, "u", vec![release(6, "user")]),
        (Some(6), 6, "d", vec![complete(6)]),
        // No confirmation for an owner that has shut down.
        (None, 3, "u", vec![release(3, "carol")]),
        (None, 2, "u", none()),
        (None, 2, "u y", vec![release(2, "alice")]),
        (None, 2, "u u", none()),
        (None, 2, "u enter", none()),
        (None, 2, "u n", none()),
        (None, 2, "u esc", none()),
        (None, 6, "d", none()),
        (None, 6, "d y", vec![complete(6)]),
        (None, 6, "d d", none()),
    ] {
        let mut state = at(160, 45, own, id);
        assert_eq!(press(&mut state, keys), expected, "{id} {keys}");
        let asks = state.popups.iter().any(|p| matches!(p, Popup::Confirm(_)));
        let still = ["u u", "u enter", "d d"].contains(&keys);
        let is_first = expected.is_empty() && keys.len() == 1;
        assert_eq!(asks, still || is_first, "{id} {keys}");
    }
}

#[test]
fn impossible_action_is_explained_and_not_offered() {
    for (own, id, key, offers, words) in [
        (None, 1, "c", None, Some("#1 is already completed.")),
        (None, 1, "u", None, Some("#1 is already completed.")),
        (None, 1, "d", None, Some("#1 is already completed.")),
        (
            None,
            2,
            "c",
            None,
            Some("#2 is owned by alice: u releases it."),
        ),
        (None, 2, "u", Some("release"), None),
        (
            None,
            2,
            "d",
            None,
            Some("#2 is owned by alice: u releases it."),
        ),
        (None, 4, "c", None, Some("#4 waits for #2.")),
        (None, 4, "u", None, Some("#4 has no owner")),
        (None, 6, "c", Some("claim"), None),
        // It needs confirmation, so the hints do not offer it.
        (None, 6, "d", None, None),
        (
            Some(6),
            5,
            "c",
            None,
            Some("You already own #6. Select it: d completes it, u releases it."),
        ),
        (Some(6), 6, "c", None, Some("#6 is already yours.")),
        (Some(6), 6, "d", Some("complete"), None),
        (Some(6), 6, "u", Some("release"), None),
    ] {
        let mut state = at(160, 45, own, id);
        let hints = crate::ui::shell::hints::hints(&state);
        let offered = hints.iter().find(|h| h.key == key);
        assert_eq!(offered.map(|h| h.words.as_str()), offers, "{id} {key}");
        let done = press(&mut state, key);
        if let Some(words) = words {
            assert_eq!((done, state.popups.len()), (vec![], 0), "{id} {key}");
            let said = state.app.status.map(|f| f.text).unwrap_or_default();
            assert!(said.contains(words), "{id} {key}: {said}");
        }
    }
    let mut empty = crate::ui::fixture::started(100, 30);
    for key in ["c", "u", "d"] {
        assert_eq!(press(&mut empty, &format!("esc 3 {key}")), []);
        assert!(picture(&empty).contains("No tasks yet."));
    }
}

#[test]
fn dialog_closes_when_task_owner_changes() {
    let mut state = at(160, 45, None, 2);
    press(&mut state, "u");
    assert!(picture(&state).contains("Release #2 (Write the parser), the task of alice?"));
    let mut board = (*state.model.board).clone();
    board
        .take_from_owner(TaskId(2), &name("alice"), Timestamp(NOON))
        .unwrap();
    let bob = Claimer {
        name: name("bob"),
        tags: vec![],
    };
    board.claim(TaskId(2), &bob, Timestamp(NOON)).unwrap();
    apply_events(&mut state, vec![board_event(&board)]);
    assert!(state.popups.is_empty());
    assert!(picture(&state).contains("#2 now has another owner."));
    // A task claimed in the meantime is not completed.
    let mut state = at(160, 45, None, 6);
    press(&mut state, "d");
    board
        .claim(
            TaskId(6),
            &Claimer {
                name: name("dora"),
                tags: vec![],
            },
            Timestamp(NOON),
        )
        .unwrap();
    apply_events(&mut state, vec![board_event(&board)]);
    assert!(state.popups.is_empty());
}

#[test]
fn worktree_path_is_copied() {
    let mut state = at(160, 45, Some(6), 6);
    let path = Effect::Copy("~/src/parser/.worktrees/task-6".into());
    assert_eq!(press(&mut state, "Y"), [path]);
    state.panes.board.selected = Some(TaskId(4));
    assert_eq!(press(&mut state, "Y"), []);
    assert!(picture(&state).contains("#4 has no worktree"));
}

#[test]
fn event_log_names_user() {
    let mut state = at(160, 45, None, 2);
    let mut board = (*state.model.board).clone();
    let now = Timestamp(NOON + 1.0);
    let act = |state: &mut UiState,
               task: u64,
               act: UserAction,
               board: &crate::domain::graph::TaskGraph| {
        let task = TaskId(task);
        apply_events(
            state,
            vec![EventKind::PersonActed { task, act }, board_event(board)],
        );
    };
    board.claim(TaskId(6), &Claimer::user(), now).unwrap();
    act(&mut state, 6, UserAction::Claimed, &board);
    board.complete(TaskId(6), &Name::user(), now).unwrap();
    act(&mut state, 6, UserAction::Completed, &board);
    let from = name("alice");
    board.take_from_owner(TaskId(2), &from, now).unwrap();
    act(&mut state, 2, UserAction::Released { from }, &board);
    press(&mut state, "@");
    let log = picture(&state);
    for line in [
        "you claimed #6 Look at the licence",
        "you completed #6 Look at the licence",
        "#2 Write the parser is back on the board: you took it from alice",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    assert!(!log.contains("outside"), "{log}");
}

#[test]
fn task_form_submits_and_shows_errors() {
    let add = |subject: &str, blocked_by: &[u64]| {
        wish(TaskCommand::Add {
            new: NewTask {
                subject: subject.into(),
                blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
                ..NewTask::default()
            },
        })
    };
    let edit = |edit: TaskEdit| {
        wish(TaskCommand::Edit {
            task: TaskId(4),
            edit,
        })
    };
    let words = |subject: &str| TaskEdit {
        subject: Some(subject.into()),
        ..TaskEdit::default()
    };
    let no_wait = TaskEdit {
        unblock: vec![TaskId(2)],
        ..TaskEdit::default()
    };
    for (keys, expected, is_open) in [
        ("a", vec![], true),
        ("a enter", vec![], true),
        ("a \"Draw\" enter", vec![add("Draw", &[])], false),
        (
            "a \"Draw\" tab tab ctrl+t enter",
            vec![add("Draw", &[4])],
            false,
        ),
        (
            "a \"Draw\" ctrl+t ctrl+t enter",
            vec![add("Draw", &[])],
            false,
        ),
        ("a \"Draw\" ctrl+j enter", vec![add("Draw", &[])], false),
        ("a \"Draw\" esc", vec![], false),
        ("a \"Draw\" esc a enter", vec![add("Draw", &[])], false),
        ("a \"Draw\" ctrl+c a enter", vec![add("Draw", &[])], false),
        (
            "a \"Draw\" ctrl+u \"It\" enter",
            vec![add("It", &[])],
            false,
        ),
        ("a \"Draw\" ctrl+x e", vec![Effect::EditComposer], true),
        ("e enter", vec![], false),
        (
            "e \"s\" enter",
            vec![edit(words("Describe the formats"))],
            false,
        ),
        ("e tab tab ctrl+u enter", vec![edit(no_wait)], false),
        ("e ctrl+t enter", vec![], false),
        // Other keys do not discard the text.
        ("a \"Draw\" alt+w", vec![], true),
        ("a \"Draw\" ctrl+p", vec![], true),
    ] {
        let mut state = at(160, 45, None, 4);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
        let open = state.popups.iter().any(|p| matches!(p, Popup::Task(_)));
        assert_eq!(open, is_open, "{keys}");
    }
    let mut state = at(160, 45, None, 1);
    assert_eq!(press(&mut state, "e"), []);
    assert!(picture(&state).contains("Cannot edit #1: it is completed."));
    let mut state = at(60, 16, None, 1);
    press(&mut state, "e");
    assert!(picture(&state).contains("Cannot edit #1: it is completed."));
}

#[test]
fn rejected_form_reopens_with_reason() {
    let mut state = at(160, 45, None, 4);
    press(&mut state, "a \"Draw\" enter");
    let why = "the disk is full".to_string();
    let refused = |asked| EventKind::refused(asked, why.clone());
    let edit = CommandRef::EditTask { task: TaskId(4) };
    for other in [
        CommandRef::Merge { task: TaskId(2) },
        CommandRef::ListModels,
        edit,
    ] {
        apply_events(&mut state, vec![refused(other)]);
        assert!(state.popups.is_empty(), "it is not about the form");
    }
    let of_old = EventKind::Refused {
        asked: None,
        why: why.clone(),
    };
    apply_events(&mut state, vec![of_old, refused(CommandRef::AddTask)]);
    let shown = picture(&state);
    assert!(shown.contains("New task") && shown.contains("Draw") && shown.contains(&why));
    // An accepted form does not return; a rejection of something else changes nothing.
    press(&mut state, "enter");
    let task = TaskId(7);
    let act = UserAction::Added;
    apply_events(
        &mut state,
        vec![
            EventKind::PersonActed { task, act },
            refused(CommandRef::AddTask),
        ],
    );
    assert!(state.popups.is_empty() && state.input.task_forms.is_clear());
    press(&mut state, "a");
    assert!(!picture(&state).contains("Draw"));
    // A paste into a single- line field becomes one line.
    crate::ui::update(&mut state, crate::ui::Msg::Paste("a\nb\n".into()));
    assert!(picture(&state).contains("a b"));
    crate::ui::update(&mut state, crate::ui::Msg::Edited("c\nd\n".into()));
    assert!(picture(&state).contains("c d"));
}

#[test]
fn rejected_form_stays_draft_while_user_is_busy() {
    for keys in ["i", "i \"half\"", "?"] {
        let mut state = at(160, 45, None, 4);
        press(&mut state, "a \"Draw\" enter a \"Paint\" esc");
        press(&mut state, keys);
        let popups = state.popups.len();
        apply_events(
            &mut state,
            vec![EventKind::refused(CommandRef::AddTask, "the disk is full.")],
        );
        assert_eq!(state.popups.len(), popups, "{keys}");
        let said = state.status.take().map(|f| f.text).unwrap_or_default();
        assert_eq!(
            said, "the disk is full. Draft kept; a reopens it.",
            "{keys}"
        );
        // Neither draft replaces the other.
        press(&mut state, "esc esc 3 a");
        let shown = picture(&state);
        assert!(shown.contains("Draw") && shown.contains("the disk is full"));
        press(&mut state, "enter a");
        assert!(picture(&state).contains("Paint"), "{keys}");
    }
}

#[test]
fn unconfirmed_forms_are_bounded() {
    let mut state = at(160, 45, None, 4);
    for _ in 0..crate::ui::app::task_forms::FORMS_MAX {
        assert_eq!(press(&mut state, "a \"Draw\" enter").len(), 1);
    }
    assert_eq!(press(&mut state, "a \"One more\" enter"), []);
    assert!(picture(&state).contains("the board has not confirmed"));
    let act = UserAction::Added;
    let task = TaskId(7);
    apply_events(&mut state, vec![EventKind::PersonActed { task, act }]);
    assert_eq!(press(&mut state, "enter").len(), 1);
}

/// The losses of a worktree.
pub fn losses() -> Losses {
    Losses {
        files: 2,
        named: vec!["notes.txt".into(), "src/words.rs".into()],
        commits: 1,
        subjects: vec!["1a2b3c4 Count the words".into()],
        ..Losses::default()
    }
}

/// The event with the result of a worktree check.
pub fn judged(id: u64, losses: Losses) -> EventKind {
    EventKind::WorktreeJudged {
        task: TaskId(id),
        losses,
        size: "1.2 MiB".into(),
    }
}

#[test]
fn removing_worktree_with_work_asks_twice() {
    let remove = |told: Losses| {
        let task = TaskId(2);
        Effect::Command(Command::RemoveWorktree { task, told })
    };
    let none = Losses::default;
    for (would_go, keys, expected, asks) in [
        (none(), "", vec![], true),
        (none(), "y", vec![remove(none())], false),
        (none(), "X", vec![], true),
        (none(), "n", vec![], false),
        (losses(), "y", vec![], true),
        (losses(), "y y", vec![], true),
        (losses(), "y enter", vec![], true),
        (losses(), "y n", vec![], false),
        (losses(), "y X", vec![remove(losses())], false),
    ] {
        let mut state = merging_on(160, 45, 2);
        let judge = Effect::Command(Command::JudgeWorktree { task: TaskId(2) });
        assert_eq!(press(&mut state, "W"), [judge]);
        apply_events(&mut state, vec![judged(2, would_go)]);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
        assert_eq!(!state.popups.is_empty(), asks, "{keys}");
    }
    // Permanent losses are listed separately from what is kept.
    let mut state = merging_on(160, 45, 2);
    apply_events(&mut state, vec![judged(2, losses())]);
    press(&mut state, "y");
    let shown = picture(&state);
    for words in [
        "Lost for good: 2 uncommitted files",
        "Kept on the branch wt/task-2",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    for (id, words) in [
        (4, "Worktree not removed: alice has #4 in progress there."),
        (5, "#5 has no worktree"),
    ] {
        let mut state = merging_on(160, 45, id);
        let hints = crate::ui::shell::hints::hints(&state);
        assert!(!hints.iter().any(|h| h.key == "W"), "{id}");
        assert_eq!(press(&mut state, "W"), [], "{id}");
        assert!(picture(&state).contains(words), "{id}");
    }
    // A result that arrives while the user is busy opens no dialog.
    let mut state = merging_on(160, 45, 2);
    press(&mut state, "W a");
    apply_events(&mut state, vec![judged(2, losses())]);
    assert!(picture(&state).contains("New task"));
}

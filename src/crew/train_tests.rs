//! Tests of merge trains, on real worktrees: acceptance commands of all tasks of a branch, combinations on which checks
//! cannot run, and what is tried again.

use std::path::Path;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use super::board_view::BoardView;
use super::merge_service::MergeService;
use super::test_support::{TestCrew, bob, git, one_check, repository};
use crate::checks::{AcceptanceCheck, CheckRunner, TaskChecks, TaskChecksParts};
use crate::domain::graph::{Claimer, NewTask};
use crate::domain::ids::TaskId;
use crate::domain::redact::Redactor;
use crate::domain::timestamp::Timestamp;
use crate::store::{Board, TaskSet, WorktreeCommands, Worktrees};

/// The acceptance commands that the user has set.
#[derive(Debug)]
struct Accepted(Vec<(TaskId, String)>);

impl AcceptanceCheck for Accepted {
    fn is_set(&self, task: TaskId) -> bool {
        self.0.iter().any(|(id, _)| *id == task)
    }

    fn is_approved(&self, task: TaskId, command: &str) -> bool {
        self.0.iter().any(|(id, set)| *id == task && set == command)
    }
}

/// Returns the merge service of a crew without checks, whose user has set `command` as the acceptance command of task 1.
/// The repository is that of [`repository`].
async fn merges_with_acceptance(
    crew: &TestCrew,
    files: &[&str],
    command: &str,
) -> (Arc<MergeService>, Arc<BoardView>) {
    let root = crew.dir.path();
    repository(root, files);
    write_acceptance(root, 1, command);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let checks = TaskChecks::new(TaskChecksParts {
        root: root.to_path_buf(),
        specs: Vec::new(),
        runner: CheckRunner::new(
            root,
            WorktreeCommands::default(),
            Redactor::default(),
            2,
            crew.context.clock,
        ),
        acceptance: Arc::new(Accepted(vec![(TaskId(1), command.to_string())])),
        board: Board::open(root),
        worktrees: Some(Worktrees::open(root)),
    });
    (crew.merges_with(&board, checks), board)
}

/// Writes an acceptance command to the file of a task, as any program can.
fn write_acceptance(root: &Path, id: u64, command: &str) {
    let path = root.join(format!(".tasks/task_{id}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut task: serde_json::Value = serde_json::from_str(&text).unwrap();
    task["acceptance"] = command.into();
    std::fs::write(&path, task.to_string()).unwrap();
}

/// Creates a completed task in a worktree that exists, as one that resolves a conflict is.
fn complete_task_in(board: &BoardView, worktree: &str) -> TaskId {
    let (store, now) = (board.store(), Timestamp(3.0));
    let new = NewTask {
        subject: "Resolve it".into(),
        worktree: worktree.into(),
        ..NewTask::default()
    };
    let id = store.create(new, now).unwrap().id;
    let claimer = Claimer {
        name: bob(),
        tags: Vec::new(),
    };
    store.claim(Some(id), &claimer, now).unwrap();
    store.complete(id, &bob(), now).unwrap();
    id
}

#[tokio::test]
async fn branch_whose_acceptance_command_was_edited_does_not_land() {
    let mut crew = TestCrew::new();
    let (merges, _) = merges_with_acceptance(&crew, &["a", "b"], "test -f a").await;
    let root = crew.dir.path().to_path_buf();
    for edited in ["", "true"] {
        write_acceptance(&root, 1, edited);
        let both = [1, 2].map(TaskId).to_vec();
        merges.merge_for_user(both).await.unwrap();
        let notices = crew.notices().join("\n");
        let expected = "#1 is not merged: the acceptance command that the user has set for #1 is no longer in .tasks/task_1.json. Restore it there";
        assert!(notices.contains(expected), "{edited}: {notices}");
        // Nothing is wrong with the other branch.
        let landed = ["a", "b"].map(|file| root.join(file).exists());
        assert_eq!(landed, [false, true], "{edited}");
    }
    write_acceptance(&root, 1, "test -f a");
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    assert!(root.join("a").exists());
}

#[tokio::test]
async fn pair_on_which_the_checks_cannot_run_is_found_like_a_red_one() {
    let crew = TestCrew::new();
    repository(crew.dir.path(), &["a", "b", "c"]);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let merges = crew.checked_merges(&board, "test -f a && test -f c && exit 127; exit 0");
    let all = [1, 2, 3].map(TaskId).to_vec();
    merges.merge_for_user(all).await.unwrap();
    let landed = ["a", "b", "c"].map(|file| crew.dir.path().join(file).exists());
    assert_eq!(landed, [true, true, false]);
    let repair = board.graph().require(TaskId(4)).unwrap().clone();
    assert_eq!(
        repair.subject,
        "Fix wt/task-3: checks are red together with #1"
    );
    assert!(
        repair.description.contains("exit code 127"),
        "{}",
        repair.description
    );
}

#[tokio::test]
async fn checks_that_cannot_run_on_the_base_either_blame_no_branch() {
    let mut crew = TestCrew::new();
    repository(crew.dir.path(), &["a", "b"]);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    let tool = outside.path().join("tool");
    std::fs::write(&tool, "").unwrap();
    let run = format!("test -f {} || exit 127", tool.display());
    let merges = crew.checked_merges(&board, &run);
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    crew.notices();
    // The result of the base branch is known, but the check cannot run any more.
    std::fs::remove_file(&tool).unwrap();
    merges.merge_for_user(vec![TaskId(2)]).await.unwrap();
    let notices = crew.notices().join("\n");
    assert!(notices.contains("Not merged into main: #2: "), "{notices}");
    assert_eq!(board.graph().tasks().count(), 2);
    assert!(!crew.dir.path().join("b").exists());
}

#[tokio::test]
async fn branch_left_by_an_automatic_merge_lands_with_the_next_one() {
    let mut crew = TestCrew::new();
    let root = crew.dir.path().to_path_buf();
    repository(&root, &["a", "b"]);
    std::fs::write(root.join("base"), "old").unwrap();
    git(&root, &["add", "base"]);
    git(&root, &["commit", "--quiet", "-m", "base"]);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let merges = crew.checked_merges(&board, "true");
    let task = |id| board.graph().require(TaskId(id)).unwrap().clone();
    let (first, second) = (task(1), task(2));
    // An automatic merge needs the results of the branches alone.
    let checks = one_check(&root, "true", crew.context.clock);
    let cancel = CancellationToken::new();
    for task in [&first, &second] {
        checks.run(task, &bob(), &cancel).await.unwrap();
    }
    std::fs::write(root.join("base"), "of the user").unwrap();
    merges.on_task_completed(&first).await;
    let notices = crew.notices().join("\n");
    assert!(notices.contains("Not merged into main: #1: "), "{notices}");
    git(&root, &["checkout", "--quiet", "base"]);
    merges.on_task_completed(&second).await;
    let notices = crew.notices().join("\n");
    assert!(
        notices.contains("#1, #2 are merged into main."),
        "{notices}"
    );
    assert!(root.join("a").exists() && root.join("b").exists());
}

#[tokio::test]
async fn branch_left_by_an_automatic_merge_lands_when_the_user_commits() {
    let mut crew = TestCrew::new();
    let root = crew.dir.path().to_path_buf();
    repository(&root, &["a"]);
    std::fs::write(root.join("base"), "old").unwrap();
    git(&root, &["add", "base"]);
    git(&root, &["commit", "--quiet", "-m", "base"]);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let merges = crew.checked_merges(&board, "true");
    let task = board.graph().require(TaskId(1)).unwrap().clone();
    let checks = one_check(&root, "true", crew.context.clock);
    let cancel = CancellationToken::new();
    checks.run(&task, &bob(), &cancel).await.unwrap();
    std::fs::write(root.join("base"), "of the user").unwrap();
    merges.on_task_completed(&task).await;
    assert!(merges.has_left());
    crew.notices();
    // Nothing has changed: the user does not see the same notice again.
    merges.retry_left().await;
    assert_eq!(crew.notices(), Vec::<String>::new());
    git(&root, &["commit", "--quiet", "-a", "-m", "of the user"]);
    merges.retry_left().await;
    let notices = crew.notices().join("\n");
    assert!(notices.contains("#1 is merged into main."), "{notices}");
    assert!(root.join("a").exists() && !merges.has_left());
}

#[tokio::test]
async fn acceptance_holds_for_later_tasks_in_the_same_worktree() {
    let mut crew = TestCrew::new();
    let command = "test ! -f b || { echo 'error: b is there'; exit 1; }";
    let (merges, board) = merges_with_acceptance(&crew, &["a", "b"], command).await;
    let root = crew.dir.path().to_path_buf();
    merges.merge_for_user(vec![TaskId(2)]).await.unwrap();
    assert!(root.join("b").exists());
    let later = complete_task_in(&board, "task-1");
    board.read(TaskSet::All).await.unwrap();
    crew.notices();
    merges.merge_for_user(vec![later]).await.unwrap();
    let notices = crew.notices().join("\n");
    let expected = "#3 is not merged: the checks are red";
    assert!(notices.contains(expected), "{notices}");
    assert!(!root.join("a").exists());
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    let repair = board.graph().require(TaskId(4)).unwrap().clone();
    assert!(
        repair.description.contains("error: b is there"),
        "{}",
        repair.description
    );
}

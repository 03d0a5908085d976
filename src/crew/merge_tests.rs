//! Tests of the merge service, on real worktrees.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::board_view::BoardView;
use super::merge_service::MergeService;
use super::test_support::{TestCrew, git, repository};
use crate::domain::ids::TaskId;
use crate::store::{TaskSet, Worktrees};

#[tokio::test]
async fn merges_need_worktrees() {
    let crew = TestCrew::new();
    let board = crew.board();
    let merges = crew.merges(&board, None);
    let why = merges.merge(TaskId(1)).await.unwrap_err();
    assert_eq!(
        why,
        "worktrees are not in use here: all agents work in the project directory"
    );
    assert_eq!(
        merges.branches().unmerged_branches().await,
        Vec::<String>::new()
    );
}

/// Creates a repository in which each of `files` was added by the branch of a completed task.
async fn merges_of(crew: &TestCrew, files: &[&str]) -> (Arc<MergeService>, Arc<BoardView>) {
    let root = crew.dir.path();
    repository(root, files);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let merges = crew.merges(&board, Some(Worktrees::open(root)));
    (merges, board)
}

#[tokio::test]
async fn branch_of_a_completed_task_is_merged_once() {
    let crew = TestCrew::new();
    let (merges, _) = merges_of(&crew, &["a"]).await;
    assert!(!crew.dir.path().join("a").exists());
    let text = merges.merge(TaskId(1)).await;
    assert_eq!(text.unwrap(), "wt/task-1 is merged into main.");
    assert!(crew.dir.path().join("a").exists());
    let head = git(crew.dir.path(), &["rev-parse", "HEAD"]);
    let text = merges.merge(TaskId(1)).await;
    assert_eq!(text.unwrap(), "wt/task-1 is already merged into main.");
    assert_eq!(git(crew.dir.path(), &["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn conflict_changes_nothing_and_becomes_a_task_in_its_worktree() {
    let mut crew = TestCrew::new();
    let (merges, board) = merges_of(&crew, &["a", "a"]).await;
    merges.merge(TaskId(1)).await.unwrap();
    let why = merges.merge(TaskId(2)).await.unwrap_err();
    let expected =
        "wt/task-2 does not merge into main: conflict in a. Task #3 was added to resolve it.";
    assert_eq!(why, expected);
    assert_eq!(crew.notices(), [expected]);
    let content = std::fs::read_to_string(crew.dir.path().join("a"));
    assert_eq!(content.unwrap(), "1");
    assert_eq!(git(crew.dir.path(), &["status", "--porcelain"]), "");
    let task = board.graph().require(TaskId(3)).unwrap().clone();
    assert_eq!(task.subject, "Merge main into wt/task-2: conflict in a");
    assert_eq!(task.worktree, "task-2");
    let why = merges.merge(TaskId(2)).await.unwrap_err();
    assert!(
        why.contains("task #3 in worktree task-2 is not completed"),
        "{why}"
    );
}

#[tokio::test]
async fn branches_are_merged_in_the_given_order_up_to_a_conflict() {
    let mut crew = TestCrew::new();
    let (merges, _) = merges_of(&crew, &["a", "a", "b", "c"]).await;
    let order = [4, 2, 1, 3].map(TaskId).to_vec();
    merges.merge_for_user(order).await.unwrap();
    let merged = ["a", "b", "c"].map(|file| crew.dir.path().join(file).exists());
    assert_eq!(merged, [true, false, true]);
    let content = std::fs::read_to_string(crew.dir.path().join("a"));
    assert_eq!(content.unwrap(), "2");
    let notices = crew.notices();
    let starts = [
        "wt/task-4 is merged into main.",
        "wt/task-2 is merged into main.",
        "wt/task-1 does not merge into main: conflict in a. Task #5 was added",
        "2 of 4 branches are merged; stopped at #1: conflict. Undo all: git reset --keep ",
    ];
    let is_expected = |(notice, start): (&String, &str)| notice.starts_with(start);
    assert!(
        notices.len() == starts.len() && notices.iter().zip(starts).all(is_expected),
        "{notices:?}"
    );
}

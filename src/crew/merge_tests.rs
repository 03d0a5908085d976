//! Tests of the merge service, on real worktrees.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::board_view::BoardView;
use super::merge_service::MergeService;
use super::test_support::{TestCrew, git, repository};
use crate::domain::checks::{CheckOutcome, CheckRecord};
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{TrainPhase, TrainRemoval, TrainState};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{BoardEvent, CrewEvent, EventKind};
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
async fn conflict_in_many_files_becomes_a_task_that_names_them() {
    let crew = TestCrew::new();
    let (merges, board) = merges_of(&crew, &["a", "b"]).await;
    let root = crew.dir.path();
    let files: Vec<String> = (10..30)
        .map(|n| format!("a_folder_with_a_long_name_of_a_module/file_number_{n}.rs"))
        .collect();
    for name in ["task-1", "task-2"] {
        let dir = root.join(".worktrees").join(name);
        std::fs::create_dir(dir.join("a_folder_with_a_long_name_of_a_module")).unwrap();
        for file in &files {
            std::fs::write(dir.join(file), name).unwrap();
        }
        git(&dir, &["add", "."]);
        git(&dir, &["commit", "--quiet", "-m", "many files"]);
    }
    merges.merge(TaskId(1)).await.unwrap();
    let why = merges.merge(TaskId(2)).await.unwrap_err();
    assert!(why.ends_with("Task #3 was added to resolve it."), "{why}");
    let task = board.graph().require(TaskId(3)).unwrap().clone();
    let start = "Merge main into wt/task-2: conflict in a_folder_with_a_long_name_of_a_module/";
    assert!(task.subject.starts_with(start), "{}", task.subject);
    assert!(task.subject.ends_with('…'), "{}", task.subject);
    for file in &files {
        assert!(task.description.contains(file.as_str()), "{file}");
    }
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

/// Returns the merge service of a crew with the check `run`, in a repository as in [`merges_of`].
async fn checked_merges_of(
    crew: &TestCrew,
    files: &[&str],
    run: &str,
) -> (Arc<MergeService>, Arc<BoardView>) {
    repository(crew.dir.path(), files);
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    (crew.checked_merges(&board, run), board)
}

fn train_of(event: &EventKind) -> Option<TrainState> {
    match event {
        EventKind::Board(BoardEvent::TrainChanged { train }) => Some(train.clone()),
        _ => None,
    }
}

fn notice_of(event: EventKind) -> Option<String> {
    match event {
        EventKind::Crew(CrewEvent::Notice { text, .. }) => Some(text),
        _ => None,
    }
}

/// A check that is red if both `a` and `c` exist.
const NOT_BOTH: &str =
    "! { test -f a && test -f c; } || { echo 'error: a and c together'; exit 1; }";

#[tokio::test]
async fn pair_that_breaks_the_checks_is_named_and_the_others_land() {
    let mut crew = TestCrew::new();
    let (merges, board) = checked_merges_of(&crew, &["a", "b", "c", "d"], NOT_BOTH).await;
    let all = [1, 2, 3, 4].map(TaskId).to_vec();
    merges.merge_for_user(all).await.unwrap();
    let landed = ["a", "b", "c", "d"].map(|file| crew.dir.path().join(file).exists());
    assert_eq!(landed, [true, true, false, true]);
    assert_eq!(git(crew.dir.path(), &["status", "--porcelain"]), "");
    let events = crew.take_events();
    let trains: Vec<TrainState> = events.iter().filter_map(train_of).collect();
    let all = [1, 2, 3, 4].map(TaskId).to_vec();
    let first = &trains[0];
    assert_eq!((first.phase, &first.current), (TrainPhase::Checking, &all));
    let last = trains.last().unwrap();
    assert_eq!(
        (last.phase, last.landed.len(), &last.why),
        (TrainPhase::Ended, 3, &String::new())
    );
    let out = TrainRemoval {
        task: TaskId(3),
        with: vec![TaskId(1)],
        is_conflict: false,
    };
    assert_eq!(last.thrown_out, [out]);
    let notices: Vec<String> = events.into_iter().filter_map(notice_of).collect();
    let is_said = |start: &str| notices.iter().any(|notice| notice.starts_with(start));
    assert!(
        is_said("#1, #2, #4 are merged into main. Undo all: git reset --keep "),
        "{notices:?}"
    );
    let thrown_out =
        "#3 is not merged: the checks are red together with #1. Task #5 was added to fix it.";
    assert!(is_said(thrown_out), "{notices:?}");
    let task = board.graph().require(TaskId(5)).unwrap().clone();
    assert_eq!(
        task.subject,
        "Fix wt/task-3: checks are red together with #1"
    );
    assert_eq!(
        (task.worktree.as_str(), task.blocked_by.len()),
        ("task-3", 0)
    );
    for part in [
        "task #1, a",
        "task #3, c",
        "error: a and c together",
        "Run `git merge main` there",
    ] {
        assert!(
            task.description.contains(part),
            "{part}: {}",
            task.description
        );
    }
    // Nothing is left of the checkouts.
    let checkouts = std::fs::read_dir(crew.dir.path().join(".crewdeck/checks/trees"));
    assert_eq!(checkouts.unwrap().count(), 0);
    assert_eq!(Worktrees::open(crew.dir.path()).debris().unwrap(), []);
}

#[tokio::test]
async fn checked_merge_for_the_lead_fails_with_the_reason() {
    let mut crew = TestCrew::new();
    let (merges, _) = checked_merges_of(&crew, &["a", "c"], NOT_BOTH).await;
    // The lead merges only what was checked on its own branch.
    let why = merges.merge(TaskId(1)).await.unwrap_err();
    assert!(
        why.contains("has no result for the content of its branch"),
        "{why}"
    );
    merges
        .merge_for_user([1].map(TaskId).to_vec())
        .await
        .unwrap();
    assert!(crew.dir.path().join("a").exists());
    // The user's changes are never touched.
    std::fs::write(crew.dir.path().join("a"), "changed").unwrap();
    crew.notices();
    merges
        .merge_for_user([2].map(TaskId).to_vec())
        .await
        .unwrap();
    let notices = crew.notices().join("\n");
    assert!(
        notices.contains("Not merged into main: #2: the main worktree has uncommitted files (a)"),
        "{notices}"
    );
    let content = || std::fs::read_to_string(crew.dir.path().join("a")).unwrap();
    assert_eq!(content(), "changed");
    git(crew.dir.path(), &["checkout", "--quiet", "a"]);
    merges
        .merge_for_user([2].map(TaskId).to_vec())
        .await
        .unwrap();
    let notices = crew.notices().join("\n");
    assert!(
        notices.contains("#2 is not merged: the checks are red together with #1."),
        "{notices}"
    );
    // A second request does not add a second task.
    let again = merges.merge_for_user([2].map(TaskId).to_vec()).await;
    let why = again.unwrap_err();
    assert!(why.contains("is not completed yet"), "{why}");
}

#[tokio::test]
async fn partner_that_has_landed_before_is_named() {
    let mut crew = TestCrew::new();
    let files = ["a", "b", "c", "d"];
    let (merges, board) = checked_merges_of(&crew, &files, NOT_BOTH).await;
    for id in [2, 1, 4] {
        merges.merge_for_user(vec![TaskId(id)]).await.unwrap();
    }
    crew.notices();
    merges.merge_for_user(vec![TaskId(3)]).await.unwrap();
    let notices = crew.notices().join("\n");
    let expected =
        "#3 is not merged: the checks are red together with #1. Task #5 was added to fix it.";
    assert!(notices.contains(expected), "{notices}");
    let task = board.graph().require(TaskId(5)).unwrap().clone();
    assert_eq!(
        task.subject,
        "Fix wt/task-3: checks are red together with #1"
    );
    for part in [
        "It breaks together with task #1, a. Each of the two is green without the other.",
        "Run `git merge main` there, make the checks green",
    ] {
        assert!(
            task.description.contains(part),
            "{part}: {}",
            task.description
        );
    }
}

#[tokio::test]
async fn partner_that_has_landed_with_others_is_named() {
    let mut crew = TestCrew::new();
    let files = ["a", "b", "c", "d"];
    let (merges, _) = checked_merges_of(&crew, &files, NOT_BOTH).await;
    // One commit of the base branch brings three branches.
    let together = [1, 2, 4].map(TaskId).to_vec();
    merges.merge_for_user(together).await.unwrap();
    crew.notices();
    merges.merge_for_user(vec![TaskId(3)]).await.unwrap();
    let notices = crew.notices().join("\n");
    let expected = "#3 is not merged: the checks are red together with #1.";
    assert!(notices.contains(expected), "{notices}");
}

#[tokio::test]
async fn commit_of_the_user_with_which_a_branch_breaks_is_named() {
    let mut crew = TestCrew::new();
    let (merges, board) = checked_merges_of(&crew, &["b", "c"], NOT_BOTH).await;
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    let root = crew.dir.path();
    std::fs::write(root.join("a"), "of the user").unwrap();
    git(root, &["add", "a"]);
    git(root, &["commit", "--quiet", "--message", "Add a by hand"]);
    let hash = git(root, &["rev-parse", "--short=10", "HEAD"]);
    crew.notices();
    merges.merge_for_user(vec![TaskId(2)]).await.unwrap();
    let notices = crew.notices().join("\n");
    let expected = format!("#2 is not merged: the checks are red together with commit {hash}.");
    assert!(notices.contains(&expected), "{notices}");
    let task = board.graph().require(TaskId(3)).unwrap().clone();
    let expected = format!("It breaks together with the commit {hash} (Add a by hand)");
    assert!(task.description.contains(&expected), "{}", task.description);
}

#[tokio::test]
async fn red_base_throws_no_branch_out() {
    let mut crew = TestCrew::new();
    let (merges, board) = checked_merges_of(&crew, &["a", "b"], "test -f z").await;
    merges
        .merge_for_user([1, 2].map(TaskId).to_vec())
        .await
        .unwrap();
    let notices = crew.notices();
    let last = notices.last().unwrap();
    assert!(
        last.starts_with("Not merged into main: #1, #2: the checks are red on main itself."),
        "{notices:?}"
    );
    assert_eq!(board.graph().tasks().count(), 2);
    assert!(!crew.dir.path().join("a").exists());
}

/// Sets the results of the checks of a task, as a completion does.
fn override_check(board: &BoardView, id: u64, tree: &str) {
    let record = CheckRecord {
        outcome: CheckOutcome::Red,
        override_reason: "flaky".into(),
        ..CheckRecord::running("test", "user", Timestamp(2.0), tree)
    };
    let records = board.store().record_checks(TaskId(id), &bob(), &[record]);
    records.unwrap();
}

#[tokio::test]
async fn overridden_branch_lands_alone_and_hides_no_other_red() {
    let mut crew = TestCrew::new();
    // `b` is red alone, and the user has overridden this. `a` and `c` break each other.
    let check = format!("test ! -f b && {NOT_BOTH}");
    let (merges, board) = checked_merges_of(&crew, &["a", "b", "c"], &check).await;
    let root = crew.dir.path().to_path_buf();
    override_check(&board, 2, &git(&root, &["rev-parse", "wt/task-2^{tree}"]));
    let all = || [1, 2, 3].map(TaskId).to_vec();
    merges.merge_for_user(all()).await.unwrap();
    let landed = ["a", "b", "c"].map(|file| root.join(file).exists());
    assert_eq!(landed, [true, true, false]);
    let notices = crew.notices().join("\n");
    assert!(
        notices.contains("#3 is not merged: the checks are red together with #1."),
        "{notices}"
    );
}

#[tokio::test]
async fn override_of_other_or_unknown_content_does_not_count() {
    for is_known in [true, false] {
        let mut crew = TestCrew::new();
        let (merges, board) = checked_merges_of(&crew, &["b"], "test ! -f b").await;
        let root = crew.dir.path().to_path_buf();
        let content = if is_known {
            git(&root, &["rev-parse", "main^{tree}"])
        } else {
            String::new()
        };
        override_check(&board, 1, &content);
        merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
        assert!(!root.join("b").exists());
        let notices = crew.notices().join("\n");
        assert!(
            notices.contains("#1 is not merged: the checks are red on main."),
            "{notices}"
        );
    }
}

#[tokio::test]
async fn same_content_is_checked_once() {
    let crew = TestCrew::new();
    let counter = tempfile::NamedTempFile::new().unwrap();
    let run = format!("echo run >> {}", counter.path().display());
    let (merges, _) = checked_merges_of(&crew, &["a"], &run).await;
    let root = crew.dir.path().to_path_buf();
    let start = git(&root, &["rev-parse", "main"]);
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    // The user takes the merge back and merges again: the same tree.
    git(&root, &["reset", "--quiet", "--keep", &start]);
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    assert!(root.join("a").exists());
    let runs = std::fs::read_to_string(counter.path()).unwrap();
    assert_eq!(runs, "run\n");
}

#[tokio::test]
async fn interrupted_train_lands_nothing_and_can_run_again() {
    let mut crew = TestCrew::new();
    let dir = tempfile::tempdir().unwrap();
    let (began, go) = (dir.path().join("began"), dir.path().join("go"));
    let run = format!(
        "touch {}; test -f {} || sleep 300",
        began.display(),
        go.display()
    );
    let (merges, _) = checked_merges_of(&crew, &["a"], &run).await;
    assert!(!merges.stop_user_train());
    let own = Arc::clone(&merges);
    let merging = tokio::spawn(async move { own.merge_for_user(vec![TaskId(1)]).await });
    while !began.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(merges.stop_user_train());
    merging.await.unwrap().unwrap();
    let notices = crew.notices().join("\n");
    assert!(notices.contains("Not merged into main: #1:"), "{notices}");
    assert!(!crew.dir.path().join("a").exists());
    std::fs::write(&go, "").unwrap();
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    assert!(crew.dir.path().join("a").exists());
}

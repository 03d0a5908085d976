//! Tests of the worktrees of tasks: copied files, the environment of commands, and the setup command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::board_view::BoardView;
use super::hub_test_support::lead_on_hub;
use super::test_support::{TestCrew, bob, git, repository};
use super::worktree_removal::WorktreeRemoval;
use super::worktrees::TaskWorktrees;
use crate::domain::graph::{Claimer, NewTask};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{Losses, WorktreePhase, WorktreeSettings};
use crate::process::AddedEnvironment;
use crate::store::{WorktreeCommands, Worktrees};

#[tokio::test]
async fn same_warning_about_the_include_file_is_shown_once() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    std::fs::write(root.join(".worktreeinclude"), "../x\n*.local\n").unwrap();
    std::fs::write(root.join("a.local"), "mine").unwrap();
    let board = crew.board();
    let worktrees = TaskWorktrees::new(
        crew.context.clone(),
        crew.registry.clone(),
        board.clone(),
        Some((Worktrees::open(&root), WorktreeCommands::default())),
        None,
    );
    let mut ports = Vec::new();
    for subject in ["one", "two"] {
        let task = {
            let new = NewTask {
                subject: subject.into(),
                ..NewTask::default()
            };
            board.store().create(new, Timestamp(1.0)).unwrap()
        };
        let workspace = worktrees.workspace_for(&task, &bob(), None).await;
        let workspace = workspace.unwrap().unwrap();
        assert!(workspace.text.contains(": a.local. They are not part"));
        let added = worktrees.added_environment(&workspace.dir).await;
        assert_eq!(added.variables["CREWDECK_TASK"], task.id.0.to_string());
        let port = added.variables["CREWDECK_PORT"].clone();
        assert!(workspace.text.contains(&format!("the ports {port} to ")));
        ports.push(port);
        assert!(added.git_excludes.is_some());
    }
    assert_ne!(ports[0], ports[1]);
    let outside = worktrees.added_environment(&root).await;
    assert_eq!(outside, AddedEnvironment::default());
    let notices = crew.notices();
    assert_eq!(
        notices,
        [
            "Worktree task-1: 1 file copied (.worktreeinclude).",
            ".worktreeinclude, line 1: ../x leads out of the project, so it matches nothing.",
            "Worktree task-2: 1 file copied (.worktreeinclude).",
        ]
    );
}

#[tokio::test]
async fn claim_that_is_not_published_yet_lacks_its_worktree() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let open = |crew: &TestCrew| {
        let (context, registry) = (crew.context.clone(), crew.registry.clone());
        let (board, commands) = (crew.board(), WorktreeCommands::default());
        let used = Some((Worktrees::open(&root), commands));
        let worktrees = TaskWorktrees::new(context, registry, board.clone(), used, None);
        (worktrees, board)
    };
    let (worktrees, board) = open(&crew);
    let new = NewTask {
        subject: "one".into(),
        ..NewTask::default()
    };
    let id = board.store().create(new, Timestamp(1.0)).unwrap().id;
    let claimer = Claimer {
        name: bob(),
        tags: Vec::new(),
    };
    let claimed = board.store().claim(Some(id), &claimer, Timestamp(1.0));
    let task = claimed.unwrap().unwrap();
    assert!(!worktrees.lacks_worktree(&bob()).await);

    crew.context = lead_on_hub(&crew);
    let (worktrees, board) = open(&crew);
    assert_eq!(board.graph().len(), 0);
    assert!(worktrees.lacks_worktree(&bob()).await);
    assert!(!worktrees.lacks_worktree(&Name::lead()).await);
    let workspace = worktrees.find_or_create(&task, &bob(), None).await;
    assert!(workspace.unwrap().is_some());
    assert!(!worktrees.lacks_worktree(&bob()).await);
}

#[tokio::test]
async fn setup_runs_once_and_later_owners_read_that_it_failed() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let board = crew.board();
    let setup = "echo run >> \"$CREWDECK_CACHE/runs\"; echo \"no $CREWDECK_TASK\"; exit 3";
    let worktrees = worktrees_with(&crew, &board, setup);
    let new = NewTask {
        subject: "one".into(),
        ..NewTask::default()
    };
    let id = board.store().create(new, Timestamp(1.0)).unwrap().id;
    for owner in [bob(), Name::lead()] {
        let task = board.store().get(id).unwrap();
        let workspace = worktrees.workspace_for(&task, &owner, None).await;
        let text = workspace.unwrap().unwrap().text;
        assert!(text.contains("(exit code 3: no 1)"), "{text}");
        let dir = root.join(".worktrees/task-1");
        assert_eq!(worktrees.resume_setup(&dir, &owner).await, "");
    }
    let runs = root.join(".worktrees/.cache-task-1/runs");
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
    assert_eq!(
        crew.notices(),
        [
            "Worktree task-1: the setup command is running.",
            "Worktree task-1: the setup command failed (exit code 3: no 1). The work goes on without it. Log: .worktrees/.setup-task-1.log",
        ]
    );
}

/// Returns the worktrees of a crew with this setup command, of which one runs at a time.
fn worktrees_with(crew: &TestCrew, board: &Arc<BoardView>, setup: &str) -> TaskWorktrees {
    let commands = WorktreeCommands {
        settings: WorktreeSettings {
            setup: Some(setup.into()),
            ..WorktreeSettings::default()
        },
        ..WorktreeCommands::default()
    };
    TaskWorktrees::new(
        crew.context.clone(),
        crew.registry.clone(),
        board.clone(),
        Some((Worktrees::open(&crew.context.root), commands)),
        None,
    )
}

fn add_task(board: &BoardView, subject: &str) -> Task {
    let new = NewTask {
        subject: subject.into(),
        ..NewTask::default()
    };
    board.store().create(new, Timestamp(1.0)).unwrap()
}

/// Waits until a file exists.
async fn wait_for(path: &Path) {
    let wait = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    assert!(waited.is_ok(), "{} is missing", path.display());
}

#[tokio::test]
async fn dropped_caller_does_not_end_the_setup_and_the_next_turn_gets_its_result() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let board = crew.board();
    let setup = "echo run >> \"$CREWDECK_CACHE/runs\"; until test -e \"$CREWDECK_CACHE/go\"; do sleep 0.02; done";
    let worktrees = Arc::new(worktrees_with(&crew, &board, setup));
    let task = add_task(&board, "one");
    let (own, dir) = (Arc::clone(&worktrees), root.join(".worktrees/task-1"));
    let caller = tokio::spawn(async move { drop(own.workspace_for(&task, &bob(), None).await) });
    let cache = root.join(".worktrees/.cache-task-1");
    wait_for(&cache.join("runs")).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    std::fs::write(cache.join("go"), "").unwrap();
    let text = worktrees.resume_setup(&dir, &bob()).await;
    assert!(text.contains("setup command has run here"), "{text}");
    assert_eq!(worktrees.resume_setup(&dir, &bob()).await, "");
    let runs = std::fs::read_to_string(cache.join("runs")).unwrap();
    assert_eq!(runs, "run\n");
    assert_eq!(crew.notices().len(), 2);
}

#[tokio::test]
async fn interrupted_setup_is_reported_and_runs_again_before_the_next_turn() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let board = crew.board();
    let setup = "if test -e \"$CREWDECK_CACHE/first\"; then exit 0; fi; touch \"$CREWDECK_CACHE/first\"; sleep 600";
    let worktrees = Arc::new(worktrees_with(&crew, &board, setup));
    let task = add_task(&board, "one");
    let (own, dir) = (Arc::clone(&worktrees), root.join(".worktrees/task-1"));
    let caller = tokio::spawn(async move { own.workspace_for(&task, &bob(), None).await });
    wait_for(&root.join(".worktrees/.cache-task-1/first")).await;
    assert!(!worktrees.interrupt_setup(&Name::lead()));
    assert!(worktrees.interrupt_setup(&bob()));
    let workspace = caller.await.unwrap().unwrap().unwrap();
    assert!(
        workspace
            .text
            .contains("interrupted here before it had ended"),
        "{}",
        workspace.text
    );
    assert!(!worktrees.interrupt_setup(&bob()));
    let store = Worktrees::open(&root);
    assert!(store.find("task-1").unwrap().setup_pending);
    let text = worktrees.resume_setup(&dir, &bob()).await;
    assert!(text.contains("setup command has run here"), "{text}");
    assert!(!store.find("task-1").unwrap().setup_pending);
    let notices = crew.notices();
    assert_eq!(
        notices[1],
        "Worktree task-1: the setup command was interrupted. It runs again before the work there continues."
    );
}

#[tokio::test]
async fn setups_do_not_run_at_the_same_time_beyond_the_limit() {
    let crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let board = crew.board();
    let setup = "mkdir ../.only-one && sleep 0.3 && rmdir ../.only-one";
    let worktrees = worktrees_with(&crew, &board, setup);
    let (one, two) = (add_task(&board, "one"), add_task(&board, "two"));
    let owner = bob();
    let (first, second) = tokio::join!(
        worktrees.workspace_for(&one, &owner, None),
        worktrees.workspace_for(&two, &owner, None)
    );
    for workspace in [first, second] {
        let text = workspace.unwrap().unwrap().text;
        assert!(text.contains("setup command has run here"), "{text}");
    }
}

#[tokio::test]
async fn setup_is_forgotten_if_work_continues_without_the_setting() {
    let crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let board = crew.board();
    let before = worktrees_with(&crew, &board, "true");
    let store = Worktrees::open(&root);
    for (task, is_resumed) in [
        (add_task(&board, "one"), false),
        (add_task(&board, "two"), true),
    ] {
        before.find_or_create(&task, &bob(), None).await.unwrap();
        let task = Task::clone(&board.store().get(task.id).unwrap());
        assert!(store.find(&task.worktree).unwrap().setup_pending);
        let without = TaskWorktrees::new(
            crew.context.clone(),
            crew.registry.clone(),
            board.clone(),
            Some((store.clone(), WorktreeCommands::default())),
            None,
        );
        if is_resumed {
            without.recover(task.clone()).await;
        } else {
            without.find_or_create(&task, &bob(), None).await.unwrap();
        }
        assert!(!store.find(&task.worktree).unwrap().setup_pending);
        let dir = before.dir_of(&task).unwrap();
        assert_eq!(before.resume_setup(&dir, &bob()).await, "");
    }
}

#[tokio::test]
async fn interrupted_teardown_keeps_the_worktree_and_holds_up_no_merge() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &["a.txt"]);
    let (board, store) = (crew.board(), Worktrees::open(&root));
    let merges = crew.merges(&board, Some(store.clone()));
    let commands = WorktreeCommands {
        settings: WorktreeSettings {
            teardown: Some("touch \"$CREWDECK_CACHE/begun\"; sleep 600".into()),
            ..WorktreeSettings::default()
        },
        ..WorktreeCommands::default()
    };
    let removal = Arc::new(WorktreeRemoval::new(
        crew.context.clone(),
        board.clone(),
        merges.branches().clone(),
        merges.clone(),
        commands,
    ));
    let confirmed = Losses {
        commits: 1,
        subjects: vec![git(&root, &["log", "-1", "--format=%h %s", "wt/task-1"])],
        ..Losses::default()
    };
    let own = Arc::clone(&removal);
    let running = tokio::spawn(async move { own.remove(TaskId(1), confirmed, None).await });
    wait_for(&root.join(".worktrees/.cache-task-1/begun")).await;
    drop(merges.user_turn().await);
    assert!(!removal.interrupt(&bob()));
    assert!(removal.interrupt(&Name::lead()));
    assert_eq!(
        running.await.unwrap().unwrap_err(),
        "worktree task-1 was not removed: its teardown was interrupted"
    );
    assert!(!removal.interrupt(&Name::lead()));
    let tree = store.find("task-1").unwrap();
    assert_eq!(
        (tree.phase, tree.setup_pending),
        (WorktreePhase::TornDown, true)
    );
    assert!(root.join(".worktrees/task-1/a.txt").exists());
    assert_eq!(
        crew.notices(),
        [
            "Worktree task-1: the teardown command is running. The worktree is removed when it has ended."
        ]
    );
}

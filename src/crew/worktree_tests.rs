//! Tests of the worktrees of tasks: copied files, the environment of commands, and the setup command.

use pretty_assertions::assert_eq;

use super::test_support::{TestCrew, bob, repository};
use super::worktrees::TaskWorktrees;
use crate::domain::graph::NewTask;
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeSettings;
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
        Some(Worktrees::open(&root)),
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
async fn setup_runs_once_and_later_owners_read_that_it_failed() {
    let mut crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let board = crew.board();
    let worktrees = TaskWorktrees::new(
        crew.context.clone(),
        crew.registry.clone(),
        board.clone(),
        Some(Worktrees::open(&root)),
    );
    let setup = "echo run >> \"$CREWDECK_CACHE/runs\"; echo \"no $CREWDECK_TASK\"; exit 3";
    let worktrees = worktrees.with_commands(WorktreeCommands {
        settings: WorktreeSettings {
            setup: Some(setup.into()),
            ..WorktreeSettings::default()
        },
        supervisor: None,
    });
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
        let task = board.store().get(id).unwrap();
        assert!(!worktrees.awaits_setup(&task).await);
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

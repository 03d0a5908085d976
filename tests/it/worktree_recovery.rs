//! Worktrees after interference: killed processes, deleted folders, foreign registries, concurrent processes.

mod command_line;
mod debris;
mod killed_processes;
mod landing;
mod paused_repository;
mod private_locks;
mod removal;
mod user_changes;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{ContentStatus, FolderState, Origin, RemovalMode, WorktreeError};
use crewdeck::store::{NewWorktree, StoreError, Worktrees};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::repository::{NOW, Repository, commit, git, name};

const ROOT: &str = "CREWDECK_WORKTREE_ROOT";
const NUMBER: &str = "CREWDECK_WORKTREE_NUMBER";

fn read_registry(r: &Repository) -> Value {
    let text = fs::read_to_string(r.root().join(".worktrees/index.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn deleted_worktree_is_recreated_from_its_branch() {
    let r = Repository::new();
    r.create(1, &[]);
    r.create(2, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "work\n");
    for task in ["task-1", "task-2"] {
        fs::remove_dir_all(r.worktree_path(task)).unwrap();
    }
    let trees = r.worktrees();
    let state = trees.state(&name("task-1")).unwrap();
    assert_eq!(
        (state.on_disk, state.content),
        (FolderState::Missing, ContentStatus::Unmerged)
    );
    assert!(trees.diff(&name("task-1")).unwrap().text.contains("+work"));
    assert!(trees.commit_leftovers(&name("task-1"), "m").is_err());
    assert!(
        trees
            .remove(&name("task-1"), RemovalMode::OnlyIfSafe, NOW)
            .is_err()
    );

    let recreated = r.try_create(1, &[]).unwrap();
    assert_eq!(
        (recreated.worktree.name, recreated.origin),
        (name("task-1"), Origin::Branch)
    );
    assert_eq!(
        fs::read_to_string(r.worktree_path("task-1").join("b.txt")).unwrap(),
        "work\n"
    );
    let recreated = r.try_create(2, &[]).unwrap();
    assert_eq!(
        (recreated.worktree.name, recreated.origin),
        (name("task-2"), Origin::Base)
    );
    assert_eq!(read_registry(&r)["worktrees"].as_array().unwrap().len(), 2);

    fs::remove_dir_all(r.worktree_path("task-2")).unwrap();
    trees
        .remove(&name("task-2"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    assert!(!r.git(&["worktree", "list"]).contains("task-2"));
}

#[test]
fn lost_branch_continues_in_the_worktree_of_a_hook() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "work\n");
    fs::remove_dir_all(r.worktree_path("task-1")).unwrap();
    let made = r.root().with_file_name("made-by-hook");
    let path = made.to_str().unwrap();
    r.git(&["worktree", "add", "-q", "-b", "from-hook", path]);
    fs::write(made.join(".env"), "prepared\n").unwrap();
    let new = NewWorktree {
        task: TaskId(1),
        made: Some(made.clone()),
        ..NewWorktree::default()
    };
    let created = r.worktrees().create(&new, NOW).unwrap();
    assert_eq!(created.origin, Origin::Branch);
    let dir = r.worktree_path("task-1");
    assert_eq!(git(&dir, &["branch", "--show-current"]), "wt/task-1");
    for (file, text) in [("b.txt", "work\n"), (".env", "prepared\n")] {
        assert_eq!(fs::read_to_string(dir.join(file)).unwrap(), text);
    }
    assert!(!made.exists());
}

#[test]
fn foreign_folder_is_never_changed() {
    let r = Repository::new();
    let dir = r.worktree_path("task-1");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    assert_eq!(r.create(1, &[]), "task-1-2");
    assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");

    // In a worktree without its `.git` link, git must not work on the repository above it.
    let trees = r.worktrees();
    let lost = r.worktree_path("task-1-2");
    fs::remove_file(lost.join(".git")).unwrap();
    fs::write(lost.join("x.txt"), "x").unwrap();
    let before = r.state_snapshot();
    let all = [
        trees.commit_leftovers(&name("task-1-2"), "m").map(|_| ()),
        trees
            .remove(&name("task-1-2"), RemovalMode::Confirmed, NOW)
            .map(|_| ()),
        trees.merge(&name("task-1-2"), NOW).map(|_| ()),
    ];
    for result in all {
        let error = result.unwrap_err();
        assert!(
            matches!(error, StoreError::Worktree(WorktreeError::Foreign(_))),
            "{error}"
        );
    }
    assert_eq!(r.state_snapshot(), before);

    // The link must not lead to another repository or to another worktree of this one.
    let other = Repository::named("other");
    let link = format!("gitdir: {}\n", other.root().join(".git").display());
    let there = r.create(2, &[]);
    let sibling = fs::read_to_string(r.worktree_path(&there).join(".git")).unwrap();
    for link in [link, sibling] {
        fs::write(lost.join(".git"), link).unwrap();
        let state = trees.state(&name("task-1-2")).unwrap();
        assert_eq!(state.on_disk, FolderState::Foreign);
    }
}

#[test]
fn learn_claude_code_registry_stays_compatible() {
    let r = Repository::new();
    let path = r.worktree_path("auth");
    fs::create_dir_all(r.root().join(".worktrees")).unwrap();
    r.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "wt/auth",
        &path.to_string_lossy(),
    ]);
    let theirs = json!({
        "worktrees": [
            {"name": "auth", "path": path, "branch": "wt/auth", "task_id": 12, "status": "active",
             "created_at": 1730.5, "mood": "good"},
            {"name": "v1.2", "path": "/elsewhere", "branch": "wt/v1.2", "task_id": null, "status": "active",
             "created_at": 1.0},
        ],
        "schema": 3,
    });
    fs::write(r.root().join(".worktrees/index.json"), theirs.to_string()).unwrap();
    let trees = r.worktrees();
    assert_eq!(
        trees.find_for(TaskId(12)).unwrap().unwrap().name,
        name("auth")
    );
    assert_eq!(trees.list().unwrap().notices.len(), 1);
    commit(&path, "b.txt", "work\n");
    trees.merge(&name("auth"), NOW).unwrap();
    trees
        .remove(&name("auth"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    let ours = read_registry(&r);
    assert_eq!(
        (&ours["schema"], &ours["worktrees"][1]),
        (&json!(3), &theirs["worktrees"][1])
    );
    let entry = &ours["worktrees"][0];
    assert_eq!(
        (
            &entry["mood"],
            &entry["status"],
            &entry["task_id"],
            &entry["removed_at"]
        ),
        (&json!("good"), &json!("removed"), &json!(12), &json!(7.0))
    );
}

#[test]
fn damaged_registry_is_moved_aside_and_rebuilt() {
    let r = Repository::new();
    r.create(1, &[]);
    let file = r.root().join(".worktrees/index.json");
    fs::write(&file, "{\"worktrees\": [{\"na").unwrap();
    let listing = r.worktrees().list().unwrap();
    assert_eq!(listing.worktrees[0].name, name("task-1"));
    assert!(
        listing.notices[0].contains("index.json.damaged-1"),
        "{:?}",
        listing.notices
    );
    r.create(2, &[]);
    let written = read_registry(&r);
    let trees = written["worktrees"].as_array().unwrap();
    let names: Vec<&Value> = trees.iter().map(|t| &t["name"]).collect();
    assert_eq!(names, [&json!("task-1"), &json!("task-2")]);
}

#[test]
fn commit_without_a_git_identity_uses_crewdeck() {
    let r = Repository::new();
    r.create(1, &[]);
    for key in ["user.name", "user.email"] {
        r.git(&["config", "--unset", key]);
    }
    fs::write(r.worktree_path("task-1").join("b.txt"), "work\n").unwrap();
    let hook = r.root().join(".git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let done = r
        .worktrees()
        .commit_leftovers(&name("task-1"), "task #1: Subject")
        .unwrap();
    assert!(done.is_some());
    let who = git(
        &r.worktree_path("task-1"),
        &["log", "-1", "--format=%an <%ae>"],
    );
    // The user who runs this test may have a global git identity.
    let global = Command::new("git")
        .args(["config", "--global", "user.name"])
        .output()
        .unwrap();
    if global.stdout.is_empty() {
        assert_eq!(who, "crewdeck <crewdeck@localhost>");
    }
}

/// Starts this test binary as the child process `number`, which creates worktrees.
fn start_process(r: &Repository, number: usize) -> Child {
    start_process_as(r, &number.to_string())
}

/// Starts this test binary as a child process that does the work of `role`.
fn start_process_as(r: &Repository, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worktree_recovery::role", "--nocapture"])
        .env(ROOT, r.root())
        .env(NUMBER, role)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child process of [`start_process_as`] runs. In the test process itself it does nothing.
#[test]
fn role() {
    let (Ok(root), Ok(number)) = (std::env::var(ROOT), std::env::var(NUMBER)) else {
        return;
    };
    let trees = Worktrees::open(root.as_ref());
    if number == "remove" {
        removal::remove_forever(&trees, root.as_ref());
    }
    if let Some(step) = paused_repository::Step::named(&number) {
        step.run(&trees);
        return;
    }
    let number: u64 = number.parse().unwrap();
    for task in 0..5 {
        // Two processes create a worktree for each task.
        let new = NewWorktree {
            task: TaskId(number / 2 * 5 + task + 1),
            owner: format!("agent-{number}"),
            ..NewWorktree::default()
        };
        trees.create(&new, NOW).unwrap();
    }
}

#[test]
fn eight_processes_create_forty_unique_worktrees() {
    let r = Repository::new();
    let children: Vec<Child> = (0..8).map(|number| start_process(&r, number)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let listing = r.worktrees().list().unwrap();
    let names: BTreeSet<&str> = listing.worktrees.iter().map(|t| t.name.as_str()).collect();
    assert_eq!((listing.worktrees.len(), names.len()), (40, 40));
    for task in 1..=20 {
        for name in [format!("task-{task}"), format!("task-{task}-2")] {
            assert!(r.worktree_path(&name).join("a.txt").exists(), "{name}");
        }
    }
    assert_eq!(r.events().len(), 80);
    assert_eq!(r.git(&["status", "--porcelain"]), "");
}

/// An agent that can write to the git folder of its worktree could point it to another repository, whose settings start
/// a program.
#[test]
fn injected_git_settings_start_no_program() {
    let r = Repository::new();
    r.create(1, &[]);
    let evil = r.root().join("evil");
    let copied = std::process::Command::new("cp")
        .args(["-r", ".git", "evil"])
        .current_dir(r.root())
        .status();
    assert!(copied.unwrap().success());
    let mark = r.root().join("mark");
    let filter = format!("touch '{}'; cat", mark.display());
    r.git(&["config", "-f", "evil/config", "filter.evil.clean", &filter]);
    std::fs::write(
        r.root().join(".git/worktrees/task-1/commondir"),
        evil.to_string_lossy().as_bytes(),
    )
    .unwrap();
    std::fs::write(
        r.worktree_path("task-1").join(".gitattributes"),
        "* filter=evil\n",
    )
    .unwrap();
    std::fs::write(r.worktree_path("task-1").join("b.txt"), "b").unwrap();
    let trees = r.worktrees();
    // The results do not matter here.
    let _ = trees.state(&name("task-1"));
    let _ = trees.commit_leftovers(&name("task-1"), "m");
    let _ = trees.diff(&name("task-1"));
    assert!(!mark.exists(), "a program was started");
}

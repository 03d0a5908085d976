//! Worktrees after somebody interfered: killed processes, lost folders, foreign registries, many at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;
#[path = "common/repository.rs"]
#[allow(dead_code)] // other tests use more of it
mod repository;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{
    Content, Leftovers, Merge, OnDisk, Origin, Removal, WorktreeError,
};
use crewdeck::store::{NewWorktree, StoreError, Worktrees};
use pretty_assertions::assert_eq;
use repository::{NOW, Repository, commit, git, name};
use serde_json::{Value, json};

const ROOT: &str = "CREWDECK_WORKTREE_ROOT";
const NUMBER: &str = "CREWDECK_WORKTREE_NUMBER";

fn index(r: &Repository) -> Value {
    let text = fs::read_to_string(r.root().join(".worktrees/index.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_folder_that_somebody_deleted_is_made_again_from_its_branch() {
    let r = Repository::new();
    r.create(1, &[]);
    r.create(2, &[]);
    commit(&r.tree("task-1"), "b.txt", "work\n");
    for task in ["task-1", "task-2"] {
        fs::remove_dir_all(r.tree(task)).unwrap();
    }
    let trees = r.worktrees();
    let state = trees.state(&name("task-1")).unwrap();
    assert_eq!(
        (state.on_disk, state.content),
        (OnDisk::Missing, Content::Unmerged)
    );
    assert!(trees.diff(&name("task-1")).unwrap().text.contains("+work"));
    assert!(trees.commit_leftovers(&name("task-1"), "m").is_err());
    assert!(
        trees
            .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
            .is_err()
    );

    let again = r.try_create(1, &[]).unwrap();
    assert_eq!(
        (again.worktree.name, again.origin),
        (name("task-1"), Origin::Branch)
    );
    assert_eq!(
        fs::read_to_string(r.tree("task-1").join("b.txt")).unwrap(),
        "work\n"
    );
    let again = r.try_create(2, &[]).unwrap();
    assert_eq!(
        (again.worktree.name, again.origin),
        (name("task-2"), Origin::Base)
    );
    assert_eq!(index(&r)["worktrees"].as_array().unwrap().len(), 2);

    fs::remove_dir_all(r.tree("task-2")).unwrap();
    trees
        .remove(&name("task-2"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    assert!(!r.git(&["worktree", "list"]).contains("task-2"));
}

#[test]
fn an_attempt_that_was_cut_off_anywhere_is_no_hindrance() {
    let r = Repository::new();
    let (path, trees) = (r.tree("task-1"), r.worktrees());
    trees.list().unwrap();
    // Only the branch was made.
    r.git(&["branch", "wt/task-1"]);
    assert_eq!(r.create(1, &[]), "task-1");
    trees
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap();

    // Git was killed while it wrote the files: the worktree is locked, files are missing.
    r.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "wt/task-1",
        &path.to_string_lossy(),
    ]);
    let own = r.root().join(".git/worktrees/task-1");
    fs::write(own.join("locked"), "initializing\n").unwrap();
    fs::remove_file(path.join("a.txt")).unwrap();
    assert_eq!(r.create(1, &[]), "task-1");
    assert!(path.join("a.txt").exists());
    trees
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap();

    // Before there was a file in it.
    r.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "wt/task-1",
        &path.to_string_lossy(),
    ]);
    fs::write(own.join("locked"), "initializing\n").unwrap();
    fs::remove_dir_all(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(r.create(1, &[]), "task-1");
    trees
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap();

    // It was made and not entered: it is found, with all that is in it.
    r.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "wt/task-1",
        &path.to_string_lossy(),
    ]);
    commit(&path, "b.txt", "work\n");
    let found = trees.find_for(TaskId(1)).unwrap().unwrap();
    assert_eq!(
        (found.name.clone(), found.branch.as_str()),
        (name("task-1"), "wt/task-1")
    );
    assert_eq!(r.create(1, &[]), "task-1-2");

    // The folder was removed, the registry not yet written.
    r.git(&["worktree", "remove", &r.tree("task-1-2").to_string_lossy()]);
    trees
        .remove(&name("task-1-2"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    assert_eq!(r.git(&["branch", "--list", "wt/task-1-2"]), "");

    // The merge was made, the registry not yet written.
    r.git(&["merge", "--quiet", "wt/task-1"]);
    trees
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap();
}

#[test]
fn what_a_killed_git_has_locked_is_free_when_the_owner_comes_back() {
    let r = Repository::new();
    r.create(1, &[]);
    let own = r.root().join(".git/worktrees/task-1");
    for left in ["index.lock", "HEAD.lock"] {
        fs::write(own.join(left), "").unwrap();
    }
    let of_the_person = r.root().join(".git/index.lock");
    fs::write(&of_the_person, "").unwrap();
    r.worktrees().unlock(&name("task-1")).unwrap();
    assert!(of_the_person.exists(), "that one is not ours");
    fs::remove_file(of_the_person).unwrap();
    commit(&r.tree("task-1"), "b.txt", "work\n");
    assert!(r.worktrees().unlock(&name("task-9")).is_err());
}

#[test]
fn a_folder_of_somebody_else_is_never_touched() {
    let r = Repository::new();
    let dir = r.tree("task-1");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    assert_eq!(r.create(1, &[]), "task-1-2");
    assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");

    // A worktree that lost its link must not let git work in the repository above it.
    let trees = r.worktrees();
    let lost = r.tree("task-1-2");
    fs::remove_file(lost.join(".git")).unwrap();
    fs::write(lost.join("x.txt"), "x").unwrap();
    let before = r.picture();
    let all = [
        trees.commit_leftovers(&name("task-1-2"), "m").map(|_| ()),
        trees
            .remove(&name("task-1-2"), Removal::WhatIsLostIsKnown, NOW)
            .map(|_| ()),
        trees.merge(&name("task-1-2"), NOW).map(|_| ()),
    ];
    for refused in all {
        let why = refused.unwrap_err();
        assert!(
            matches!(why, StoreError::Worktree(WorktreeError::Foreign(_))),
            "{why}"
        );
    }
    assert_eq!(r.picture(), before);

    // Nor may a link lead to another repository, or to another worktree of this one.
    let other = Repository::named("other");
    let link = format!("gitdir: {}\n", other.root().join(".git").display());
    let there = r.create(2, &[]);
    let sibling = fs::read_to_string(r.tree(&there).join(".git")).unwrap();
    for link in [link, sibling] {
        fs::write(lost.join(".git"), link).unwrap();
        let state = trees.state(&name("task-1-2")).unwrap();
        assert_eq!(state.on_disk, OnDisk::Foreign);
    }
}

#[test]
fn a_registry_of_the_reference_is_read_and_kept_readable() {
    let r = Repository::new();
    let path = r.tree("auth");
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
        .remove(&name("auth"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    let ours = index(&r);
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
fn a_damaged_registry_is_set_aside_and_what_stands_is_found_again() {
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
    let written = index(&r);
    let trees = written["worktrees"].as_array().unwrap();
    let names: Vec<&Value> = trees.iter().map(|t| &t["name"]).collect();
    assert_eq!(names, [&json!("task-1"), &json!("task-2")]);
}

#[test]
fn where_nobody_set_a_name_crewdeck_commits() {
    let r = Repository::new();
    r.create(1, &[]);
    for key in ["user.name", "user.email"] {
        r.git(&["config", "--unset", key]);
    }
    fs::write(r.tree("task-1").join("b.txt"), "work\n").unwrap();
    let hook = r.root().join(".git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let done = r
        .worktrees()
        .commit_leftovers(&name("task-1"), "task #1: Subject")
        .unwrap();
    assert!(matches!(done, Leftovers::Committed(_)));
    let who = git(&r.tree("task-1"), &["log", "-1", "--format=%an <%ae>"]);
    // The person who runs this test may have set a name for all repositories.
    let global = Command::new("git")
        .args(["config", "--global", "user.name"])
        .output()
        .unwrap();
    if global.stdout.is_empty() {
        assert_eq!(who, "crewdeck <crewdeck@localhost>");
    }
}

#[test]
fn a_process_that_is_killed_at_any_time_is_no_hindrance() {
    let r = Repository::new();
    for n in 0..60 {
        fs::write(r.root().join(format!("f{n}.txt")), "x\n").unwrap();
    }
    r.commit("a.txt", "two\n");
    for round in 0..4u32 {
        let mut child = process(&r, 0);
        std::thread::sleep(Duration::from_millis(40) * round);
        child.kill().unwrap();
        child.wait().unwrap();
        let name = r.create(1000 + u64::from(round), &[]);
        assert_eq!(name, format!("task-{}", 1000 + round));
        // Whatever the killed one left of this task, another one for it can be made, and is whole.
        let name = r.create(1, &[]);
        assert_eq!(git(&r.tree(&name), &["status", "--porcelain"]), "");
    }
    for tree in r.worktrees().list().unwrap().worktrees {
        assert_eq!(
            git(&r.tree(tree.name.as_str()), &["status", "--porcelain"]),
            "",
            "{}",
            tree.name
        );
    }
}

#[test]
fn a_git_that_outlives_its_killed_process_is_waited_for() {
    let r = Repository::new();
    let (started, go) = (r.root().join(".git/started"), r.root().join(".git/go"));
    let smudge = format!(
        "touch '{}'; until [ -e '{}' ]; do sleep 0.01; done; cat",
        started.display(),
        go.display()
    );
    r.git(&["config", "filter.slow.smudge", &smudge]);
    r.git(&["config", "filter.slow.clean", "cat"]);
    r.commit(".gitattributes", "*.txt filter=slow\n");
    let mut child = process(&r, 0);
    let until = Instant::now() + Duration::from_secs(20);
    while !started.exists() {
        assert!(Instant::now() < until, "git never wrote a file");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
    assert!(lock.try_lock().is_err(), "git still works under the lock");
    fs::write(&go, "").unwrap();
    assert_eq!(r.create(1, &[]), "task-1-2");
    assert_eq!(git(&r.tree("task-1"), &["status", "--porcelain"]), "");
}

#[test]
fn a_merge_that_was_cut_off_half_done_is_undone_and_one_of_the_person_is_not() {
    for cut_off in [true, false] {
        let r = Repository::new();
        r.create(1, &[]);
        commit(&r.tree("task-1"), "a.txt", "theirs\n");
        r.commit("a.txt", "ours\n");
        if cut_off {
            let line = json!({"event": "worktree.merge.before", "worktree": {"name": "task-1"}});
            let path = r.root().join(".worktrees/events.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("{text}{line}\n")).unwrap();
        }
        let output = repository::git_output(r.root(), &["merge", "wt/task-1"]);
        assert!(!output.status.success());
        let merged = r.worktrees().merge(&name("task-1"), NOW);
        let is_half_done = r.root().join(".git/MERGE_HEAD").exists();
        if cut_off {
            assert!(matches!(merged, Ok(Merge::Conflict { .. })), "{merged:?}");
            assert!(!is_half_done);
        } else {
            assert!(merged.is_err(), "{merged:?}");
            assert!(is_half_done);
        }
    }
}

/// Starts this binary as a process of that number.
fn process(r: &Repository, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role", "--nocapture"])
        .env(ROOT, r.root())
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a process does; does nothing in the test run itself.
#[test]
fn role() {
    let (Ok(root), Ok(number)) = (std::env::var(ROOT), std::env::var(NUMBER)) else {
        return;
    };
    let trees = Worktrees::open(root.as_ref());
    let number: u64 = number.parse().unwrap();
    for task in 0..5 {
        // Every task is wanted by two processes.
        let new = NewWorktree {
            task: TaskId(number / 2 * 5 + task + 1),
            owner: format!("agent-{number}"),
            ..NewWorktree::default()
        };
        trees.create(&new, NOW).unwrap();
    }
}

#[test]
fn eight_processes_make_forty_worktrees_without_a_clash() {
    let r = Repository::new();
    let children: Vec<Child> = (0..8).map(|number| process(&r, number)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let listing = r.worktrees().list().unwrap();
    let names: BTreeSet<&str> = listing.worktrees.iter().map(|t| t.name.as_str()).collect();
    assert_eq!((listing.worktrees.len(), names.len()), (40, 40));
    for task in 1..=20 {
        for name in [format!("task-{task}"), format!("task-{task}-2")] {
            assert!(r.tree(&name).join("a.txt").exists(), "{name}");
        }
    }
    assert_eq!(r.events().len(), 80);
    assert_eq!(r.git(&["status", "--porcelain"]), "");
}

mod command_line {
    use super::*;
    use crate::project::Project;
    use pretty_assertions::assert_eq;

    /// A project with a commit, and a worktree of task 1 with one more.
    fn project() -> Project {
        let project = Project::new();
        let root = project.path();
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        git(root, &["config", "user.name", "Ada"]);
        git(root, &["config", "user.email", "ada@example.org"]);
        commit(root, "a.txt", "one\n");
        project.json(&["task", "add", "Write it"]);
        let new = NewWorktree {
            task: TaskId(1),
            subject: "Write it".into(),
            owner: "alice".into(),
            ..NewWorktree::default()
        };
        Worktrees::open(root).create(&new, NOW).unwrap();
        commit(&root.join(".worktrees/task-1"), "a.txt", "two\n");
        project
    }

    #[test]
    fn list_diff_merge_remove() {
        let project = project();
        let rows = project.json(&["worktree", "list"]);
        let row = &rows[0];
        assert_eq!(
            (
                &row["name"],
                &row["task_id"],
                &row["branch"],
                &row["owner"],
                &row["dirty"]
            ),
            (
                &json!("task-1"),
                &json!(1),
                &json!("wt/task-1"),
                &json!("alice"),
                &json!(0)
            )
        );
        assert_eq!(
            (&row["ahead"], &row["merged"], &row["status"]),
            (&json!(1), &json!("unmerged"), &json!("active"))
        );
        assert!(row["size"]["bytes"].as_u64().unwrap() > 0);
        let text = project.run(&["worktree", "list"]).out();
        assert!(
            text.starts_with("task-1  #1  wt/task-1  active  @alice  clean  1 not merged  "),
            "{text}"
        );
        // From within the worktree it is the same project.
        let mut inside = project.command(&["worktree", "list"]);
        inside.current_dir(project.file(".worktrees/task-1"));
        assert_eq!(
            String::from_utf8_lossy(&inside.output().unwrap().stdout),
            text
        );

        let diff = project.run(&["worktree", "diff", "#1"]).out();
        assert!(
            diff.contains("1 file changed") && diff.contains("-one\n+two"),
            "{diff}"
        );
        let why = project.refused(&["worktree", "remove", "1"]);
        assert!(
            why.contains("1 unmerged commit") && why.contains("--force"),
            "{why}"
        );
        let merged = project.run(&["worktree", "merge", "1"]);
        assert_eq!(
            merged.out(),
            "merged wt/task-1 into main\n",
            "{}",
            merged.err()
        );
        project.run(&["task", "claim", "1", "--as", "alice"]);
        let why = project.refused(&["worktree", "remove", "1"]);
        assert!(why.contains("alice works on task #1"), "{why}");
        project.run(&["task", "done", "1", "--as", "alice"]);
        let removed = project.json(&["worktree", "remove", "task-1"]);
        assert_eq!(removed, json!({"removed": "task-1", "branch_stays": null}));
        assert_eq!(project.run(&["worktree", "list"]).out(), "No worktrees.\n");
    }

    #[test]
    fn a_conflict_names_the_files_and_force_keeps_the_commits() {
        let project = project();
        commit(project.path(), "a.txt", "three\n");
        let why = project.refused(&["worktree", "merge", "task-1"]);
        assert!(
            why.contains("conflicts with main in a.txt; nothing was changed"),
            "{why}"
        );
        let gone = project.run(&["worktree", "remove", "1", "--force"]).out();
        assert!(
            gone.contains("what was committed is on the branch wt/task-1"),
            "{gone}"
        );
    }

    #[test]
    fn outside_git_it_says_so() {
        let project = Project::new();
        let all = [
            &["list"][..],
            &["diff", "a"],
            &["merge", "1"],
            &["remove", "a"],
        ];
        for args in all {
            let why = project.refused(&[&["worktree"], args].concat());
            assert!(why.contains("is not a git repository"), "{why}");
        }
        let project = self::project();
        for bad in ["..", "a.lock", "nothing", "7"] {
            let why = project.refused(&["worktree", "merge", bad]);
            assert!(
                why.contains("not a worktree's name") || why.contains("there is task-1"),
                "{why}"
            );
        }
    }
}

/// An agent that can write the git folder of its worktree names another repository in it, whose settings start
/// a program.
#[test]
fn settings_that_an_agent_slips_in_start_no_program() {
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
    std::fs::write(r.tree("task-1").join(".gitattributes"), "* filter=evil\n").unwrap();
    std::fs::write(r.tree("task-1").join("b.txt"), "b").unwrap();
    let trees = r.worktrees();
    // Whether they can work then is not the question.
    let _ = trees.state(&name("task-1"));
    let _ = trees.commit_leftovers(&name("task-1"), "m");
    let _ = trees.diff(&name("task-1"));
    assert!(!mark.exists(), "a program was started");
}

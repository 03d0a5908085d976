//! Merges where checks are configured: only what is green together lands, in every way of merging, also after `kill -9` at any
//! moment.
//!
//! `CREWDECK_ROUNDS=100 cargo test --test it merging::train -- --nocapture` runs 100 rounds with random kills;
//! `CREWDECK_SEED=17` runs the round that a failure names.

use std::process::Stdio;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::common::process_tree::kill_tree;
use crate::common::project::{Project, git};
use crate::common::random::Random;
use crate::common::repository;
use crate::crash::debris;
use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Board, NewWorktree, Worktrees, prepare};

/// A check that is red if both `a` and `c` exist.
const NOT_BOTH: &str =
    "test -f a && test -f c && { echo 'error: a and c together'; exit 1; }; exit 0";

/// Returns a project in which each of `files` was added by the branch of a task, and whose user has a check. The tasks
/// are completed with their checks.
fn project(files: &[&str], check: &str, settings: &str) -> Project {
    let ignored = "script.yaml\n.config/\n.local/\n";
    let project = Project::repository(&[("base.txt", "base\n"), (".gitignore", ignored)]);
    project.write("script.yaml", "rules:\n  - say: fine\n    times: 0\n");
    project.write_user_settings(&format!(
        "{settings}\n[[checks]]\nname = \"test\"\nrun = {check:?}\ntimeout_s = 60\n"
    ));
    prepare(project.path()).unwrap();
    let (board, trees) = (Board::open(project.path()), Worktrees::open(project.path()));
    let (bob, now) = (Name::member("bob").unwrap(), Timestamp(7.0));
    for (task, file) in (1..).map(TaskId).zip(files) {
        let new = NewTask {
            subject: format!("Write {file}"),
            ..NewTask::default()
        };
        board.create(new, now).unwrap();
        let (name, tags) = (bob.clone(), vec![]);
        board
            .claim(Some(task), &Claimer { name, tags }, now)
            .unwrap();
        let new = NewWorktree {
            task,
            ..NewWorktree::default()
        };
        let tree = trees.create(&new, now).unwrap().worktree.name;
        board.bind(task, &tree, now).unwrap();
        project.write(&format!(".worktrees/{tree}/{file}"), "done\n");
        trees.commit_leftovers(&tree, "work").unwrap();
        let done = project.run(&["task", "done", &task.0.to_string(), "--as", "bob"]);
        assert_eq!(done.code(), 0, "{}", done.err());
    }
    project
}

fn head(project: &Project) -> String {
    git(project, &["rev-parse", "main"]).trim().to_string()
}

/// Returns which of the files `a` to `d` a commit has.
fn files_of(project: &Project, commit: &str) -> String {
    let list = git(project, &["ls-tree", "--name-only", commit]);
    let names = list.lines().filter(|name| name.len() == 1);
    names.collect()
}

#[test]
fn worktree_merge_checks_the_merged_state() {
    let project = project(&["a", "c"], NOT_BOTH, "");
    let merged = project.json(&["worktree", "merge", "task-1"]);
    assert_eq!(
        (&merged["outcome"], &merged["into"]),
        (&"merged".into(), &"main".into())
    );
    assert_eq!(merged["commit"], head(&project));
    let before = head(&project);
    let ran = project.run(&["worktree", "merge", "2"]);
    let err = ran.err();
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{err}");
    for part in [
        "wt/task-2 is not merged and nothing was changed: the checks are red on main with it",
        "error: a and c together",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert_eq!(head(&project), before);
    let again = project.json(&["worktree", "merge", "task-1"]);
    assert_eq!(again["outcome"], "already_merged");
    // A worktree without a task is checked too.
    let file = project.write(".worktrees/task-1/c", "more\n");
    Worktrees::open(project.path())
        .commit_leftovers(&repository::name("task-1"), "more")
        .unwrap();
    assert!(file.exists());
    std::fs::remove_file(project.file(".tasks/task_1.json")).unwrap();
    let err = project.run(&["worktree", "merge", "task-1"]).err();
    assert!(err.contains("the checks are red on main with it"), "{err}");
    assert_eq!(head(&project), before);
}

#[test]
fn conflict_with_the_base_names_its_files() {
    let project = project(&["a"], NOT_BOTH, "");
    project.write("a", "of the user\n");
    git(&project, &["add", "a"]);
    git(&project, &["commit", "--quiet", "-m", "a"]);
    let before = head(&project);
    let err = project.expect_refusal(&["worktree", "merge", "task-1"]);
    assert!(err.contains("wt/task-1 conflicts with main in a"), "{err}");
    assert_eq!(head(&project), before);
}

#[test]
fn checks_that_wait_for_approval_stop_a_merge() {
    let project = project(&["a"], "true", "");
    project.write_user_settings("");
    let check = "[[checks]]\nname = \"test\"\nrun = \"true\"\n";
    project.write(".crewdeck/config.toml", check);
    let before = head(&project);
    let err = project.expect_refusal(&["worktree", "merge", "task-1"]);
    assert!(err.contains("crewdeck trust"), "{err}");
    assert_eq!(head(&project), before);
}

/// Starts a crew that merges the completed tasks automatically.
fn crew(project: &Project) -> std::process::Command {
    let args = ["run", "begin", "--provider", "script:script.yaml", "--json"];
    let mut command = project.command(&args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns what is wrong with a project whose crew was killed: `start` is the base branch before.
fn problems(project: &Project, start: &str) -> Vec<String> {
    let mut found = Vec::new();
    let commit = head(project);
    let files = files_of(project, &commit);
    let is_before = commit == start;
    if !(is_before && files.is_empty()
        || !is_before && ["ab", "abd", "abc"].contains(&files.as_str()))
    {
        found.push(format!("main has {files:?} at {commit}"));
    }
    if files.contains('a') && files.contains('c') {
        found.push("main is red".into());
    }
    found
}

/// Returns what is wrong after a crew has ended by itself.
fn final_problems(project: &Project) -> Vec<String> {
    let mut found = debris::check(project.path());
    let files = files_of(project, "main");
    if files != "abd" {
        found.push(format!("main has {files:?}"));
    }
    let status = git(project, &["status", "--porcelain"]);
    if !status.is_empty() {
        found.push(format!("the checkout differs: {status}"));
    }
    let refs = git(project, &["for-each-ref", "--format=%(refname)"]);
    let others = refs.lines().filter(|name| !name.starts_with("refs/heads/"));
    found.extend(others.map(|name| format!("{name} is left")));
    let is_left = |path: &str| project.file(path).exists();
    if is_left(".worktrees/landing.json") {
        found.push("the record of the landing is left".into());
    }
    let checkouts = std::fs::read_dir(project.file(".crewdeck/checks/trees"));
    let checkouts = checkouts.into_iter().flatten().count();
    if checkouts > 0 {
        found.push(format!("{checkouts} checkouts are left"));
    }
    let tasks = project.json(&["task", "list"]);
    let repairs: Vec<&Value> = tasks.as_array().unwrap().iter().skip(4).collect();
    let expected = "Fix wt/task-3: checks are red together with #1";
    let is_expected = |task: &&Value| task["subject"] == expected && task["worktree"] == "task-3";
    if repairs.len() != 1 || !repairs.iter().all(is_expected) {
        found.push(format!("tasks of the train: {repairs:?}"));
    }
    found
}

fn run_round(seed: u64) -> (u64, Vec<String>) {
    let project = project(&["a", "b", "c", "d"], NOT_BOTH, "merge = \"auto\"");
    let start = head(&project);
    let mut random = Random(seed);
    let (mut kills, mut found) = (0, Vec::new());
    let most = Duration::from_millis(1500);
    for _ in 0..4 {
        let mut running = crew(&project).spawn().unwrap();
        let until = Instant::now() + random.below(most);
        while Instant::now() < until && running.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if running.try_wait().unwrap().is_some() {
            break;
        }
        kills += 1;
        if random.next().is_multiple_of(2) {
            kill_tree(running);
        } else {
            running.kill().unwrap();
            running.wait().unwrap();
        }
        let at = format!("after kill {kills}: ");
        let now = problems(&project, &start).into_iter();
        found.extend(now.map(|problem| format!("{at}{problem}")));
    }
    crew(&project).status().unwrap();
    found.extend(final_problems(&project));
    if !found.is_empty() {
        let dir = project.keep();
        found.push(format!("left in {}", dir.display()));
    }
    (kills, found)
}

#[test]
fn train_killed_at_any_moment_lands_what_is_green() {
    let env_number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (first, count) = match (env_number("CREWDECK_SEED"), env_number("CREWDECK_ROUNDS")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (1, count.unwrap_or(2)),
    };
    let (mut kills, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        let (killed, found) = run_round(seed);
        kills += killed;
        if !found.is_empty() {
            eprintln!("seed {seed}:\n  {}", found.join("\n  "));
            failed.push(seed);
        }
    }
    println!("{count} rounds, {kills} kills, failed seeds: {failed:?}");
    assert!(
        failed.is_empty(),
        "seeds {failed:?}: run one with CREWDECK_SEED=N"
    );
}

#[test]
fn project_without_checks_merges_without_a_train() {
    let project = project(&["a"], "true", "");
    project.write_user_settings("");
    project.json(&["worktree", "merge", "task-1"]);
    assert_eq!(files_of(&project, "main"), "a");
    let log = std::fs::read_to_string(project.file(".worktrees/events.jsonl")).unwrap();
    assert!(!log.contains("train."), "{log}");
    assert!(!project.file(".worktrees/.merge-train.lock").exists());
}

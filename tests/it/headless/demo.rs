//! The demo in `crewdeck run`: the team completes its tasks.

use std::collections::{HashMap, HashSet};
use std::process::Command;

use serde_json::Value;

use super::{crewdeck, lines, text};
use crate::common::repository::git;

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_with_json_output_completes_its_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    let out = crewdeck(dir.path())
        .args(["run", "--demo", "--json", "--speed", "60", "--dir"])
        .arg(&project)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let events = lines(&out.stdout);
    let mut last = 0;
    for event in &events {
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last, "{event}");
        last = seq;
        assert!(
            event["at"].is_number() && event["type"].is_string(),
            "{event}"
        );
    }
    assert_eq!(events[0]["type"], "crew_ready");
    assert_eq!(events.last().unwrap()["type"], "crew_at_rest");
    let list = crewdeck(&project)
        .args(["task", "list", "--json"])
        .output()
        .unwrap();
    let tasks: Value = serde_json::from_slice(&list.stdout).unwrap();
    let tasks = tasks.as_array().unwrap();
    assert!(
        tasks.iter().all(|t| t["status"] == "completed"),
        "{tasks:?}"
    );
    let subjects: Vec<&str> = tasks
        .iter()
        .map(|t| t["subject"].as_str().unwrap())
        .collect();
    // Eight tasks from the lead's plan, one from a message, and one from a merge conflict.
    assert_eq!(subjects.len(), 10, "{subjects:?}");
    assert_eq!(subjects[8], "Check an empty text");
    assert_eq!(
        subjects[9],
        "Merge main into wt/task-5: conflict in tally.sh"
    );
    assert!(
        most_tasks_in_progress(&events) >= 2,
        "no two tasks were in progress at once"
    );
    // A teammate's question, and the answer that leads to the ninth task.
    for (to, words) in [("carol", "an empty text"), ("bob", "no task checks that")] {
        let is_acted_on = events.iter().any(|e| {
            let message = &e["letter"];
            let says = |words| {
                message["content"]
                    .as_str()
                    .is_some_and(|c| c.contains(words))
            };
            e["step"] == "acted_on" && message["to"] == to && says(words)
        });
        assert!(is_acted_on, "to {to}: {words}");
    }
    let test = Command::new("sh")
        .arg("tests/run.sh")
        .current_dir(&project)
        .output()
        .unwrap();
    assert_eq!(text(&test.stdout), "all 5 tests passed\n", "{test:?}");
    assert_eq!(git(&project, &["status", "--short"]), "");
    assert_eq!(git(&project, &["branch", "--no-merged", "main"]), "");
    let shut_down: Vec<&str> = events
        .iter()
        .filter_map(|e| {
            e["text"]
                .as_str()?
                .strip_suffix(" has shut down as requested.")
        })
        .collect();
    assert_eq!(shut_down, ["carol"]);
}

/// Returns the maximum number of tasks that were in progress at the same time. Panics if a task has had two owners.
fn most_tasks_in_progress(events: &[Value]) -> usize {
    let mut owners: HashMap<u64, String> = HashMap::new();
    let mut in_progress: HashSet<u64> = HashSet::new();
    let mut most = 0;
    let changed = events.iter().filter(|e| e["type"] == "board_changed");
    for task in changed.flat_map(|e| e["changed"].as_array().unwrap()) {
        let id = task["id"].as_u64().unwrap();
        let owner = task["owner"].as_str().unwrap();
        if !owner.is_empty() {
            let first = owners.entry(id).or_insert_with(|| owner.into());
            assert_eq!(first, owner, "two owners of {task}");
        }
        if task["status"] == "in_progress" {
            in_progress.insert(id);
        } else {
            in_progress.remove(&id);
        }
        most = most.max(in_progress.len());
    }
    most
}

/// Simulates a machine without mount namespaces, such as a container or one with AppArmor rules.
#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_completes_without_mount_namespaces() {
    if !Command::new("unshare")
        .args(["-Ur", "true"])
        .status()
        .unwrap()
        .success()
    {
        eprintln!("skipped: this machine has no user namespaces (unshare -Ur)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    let inner = crewdeck(dir.path());
    let mut command = Command::new("unshare");
    command
        .args(["-Ur", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_mnt_namespaces; exec \"$0\" \"$@\"")
        .arg(inner.get_program())
        .args(["run", "--demo", "--json", "--speed", "60", "--dir"])
        .arg(&project)
        .env_clear()
        .current_dir(dir.path());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let tasks = crewdeck(&project)
        .args(["task", "list", "--json"])
        .output()
        .unwrap();
    let tasks: Value = serde_json::from_slice(&tasks.stdout).unwrap();
    let tasks = tasks.as_array().unwrap();
    assert_eq!(tasks.len(), 10, "{tasks:?}");
    assert!(
        tasks.iter().all(|t| t["status"] == "completed"),
        "{tasks:?}"
    );
    let output = text(&out.stdout);
    assert!(
        output.contains("disables protection of the history"),
        "{output}"
    );
}

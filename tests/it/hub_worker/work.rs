//! Work that is spread over hosts: dependent tasks, base commits, messages and checks.

use std::path::Path;

use pretty_assertions::assert_eq;

use super::WORKING_LEAD;
use crate::common::hub_project::{HubProject, writes_notes};
use crate::common::repository::{commit, git, git_output};
use crate::common::wait::wait_until;

/// Returns whether the history of `branch` contains `commit`.
fn contains(dir: &Path, commit: &str, branch: &str) -> bool {
    let args = ["merge-base", "--is-ancestor", commit, branch];
    git_output(dir, &args).status.success()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn dependent_task_has_the_commits_of_its_blocker_from_another_host() {
    let project = HubProject::new(&["alpha", "beta"]);
    let first = project.add_task(&["First", "--tag", "alpha"]);
    let blocker = first.to_string();
    let second = project.add_task(&["Second", "--tag", "beta", "--blocked-by", &blocker]);
    let _workers = ["alpha", "beta"]
        .map(|host| project.start_worker(host, &writes_notes(0), &["--tags", host]));
    assert_eq!(project.wait_until_completed(second).owner, "beta-1");
    assert_eq!(project.task(first).owner, "alpha-1");

    let built_on = project.published("wt/task-1").unwrap();
    assert!(contains(&project.dir("beta"), &built_on, "wt/task-2"));
    let worktree = project.worktree("beta", second);
    let text = std::fs::read_to_string(worktree.join("notes/1.txt"));
    assert_eq!(text.unwrap(), "Written by alpha-1.\n");
    assert_eq!(
        project.published_file("wt/task-2", "notes/1.txt"),
        "Written by alpha-1."
    );
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn worktrees_of_workers_start_from_the_last_commit_of_the_lead() {
    let project = HubProject::new(&["alpha"]);
    let _lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", "auto"]);
    let _worker = project.start_worker("alpha", &writes_notes(0), &[]);
    let dir = project.dir("lead");
    for number in 1..=2 {
        let file = format!("later-{number}.txt");
        commit(&dir, &file, "later\n");
        let head = git(&dir, &["rev-parse", "HEAD"]);
        wait_until("the commit is not published", || {
            project.published("base").as_ref() == Some(&head)
        });
        let task = project.add_task(&["Next"]);
        project.wait_until_completed(task);
        assert!(project.worktree("alpha", task).join(&file).exists());
        let branch = format!("wt/task-{task}");
        assert!(contains(&project.dir("alpha"), &head, &branch));
        // What is checked out in the clone of the worker stays.
        assert!(!project.dir("alpha").join(&file).exists());
    }
    assert!(!project.worktree("alpha", 1).join("later-2.txt").exists());
}

const TO_BETA: &str = "This is for the other host.";
const TO_LEAD: &str = "This is for the lead.";

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn messages_between_hosts_arrive_once() {
    let project = HubProject::new(&["alpha", "beta"]);
    let sends = format!(
        r"
  - when: '<auto-claimed>Task #1: '
    calls:
      - {{ tool: send_message, input: {{ to: beta-1, content: {TO_BETA} }} }}
      - {{ tool: send_message, input: {{ to: lead, content: {TO_LEAD} }} }}
      - {{ tool: task_update, input: {{ task_id: 1, status: completed }} }}
  - times: 0
    say: I go on.
"
    );
    let answers = "
  - times: 0
    say: I have read it.
";
    let mut workers = [
        project.start_worker("alpha", &sends, &["--tags", "alpha"]),
        project.start_worker("beta", answers, &[]),
    ];
    project.wait_for_member("alpha-1");
    project.wait_for_member("beta-1");
    let task = project.add_task(&["Send them", "--tag", "alpha"]);
    let mut lead = project.start_lead("Wait.", answers, &["--tool", "auto"]);
    project.wait_until_completed(task);
    wait_until("the other teammate gets no message", || {
        project.conversation("beta", "beta-1").contains(TO_BETA)
    });
    wait_until("the lead gets no message", || {
        project.conversation("lead", "lead").contains(TO_LEAD)
    });
    assert_eq!(lead.wait(), 0, "{}", lead.log());
    for worker in &mut workers {
        worker.terminate();
        assert_eq!(worker.wait(), 0, "{}", worker.log());
    }

    let count = |host: &str, agent: &str, text: &str| {
        project.conversation(host, agent).matches(text).count()
    };
    assert_eq!(count("beta", "beta-1", TO_BETA), 1);
    assert_eq!(count("lead", "lead", TO_LEAD), 1);
    let unread = project.stores.mailbox.count_unread().unwrap();
    let mut unread = unread.iter().filter(|inbox| !inbox.name.is_user());
    assert!(unread.all(|inbox| inbox.count == 0));
}

/// The check wants `a.txt` to be good.
const CHECK: &str = r#"
[[checks]]
name = "test"
run = "grep -q good a.txt || { echo 'error: a.txt is not good'; exit 1; }"
timeout_s = 60
"#;

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn checks_of_a_worker_run_there_before_its_tasks_are_completed() {
    let project = HubProject::new(&["alpha"]);
    project.write_settings("alpha", CHECK);
    let task = project.add_task(&["Make it good"]);
    let rules = r#"
  - when: '<auto-claimed>Task #1: '
    calls:
      - { tool: bash, input: { command: "echo bad > a.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - when: is not completed
    calls:
      - { tool: bash, input: { command: "echo good > a.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - times: 0
    say: I go on.
"#;
    let _worker = project.start_worker("alpha", rules, &[]);
    project.wait_until_completed(task);

    let shown = project.json(&["task", "show", "1"]);
    let check = &shown["checks"][0];
    assert_eq!(
        (&check["name"], &check["by"], &check["outcome"]),
        (&"test".into(), &"alpha-1".into(), &"green".into())
    );
    let log = check["log"].as_str().unwrap();
    assert!(project.dir("alpha").join(log).is_file());
    assert_eq!(project.published_file("wt/task-1", "a.txt"), "good");
    // The journal is written in the background.
    let updates = || {
        let events = project.journal("alpha").into_iter();
        let ended = events.filter(|event| event["type"] == "tool_finished");
        let updates = ended.filter(|event| event["tool"] == "task_update");
        let outputs = updates.map(|event| event["output"].as_str().unwrap().to_string());
        outputs.collect::<Vec<_>>()
    };
    wait_until("the second call has not ended", || updates().len() == 2);
    let first = updates().remove(0);
    assert!(first.contains("error: a.txt is not good"), "{first}");
}

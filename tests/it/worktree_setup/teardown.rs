//! The teardown command, and the limit of the disk usage.

use std::fs;
use std::process::Stdio;

use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::Name;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::Board;
use pretty_assertions::assert_eq;

use super::{registry, repository, work};
use crate::common::project::git;
use crate::common::wait::wait_until;

#[test]
fn failed_teardown_is_reported_and_the_worktree_is_removed() {
    let project = repository();
    let text = "[worktree]\nteardown = 'test -d \"$CREWDECK_CACHE\" && echo \"task $CREWDECK_TASK is down\"; exit 3'\n";
    project.write(".crewdeck/config.toml", text);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    work(&project, "Write it", "echo two > b.txt");
    let dir = project.file(".worktrees/task-1");
    // A removal that is refused does not run the command.
    let refusal = project.expect_refusal(&["worktree", "remove", "1"]);
    assert!(!refusal.contains("teardown"), "{refusal}");
    assert!(dir.exists());
    git(&project, &["merge", "--quiet", "wt/task-1"]);
    let removed = project.run(&["worktree", "remove", "1"]);
    assert_eq!(removed.code(), 0, "{}", removed.err());
    assert!(
        removed
            .err()
            .contains("The teardown of worktree task-1 failed (exit code 3: task 1 is down)")
            && removed
                .err()
                .contains("The worktree is removed nevertheless."),
        "{}",
        removed.err()
    );
    assert!(!dir.exists());
}

#[test]
fn worktree_claimed_during_its_teardown_stays_and_is_set_up_again() {
    let project = repository();
    let teardown = "touch \"$CREWDECK_CACHE/begun\"; until test -e made-go; do sleep 0.05; done";
    project.write_user_settings(&format!(
        "[worktree]\nsetup = 'echo run >> \"$CREWDECK_CACHE/runs\"'\nteardown = '{teardown}'\n"
    ));
    work(&project, "setup command has run here", "true");
    let removal = project
        .command(&["worktree", "remove", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cache = project.file(".worktrees/.cache-task-1");
    wait_until("the teardown command", || cache.join("begun").exists());
    let (board, now) = (Board::open(&project.file("")), Timestamp(1.0));
    let new = NewTask {
        subject: "Continue".into(),
        worktree: "task-1".into(),
        ..NewTask::default()
    };
    let id = board.create(new, now).unwrap().id;
    let claimer = Claimer {
        name: Name::user(),
        tags: Vec::new(),
    };
    board.claim(Some(id), &claimer, now).unwrap().unwrap();
    project.write(".worktrees/task-1/made-go", "");
    let ended = removal.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{error}");
    assert!(
        error.contains("user works on task #2 in it")
            && error.contains("Its teardown command has run; its setup runs again"),
        "{error}"
    );
    let entry = &registry(&project)[0];
    assert_eq!(entry["setup_pending"], true);
    assert_eq!(entry["phase"], "torn_down");
    assert!(project.file(".worktrees/task-1/a.txt").exists());

    // The next crew sets the worktree up again for the user.
    project.write("script.yaml", "rules:\n  - { times: 0, say: Done. }\n");
    let provider = format!("script:{}", project.file("script.yaml").display());
    let ran = project.run(&["run", "hello", "--json", "--provider", &provider]);
    let runs = fs::read_to_string(cache.join("runs")).unwrap();
    assert_eq!(runs, "run\nrun\n", "{}", ran.out());
    let entry = &registry(&project)[0];
    assert!(entry.get("phase").is_none(), "{entry}");
}

#[test]
fn user_is_warned_above_the_disk_limit() {
    let project = repository();
    project.write(".crewdeck/checks/trees/big", &"x".repeat(3_000_000));
    project.write_user_settings("[worktree]\ndisk_limit = '1 MiB'\n");
    let events = work(&project, "Write it", "true");
    let texts = events.iter().filter_map(|event| event["text"].as_str());
    let texts: Vec<&str> = texts.filter(|text| text.contains("disk_limit")).collect();
    let [text] = texts[..] else {
        panic!("{texts:?}");
    };
    assert!(
        text.starts_with("Worktrees and checks use 2.") && text.contains("(1.0 MiB)"),
        "{text}"
    );
    let list = project.run(&["worktree", "list", "--sizes"]).out();
    assert!(
        list.contains("\nCheckouts and cache of checks: 2."),
        "{list}"
    );
}

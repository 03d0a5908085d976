//! An irregular file in the place of a state file: a folder, a cycle of links, a pipe, a device, a huge file. It is
//! reported, blocks nothing, and is not destroyed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::limited_resources::{RUN_ARGS, crewdeck, run_to_end, subjects, write_script};

const LIST_RULES: &str = "
  - when: ^go$
    calls: [{ tool: task_list, input: {} }]
  - say: Done.
    times: 0
";

const KINDS: [&str; 5] = ["folder", "cycle", "pipe", "device", "large"];

/// Replaces `path` by something that is no normal file: one of [`KINDS`].
fn create_obstacle(kind: &str, path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "folder" => fs::create_dir(path).unwrap(),
        "cycle" => symlink(path.file_name().unwrap(), path).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => symlink("/dev/zero", path).unwrap(),
        _ => fs::File::create(path).unwrap().set_len(1 << 30).unwrap(),
    }
}

/// Returns a project with a task, a message for the lead and a script.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["task", "add", "one"][..],
        &["mail", "send", "lead", "hello"],
    ] {
        run_to_end(crewdeck(dir.path(), args)).ok();
    }
    write_script(dir.path(), LIST_RULES);
    dir
}

/// Runs the crew and some commands with an obstacle of `kind` at `file`. Panics if one hangs. Returns the project and
/// what the crew has written to stderr.
fn run_with_obstacle(file: &str, kind: &str) -> (tempfile::TempDir, String) {
    let dir = project();
    create_obstacle(kind, &dir.path().join(file));
    let run = run_to_end(crewdeck(dir.path(), RUN_ARGS)).ok();
    // The message may have had its own turn.
    assert!(
        run.out.lines().all(|l| l == "Done."),
        "{kind} {file}: {}",
        run.err
    );
    for args in [
        &["task", "list"][..],
        &["team", "list"],
        &["mail", "list", "lead"],
    ] {
        let command = run_to_end(crewdeck(dir.path(), args));
        assert!(
            command.code == 0 || command.err.lines().count() == 1,
            "{kind} {file}: {args:?}: {}",
            command.err
        );
    }
    (dir, run.err)
}

#[test]
fn irregular_task_roster_or_request_is_moved_aside() {
    for (file, what) in [
        (".tasks/task_2.json", "task_2.json"),
        (".team/config.json", "config.json"),
        (".team/requests/r1.json", "r1.json"),
    ] {
        for kind in &KINDS[..4] {
            let (dir, progress) = run_with_obstacle(file, kind);
            let lines: Vec<&str> = progress.lines().filter(|l| l.contains(what)).collect();
            assert_eq!(lines.len(), 1, "{kind} {file}: {progress}");
            assert!(lines[0].contains("instead of a file"), "{}", lines[0]);
            let moved = dir.path().join(format!("{file}.damaged-1"));
            assert!(fs::symlink_metadata(moved).is_ok(), "{kind} {file}");
            assert_eq!(subjects(dir.path()), ["one"]);
        }
    }
    let (_dir, progress) = run_with_obstacle(".tasks/task_2.json", "large");
    assert!(
        progress.contains("larger than 4 MiB: fix it or move it away"),
        "{progress}"
    );
}

#[test]
fn irregular_inbox_cursor_or_lock_is_reported() {
    for file in [".team/inbox/lead.jsonl", ".team/inbox/.lead.lock"] {
        for kind in &KINDS[..4] {
            let (_dir, progress) = run_with_obstacle(file, kind);
            let reports = progress
                .lines()
                .filter(|l| l.starts_with("crewdeck: The inbox"));
            let mut lines: Vec<&str> = reports.collect();
            // Once per turn: the waiting message may start its own turn before the prompt.
            lines.dedup();
            assert_eq!(lines.len(), 1, "{kind} {file}: {progress}");
            assert!(
                lines[0].ends_with("instead of a file: move it away"),
                "{}",
                lines[0]
            );
        }
    }
    // Without its cursor an inbox is read from the start: messages are delivered again, none is lost.
    for kind in KINDS {
        let (dir, progress) = run_with_obstacle(".team/inbox/.lead.cursor", kind);
        assert!(
            progress.contains("lead · message from user"),
            "{kind}: {progress}"
        );
        let again = run_to_end(crewdeck(dir.path(), RUN_ARGS)).ok().err;
        assert!(!again.contains("message from user"), "{kind}: {again}");
    }
}

#[test]
fn irregular_id_lock_or_exclude_file_is_reported() {
    for kind in &KINDS[..4] {
        for file in [".tasks/.last_id", ".tasks/.lock"] {
            let (dir, _) = run_with_obstacle(file, kind);
            let refused =
                run_to_end(crewdeck(dir.path(), &["task", "add", "two"])).expect_refusal();
            assert!(
                refused.contains("instead of a file: move it away"),
                "{refused}"
            );
            assert_eq!(subjects(dir.path()), ["one"]);
        }
        let dir = project();
        fs::create_dir_all(dir.path().join(".git/objects")).unwrap();
        create_obstacle(kind, &dir.path().join(".git/info/exclude"));
        let run = run_to_end(crewdeck(dir.path(), RUN_ARGS)).ok();
        run.only_line_with(&["git status will show the folders of crewdeck"]);
    }
}

#[test]
fn irregular_essential_file_is_refused_in_one_line() {
    for kind in &KINDS[..4] {
        for file in [".crewdeck/.lock", ".crewdeck/config.toml"] {
            let dir = project();
            create_obstacle(kind, &dir.path().join(file));
            let refused = run_to_end(crewdeck(dir.path(), RUN_ARGS)).expect_refusal();
            assert!(refused.contains(file), "{refused}");
            assert!(
                refused.contains("instead of a file: move it away"),
                "{refused}"
            );
        }
        for folder in [".tasks", ".transcripts"] {
            if *kind == "folder" {
                continue;
            }
            let dir = project();
            let original = dir.path().join(folder);
            fs::rename(&original, dir.path().join("kept")).unwrap();
            create_obstacle(kind, &original);
            let refused = run_to_end(crewdeck(dir.path(), RUN_ARGS)).expect_refusal();
            assert!(
                refused.contains("where a folder is needed: move the file away"),
                "{refused}"
            );
        }
    }
    let dir = project();
    create_obstacle("large", &dir.path().join(".crewdeck/config.toml"));
    let refused = run_to_end(crewdeck(dir.path(), RUN_ARGS)).expect_refusal();
    assert!(
        refused.contains("larger than 1 MiB: move it away"),
        "{refused}"
    );
}

#[test]
fn file_tools_refuse_pipes_and_devices() {
    let dir = tempfile::tempdir().unwrap();
    write_script(
        dir.path(),
        "
  - when: ^go$
    calls:
      - { tool: bash, input: { command: mkfifo pipe; ln -s pipe link; echo old > file; ln -s file good } }
      - { tool: read_file, input: { path: pipe } }
      - { tool: write_file, input: { path: pipe, content: x } }
      - { tool: write_file, input: { path: link, content: x } }
      - { tool: edit_file, input: { path: pipe, old_text: a, new_text: b } }
      - { tool: write_file, input: { path: good, content: new } }
      - { tool: grep, input: { pattern: new } }
  - say: Done.
    times: 0
",
    );
    create_obstacle("pipe", &dir.path().join("AGENTS.md"));
    let run = run_to_end(crewdeck(dir.path(), RUN_ARGS)).ok();
    assert_eq!(run.out, "Done.\n", "{}", run.err);
    assert_eq!(
        run.err.matches("is not a regular file").count(),
        4,
        "{}",
        run.err
    );
    // Writing through a link replaces the target's content and keeps the link.
    assert_eq!(fs::read_to_string(dir.path().join("file")).unwrap(), "new");
    assert!(dir.path().join("good").is_symlink());
}

//! Something else stands where a state file belongs: a folder, a circle of links, a pipe, a device, a file
//! without end. It is told, it blocks nothing, and what it was stays.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::narrow::{RUN, crewdeck, ran, script, subjects};

const LOOKS: &str = "
  - when: ^go$
    calls: [{ tool: task_list, input: {} }]
  - say: Done.
    times: 0
";

const KINDS: [&str; 5] = ["folder", "circle", "pipe", "device", "large"];

fn put(kind: &str, path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "folder" => fs::create_dir(path).unwrap(),
        "circle" => symlink(path.file_name().unwrap(), path).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => symlink("/dev/zero", path).unwrap(),
        _ => fs::File::create(path).unwrap().set_len(1 << 30).unwrap(),
    }
}

/// A project with a task, a letter for the lead and a script.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["task", "add", "one"][..],
        &["mail", "send", "lead", "hello"],
    ] {
        ran(crewdeck(dir.path(), args)).ok();
    }
    script(dir.path(), LOOKS);
    dir
}

/// Runs the crew and the verbs with `kind` at `file`; none may hang. The progress of the crew.
fn around(file: &str, kind: &str) -> (tempfile::TempDir, String) {
    let dir = project();
    put(kind, &dir.path().join(file));
    let run = ran(crewdeck(dir.path(), RUN)).ok();
    // The letter may have had a turn of its own.
    assert!(
        run.out.lines().all(|l| l == "Done."),
        "{kind} {file}: {}",
        run.err
    );
    for verb in [
        &["task", "list"][..],
        &["team", "list"],
        &["mail", "list", "lead"],
    ] {
        let told = ran(crewdeck(dir.path(), verb));
        assert!(
            told.code == 0 || told.err.lines().count() == 1,
            "{kind} {file}: {verb:?}: {}",
            told.err
        );
    }
    (dir, run.err)
}

#[test]
fn a_task_a_roster_or_a_request_that_is_no_file_is_set_aside_and_the_rest_works() {
    for (file, what) in [
        (".tasks/task_2.json", "task_2.json"),
        (".team/config.json", "config.json"),
        (".team/requests/r1.json", "r1.json"),
    ] {
        for kind in &KINDS[..4] {
            let (dir, told) = around(file, kind);
            let lines: Vec<&str> = told.lines().filter(|l| l.contains(what)).collect();
            assert_eq!(lines.len(), 1, "{kind} {file}: {told}");
            assert!(lines[0].contains("instead of a file"), "{}", lines[0]);
            let aside = dir.path().join(format!("{file}.damaged-1"));
            assert!(fs::symlink_metadata(aside).is_ok(), "{kind} {file}");
            assert_eq!(subjects(dir.path()), ["one"]);
        }
    }
    let (_dir, told) = around(".tasks/task_2.json", "large");
    assert!(
        told.contains("larger than 4 MiB: fix it or move it away"),
        "{told}"
    );
}

#[test]
fn an_inbox_its_cursor_or_its_lock_that_is_no_file_is_told_and_the_lead_answers() {
    for file in [".team/inbox/lead.jsonl", ".team/inbox/.lead.lock"] {
        for kind in &KINDS[..4] {
            let (_dir, told) = around(file, kind);
            let of_agent = told
                .lines()
                .filter(|l| l.starts_with("crewdeck: The inbox"));
            let mut lines: Vec<&str> = of_agent.collect();
            // Once a turn: the message that waits may begin one of its own, before the prompt.
            lines.dedup();
            assert_eq!(lines.len(), 1, "{kind} {file}: {told}");
            assert!(
                lines[0].ends_with("instead of a file: move it away"),
                "{}",
                lines[0]
            );
        }
    }
    // Without its cursor an inbox is read from the start: letters come again, none is lost.
    for kind in KINDS {
        let (dir, told) = around(".team/inbox/.lead.cursor", kind);
        assert!(told.contains("lead · message from user"), "{kind}: {told}");
        let again = ran(crewdeck(dir.path(), RUN)).ok().err;
        assert!(!again.contains("message from user"), "{kind}: {again}");
    }
}

#[test]
fn numbers_locks_and_the_exclusion_that_are_no_files_are_told() {
    for kind in &KINDS[..4] {
        for file in [".tasks/.last_id", ".tasks/.lock"] {
            let (dir, _) = around(file, kind);
            let refused = ran(crewdeck(dir.path(), &["task", "add", "two"])).refused();
            assert!(
                refused.contains("instead of a file: move it away"),
                "{refused}"
            );
            assert_eq!(subjects(dir.path()), ["one"]);
        }
        let dir = project();
        fs::create_dir_all(dir.path().join(".git/objects")).unwrap();
        put(kind, &dir.path().join(".git/info/exclude"));
        let told = ran(crewdeck(dir.path(), RUN)).ok();
        told.line(&["git status will show the folders of crewdeck"]);
    }
}

#[test]
fn what_a_crew_can_not_do_without_is_one_line() {
    for kind in &KINDS[..4] {
        for file in [".crewdeck/.lock", ".crewdeck/config.toml"] {
            let dir = project();
            put(kind, &dir.path().join(file));
            let refused = ran(crewdeck(dir.path(), RUN)).refused();
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
            let place = dir.path().join(folder);
            fs::rename(&place, dir.path().join("kept")).unwrap();
            put(kind, &place);
            let refused = ran(crewdeck(dir.path(), RUN)).refused();
            assert!(
                refused.contains("in the place of a folder: move it away"),
                "{refused}"
            );
        }
    }
    let dir = project();
    put("large", &dir.path().join(".crewdeck/config.toml"));
    let refused = ran(crewdeck(dir.path(), RUN)).refused();
    assert!(
        refused.contains("larger than 1 MiB: move it away"),
        "{refused}"
    );
}

#[test]
fn an_agent_that_opens_a_pipe_or_a_device_is_told_and_works_on() {
    let dir = tempfile::tempdir().unwrap();
    script(
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
    put("pipe", &dir.path().join("AGENTS.md"));
    let run = ran(crewdeck(dir.path(), RUN)).ok();
    assert_eq!(run.out, "Done.\n", "{}", run.err);
    assert_eq!(
        run.err.matches("is not a regular file").count(),
        4,
        "{}",
        run.err
    );
    // Through a link the file behind it is written, whole; the link stays.
    assert_eq!(fs::read_to_string(dir.path().join("file")).unwrap(), "new");
    assert!(dir.path().join("good").is_symlink());
}

//! A low limit on open files is reported without a panic, and a working crew does not leak files.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::common::limited_resources::{
    CommandResult, RUN_ARGS, conversation, crewdeck, crewdeck_through, run_to_end, start, subjects,
    wait_for_end, write_script,
};
use crate::common::wait::wait_until;

fn crewdeck_with_file_limit(files: u32, dir: &Path, args: &[&str]) -> Command {
    let limit = format!("ulimit -n {files} && exec \"$@\"");
    crewdeck_through(&["bash", "-c", &limit, "bash"], dir, args)
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn low_file_limit_is_one_line_and_48_files_suffice_for_a_team() {
    let dir = tempfile::tempdir().unwrap();
    write_script(dir.path(), "  - say: Done.\n    times: 0\n");
    for few in [8, 16, 31] {
        let refused =
            run_to_end(crewdeck_with_file_limit(few, dir.path(), RUN_ARGS)).expect_refusal();
        assert!(
            refused.contains(&format!("the limit on open files is {few}")),
            "{refused}"
        );
        assert!(refused.contains("ulimit -n 1024"), "{refused}");
        run_to_end(crewdeck_with_file_limit(few, dir.path(), &["task", "list"])).ok();
    }
    let demo = dir.path().join("demo");
    let demo = demo.to_string_lossy();
    let args = ["run", "--demo", "--speed", "100", "--dir", &demo];
    // At this speed, 41 files were open at the same time at most.
    let run: CommandResult = run_to_end(crewdeck_with_file_limit(48, dir.path(), &args)).ok();
    assert!(
        run.out.contains("That was the demo"),
        "{}{}",
        run.out,
        run.err
    );
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn eight_working_agents_do_not_leak_open_files() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"];
    let spawn: Vec<String> = names
        .iter()
        .map(|n| format!("      - {{ tool: spawn_teammate, input: {{ name: {n}, role: worker, prompt: work }} }}\n"))
        .collect();
    // Every teammate repeats the same round: files, programs, messages and the board.
    write_script(
        dir.path(),
        &format!(
            "
  - agent: lead
    when: ^go$
    calls:
{}
  - agent: lead
    say: Done.
    times: 0
  - times: 60
    calls:
      - {{ tool: bash, input: {{ command: echo x >> rounds }} }}
      - {{ tool: write_file, input: {{ path: a.txt, content: x }} }}
      - {{ tool: grep, input: {{ pattern: x }} }}
      - {{ tool: task_create, input: {{ subject: more, tags: [unmatched] }} }}
      - {{ tool: send_message, input: {{ to: user, content: hello }} }}
  - say: It is done.
    times: 0
",
            spawn.concat()
        ),
    );
    let child = start(crewdeck_with_file_limit(1024, dir.path(), RUN_ARGS));
    let open = || {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
        entries.map_or(0, Iterator::count)
    };
    let rounds = || {
        let text = std::fs::read_to_string(dir.path().join("rounds"));
        text.map_or(0, |t| t.lines().count())
    };
    let max_open_until = |until: usize| {
        let mut max_open = 0;
        wait_until("the rounds", || {
            max_open = open().max(max_open);
            rounds() >= until
        });
        max_open
    };
    let first = max_open_until(20);
    let second = max_open_until(55);
    assert!(first > 10, "{first}");
    // More than 1,000 calls of tools lie between the two. How many of them run at the same moment varies, and each has
    // up to six files open.
    assert!(
        second <= first + 6 * 8,
        "{first} files were open, then {second}"
    );
    let run = wait_for_end(child).ok();
    assert!(run.out.contains("Done."), "{}", run.err);
}

#[test]
fn reaching_the_file_limit_during_a_run_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write_script(
        dir.path(),
        r#"
  - when: ^go$
    say: Before.
    calls:
      - { tool: task_create, input: { subject: before } }
      - { tool: bash, input: { command: "touch waits; until [ -e on ]; do sleep 0.05; done" } }
  - say: Few.
    calls:
      - { tool: task_create, input: { subject: during } }
      - { tool: write_file, input: { path: a.txt, content: x } }
      - { tool: bash, input: { command: "echo hello" } }
  - say: Done.
    times: 0
"#,
    );
    let child = start(crewdeck(dir.path(), RUN_ARGS));
    wait_until("the command waits", || dir.path().join("waits").exists());
    // Lowers the limit below the number of open files: open files stay open, no more can be opened.
    let set = Command::new("prlimit")
        .args(["--nofile=4:4096", "--pid", &child.id().to_string()])
        .status();
    assert!(set.unwrap().success());
    std::fs::write(dir.path().join("on"), "").unwrap();
    let run = wait_for_end(child);
    assert!(!run.err.contains("panicked"), "{}", run.err);
    assert!(run.out.ends_with("Few.\nDone.\n"), "{}{}", run.out, run.err);
    let too_many = "too many files are open: raise the limit (ulimit -n 1024)";
    let failed = run.only_line_with(&["lead · task_create failed"]);
    assert!(failed.contains(too_many), "{failed}");
    run.only_line_with(&["crewdeck: The conversation cannot be saved", too_many]);
    assert_eq!(subjects(dir.path()), ["before"]);
    // What was written before the limit is complete.
    let log = conversation(dir.path(), "lead", 0);
    assert_eq!(log[0].text(), "go");
}

#[test]
fn changes_are_noticed_without_a_file_watcher() {
    let dir = tempfile::tempdir().unwrap();
    write_script(
        dir.path(),
        r#"
  - agent: lead
    when: ^go$
    calls: [{ tool: bash, input: { command: "touch waits; until [ -e on ]; do sleep 0.05; done" } }]
  - say: Done.
    times: 0
"#,
    );
    for limit in ["max_inotify_instances", "max_inotify_watches"] {
        // The limit is set in a new user namespace, so that other processes keep theirs.
        let inside = format!("echo 0 > /proc/sys/user/{limit} && exec \"$@\"");
        let before = ["unshare", "-Ur", "sh", "-c", &inside, "sh"];
        let possible = crewdeck_through(&before, dir.path(), &["--version"]).output();
        if !possible.is_ok_and(|o| o.status.success()) {
            let note = "skipped: this machine has no user namespaces (unshare -Ur)";
            let _ = writeln!(std::io::stderr(), "{note}");
            return;
        }
        let mut args = RUN_ARGS.to_vec();
        args.push("--json");
        let child = start(crewdeck_through(&before, dir.path(), &args));
        wait_until("the command waits", || dir.path().join("waits").exists());
        let task = run_to_end(crewdeck(dir.path(), &["task", "add", limit])).ok();
        assert!(task.out.contains(limit), "{}", task.out);
        // The poll fallback finds the change within a second.
        let is_noticed = || {
            let text = journal(dir.path());
            text.contains("board_changed") && text.contains(limit)
        };
        wait_until("the journal has the task", is_noticed);
        std::fs::write(dir.path().join("on"), "").unwrap();
        let run = wait_for_end(child).ok();
        let notices: Vec<&str> = run
            .out
            .lines()
            .filter(|l| l.contains("File changes are noticed only once a second"))
            .collect();
        assert_eq!(notices.len(), 1, "{}", run.out);
        assert!(notices[0].contains("inotify"), "{}", notices[0]);
        for file in ["waits", "on"] {
            std::fs::remove_file(dir.path().join(file)).unwrap();
        }
    }
}

/// Returns the concatenated journals of all sessions.
fn journal(root: &Path) -> String {
    let sessions = std::fs::read_dir(root.join(".crewdeck/sessions")).unwrap();
    let texts = sessions.map(|s| std::fs::read_to_string(s.unwrap().path().join("journal.jsonl")));
    texts.map(Result::unwrap_or_default).collect()
}

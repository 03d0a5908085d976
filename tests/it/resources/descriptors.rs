//! Few files may be open at once: it is told, nothing panics; and a crew at work does not use more and more.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::common::narrow::{
    RUN, Ran, conversation, crewdeck, crewdeck_by, end_of, ran, script, start, subjects, wait_until,
};

fn limited(files: u32, dir: &Path, args: &[&str]) -> Command {
    let limit = format!("ulimit -n {files} && exec \"$@\"");
    crewdeck_by(&["bash", "-c", &limit, "bash"], dir, args)
}

#[test]
fn too_few_files_are_one_line_and_40_are_enough_for_a_team() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "  - say: Done.\n    times: 0\n");
    for few in [8, 16, 31] {
        let refused = ran(limited(few, dir.path(), RUN)).refused();
        assert!(
            refused.contains(&format!("the limit on open files is {few}")),
            "{refused}"
        );
        assert!(refused.contains("ulimit -n 1024"), "{refused}");
        ran(limited(few, dir.path(), &["task", "list"])).ok();
    }
    let demo = dir.path().join("demo");
    let demo = demo.to_string_lossy();
    let args = ["run", "--demo", "--speed", "100", "--dir", &demo];
    let run: Ran = ran(limited(40, dir.path(), &args)).ok();
    assert!(
        run.out.contains("That was the demo"),
        "{}{}",
        run.out,
        run.err
    );
}

#[test]
fn eight_agents_at_work_do_not_keep_files_open() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"];
    let spawn: Vec<String> = names
        .iter()
        .map(|n| format!("      - {{ tool: spawn_teammate, input: {{ name: {n}, role: worker, prompt: work }} }}\n"))
        .collect();
    // Every teammate goes round and round: files, programs, letters and the board.
    script(
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
      - {{ tool: task_create, input: {{ subject: more, tags: [nobody] }} }}
      - {{ tool: send_message, input: {{ to: user, content: hello }} }}
  - say: It is done.
    times: 0
",
            spawn.concat()
        ),
    );
    let child = start(limited(1024, dir.path(), RUN));
    let open = || {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
        entries.map_or(0, Iterator::count)
    };
    let rounds = || {
        let text = std::fs::read_to_string(dir.path().join("rounds"));
        text.map_or(0, |t| t.lines().count())
    };
    let most_until = |until: usize| {
        let mut most = 0;
        wait_until("the rounds", || {
            most = open().max(most);
            rounds() >= until
        });
        most
    };
    let early = most_until(20);
    let late = most_until(55);
    assert!(early > 10, "{early}");
    assert!(late <= early + 10, "{early} files were open, then {late}");
    let run = end_of(child).ok();
    assert!(run.out.contains("Done."), "{}", run.err);
}

#[test]
fn with_files_running_out_in_the_middle_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    script(
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
    let child = start(crewdeck(dir.path(), RUN));
    wait_until("it waits", || dir.path().join("waits").exists());
    // As if others had used them up: what is open stays, nothing more can be opened.
    let set = Command::new("prlimit")
        .args(["--nofile=4:4096", "--pid", &child.id().to_string()])
        .status();
    assert!(set.unwrap().success());
    std::fs::write(dir.path().join("on"), "").unwrap();
    let run = end_of(child);
    assert!(!run.err.contains("panicked"), "{}", run.err);
    assert!(run.out.ends_with("Few.\nDone.\n"), "{}{}", run.out, run.err);
    let too_many = "too many files are open: raise the limit (ulimit -n 1024)";
    let failed = run.line(&["lead · task_create failed"]);
    assert!(failed.contains(too_many), "{failed}");
    run.line(&["crewdeck: The conversation cannot be saved", too_many]);
    assert_eq!(subjects(dir.path()), ["before"]);
    // What was written before is whole.
    let log = conversation(dir.path(), "lead", 0);
    assert_eq!(log[0].words(), "go");
}

#[test]
fn where_nothing_can_be_watched_changes_are_seen_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    script(
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
        // The limits of a user namespace of its own: nobody else's change.
        let inside = format!("echo 0 > /proc/sys/user/{limit} && exec \"$@\"");
        let before = ["unshare", "-Ur", "sh", "-c", &inside, "sh"];
        let possible = crewdeck_by(&before, dir.path(), &["--version"]).output();
        if !possible.is_ok_and(|o| o.status.success()) {
            let words = "passed over: this machine gives no user namespace (unshare -Ur)";
            let _ = writeln!(std::io::stderr(), "{words}");
            return;
        }
        let mut args = RUN.to_vec();
        args.push("--json");
        let child = start(crewdeck_by(&before, dir.path(), &args));
        wait_until("it waits", || dir.path().join("waits").exists());
        let task = ran(crewdeck(dir.path(), &["task", "add", limit])).ok();
        assert!(task.out.contains(limit), "{}", task.out);
        // Longer than it takes to look at everything.
        let seen = || {
            let text = journal(dir.path());
            text.contains("board_changed") && text.contains(limit)
        };
        wait_until("the task is told", seen);
        std::fs::write(dir.path().join("on"), "").unwrap();
        let run = end_of(child).ok();
        let told: Vec<&str> = run
            .out
            .lines()
            .filter(|l| l.contains("Polling for file changes once a second"))
            .collect();
        assert_eq!(told.len(), 1, "{}", run.out);
        assert!(told[0].contains("inotify"), "{}", told[0]);
        for file in ["waits", "on"] {
            std::fs::remove_file(dir.path().join(file)).unwrap();
        }
    }
}

/// All that the journals of the sessions hold.
fn journal(root: &Path) -> String {
    let sessions = std::fs::read_dir(root.join(".crewdeck/sessions")).unwrap();
    let texts = sessions.map(|s| std::fs::read_to_string(s.unwrap().path().join("journal.jsonl")));
    texts.map(Result::unwrap_or_default).collect()
}

//! The `crewdeck checkpoint` commands as real processes, after crews with a scripted model that writes files.

use std::fs;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::project::{Project, git};
use crate::common::wait::wait_until;

/// The lead writes files in two rounds of calls, so that there is a checkpoint before each.
const WRITE: &str = r#"
rules:
  - agent: lead
    when: ^first work$
    calls:
      - { tool: write_file, input: { path: a.txt, content: "two\n" } }
      - { tool: write_file, input: { path: new.txt, content: "new\n" } }
  - agent: lead
    when: ^Wrote
    calls:
      - { tool: write_file, input: { path: a.txt, content: "three\n" } }
  - { times: 0, say: Done. }
"#;

/// Creates a repository. The home of the user is the project too, so the folders that crewdeck writes there are ignored.
fn repository() -> Project {
    Project::repository(&[
        ("a.txt", "one\n"),
        (".gitignore", "ignored*\n.config/\n.local/\n.cache/\n"),
    ])
}

/// Writes a script into an ignored folder, and returns it as a provider.
fn provider(project: &Project, script: &str) -> String {
    let file = project.write(".crewdeck/script.yaml", script);
    format!("script:{}", file.display())
}

/// Runs a crew with `script`. Panics if it does not end with exit code 0.
fn work(project: &Project, script: &str, args: &[&str]) {
    let provider = provider(project, script);
    let more = ["--tool", "auto", "--provider", &provider];
    let ran = project.run(&[&["run"], args, &more[..]].concat());
    assert_eq!(ran.code(), 0, "{}\n{}", ran.err(), ran.out());
}

/// Returns the checkpoints that `crewdeck checkpoint list` prints with these options, newest first.
fn list(project: &Project, options: &[&str]) -> Vec<Value> {
    let all = project.json(&[&["checkpoint", "list"], options].concat());
    all.as_array().unwrap().clone()
}

fn id(checkpoint: &Value) -> String {
    checkpoint["id"].as_u64().unwrap().to_string()
}

fn text(project: &Project, name: &str) -> String {
    fs::read_to_string(project.file(name)).unwrap()
}

#[test]
fn files_are_listed_compared_restored_and_undone() {
    let project = repository();
    project.write("ignored.txt", "mine\n");
    project.write("notes.txt", "untracked\n");
    work(&project, WRITE, &["first work"]);

    let rows = list(&project, &[]);
    let [calls, turn] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(
        (&turn["agent"], &turn["folder"], &turn["label"]),
        (&json!("lead"), &json!("."), &json!("first work"))
    );
    assert_eq!(
        (&turn["reason"], &calls["reason"]),
        (&json!("turn"), &json!("calls"))
    );
    let table = project.run(&["checkpoint", "list"]).out();
    assert!(table.starts_with("ID  AGE"), "{table}");
    assert!(table.contains("@lead") && table.contains("first work"));
    assert_eq!(list(&project, &["--agent", "lead"]), rows);
    assert_eq!(list(&project, &["--agent", "bob"]), Vec::<Value>::new());

    let (first, second) = (id(turn), id(calls));
    let diff = project.run(&["checkpoint", "diff", &first]).out();
    assert!(
        diff.contains(" a.txt") && diff.contains("-three\n+one\n") && diff.contains("-new\n"),
        "{diff}"
    );
    let diff = project.json(&["checkpoint", "diff", &second]);
    assert_eq!(
        (&diff["checkpoint"], &diff["files"], &diff["commits"]),
        (calls, &json!(1), &json!(0))
    );

    project.write("ignored.txt", "changed\n");
    let restored = project.json(&["checkpoint", "restore", &first, "--files"]);
    let files = &restored["files"];
    assert_eq!(
        (&files["changed"]["count"], &restored["conversation"]),
        (&json!(2), &Value::Null),
        "{restored}"
    );
    assert_eq!(text(&project, "a.txt"), "one\n");
    assert!(!project.file("new.txt").exists());
    assert_eq!(text(&project, "ignored.txt"), "changed\n");
    assert_eq!(text(&project, "notes.txt"), "untracked\n");
    assert_eq!(git(&project, &["diff", "--cached", "--name-only"]), "");

    let undo = files["undo"].as_u64().unwrap().to_string();
    let ran = project.run(&["checkpoint", "restore", &undo, "--files"]);
    let out = ran.out();
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(
        out.starts_with("Restored the files of lead in the project directory to checkpoint"),
        "{out}"
    );
    assert!(
        out.contains("\nUndo: crewdeck checkpoint restore "),
        "{out}"
    );
    assert_eq!(text(&project, "a.txt"), "three\n");
    assert_eq!(text(&project, "new.txt"), "new\n");
    let diff = project.run(&["checkpoint", "diff", &undo]).out();
    assert!(diff.starts_with("No changes"), "{diff}");
}

#[test]
fn nothing_of_checkpoints_is_in_the_repository_or_pushed() {
    let project = repository();
    let refs = git(&project, &["for-each-ref"]);
    work(&project, WRITE, &["first work"]);
    let rows = list(&project, &[]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    let restored = project.json(&["checkpoint", "restore", &id(&rows[0]), "--files"]);
    assert_eq!(restored["files"]["changed"]["count"], 1, "{restored}");

    assert_eq!(git(&project, &["for-each-ref"]), refs);
    let log = git(&project, &["log", "--all", "--format=%s"]);
    assert_eq!(log, "first\n");
    let status = git(&project, &["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n?? new.txt\n");
    // The content of an untracked file is in no object of the project's repository.
    let blob = git(&project, &["hash-object", "new.txt"]);
    let found = Command::new("git")
        .args(["cat-file", "-e", blob.trim()])
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(!found.status.success(), "{blob}");

    let remote = tempfile::tempdir().unwrap();
    let url = remote.path().to_str().unwrap();
    git(&project, &["init", "--quiet", "--bare", url]);
    git(&project, &["push", "--quiet", "--mirror", url]);
    let pushed = git(
        &project,
        &["--git-dir", url, "for-each-ref", "--format=%(refname)"],
    );
    assert_eq!(pushed, "refs/heads/main\n");
}

/// The lead writes one file in each turn.
const TURNS: &str = r#"
rules:
  - agent: lead
    when: ^first work$
    calls:
      - { tool: write_file, input: { path: a.txt, content: "two\n" } }
  - agent: lead
    when: ^second work$
    calls:
      - { tool: write_file, input: { path: a.txt, content: "three\n" } }
  - { times: 0, say: Done. }
"#;

#[test]
fn conversation_is_restored_and_the_session_resumes() {
    let project = repository();
    work(&project, TURNS, &["first work"]);
    work(&project, TURNS, &["--resume", "second work"]);
    let rows = list(&project, &[]);
    let newest = &rows[0];
    assert_eq!(newest["label"], "second work", "{rows:?}");

    let restored = project.json(&["checkpoint", "restore", &id(newest)]);
    assert_eq!(restored["files"]["changed"]["count"], 1, "{restored}");
    assert_eq!(text(&project, "a.txt"), "two\n");
    let conversation = &restored["conversation"];
    assert!(
        conversation["messages"].as_u64().unwrap() > 0
            && conversation["change"]["removed"].as_u64().unwrap() > 0,
        "{restored}"
    );
    let session = newest["session"].as_str().unwrap();
    assert_eq!(conversation["session"], session);
    let log = format!(".transcripts/{session}-lead.jsonl");
    let left = text(&project, &log);
    assert!(
        left.contains("first work") && !left.contains("second work"),
        "{left}"
    );
    let archive = text(&project, conversation["transcript"].as_str().unwrap());
    assert!(archive.contains("second work"), "{archive}");

    work(&project, TURNS, &["--resume", "third work"]);
    let resumed = text(&project, &log);
    assert!(
        resumed.contains("first work")
            && resumed.contains("third work")
            && !resumed.contains("second work"),
        "{resumed}"
    );
    assert_eq!(text(&project, "a.txt"), "two\n");
    let undo = restored["files"]["undo"].as_u64().unwrap().to_string();
    project.json(&["checkpoint", "restore", &undo, "--files"]);
    assert_eq!(text(&project, "a.txt"), "three\n");
}

/// The lead writes one file in each turn, and its turns look alike.
const ALIKE: &str = r#"
rules:
  - agent: lead
    when: work$
    calls:
      - { tool: bash, input: { command: "echo x >> a.txt" } }
  - { times: 0, say: Done. }
"#;

#[test]
fn undo_of_a_rewound_conversation_finds_the_archived_one() {
    let project = repository();
    work(&project, ALIKE, &["alpha work"]);
    work(&project, ALIKE, &["--resume", "beta work"]);
    let first = list(&project, &[]).last().unwrap().clone();
    let to_first = ["checkpoint", "restore", &id(&first), "--conversation"];
    let restored = project.json(&to_first);
    let undo = restored["undo"].as_u64().unwrap().to_string();
    // Another conversation of the same length, whose last messages are the same.
    work(&project, ALIKE, &["--resume", "gamma work"]);
    work(&project, ALIKE, &["--resume", "delta work"]);
    let back = project.json(&["checkpoint", "restore", &undo, "--conversation"]);
    let count = back["conversation"]["messages"].as_u64();
    assert_eq!(
        back["conversation"]["change"],
        json!({ "replaced": count }),
        "{back}"
    );
    let session = first["session"].as_str().unwrap();
    let log = text(&project, &format!(".transcripts/{session}-lead.jsonl"));
    assert!(
        log.contains("alpha work") && log.contains("beta work") && !log.contains("gamma work"),
        "{log}"
    );
}

/// The lead writes a file, then waits for another one.
const WAIT: &str = r#"
rules:
  - agent: lead
    when: ^first work$
    calls:
      - { tool: write_file, input: { path: a.txt, content: "two\n" } }
  - agent: lead
    when: ^Wrote
    calls:
      - { tool: bash, input: { command: "touch ignored-began; until [ -e ignored-go ]; do sleep 0.05; done" } }
  - { times: 0, say: Done. }
"#;

#[test]
fn restore_beside_a_running_crew_needs_force_and_keeps_conversations() {
    let project = repository();
    let provider = provider(&project, WAIT);
    let args = [
        "run",
        "first work",
        "--tool",
        "auto",
        "--provider",
        &provider,
    ];
    let mut crew = project
        .command(&args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = project.file("ignored-began");
    wait_until("the command of the lead", || began.exists());
    let first = id(list(&project, &[]).last().unwrap());
    for (options, words) in [
        (&[][..], "use /rewind in its window"),
        (&["--conversation"], "use /rewind in its window"),
        (&["--conversation", "--force"], "use /rewind in its window"),
        (&["--force"], "only the files with --files --force"),
        (&["--files"], "restore the files anyway with --force"),
    ] {
        let restore = ["checkpoint", "restore", &first];
        let refusal = project.expect_refusal(&[&restore[..], options].concat());
        let process = format!("a crew runs in this project (process {})", crew.id());
        assert!(
            refusal.contains(&process) && refusal.contains(words),
            "{options:?}: {refusal}"
        );
    }
    assert_eq!(text(&project, "a.txt"), "two\n");
    let restored = project.json(&["checkpoint", "restore", &first, "--files", "--force"]);
    assert_eq!(restored["conversation"], Value::Null);
    assert_eq!(text(&project, "a.txt"), "one\n");
    project.write("ignored-go", "");
    assert!(crew.wait().unwrap().success());
    let ran = project.run(&["checkpoint", "restore", &first, "--conversation"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(text(&project, "a.txt"), "one\n");
}

/// Bob writes a file in the worktree of his task and completes the task, which commits the file.
const TEAMMATE: &str = r#"
rules:
  - agent: lead
    when: ^first work$
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: "Task #1"
    calls:
      - { tool: write_file, input: { path: b.txt, content: "bob\n" } }
  - agent: bob
    when: ^Wrote
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - { times: 0, say: Done. }
"#;

#[test]
fn worktree_of_a_teammate_is_restored_and_its_commits_stay() {
    let project = repository();
    work(&project, TEAMMATE, &["first work"]);
    let rows = list(&project, &["--agent", "bob"]);
    let oldest = rows.last().unwrap();
    assert_eq!(oldest["folder"], ".worktrees/task-1", "{rows:?}");
    let oldest = id(oldest);
    let diff = project.run(&["checkpoint", "diff", &oldest]).out();
    assert!(
        diff.contains("-bob\n") && diff.contains("Stays on the branch: 1 commit since"),
        "{diff}"
    );
    project.json(&["checkpoint", "restore", &oldest, "--files"]);
    assert!(!project.file(".worktrees/task-1/b.txt").exists());
    assert_eq!(git(&project, &["show", "wt/task-1:b.txt"]), "bob\n");
    assert_eq!(text(&project, "a.txt"), "one\n");
}

#[test]
fn unknown_checkpoints_are_refused_with_those_that_exist() {
    for project in [Project::new(), repository()] {
        let ran = project.run(&["checkpoint", "list"]);
        assert_eq!((ran.code(), ran.out().as_str()), (0, "No checkpoints.\n"));
        assert_eq!(project.json(&["checkpoint", "list"]), json!([]));
        for verb in ["diff", "restore"] {
            let refusal = project.expect_refusal(&["checkpoint", verb, "77"]);
            assert!(refusal.contains("77"), "{refusal}");
        }
    }
    let project = repository();
    work(&project, WRITE, &["first work"]);
    let rows = list(&project, &[]);
    for verb in ["diff", "restore"] {
        let refusal = project.expect_refusal(&["checkpoint", verb, "77"]);
        for row in &rows {
            assert!(refusal.contains(&id(row)), "{refusal}");
        }
        let ran = project.run(&["checkpoint", verb, "seventy"]);
        assert_eq!((ran.code(), ran.out().as_str()), (2, ""));
        assert!(ran.err().starts_with("crewdeck: "), "{}", ran.err());
    }
    let ran = project.run(&["checkpoint", "list", "--agent", "bob"]);
    assert_eq!(
        (ran.code(), ran.out().as_str()),
        (0, "No checkpoints of bob. There are checkpoints of lead.\n")
    );
}

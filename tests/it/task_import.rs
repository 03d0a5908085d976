//! `crewdeck task import`: check lists, exports of other boards, and issues from fake clients of GitHub and GitLab.

mod issues;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::project::{Project, RunResult};

const PLAN: &str = "\
# Plan

- [x] Choose a format
- [ ] Write the parser
  It reads the format of `docs/format.md`.
- [ ] Test it
  - [ ] Fuzz it
  Blocked by #2

Something else.
";

/// Returns one field of each task of a JSON array.
fn column(tasks: &Value, field: &str) -> Vec<Value> {
    let tasks = tasks.as_array().unwrap().iter();
    tasks.map(|task| task[field].clone()).collect()
}

/// Returns a check list with `count` open items.
fn check_list(count: usize) -> String {
    let lines: Vec<String> = (1..=count).map(|n| format!("- [ ] Task {n}")).collect();
    lines.join("\n")
}

/// Runs crewdeck with `input` on standard input.
fn run_with_input(project: &Project, args: &[&str], input: &str) -> RunResult {
    let mut command = project.command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that has read enough closes the pipe.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    RunResult(child.wait_with_output().unwrap())
}

#[test]
fn check_list_becomes_tasks_with_dependencies() {
    let project = Project::git();
    project.json(&["task", "add", "Before"]);
    project.write("plan.md", PLAN);
    let preview = project.json(&["task", "import", "plan.md", "--dry-run"]);
    assert_eq!(project.json(&["task", "list"]).as_array().unwrap().len(), 1);
    let ran = project.run(&["task", "import", "plan.md"]);
    assert_eq!(
        ran.out(),
        "[ ] #2: Write the parser\n[ ] #3: Test it  (blocked by #2)\n[ ] #4: Fuzz it\n",
        "{}",
        ran.err()
    );
    assert_eq!(ran.err(), "crewdeck: 1 task was skipped: already done\n");
    let tasks = project.json(&["task", "list"]);
    for field in ["id", "subject", "description", "blockedBy", "imported_from"] {
        let tasks = column(&tasks, field);
        assert_eq!(column(&preview, field), tasks[1..], "{field}");
    }
    assert_eq!(
        column(&tasks, "description")[1..],
        [
            "Section: Plan\n\nIt reads the format of `docs/format.md`.",
            "Section: Plan",
            "Section: Plan\nPart of: Test it",
        ]
    );
    // A second import adds only what is new, also if tasks were edited.
    project.json(&["task", "edit", "3", "--subject", "Test it well"]);
    let longer = format!("{PLAN}- [ ] Describe it\n");
    let added = run_with_input(&project, &["task", "import", "-", "--json"], &longer);
    let tasks: Value = serde_json::from_str(&added.out()).unwrap();
    assert_eq!(column(&tasks, "subject"), ["Describe it"]);
    assert!(
        added
            .err()
            .contains("3 tasks were skipped: already on the board"),
        "{}",
        added.err()
    );
    let ran = project.run(&["task", "import", "plan.md"]);
    assert_eq!(
        (ran.code(), ran.out().as_str()),
        (3, "Nothing to import.\n")
    );
}

#[test]
fn export_of_another_board_gets_new_ids() {
    let other = Project::new();
    for subject in ["gone", "first", "second", "done"] {
        other.json(&["task", "add", subject, "--tag", "rust"]);
    }
    other.json(&["task", "rm", "1"]);
    other.json(&["task", "edit", "2", "--blocked-by", "3,4"]);
    other.json(&["task", "edit", "2", "--description", "one\n\ntwo"]);
    other.json(&["task", "claim", "3", "--as", "user"]);
    other.json(&["task", "done", "4", "--as", "bob"]);
    let export = other.run(&["task", "list", "--json"]).out();
    let project = Project::new();
    project.json(&["task", "add", "Before"]);
    let ran = run_with_input(&project, &["task", "import", "-", "--json"], &export);
    let tasks: Value = serde_json::from_str(&ran.out()).unwrap();
    let expected = json!([
        {"id": 2, "subject": "first", "description": "one\n\ntwo", "status": "pending", "blockedBy": [3], "owner": ""},
        {"id": 3, "subject": "second", "description": "", "status": "pending", "blockedBy": [], "owner": ""},
    ]);
    for field in [
        "id",
        "subject",
        "description",
        "status",
        "blockedBy",
        "owner",
    ] {
        assert_eq!(column(&tasks, field), column(&expected, field), "{field}");
    }
    assert_eq!(tasks[0]["tags"], json!(["rust"]));
    assert!(
        ran.err().contains("no teammate has these tags"),
        "{}",
        ran.err()
    );
    // One object after the other is read too, and tags can be left out.
    let lines: String = export
        .parse::<Value>()
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task.to_string() + "\n")
        .collect();
    let project = Project::new();
    let ran = run_with_input(
        &project,
        &["task", "import", "-", "--no-tags", "--format", "jsonl"],
        &lines,
    );
    assert_eq!(
        ran.out(),
        "[ ] #1: first  (blocked by #2)\n[ ] #2: second\n",
        "{}",
        ran.err()
    );
}

#[test]
fn one_mistake_imports_nothing() {
    let project = Project::new();
    project.json(&["task", "add", "Before"]);
    let long = format!("- [ ] Good\n- [ ] {}\n", "x".repeat(201));
    let many = "- [ ] t\n".repeat(3);
    let large = "x".repeat(8 * 1024 * 1024 + 1);
    for (text, expected) in [
        ("", "plan: the text is empty"),
        ("# Plan\n", "plan: no check list was found"),
        (
            "- [ ] Good\n- [ ]\n- [ ] Bad\n  after #9\n",
            "plan: line 2: the task has no subject: write in one line what is to be done (and 1 more problem)",
        ),
        (
            long.as_str(),
            "plan: line 2: the subject has 201 characters",
        ),
        (
            many.as_str(),
            "plan: line 2: the item is the same as the one in line 1",
        ),
        (
            "- [ ] a\n  Blocked by #2\n- [ ] b\n  Depends on #1\n",
            "plan: line 1: its dependencies form a cycle (line 1 waits for line 3 waits for line 1)",
        ),
        (
            "- [ ] a\n- [ ] b\n  Blocked by #1, #3\n",
            "plan: line 2: it waits for #3, which is not in this import",
        ),
        (
            "{\"subject\": \"a\"}\n{\"subject\": \"b\", \"blockedBy\": [7]}",
            "plan: line 2: it waits for #7, which is not in this import",
        ),
        (
            "[{\"subject\": \"a\"}, {}]",
            "plan: line 1: missing field `subject`",
        ),
        (
            "{\"subject\": \"a\"}\n{",
            "plan: line 2: the JSON cannot be read",
        ),
        (large.as_str(), "plan: it is larger than 8 MiB"),
    ] {
        project.write("plan", text);
        for option in ["--json", "--dry-run"] {
            let line = project.expect_refusal(&["task", "import", "plan", option]);
            assert!(line.contains(expected), "{line}");
        }
    }
    let refused = project.expect_refusal(&["task", "import", "absent.md"]);
    assert!(refused.contains("absent.md: no such file"), "{refused}");
    project.expect_refusal(&["task", "import", "."]);
    project.expect_refusal(&["task", "import", "/dev/zero"]);
    // Nothing was written, and no number was used.
    assert_eq!(project.json(&["task", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(project.json(&["task", "add", "After"])["id"], 2);
    // What is only stated wrongly can be left out.
    project.write("plan", "- [ ] a\n- [ ] b\n  Blocked by #1, #3\n");
    let known = ["task", "import", "plan", "--dependencies", "known"];
    let ran = project.run(&known);
    assert_eq!(ran.out(), "[ ] #3: a\n[ ] #4: b  (blocked by #3)\n");
    assert!(
        ran.err()
            .contains("dependencies on 1 unknown task were left out")
    );
}

#[test]
fn killed_import_is_finished_or_repeated_without_doubles() {
    const TASKS: usize = 60;
    let list = check_list(TASKS);
    let mut interrupted = 0;
    for round in 0..24 {
        let project = Project::new();
        project.write("plan.md", &list);
        let mut command = project.command(&["task", "import", "plan.md"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Any moment is valid, so the exact delay does not matter.
        std::thread::sleep(Duration::from_millis(round * 6));
        child.kill().unwrap();
        child.wait().unwrap();
        interrupted += usize::from(project.file(".tasks/.import").exists());
        let found = project.json(&["task", "list"]).as_array().unwrap().len();
        assert!([0, TASKS].contains(&found), "{found} tasks");
        assert!(!project.file(".tasks/.import").exists());
        let ran = project.run(&["task", "import", "plan.md", "--json"]);
        let code = if found == 0 { 0 } else { 3 };
        let added: Vec<Value> = serde_json::from_str(&ran.out()).unwrap();
        assert_eq!((ran.code(), added.len()), (code, TASKS - found));
        let all = column(&project.json(&["task", "list"]), "subject");
        let distinct: BTreeSet<&str> = all.iter().filter_map(Value::as_str).collect();
        assert_eq!((all.len(), distinct.len()), (TASKS, TASKS));
    }
    eprintln!("{interrupted} imports were interrupted while they wrote");
}

#[test]
fn concurrent_imports_of_one_list_add_it_once() {
    let project = Project::new();
    project.write("plan.md", &check_list(20));
    let start = || {
        let mut command = project.command(&["task", "import", "plan.md", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let running: Vec<_> = (0..4).map(|_| start()).collect();
    let mut added = 0;
    for child in running {
        let output = child.wait_with_output().unwrap();
        let tasks: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let code = if tasks.is_empty() { 3 } else { 0 };
        assert_eq!(output.status.code(), Some(code));
        added += tasks.len();
    }
    assert_eq!(added, 20);
    assert_eq!(
        project.json(&["task", "list"]).as_array().unwrap().len(),
        20
    );
}

#[test]
fn import_is_in_the_manual_and_completed() {
    let project = Project::new();
    let page = project.run(&["man"]).out();
    assert!(page.contains(".SS crewdeck task import"), "{page}");
    let script = project.run(&["completions", "bash"]).out();
    project.write("crewdeck.bash", &script);
    for (words, expected) in [
        ("crewdeck task imp", "import"),
        ("crewdeck task import --from g", "github gitlab"),
        ("crewdeck task import --dependencies k", "known"),
    ] {
        let last = words.split(' ').count() - 1;
        let completion = format!(
            "source crewdeck.bash; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _crewdeck crewdeck \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo ${{COMPREPLY[@]}}"
        );
        let answer = std::process::Command::new("bash")
            .args(["-c", &completion])
            .current_dir(project.path())
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&answer.stdout).trim().to_string();
        assert_eq!(found, expected, "{words}");
    }
}

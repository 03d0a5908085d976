//! Teammates that refuse, hang, fail or are killed, and what becomes of their work.

use std::process::{Command, Stdio};

use super::{notices, provider, run, wait_for};
use crate::common::project::{Project, Ran};
use crate::common::pty::Screen;

#[test]
fn a_teammate_may_refuse_to_shut_down_and_says_why() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: measure } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: lead
    when: the long measurement runs
    say: Then it may stay.
  - agent: lead
    when: .
    times: 0
    say: fine
  - agent: bob
    when: auto-claimed
    calls: [{ tool: bash, input: { command: "touch measuring; while [ ! -e asked ]; do sleep 0.02; done" } }]
  - agent: bob
    when: (?s)"type". "shutdown_request".*"request_id". "(\w+)"
    calls: [{ tool: shutdown_response, input: { request_id: "{{1}}", approve: false, reason: the long measurement runs } }, { tool: shutdown_response, input: { request_id: forged, approve: true } }]
  - agent: bob
    when: You stay
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - when: .
    times: 0
    say: fine
"#;
    let provider = provider(&project, script);
    let child = project
        .command(&["run", "go", "--json", "--provider", &provider])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&project, "measuring");
    // The lead's tool would do the same; here the request stands in a file of its own, approved by the person.
    let request = serde_json::json!({
        "id": "r1", "kind": "shutdown", "from": "lead", "target": "bob", "body": "no longer needed",
        "status": "approved", "decided_by": "user"
    });
    project.write(".team/requests/r1.json", &request.to_string());
    let letter = serde_json::json!({
        "id": "l1", "type": "shutdown_request", "from": "lead", "to": "bob",
        "content": "Please shut down.", "timestamp": 1.0, "request_id": "r1"
    });
    project.write(".team/inbox/bob.jsonl", &format!("{letter}\n"));
    project.write("asked", "");
    let out = Ran(child.wait_with_output().unwrap()).out();
    assert!(
        out.contains("bob does not shut down: the long measurement runs"),
        "{out}"
    );
    assert!(
        out.contains("there is no approved shutdown request forged for you"),
        "{out}"
    );
    assert!(out.contains("Then it may stay."), "{out}");
    let tasks = project.json(&["task", "list"]);
    assert_eq!(tasks[0]["status"], "completed");
}

#[test]
fn a_teammate_that_hangs_is_ended_by_force_and_its_task_is_offered_again() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: hang for ever } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: bob
    when: auto-claimed
    calls: [{ tool: bash, input: { command: "touch hanging; sleep 60" } }]
  - when: .
    times: 0
    say: fine
"#;
    let provider = provider(&project, script);
    let mut screen = Screen::start(project.path(), 160, 45, &["--provider", &provider]);
    screen.wait_for("Say what you want done");
    screen.send("go\r");
    screen.wait("bob hangs", |_| project.file("hanging").exists());
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("4X");
    screen.wait("the question with its cost", |text| {
        text.contains("End bob now") && text.contains("(hang for ever) goes back to the board")
    });
    screen.send("y");
    screen.wait_for("bob was ended by force.");
    screen.wait("its task is ready again", |_| {
        let tasks = project.json(&["task", "list", "--ready"]);
        tasks.as_array().unwrap().len() == 1
    });
    screen.send("qy");
    screen.end();
}

#[test]
fn a_killed_team_is_back_with_its_plan_and_its_open_request() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write the file } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Plan first, plan: required } }
  - agent: bob
    when: Plan first
    calls: [{ tool: plan_approval, input: { plan: I write one file. } }]
  - agent: bob
    when: "Approved: but only one"
    calls: [{ tool: write_file, input: { path: file, content: "x" } }, { tool: task_update, input: { task_id: 1, status: completed } }]
  - agent: bob
    when: crewdeck stopped in the middle of this turn
    say: I wait for my plan.
  - agent: bob
    when: auto-claimed
    calls: [{ tool: write_file, input: { path: early, content: "x" } }]
  - when: .
    times: 0
    say: fine
"#;
    let provider = provider(&project, script);
    let mut screen = Screen::start(project.path(), 160, 45, &["--provider", &provider]);
    screen.wait_for("Say what you want done");
    screen.send("go\r");
    screen.wait_for("bob asks you to approve its plan");
    screen.kill();
    // Whoever looks now sees it as it was; nothing was decided.
    let requests = std::fs::read_dir(project.file(".team/requests")).unwrap();
    assert_eq!(
        requests
            .filter(|e| {
                let name = e.as_ref().unwrap().file_name();
                name.to_string_lossy().ends_with(".json")
            })
            .count(),
        1
    );

    let args = ["--provider", provider.as_str(), "--resume"];
    let mut screen = Screen::start(project.path(), 160, 45, &args);
    screen.wait_for("bob asks you to approve its plan");
    screen.send("\x1bw");
    screen.wait_for("a approve");
    screen.send("cbut only one\ra");
    screen.wait_for("1/1");
    assert_eq!(std::fs::read_to_string(project.file("file")).unwrap(), "x");
    // Wherever the focus is, and however short ago it moved by itself.
    screen.send("\x1b1");
    screen.wait_for("i to write");
    screen.send("qy");
    screen.end();
}

#[test]
fn a_teammate_whose_model_fails_gives_its_task_to_another() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: the work } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: lead
    when: bob cannot continue
    calls: [{ tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }]
  - agent: bob
    when: auto-claimed
    fault: { status: 401, message: the key is not valid }
  - agent: alice
    when: auto-claimed
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - when: .
    times: 0
    say: fine
";
    let (ran, events) = run(&project, script, &["go"]);
    // The work is done, and bob needs help all the same.
    assert_eq!(ran.code(), 4, "{}", ran.err());
    let tasks = project.json(&["task", "list"]);
    assert_eq!(
        (&tasks[0]["status"], &tasks[0]["owner"]),
        (&"completed".into(), &"alice".into())
    );
    let told = notices(&events);
    assert!(
        told.iter().any(|t| t.contains("bob left it open")),
        "{told:?}"
    );
}

#[test]
fn a_command_line_without_a_crew_sees_who_was_there() {
    // Nothing of a finished run holds names, tasks or locks.
    let project = Project::new();
    let script = "rules:\n  - when: .\n    times: 0\n    say: fine\n";
    let (ran, _) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0);
    let left = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["team", "list"])
        .current_dir(project.path())
        .env("HOME", project.path())
        .output()
        .unwrap();
    assert!(left.status.success());
}

#[test]
fn that_a_teammate_is_stuck_is_told_once_whatever_else_changes() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: the work, tags: [rust] } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work, tags: [rust] } }
      - { tool: spawn_teammate, input: { name: carol, role: writer, prompt: Write } }
  # What others do moves the board, and bob looks around again.
  - agent: carol
    when: Write
    calls:
      - { tool: bash, input: { command: "until grep -qs 'bob is stuck' .crewdeck/sessions/*/journal.jsonl; do sleep 0.02; done" } }
  - agent: carol
    when: .
    times: 3
    calls: [{ tool: task_create, input: { subject: more of it, tags: [nobody] } }]
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 4, "{}", ran.err());
    let end = ran.err().lines().last().unwrap().to_string();
    assert!(
        end.contains("#1 the work (@bob)") && end.contains("stuck teammate: bob ("),
        "{end}"
    );
    let told = notices(&events);
    let stuck: Vec<&String> = told.iter().filter(|t| t.contains("is stuck")).collect();
    assert_eq!(
        stuck,
        [
            "bob is stuck: it ended its turn twice with task #1 still open. Write to @bob to restart it."
        ],
        "{told:?}"
    );
}

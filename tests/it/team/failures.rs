//! Teammates that refuse a shutdown, hang, fail or are killed, and what happens to their tasks.

use std::process::{Command, Stdio};

use super::{notices, provider, run, wait_for};
use crate::common::project::{Project, RunResult};
use crate::common::pty::Screen;

#[test]
fn teammate_can_refuse_a_shutdown_with_a_reason() {
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
    // Writes an approved shutdown request as a file, as the lead's tool would.
    let request = serde_json::json!({
        "id": "r1", "kind": "shutdown", "from": "lead", "target": "bob", "body": "no longer needed",
        "status": "approved", "decided_by": "user"
    });
    project.write(".team/requests/r1.json", &request.to_string());
    let message = serde_json::json!({
        "id": "l1", "type": "shutdown_request", "from": "lead", "to": "bob",
        "content": "Please shut down.", "timestamp": 1.0, "request_id": "r1"
    });
    project.write(".team/inbox/bob.jsonl", &format!("{message}\n"));
    project.write("asked", "");
    let out = RunResult(child.wait_with_output().unwrap()).out();
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
fn force_shutdown_of_a_hung_teammate_releases_its_task() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: hang forever } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: bob
    when: auto-claimed
    calls: [{ tool: bash, input: { command: "touch hanging; sleep 9876" } }]
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
        text.contains("Kill bob now") && text.contains("forever) goes back to the board")
    });
    screen.send("y");
    screen.wait_for("bob was killed.");
    screen.wait("its task is ready again", |_| {
        let tasks = project.json(&["task", "list", "--ready"]);
        tasks.as_array().unwrap().len() == 1
    });
    screen.send("qy");
    screen.wait_for_exit();
}

#[test]
fn resumed_team_restores_a_pending_plan_request() {
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
    // The request is still on disk and was not decided.
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
    // Works from any focus.
    screen.send("\x1b1");
    screen.wait_for("i to write");
    screen.send("qy");
    screen.wait_for_exit();
}

#[test]
fn task_of_a_teammate_with_a_failing_model_is_reassigned() {
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
    // Exit code 4: all tasks are completed, but bob has failed.
    assert_eq!(ran.code(), 4, "{}", ran.err());
    let tasks = project.json(&["task", "list"]);
    assert_eq!(
        (&tasks[0]["status"], &tasks[0]["owner"]),
        (&"completed".into(), &"alice".into())
    );
    let texts = notices(&events);
    assert!(
        texts
            .iter()
            .any(|t| t.contains("bob stopped without completing it")),
        "{texts:?}"
    );
}

#[test]
fn team_list_works_after_the_run_has_ended() {
    // A finished run holds no names, tasks or locks.
    let project = Project::new();
    let script = "rules:\n  - when: .\n    times: 0\n    say: fine\n";
    let (ran, _) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0);
    let listed = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["team", "list"])
        .current_dir(project.path())
        .env("HOME", project.path())
        .output()
        .unwrap();
    assert!(listed.status.success());
}

#[test]
fn stuck_teammate_is_reported_once() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: the work, tags: [rust] } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work, tags: [rust] } }
      - { tool: spawn_teammate, input: { name: carol, role: writer, prompt: Write } }
  # Carol changes the board after bob is stuck, so that bob checks the board again.
  - agent: carol
    when: Write
    calls:
      - { tool: bash, input: { command: "until grep -qs 'bob is stuck' .crewdeck/sessions/*/journal.jsonl; do sleep 0.02; done" } }
  - agent: carol
    when: .
    times: 3
    calls: [{ tool: task_create, input: { subject: more of it, tags: [unmatched] } }]
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
    let texts = notices(&events);
    let stuck: Vec<&String> = texts.iter().filter(|t| t.contains("is stuck")).collect();
    assert_eq!(
        stuck,
        [
            "bob is stuck: it ended its turn twice with task #1 still open. Write to @bob to restart it."
        ],
        "{texts:?}"
    );
}

//! A team of agents that are scripted, with everything else real: shutdowns, force, failures, restarts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;
#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use project::{Project, Ran};
use pty::Screen;
use serde_json::Value;

fn provider(project: &Project, script: &str) -> String {
    let file = project.write("script.yaml", script);
    format!("script:{}", file.display())
}

fn run(project: &Project, script: &str, args: &[&str]) -> (Ran, Vec<Value>) {
    let provider = provider(project, script);
    let mut all = vec!["run"];
    all.extend(args);
    all.extend(["--json", "--provider", &provider]);
    let ran = project.run(&all);
    let out = ran.out();
    let line = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    let events = out.lines().map(line).collect();
    (ran, events)
}

fn notices(events: &[Value]) -> Vec<String> {
    let text = |e: &Value| e["text"].as_str().unwrap_or_default().to_string();
    events
        .iter()
        .filter(|e| e["type"] == "notice")
        .map(text)
        .collect()
}

#[test]
fn s09_alice_sends_bob_a_message() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: Spawn alice
    calls:
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: Wait for alice } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Greet bob } }
  - agent: lead
    when: .
    times: 0
    say: They talk.
  - agent: alice
    when: Greet bob
    calls: [{ tool: send_message, input: { to: bob, content: the parser is ready for tests } }]
  - agent: bob
    when: the parser is ready
    say: I test the parser.
  - when: .
    times: 0
    say: fine
";
    let prompt = "Spawn alice (coder) and bob (tester). Have alice send bob a message.";
    let (ran, events) = run(&project, script, &[prompt]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let steps: Vec<&Value> = events
        .iter()
        .filter(|e| e["type"] == "letter_moved" && e["letter"]["to"] == "bob")
        .map(|e| &e["step"])
        .collect();
    assert!(
        steps.iter().any(|s| *s == "delivered") && steps.iter().any(|s| *s == "acted_on"),
        "{steps:?}"
    );
    let said = events
        .iter()
        .any(|e| e["type"] == "said" && e["text"] == "I test the parser.");
    assert!(said);
}

#[test]
fn s10_alice_is_spawned_and_asked_to_shut_down() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: Spawn alice
    calls: [{ tool: spawn_teammate, input: { name: alice, role: coder, prompt: Say hello } }, { tool: shutdown_request, input: { teammate: alice, reason: the work is done } }]
  - agent: lead
    when: shutdown_response
    say: Alice is gone.
  - when: .
    times: 0
    say: fine
";
    let args = [
        "Spawn alice as a coder. Then request her shutdown.",
        "--shutdown",
        "auto",
    ];
    let (ran, events) = run(&project, script, &args);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let members = project.json(&["team", "list"]);
    assert_eq!(members[0]["status"], "shutdown");
    assert!(
        notices(&events)
            .iter()
            .any(|t| t == "alice has shut down, as asked.")
    );
    let said = events
        .iter()
        .any(|e| e["type"] == "said" && e["text"] == "Alice is gone.");
    assert!(said, "the lead hears of it by letter");
}

#[test]
fn s11_two_teammates_claim_three_tasks_and_housekeeping_costs_no_call() {
    let project = Project::new();
    let work = |name: &str| {
        format!(
            r"
  - agent: {name}
    when: 'auto-claimed>Task #(\d+)'
    times: 0
    calls: [{{ tool: bash, input: {{ command: 'sleep 0.2; echo {name} >> done' }} }}, {{ tool: task_update, input: {{ task_id: '{{{{1}}}}', status: completed }} }}]
"
        )
    };
    let script = format!(
        r"
rules:
  - agent: lead
    when: Create 3 tasks
    calls:
      - {{ tool: task_create, input: {{ subject: one }} }}
      - {{ tool: task_create, input: {{ subject: two }} }}
      - {{ tool: task_create, input: {{ subject: three }} }}
      - {{ tool: spawn_teammate, input: {{ name: alice, role: coder, prompt: Work }} }}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: coder, prompt: Work }} }}
{}{}
  - when: .
    times: 0
    say: fine
",
        work("alice"),
        work("bob")
    );
    let prompt = "Create 3 tasks on the board, then spawn alice and bob. Watch them auto-claim.";
    let (ran, events) = run(&project, &script, &[prompt]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let tasks = project.json(&["task", "list"]);
    let tasks = tasks.as_array().unwrap();
    assert!(
        tasks.iter().all(|t| t["status"] == "completed"),
        "{}",
        ran.out()
    );
    let mut owners: Vec<&str> = tasks.iter().map(|t| t["owner"].as_str().unwrap()).collect();
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(owners, ["alice", "bob"]);
    // Calls of the model: the lead answers the person and the end of all work; each teammate says that it
    // is ready, and makes two calls for each of its tasks. Claims, rests and completions cost nothing.
    let calls = |who: &str| {
        let mine = |e: &&Value| e["type"] == "usage_changed" && e["agent"] == who;
        events.iter().filter(mine).count()
    };
    assert_eq!(calls("lead"), 3);
    assert_eq!(calls("alice") + calls("bob"), 2 + 3 * 2);
}

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
        out.contains("nobody who may has asked you to shut down (request forged)"),
        "{out}"
    );
    assert!(out.contains("Then it may stay."), "{out}");
    let tasks = project.json(&["task", "list"]);
    assert_eq!(tasks[0]["status"], "completed");
}

fn wait_for(project: &Project, file: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    while !project.file(file).exists() {
        assert!(Instant::now() < until, "no {file}");
        std::thread::sleep(Duration::from_millis(5));
    }
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
    when: crewdeck was ended in the middle of this turn
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
    screen.send("\x1b\x1b");
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
    when: bob can not go on
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
    assert_eq!(ran.code(), 0, "{}", ran.err());
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

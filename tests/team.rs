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

/// A git repository with one commit.
fn repository() -> Project {
    let project = Project::git();
    for (key, value) in [("user.name", "t"), ("user.email", "t@t")] {
        git(&project, &["config", key, value]);
    }
    project.write("base.txt", "base\n");
    project.write(".gitignore", "script.yaml\n.config/\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "start"]);
    project
}

fn git(project: &Project, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(args)
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn s12_each_task_is_worked_on_in_a_worktree_and_dependents_see_what_they_need() {
    let project = repository();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write a } }
      - { tool: task_create, input: { subject: write b } }
      - { tool: task_create, input: { subject: join them, blocked_by: [1, 2] } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: lead
    when: Not merged yet
    calls: [{ tool: merge_worktree, input: { task_id: 3 } }, { tool: merge_worktree, input: { task_id: 1 } }, { tool: bash, input: { command: cat ab } }]
  - when: '(?s)auto-claimed>Task #(\d+): write (\w).*You work in (\S+), a git worktree'
    times: 0
    calls:
      - { tool: write_file, input: { path: "{{2}}", content: "{{2}}\n" } }
      - { tool: bash, input: { command: "pwd; sleep 0.3; ls" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: 'auto-claimed>Task .3: join them'
    calls:
      - { tool: bash, input: { command: "cat a b > ab && git log --oneline" } }
      - { tool: task_update, input: { task_id: 3, status: completed } }
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    // While they work, nobody sees the other's files.
    let listings: Vec<&str> = events
        .iter()
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == "bash")
        .map(|e| e["output"].as_str().unwrap())
        .collect();
    let apart = |l: &&&str| l.contains("/.worktrees/task-") && l.lines().count() == 3;
    assert_eq!(listings.iter().filter(apart).count(), 2, "{listings:?}");
    // After the merge of the last task all of it is in the main work tree, the first ones included.
    let all = std::fs::read_to_string(project.file("ab")).unwrap();
    assert_eq!(all, "a\nb\n");
    assert!(project.file("a").exists() && project.file("b").exists());
    let merged = events
        .iter()
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == "merge_worktree");
    let told: Vec<&str> = merged.map(|e| e["output"].as_str().unwrap()).collect();
    assert!(told[0].starts_with("wt/task-3 is merged into "), "{told:?}");
    assert!(told[1].contains("has all of wt/task-1 already"), "{told:?}");
    let history = git(&project, &["log", "--oneline"]);
    assert!(history.contains("task #1: write a"), "{history}");
    let trees = project.json(&["worktree", "list"]);
    assert_eq!(trees.as_array().unwrap().len(), 3);
    assert!(git(&project, &["status", "--short"]).is_empty());
}

#[test]
fn a_task_that_is_taken_with_a_tool_is_worked_on_in_its_worktree_too() {
    for take in [
        "{ tool: claim_task, input: { task_id: 1 } }",
        "{ tool: task_update, input: { task_id: 1, status: in_progress } }",
    ] {
        let project = repository();
        // Alice is kept from resting, so that the task does not come to her by itself.
        let script = format!(
            r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - {{ tool: spawn_teammate, input: {{ name: alice, role: coder, prompt: Take it }} }}
      - {{ tool: task_create, input: {{ subject: write a }} }}
  - agent: alice
    when: Take it
    calls:
      - {{ tool: bash, input: {{ command: 'while ! test -e .tasks/task_1.json; do sleep 0.01; done' }} }}
      - {take}
      - {{ tool: bash, input: {{ command: 'pwd; echo done > work.txt' }} }}
      - {{ tool: write_file, input: {{ path: more.txt, content: more }} }}
      - {{ tool: task_update, input: {{ task_id: 1, status: completed }} }}
  - when: .
    times: 0
    say: fine
"
        );
        let (ran, events) = run(&project, &script, &["go"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        assert!(!project.file("work.txt").exists() && !project.file("more.txt").exists());
        let files = git(&project, &["ls-tree", "--name-only", "wt/task-1"]);
        assert!(
            files.contains("work.txt") && files.contains("more.txt"),
            "{files}"
        );
        let told = |tool: &str| {
            let mut ended = events
                .iter()
                .filter(|e| e["type"] == "tool_finished" && e["agent"] == "alice");
            let found = ended.find(|e| take.contains(tool) && e["tool"] == tool);
            found.map(|e| e["output"].as_str().unwrap().to_string())
        };
        let told = told("claim_task").or(told("task_update")).unwrap();
        assert!(told.contains("You work in "), "{told}");
    }
}

#[test]
fn a_conflict_becomes_a_task_in_the_same_worktree_and_is_merged_when_it_is_solved() {
    let project = repository();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: say one } }
      - { tool: task_create, input: { subject: say two } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: lead
    when: Not merged yet
    calls: [{ tool: merge_worktree, input: { task_id: 1 } }, { tool: merge_worktree, input: { task_id: 2 } }]
  - when: '(?s)auto-claimed>Task #(\d+): say (\w+)'
    times: 0
    calls:
      - { tool: write_file, input: { path: base.txt, content: "{{2}}\n" } }
      - { tool: bash, input: { command: "sleep 0.2" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: '(?s)auto-claimed>Task #(\d+): Merge (\w+) into .*Somebody has worked there before you: 1 commits, 0 uncommitted'
    calls:
      - { tool: bash, input: { command: "git merge {{2}}; printf 'one\\ntwo\\n' > base.txt; git add -A; git commit -qm both" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let told = notices(&events);
    assert!(
        told.iter()
            .any(|t| t.contains("does not merge into") && t.contains("base.txt")),
        "{told:?}"
    );
    assert_eq!(
        std::fs::read_to_string(project.file("base.txt")).unwrap(),
        "one\ntwo\n",
        "{}",
        ran.out()
    );
    let tasks = project.json(&["task", "list"]);
    assert_eq!(tasks.as_array().unwrap().len(), 3);
    assert_eq!(tasks[2]["worktree"], tasks[1]["worktree"]);
    assert!(git(&project, &["status", "--short"]).is_empty());
}

#[test]
fn without_worktrees_everybody_works_in_the_directory_and_it_is_said() {
    let script = r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write a } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
  - when: auto-claimed
    calls: [{ tool: write_file, input: { path: a, content: x } }, { tool: task_update, input: { task_id: 1, status: completed } }]
  - when: .
    times: 0
    say: fine
";
    let outside = Project::new();
    let (ran, events) = run(&outside, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(outside.file("a").exists());
    let told = notices(&events);
    assert!(
        told.iter()
            .any(|t| t.starts_with("Everybody works in the directory itself")),
        "{told:?}"
    );
    let off = repository();
    off.write(".crewdeck/config.toml", "worktrees = false\n");
    let (ran, _) = run(&off, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(off.file("a").exists() && !off.file(".worktrees/task-1").exists());
}

#[test]
fn a_board_and_a_roster_of_the_reference_are_worked_on_and_stay_readable_for_it() {
    let project = Project::new();
    // As the reference writes them: indent 2, no other fields.
    let task = |id: u64, subject: &str, blocked_by: &str| {
        let text = format!(
            "{{\n  \"id\": {id},\n  \"subject\": \"{subject}\",\n  \"description\": \"\",\n  \"status\": \"pending\",\n  \"blockedBy\": {blocked_by},\n  \"owner\": \"\"\n}}"
        );
        project.write(&format!(".tasks/task_{id}.json"), &text);
    };
    task(1, "Setup project", "[]");
    task(2, "Write code", "[\n    1\n  ]");
    let carol = r#"{ "name": "carol", "role": "writer", "status": "working" }"#;
    let roster = format!("{{ \"team_name\": \"default\", \"members\": [{carol}] }}");
    project.write(".team/config.json", &roster);
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: list_teammates }
      - { tool: send_message, input: { to: carol, content: hello from here } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - when: 'auto-claimed>Task #(\d+)'
    times: 0
    calls: [{ tool: task_update, input: { task_id: "{{1}}", status: completed } }]
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let listed = events
        .iter()
        .find(|e| e["tool"] == "list_teammates" && e["type"] == "tool_finished");
    assert!(
        listed.unwrap()["output"]
            .as_str()
            .unwrap()
            .contains("carol")
    );
    let read = |path: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(project.file(path)).unwrap()).unwrap()
    };
    for id in [1, 2] {
        let task = read(&format!(".tasks/task_{id}.json"));
        assert_eq!(
            (&task["status"], &task["owner"]),
            (&"completed".into(), &"bob".into())
        );
        assert_eq!(
            (&task["id"], &task["blockedBy"]),
            (&id.into(), &serde_json::json!([]))
        );
    }
    let roster = read(".team/config.json");
    let member = |name: &str| {
        let all = roster["members"].as_array().unwrap();
        all.iter().find(|m| m["name"] == name).unwrap().clone()
    };
    // Another program's teammate is left alone: it may be at work.
    assert_eq!(
        (&member("carol")["status"], &member("carol")["role"]),
        (&"working".into(), &"writer".into())
    );
    assert_eq!(member("bob")["status"], "shutdown");
    let letter = std::fs::read_to_string(project.file(".team/inbox/carol.jsonl")).unwrap();
    let letter: Value = serde_json::from_str(letter.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&letter["type"], &letter["from"], &letter["content"]),
        (&"message".into(), &"lead".into(), &"hello from here".into())
    );
    assert!(letter["timestamp"].is_number());
}

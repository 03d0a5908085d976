//! `crewdeck run` from end to end: what it prints, how it ends, and what it leaves behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crewdeck::domain::chat::{Block, Message, check};
use crewdeck::domain::conversation::Record;
use serde_json::Value;

/// crewdeck in `dir`, which is its home too.
fn crewdeck(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", dir)
        .env("TMPDIR", dir)
        .current_dir(dir)
        .stdin(Stdio::null());
    command
}

/// Runs the prompt `go` with the rules of a script.
fn run(dir: &Path, rules: &str, more: &[&str]) -> Output {
    scripted(dir, rules, more).output().unwrap()
}

fn scripted(dir: &Path, rules: &str, more: &[&str]) -> Command {
    let file = dir.join("script.yaml");
    std::fs::write(&file, format!("rules:\n{rules}")).unwrap();
    let mut command = crewdeck(dir);
    command
        .args(["run", "go", "--provider"])
        .arg(format!("script:{}", file.display()))
        .args(more);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = text(bytes);
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect()
}

/// The conversation of the one agent that ran, checked as a server would.
fn conversation(dir: &Path) -> Vec<Message> {
    let mut files: Vec<_> = std::fs::read_dir(dir.join(".transcripts"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(files.remove(0)).unwrap();
    let messages: Vec<Message> = text
        .lines()
        .filter_map(|l| match serde_json::from_str(l).unwrap() {
            Record::Message(message) | Record::Told { message, .. } => Some(message),
            _ => None,
        })
        .collect();
    // What was added to one side before the other spoke is one message, as it is sent.
    let joined = messages
        .into_iter()
        .fold(Vec::<Message>::new(), |mut all, next| {
            match all.last_mut() {
                Some(last) if last.role == next.role => last.blocks.extend(next.blocks),
                Some(_) | None => all.push(next),
            }
            all
        });
    check(&joined).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    joined
}

/// All results of tool calls.
fn results(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|m| &m.blocks);
    blocks
        .filter_map(|b| match b {
            Block::ToolResult { content, .. } => Some(content.clone()),
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) => None,
        })
        .collect()
}

#[test]
fn the_demo_as_json_lines_really_does_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    let out = crewdeck(dir.path())
        .args(["run", "--demo", "--json", "--speed", "60", "--dir"])
        .arg(&project)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let events = lines(&out.stdout);
    let mut last = 0;
    for event in &events {
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last, "{event}");
        last = seq;
        assert!(
            event["at"].is_number() && event["type"].is_string(),
            "{event}"
        );
    }
    assert_eq!(events[0]["type"], "crew_ready");
    assert_eq!(events.last().unwrap()["type"], "crew_at_rest");
    let list = crewdeck(&project)
        .args(["task", "list", "--json"])
        .output()
        .unwrap();
    let tasks: Value = serde_json::from_slice(&list.stdout).unwrap();
    let tasks = tasks.as_array().unwrap();
    assert!(
        tasks.iter().all(|t| t["status"] == "completed"),
        "{tasks:?}"
    );
    let subjects: Vec<&str> = tasks
        .iter()
        .map(|t| t["subject"].as_str().unwrap())
        .collect();
    // Eight that the lead has planned; one that a letter has led to; one that a conflict has led to.
    assert_eq!(subjects.len(), 10, "{subjects:?}");
    assert_eq!(subjects[8], "Check an empty text");
    assert_eq!(
        subjects[9],
        "Merge main into wt/task-5: conflict in tally.sh"
    );
    assert!(most_at_work(&events) >= 2, "nobody worked side by side");
    // The question of one teammate, and the answer of another that the ninth task comes from.
    for (to, words) in [("carol", "an empty text"), ("bob", "no task checks that")] {
        let is_acted_on = events.iter().any(|e| {
            let letter = &e["letter"];
            let says = |words| {
                letter["content"]
                    .as_str()
                    .is_some_and(|c| c.contains(words))
            };
            e["step"] == "acted_on" && letter["to"] == to && says(words)
        });
        assert!(is_acted_on, "to {to}: {words}");
    }
    let test = Command::new("sh")
        .arg("tests/run.sh")
        .current_dir(&project)
        .output()
        .unwrap();
    assert_eq!(text(&test.stdout), "all 5 tests passed\n", "{test:?}");
    assert_eq!(git(&project, &["status", "--short"]), "");
    assert_eq!(git(&project, &["branch", "--no-merged", "main"]), "");
    let gone: Vec<&str> = events
        .iter()
        .filter_map(|e| {
            e["text"]
                .as_str()?
                .strip_suffix(" has shut down, as asked.")
        })
        .collect();
    assert_eq!(gone, ["carol"]);
}

/// The most tasks that were worked on at one time. Fails when a task has had two owners.
fn most_at_work(events: &[Value]) -> usize {
    let mut owners: HashMap<u64, String> = HashMap::new();
    let mut at_work: HashSet<u64> = HashSet::new();
    let mut most = 0;
    let changed = events.iter().filter(|e| e["type"] == "board_changed");
    for task in changed.flat_map(|e| e["changed"].as_array().unwrap()) {
        let id = task["id"].as_u64().unwrap();
        let owner = task["owner"].as_str().unwrap();
        if !owner.is_empty() {
            let first = owners.entry(id).or_insert_with(|| owner.into());
            assert_eq!(first, owner, "two have had {task}");
        }
        if task["status"] == "in_progress" {
            at_work.insert(id);
        } else {
            at_work.remove(&id);
        }
        most = most.max(at_work.len());
    }
    most
}

fn git(dir: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    text(&out.stdout)
}

#[test]
fn words_go_to_stdout_and_progress_to_stderr() {
    let dir = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^go$
    say: I look.
    calls: [{ tool: bash, input: { command: echo seen } }]
  - when: ^seen$
    say: It is done.
";
    let out = run(dir.path(), rules, &["--tool", "auto"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(text(&out.stdout), "I look.\nIt is done.\n");
    let progress = text(&out.stderr);
    assert!(progress.contains("lead · bash echo seen"), "{progress}");
    assert!(progress.contains("(scripted)"), "{progress}");
}

#[test]
fn a_model_that_fails_is_one_line_with_the_remedy_and_exit_1() {
    let cases = [
        ("  - fault: { status: 401 }\n", "key"),
        (
            "  - when: something else\n    say: no\n",
            "no rule for lead after: go. add a rule",
        ),
        (
            "  - fault: { status: 404, message: no such model }\n",
            "model",
        ),
    ];
    for (rules, remedy) in cases {
        let dir = tempfile::tempdir().unwrap();
        let out = run(
            dir.path(),
            rules,
            &[
                "--tool",
                "auto",
                "--plan",
                "auto",
                "--shutdown",
                "auto",
                "--json",
            ],
        );
        assert_eq!(out.status.code(), Some(1), "{out:?}");
        let said = text(&out.stderr);
        assert!(
            said.lines().count() == 1 && said.starts_with("crewdeck: "),
            "{said}"
        );
        assert!(said.to_lowercase().contains(remedy), "{said}");
        assert!(!lines(&out.stdout).is_empty());
    }
}

#[test]
fn where_nobody_can_be_asked_the_answer_is_no_and_everybody_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^go$
    calls: [{ tool: bash, input: { command: echo x > ../outside } }]
  - say: Then not.
";
    let out = run(dir.path(), rules, &[]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert!(
        text(&out.stderr).contains("nobody is here to ask, so requests are denied"),
        "{out:?}"
    );
    let told = results(&conversation(dir.path()));
    eprintln!("{told:?}");
    assert!(
        told.len() == 1 && told[0].contains("not allowed by policy"),
        "{told:?}"
    );
    assert!(!dir.path().parent().unwrap().join("outside").exists());
}

#[test]
fn tools_narrows_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^go$
    calls:
      - { tool: write_file, input: { path: x, content: y } }
      - { tool: read_file, input: { path: script.yaml, limit: 1 } }
  - say: Then not.
";
    let out = run(dir.path(), rules, &["--tools", "bash,read_file", "--json"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let ready = &lines(&out.stdout)[0];
    assert_eq!(ready["tools"], serde_json::json!(["bash", "read_file"]));
    let told = results(&conversation(dir.path()));
    assert!(told[0].starts_with("Unknown tool: write_file"), "{told:?}");
    assert!(told[1].contains("rules:"), "{told:?}");
    assert!(!dir.path().join("x").exists());

    let out = run(dir.path(), rules, &["--tools", "bash,read_fiel"]);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert!(
        text(&out.stderr).contains("Did you mean read_file?"),
        "{out:?}"
    );
}

#[test]
fn a_signal_ends_the_run_and_every_program_that_it_had_started() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        ended_by(signal);
    }
}

fn ended_by(signal: &str) {
    let dir = tempfile::tempdir().unwrap();
    let rules = r#"
  - when: ^go$
    calls: [{ tool: bash, input: { command: "sleep 987 & echo pid $!; wait" } }]
  - say: That should not be said.
    times: 0
"#;
    let mut child = scripted(dir.path(), rules, &["--tool", "auto", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let sleeper = loop {
        line.clear();
        assert!(
            out.read_line(&mut line).unwrap() > 0,
            "the command never spoke"
        );
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["type"] == "tool_output" {
            let chunk = event["chunk"].as_str().unwrap();
            break chunk.trim().rsplit(' ').next().unwrap().to_string();
        }
    };
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
    // It was killed; on a busy machine it takes a moment to be gone.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            break;
        }
        let late = std::time::Instant::now() > until;
        assert!(!late, "{signal}: it sleeps on: {stat}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let messages = conversation(dir.path());
    assert_eq!(results(&messages).len(), 1, "{messages:?}");
}

#[test]
fn faults_of_the_model_end_well_and_leave_a_valid_conversation() {
    let good = "  - say: Good.\n    times: 0\n";
    let cases = [
        ("cut", "  - fault: { cut: 5 }\n    say: Half a word\n"),
        ("429", "  - fault: { status: 429, retry_after: 0.05 }\n"),
        ("529", "  - fault: { status: 529, retry_after: 0.05 }\n"),
        ("empty", "  - fault: { empty: true }\n"),
        (
            "broken_json",
            "  - fault: { broken_json: '{\"command\":' }\n    calls: [{ tool: bash }]\n",
        ),
    ];
    for (name, rules) in cases {
        let dir = tempfile::tempdir().unwrap();
        let out = run(dir.path(), &format!("{rules}{good}"), &["--tool", "auto"]);
        assert_eq!(out.status.code(), Some(0), "{name}: {out:?}");
        assert_eq!(text(&out.stdout), "Good.\n", "{name}");
        let messages = conversation(dir.path());
        assert_eq!(messages.last().unwrap().words(), "Good.", "{name}");
        if name == "broken_json" {
            assert!(results(&messages)[0].contains("JSON"), "{messages:?}");
        }
    }
}

#[test]
fn a_teammate_whose_model_fails_leaves_its_task_and_the_run_ends() {
    let dir = tempfile::tempdir().unwrap();
    let rules = "
  - agent: lead
    when: ^go
    calls:
      - { tool: task_create, input: { subject: one } }
      - { tool: spawn_teammate, input: { name: bob, role: worker } }
  - agent: lead
    when: Spawned 'bob'
    say: Bob is at work.
  - agent: bob
    times: 0
    fault: { status: 401, message: no such key }
  - agent: lead
    when: rests with 1 of 1 tasks open
    say: Bob could not work.
";
    let out = run(dir.path(), rules, &[]);
    let (said, progress) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{said}{progress}");
    assert_eq!(said, "Bob is at work.\nBob could not work.\n");
    assert!(
        progress.contains("bob · the key was refused (401): no such key"),
        "{progress}"
    );
}

/// The events that the journal of the only session holds.
fn journal(dir: &Path) -> Vec<Value> {
    let sessions = std::fs::read_dir(dir.join(".crewdeck/sessions")).unwrap();
    let files: Vec<_> = sessions
        .map(|e| e.unwrap().path().join("journal.jsonl"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    lines(&std::fs::read(&files[0]).unwrap())
}

#[test]
fn a_team_that_the_server_slows_down_waits_together_and_does_its_work() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["ann", "bob", "cid", "dan"];
    let spawn = names.map(|name| {
        format!("      - {{ tool: spawn_teammate, input: {{ name: {name}, role: worker, prompt: work }} }}\n")
    });
    let spawn = spawn.concat();
    let rules = format!(
        "
  - agent: lead
    when: ^go
    calls:
{spawn}
  - agent: lead
    when: Spawned
    fault: {{ status: 429, retry_after: 0.3, message: slow down }}
  - agent: lead
    when: Spawned
    say: They are at work.
  - agent: lead
    say: All is done.
    times: 0
  - agent: ann
    fault: {{ status: 429, retry_after: 0.3, message: slow down }}
  - agent: bob
    fault: {{ status: 529, retry_after: 0.3, message: slow down }}
  - say: It is done.
    times: 0
    delay_ms: 50
"
    );
    // One call at a time, so that somebody has to wait in line.
    std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
    std::fs::write(
        dir.path().join(".crewdeck/config.toml"),
        "calls_max = 1\nidle_timeout_s = 1\n",
    )
    .unwrap();
    let out = run(dir.path(), &rules, &[]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert!(text(&out.stdout).contains("They are at work.\n"), "{out:?}");
    let events = journal(dir.path());
    for name in names {
        let said = |e: &&Value| e["type"] == "said" && e["agent"] == name;
        let said: Vec<_> = events.iter().filter(said).collect();
        assert_eq!(said.len(), 1, "{name}: {said:?}");
    }
    let held = |state: &str| -> Vec<&Value> {
        let is = |e: &&Value| e["activity"]["state"] == state;
        events.iter().filter(is).collect()
    };
    let waits = held("backoff");
    let shared = |e: &&&Value| e["activity"]["attempt"] == 0;
    assert!(waits.iter().filter(shared).count() > 0, "{waits:?}");
    assert!(
        waits.iter().any(|e| e["activity"]["attempt"] == 1),
        "{waits:?}"
    );
    let cause = waits[0]["activity"]["cause"].as_str().unwrap();
    assert!(cause.contains("slow down"), "{cause}");
    assert!(
        held("queued")
            .iter()
            .all(|e| e["activity"]["place"].as_u64() > Some(0))
    );
    assert!(!held("queued").is_empty());
}

#[test]
fn a_question_without_a_person_is_answered_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^go
    say: I ask.
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green] } }]
  - when: decide yourself
    say: Then it is green.
";
    // Neither a rule that approves nor one that asks the lead answers a question.
    for more in [&[][..], &["--tool", "auto", "--plan", "lead", "--json"]] {
        let out = run(dir.path(), rules, more);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let said = text(&out.stdout);
        assert!(said.contains("Then it is green."), "{said}");
        let [result] = &results(&conversation(dir.path()))[..] else {
            panic!("one result");
        };
        assert_eq!(
            result,
            "The person does not answer (nobody is here to answer); decide yourself."
        );
        std::fs::remove_dir_all(dir.path().join(".transcripts")).unwrap();
    }
    let requests = std::fs::read_dir(dir.path().join(".team/requests")).unwrap();
    let kept: Vec<Value> = requests
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).unwrap())
        .collect();
    assert_eq!(kept.len(), 2);
    for request in kept {
        assert_eq!(
            (&request["kind"], &request["status"], &request["decided_by"]),
            (&"question".into(), &"rejected".into(), &"policy".into())
        );
        assert_eq!(request["choices"], serde_json::json!(["red", "green"]));
    }
}

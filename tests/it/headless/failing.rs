//! `crewdeck run` with a model that fails or is rate limited, and with tasks that stay open.

use std::path::Path;

use serde_json::Value;

use super::{conversation, lines, results, run, text};

#[test]
fn model_failure_prints_one_remedy_line_and_exits_1() {
    let cases = [
        ("  - fault: { status: 401 }\n", "key"),
        (
            "  - when: something else\n    say: no\n",
            "no rule for lead after the message: go. add a matching rule",
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
        let stderr = text(&out.stderr);
        assert!(
            stderr.lines().count() == 1 && stderr.starts_with("crewdeck: "),
            "{stderr}"
        );
        assert!(stderr.to_lowercase().contains(remedy), "{stderr}");
        assert!(!lines(&out.stdout).is_empty());
    }
}

#[test]
fn model_faults_leave_a_valid_conversation() {
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
        assert_eq!(messages.last().unwrap().text(), "Good.", "{name}");
        if name == "broken_json" {
            assert!(results(&messages)[0].contains("JSON"), "{messages:?}");
        }
    }
}

#[test]
fn run_ends_when_the_model_of_a_teammate_fails() {
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
    when: is idle with 1 of 1 tasks open
    say: Bob could not work.
";
    let out = run(dir.path(), rules, &[]);
    let (answer, progress) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(4), "{answer}{progress}");
    assert_eq!(answer, "Bob is at work.\nBob could not work.\n");
    let last = progress.lines().last().unwrap();
    assert!(
        last.starts_with("crewdeck: the run ended with 1 open task: #1 one"),
        "{last}"
    );
    assert!(
        last.contains("stuck teammate: bob (the API key was refused (401)"),
        "{last}"
    );
    assert!(
        progress.contains("bob · the API key was refused (401): no such key"),
        "{progress}"
    );
}

#[test]
fn run_with_open_tasks_lists_them_and_exits_4() {
    let dir = tempfile::tempdir().unwrap();
    let rules = "
  - when: ^go
    calls:
      - { tool: task_create, input: { subject: one } }
      - { tool: task_create, input: { subject: two, blocked_by: [1] } }
  - say: That is for later.
    times: 0
";
    for more in [&[][..], &["--json"]] {
        let out = run(dir.path(), rules, more);
        let progress = text(&out.stderr);
        assert_eq!(out.status.code(), Some(4), "{progress}");
        let end_lines: Vec<&str> = progress
            .lines()
            .filter(|l| l.contains("the run ended with"))
            .collect();
        assert_eq!(end_lines.len(), 1, "{progress}");
        assert!(
            end_lines[0].starts_with("crewdeck: ") && end_lines[0].contains("#1 one, #2 two"),
            "{}",
            end_lines[0]
        );
        assert!(
            end_lines[0].contains("crewdeck task list"),
            "{}",
            end_lines[0]
        );
        for file in [".tasks", ".transcripts"] {
            std::fs::remove_dir_all(dir.path().join(file)).unwrap();
        }
    }
}

/// Returns the events in the session's journal. There must be only one session.
fn journal(dir: &Path) -> Vec<Value> {
    let sessions = std::fs::read_dir(dir.join(".crewdeck/sessions")).unwrap();
    let files: Vec<_> = sessions
        .map(|e| e.unwrap().path().join("journal.jsonl"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    lines(&std::fs::read(&files[0]).unwrap())
}

#[test]
fn rate_limited_team_backs_off_and_completes() {
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
    // One call at a time, so that calls are queued.
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
        let is_answer = |e: &&Value| e["type"] == "said" && e["agent"] == name;
        let answers: Vec<_> = events.iter().filter(is_answer).collect();
        assert_eq!(answers.len(), 1, "{name}: {answers:?}");
    }
    let events_in_state = |state: &str| -> Vec<&Value> {
        let is = |e: &&Value| e["activity"]["state"] == state;
        events.iter().filter(is).collect()
    };
    let waits = events_in_state("backoff");
    let is_shared = |e: &&&Value| e["activity"]["attempt"] == 0;
    assert!(waits.iter().filter(is_shared).count() > 0, "{waits:?}");
    assert!(
        waits.iter().any(|e| e["activity"]["attempt"] == 1),
        "{waits:?}"
    );
    let cause = waits[0]["activity"]["cause"].as_str().unwrap();
    assert!(cause.contains("slow down"), "{cause}");
    assert!(
        events_in_state("queued")
            .iter()
            .all(|e| e["activity"]["place"].as_u64() > Some(0))
    );
    assert!(!events_in_state("queued").is_empty());
}

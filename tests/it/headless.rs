//! `crewdeck run`, end to end: its output, exit codes, and the files it leaves.

mod demo;
mod failing;
mod key_address;
mod questions;
mod scale;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crewdeck::domain::chat::{Block, Message, validate};
use crewdeck::domain::conversation::LogRecord;
use serde_json::Value;

/// Returns a crewdeck command with `dir` as current directory and home.
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

/// Runs `crewdeck run go` with a model that follows the script rules `rules`.
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

/// Runs `crewdeck run` with `prompt` and a model that gives the same answer to everything.
fn prompted(dir: &Path, prompt: &str, more: &[&str]) -> Output {
    std::fs::write(dir.join("script.yaml"), "rules:\n  - say: Read.\n").unwrap();
    crewdeck(dir)
        .args(["run", prompt, "--provider", "script:script.yaml"])
        .args(more)
        .output()
        .unwrap()
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

/// Returns the conversation of the only agent. Panics if a server would not accept it.
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
            LogRecord::Message(message) | LogRecord::Delivery { message, .. } => Some(message),
            _ => None,
        })
        .collect();
    // Consecutive messages of one role are merged, as in a request.
    let merged = messages
        .into_iter()
        .fold(Vec::<Message>::new(), |mut all, next| {
            match all.last_mut() {
                Some(last) if last.role == next.role => last.blocks.extend(next.blocks),
                Some(_) | None => all.push(next),
            }
            all
        });
    validate(&merged).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    merged
}

/// Returns the result of each tool call.
fn results(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|m| &m.blocks);
    blocks
        .filter_map(|b| match b {
            Block::ToolResult { content, .. } => Some(content.clone()),
            Block::Text { .. }
            | Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolCall(_) => None,
        })
        .collect()
}

#[test]
fn answers_go_to_stdout_and_progress_to_stderr() {
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
fn files_that_the_prompt_mentions_are_attached() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    std::fs::write(home.join("notes.md"), "one\ntwo\n").unwrap();
    let image = image::RgbImage::from_pixel(3, 2, image::Rgb([200, 10, 10]));
    image.save(home.join("shot.png")).unwrap();
    let prompt = "read @notes.md and @shot.png for user@host and @nothing, not @types/node";
    let out = prompted(home, prompt, &["--json"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let prompted = lines(&out.stdout).into_iter();
    let prompted: Vec<Value> = prompted.filter(|e| e["type"] == "prompted").collect();
    let labels = serde_json::json!(["notes.md · 2 lines", "shot.png · 3x2 image"]);
    assert_eq!(prompted[0]["attachments"], labels, "{prompted:?}");
    let progress = text(&out.stderr);
    let warnings: Vec<&str> = progress.lines().filter(|l| l.contains('@')).collect();
    let warning = "warning: there is no file types/node, so @types/node is sent as plain text. With @./types/node, a missing file is an error.";
    assert_eq!(warnings, [warning], "{progress}");
}

#[test]
fn file_that_cannot_be_attached_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    std::fs::write(home.join("program"), b"\x7fELF\0\0").unwrap();
    for (prompt, why) in [
        (
            "see @./gone.md",
            "Cannot attach ./gone.md: it does not exist",
        ),
        (
            "see @\"no such\"",
            "Cannot attach no such: it does not exist",
        ),
        (
            "see @program",
            "Cannot attach program: it is a binary file of 6 bytes",
        ),
    ] {
        let out = prompted(home, prompt, &[]);
        assert_eq!(out.status.code(), Some(2), "{prompt}: {out:?}");
        assert_eq!(text(&out.stdout), "", "{prompt}");
        let progress = text(&out.stderr);
        let last = progress.lines().last().unwrap_or_default();
        assert_eq!(last, format!("crewdeck: {why}. The message was not sent."));
    }
}

#[test]
fn unattended_run_denies_requests_and_reports_it() {
    let dir = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^go$
    calls: [{ tool: bash, input: { command: echo x > ../outside } }]
  - say: Then not.
";
    let out = run(dir.path(), rules, &[]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert!(
        text(&out.stderr)
            .contains("without a terminal, crewdeck cannot ask the user, so requests are denied"),
        "{out:?}"
    );
    let results = results(&conversation(dir.path()));
    eprintln!("{results:?}");
    assert!(
        results.len() == 1 && results[0].contains("rejected by policy"),
        "{results:?}"
    );
    assert!(!dir.path().parent().unwrap().join("outside").exists());
}

#[test]
fn tools_option_limits_the_available_tools() {
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
    let results = results(&conversation(dir.path()));
    assert!(
        results[0].starts_with("Unknown tool: write_file"),
        "{results:?}"
    );
    assert!(results[1].contains("rules:"), "{results:?}");
    assert!(!dir.path().join("x").exists());

    let out = run(dir.path(), rules, &["--tools", "bash,read_fiel"]);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert!(
        text(&out.stderr).contains("Did you mean read_file?"),
        "{out:?}"
    );
}

#[test]
fn signal_ends_the_run_and_its_programs() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        check_end_by_signal(signal);
    }
}

fn check_end_by_signal(signal: &str) {
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
            "no output of the command"
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
    // The process was killed, but may take a moment to disappear.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            break;
        }
        let is_overdue = std::time::Instant::now() > until;
        assert!(!is_overdue, "{signal}: the command still runs: {stat}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let messages = conversation(dir.path());
    assert_eq!(results(&messages).len(), 1, "{messages:?}");
}

#[test]
fn unattended_question_is_answered_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^go
    say: I ask.
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green] } }]
  - when: decide yourself
    say: Then it is green.
";
    // A question is answered by no approval policy.
    for more in [&[][..], &["--tool", "auto", "--plan", "lead", "--json"]] {
        let out = run(dir.path(), rules, more);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let answer = text(&out.stdout);
        assert!(answer.contains("Then it is green."), "{answer}");
        let [result] = &results(&conversation(dir.path()))[..] else {
            panic!("one result");
        };
        assert_eq!(
            result,
            "The user does not answer (no user is present); decide yourself."
        );
        std::fs::remove_dir_all(dir.path().join(".transcripts")).unwrap();
    }
    let requests = std::fs::read_dir(dir.path().join(".team/requests")).unwrap();
    let requests: Vec<Value> = requests
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).unwrap())
        .collect();
    assert_eq!(requests.len(), 2);
    for request in requests {
        assert_eq!(
            (&request["kind"], &request["status"], &request["decided_by"]),
            (&"question".into(), &"rejected".into(), &"policy".into())
        );
        assert_eq!(request["choices"], serde_json::json!(["red", "green"]));
    }
}

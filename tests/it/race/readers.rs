//! A crew and other programs read the same inbox: each message is delivered once, also when the crew is killed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::ids::{MessageId, Name};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::store::Mailbox;

use crate::common::project::{Project, RunResult};
use crate::common::wait::wait_until;
use crate::race::{NOW, rounds};

/// Number of messages that are sent while the crew and `mail read` read them.
const MESSAGES: usize = 60;
/// How often the crew is killed while it reads.
const KILLS: usize = 3;
/// Maximum time of each wait. Far longer than it takes.
const DEADLINE: Duration = Duration::from_secs(120);

/// In this script, the lead works in small steps until the file `stop` exists, and so reads its inbox often.
const BUSY_LEAD: &str = r#"
rules:
  - { when: stop-now, times: 0, say: fine }
  - when: .
    times: 0
    calls: [{ tool: bash, input: { command: "sleep 0.02; date +%N; if [ -e stop ]; then echo stop-now; fi" } }]
"#;

fn send(mailbox: &Mailbox, text: &str) {
    let bob = Name::member("bob").unwrap();
    let id = MessageId(text.into());
    let message = MailMessage::new(id, MailKind::Message, &bob, &Name::lead(), text, NOW);
    mailbox.send(&message).unwrap();
}

fn crew_command(project: &Project, args: &[&str]) -> Command {
    let mut command =
        project.command(&["run", "--tool", "auto", "--provider", "script:rules.yaml"]);
    command.args(args).stdin(Stdio::null());
    command
}

/// Returns the text of the lead's conversation log, or `None` if it contains no message yet.
fn lead_log(project: &Project) -> Option<String> {
    let mut files = std::fs::read_dir(project.file(".transcripts")).ok()?;
    let is_lead = |path: &PathBuf| path.to_string_lossy().ends_with("-lead.jsonl");
    let path = files.find_map(|e| e.ok().map(|e| e.path()).filter(is_lead))?;
    let text = std::fs::read_to_string(path).unwrap();
    text.contains("\"role\"").then_some(text)
}

/// Starts or resumes the crew and waits until the lead's log has grown.
fn start(project: &Project) -> Child {
    let before = lead_log(project);
    let begin: &[&str] = if before.is_none() {
        &["go"]
    } else {
        &["--resume"]
    };
    let mut child = crew_command(project, begin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + DEADLINE;
    while lead_log(project) == before {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the crew does not start");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// Returns how often each message was delivered, to the lead (as its log shows) or to `mail read`.
fn delivery_counts(log: &str, read: &[String]) -> BTreeMap<String, usize> {
    let text = |n| format!("message-{n}.");
    let all = 0..MESSAGES;
    all.map(|n| (text(n), log.matches(&text(n)).count()))
        .map(|(text, read_by_lead)| {
            let read_by_command = read.iter().filter(|r| **r == text).count();
            (text, read_by_lead + read_by_command)
        })
        .collect()
}

/// Sends messages while the crew and `mail read` read them. Kills and resumes the crew `kills` times. Panics unless
/// each message was delivered once.
fn read_concurrently(kills: usize) {
    let project = Project::new();
    project.write("rules.yaml", BUSY_LEAD);
    let mut child = start(&project);
    let mailbox = Mailbox::open(project.path());
    let mut read = Vec::new();
    let mut read_mail = || {
        let messages = project.json(&["mail", "read", "lead"]);
        let messages = messages.as_array().unwrap().iter();
        read.extend(messages.map(|m| m["content"].as_str().unwrap().to_string()));
    };
    for n in 0..MESSAGES {
        send(&mailbox, &format!("message-{n}."));
        if n % 2 == 1 {
            read_mail();
        }
        if kills > 0 && n % (MESSAGES / kills) == 4 {
            child.kill().unwrap();
            child.wait().unwrap();
            read_mail();
            child = start(&project);
        }
    }
    project.write("stop", "");
    let until = Instant::now() + DEADLINE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the crew does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    read_mail();
    let log = lead_log(&project).unwrap();
    let wrong: Vec<_> = delivery_counts(&log, &read)
        .into_iter()
        .filter(|(_, times)| *times != 1)
        .collect();
    assert_eq!(wrong, [], "{} by mail read", read.len());
}

#[test]
fn crew_and_mail_read_never_both_receive_a_message() {
    (0..rounds()).for_each(|_| read_concurrently(0));
}

#[test]
fn killed_crew_and_mail_read_receive_each_message_once() {
    (0..rounds()).for_each(|_| read_concurrently(KILLS));
}

#[test]
fn crew_does_not_wait_for_a_blocked_mail_reader() {
    let project = Project::new();
    project.write("rules.yaml", "rules: [{ when: ., times: 0, say: I see. }]");
    project.json(&["mail", "list", "lead"]);
    let (mailbox, lead) = (Mailbox::open(project.path()), Name::lead());
    // More than a pipe can buffer: without a reader the command blocks with its messages printed in part.
    for n in 0..4 {
        send(&mailbox, &format!("message-{n}. {}", "x".repeat(20_000)));
    }
    let mut reader = project
        .command(&["mail", "read", "lead"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("mail read starts to read", || mailbox.is_being_read(&lead));
    let who = format!("another program (process {})", reader.id());
    let ran = RunResult(crew_command(&project, &["go"]).output().unwrap());
    let refused = project.expect_refusal(&["mail", "read", "lead"]);
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(ran.err().contains(&who), "{}", ran.err());
    assert!(
        ran.err().contains("is still reading the inbox of lead"),
        "{}",
        ran.err()
    );
    assert!(!lead_log(&project).unwrap().contains("message-"));
    assert!(refused.contains(&who), "{refused}");
    // The reader was killed before it acknowledged a message.
    let ran = RunResult(crew_command(&project, &["--resume"]).output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let log = lead_log(&project).unwrap();
    for n in 0..4 {
        assert_eq!(log.matches(&format!("message-{n}.")).count(), 1, "{n}");
    }
    assert_eq!(
        project.json(&["mail", "read", "lead"]),
        serde_json::json!([])
    );
}

#[test]
fn truncated_inbox_loses_no_later_message() {
    let project = Project::new();
    project.write("rules.yaml", BUSY_LEAD);
    let mut child = start(&project);
    let (mailbox, inbox) = (
        Mailbox::open(project.path()),
        project.file(".team/inbox/lead.jsonl"),
    );
    let until = Instant::now() + DEADLINE;
    let mut wait = |condition: &dyn Fn() -> bool| {
        while !condition() {
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("the condition did not become true");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let is_received = |text: &str| lead_log(&project).unwrap().contains(text);
    send(&mailbox, "message-1.");
    wait(&|| is_received("message-1."));
    let cursor = || std::fs::read_to_string(project.file(".team/inbox/.lead.cursor")).unwrap();
    wait(&|| project.file(".team/inbox/.lead.cursor").exists());
    let before = cursor();
    // Readers in learn-claude-code truncate the inbox like this.
    std::fs::write(&inbox, "").unwrap();
    wait(&|| cursor() != before);
    // The inbox becomes longer than before.
    send(&mailbox, "message-2.");
    send(&mailbox, "message-3.");
    wait(&|| is_received("message-2.") && is_received("message-3."));
    project.write("stop", "");
    wait(&|| project.json(&["mail", "list", "lead"]) == serde_json::json!([]));
    assert!(child.wait().unwrap().success());
}

//! A crew and others who read the same inbox: each letter goes to one of them, once, also where the crew is killed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::ids::{LetterId, Name};
use crewdeck::domain::mail::{Letter, LetterKind};
use crewdeck::store::Post;

use crate::common::project::{Project, Ran};
use crate::race::{NOW, rounds};

/// Letters that come while both read, in a round.
const LETTERS: usize = 60;
/// How often the crew is killed meanwhile, in a round.
const KILLS: usize = 3;
/// How long anything may take; far more than it needs.
const DEADLINE: Duration = Duration::from_secs(120);

/// A lead that works in small steps, and so looks into its inbox all the time, until there is a file `stop`.
const BUSY: &str = r#"
rules:
  - { when: stop-now, times: 0, say: fine }
  - when: .
    times: 0
    calls: [{ tool: bash, input: { command: "sleep 0.02; date +%N; if [ -e stop ]; then echo stop-now; fi" } }]
"#;

fn send(post: &Post, text: &str) {
    let bob = Name::member("bob").unwrap();
    let id = LetterId(text.into());
    let letter = Letter::new(id, LetterKind::Message, &bob, &Name::lead(), text, NOW);
    post.send(&letter).unwrap();
}

fn crew(project: &Project, args: &[&str]) -> Command {
    let mut command =
        project.command(&["run", "--tool", "auto", "--provider", "script:rules.yaml"]);
    command.args(args).stdin(Stdio::null());
    command
}

/// The log of the lead; `None`: it has said nothing yet.
fn log(project: &Project) -> Option<String> {
    let mut files = std::fs::read_dir(project.file(".transcripts")).ok()?;
    let is_lead = |path: &PathBuf| path.to_string_lossy().ends_with("-lead.jsonl");
    let path = files.find_map(|e| e.ok().map(|e| e.path()).filter(is_lead))?;
    let text = std::fs::read_to_string(path).unwrap();
    text.contains("\"role\"").then_some(text)
}

/// Starts the crew, or goes on with it, and waits until its lead has written something down.
fn start(project: &Project) -> Child {
    let before = log(project);
    let begin: &[&str] = if before.is_none() {
        &["go"]
    } else {
        &["--resume"]
    };
    let mut child = crew(project, begin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + DEADLINE;
    while log(project) == before {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the crew does not begin");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// How often each letter was read: by the lead, as its log says, and by `mail read`.
fn readings(log: &str, read: &[String]) -> BTreeMap<String, usize> {
    let text = |n| format!("letter-{n}.");
    let all = 0..LETTERS;
    all.map(|n| (text(n), log.matches(&text(n)).count()))
        .map(|(text, heard)| {
            let taken = read.iter().filter(|r| **r == text).count();
            (text, heard + taken)
        })
        .collect()
}

/// Letters come, the crew and `mail read` take them; at `kills` moments the crew is killed and gone on with.
fn both_read(kills: usize) {
    let project = Project::new();
    project.write("rules.yaml", BUSY);
    let mut child = start(&project);
    let post = Post::open(project.path());
    let mut read = Vec::new();
    let mut take = || {
        let letters = project.json(&["mail", "read", "lead"]);
        let said = letters.as_array().unwrap().iter();
        read.extend(said.map(|l| l["content"].as_str().unwrap().to_string()));
    };
    for n in 0..LETTERS {
        send(&post, &format!("letter-{n}."));
        if n % 2 == 1 {
            take();
        }
        if kills > 0 && n % (LETTERS / kills) == 4 {
            child.kill().unwrap();
            child.wait().unwrap();
            take();
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
    take();
    let log = log(&project).unwrap();
    let wrong: Vec<_> = readings(&log, &read)
        .into_iter()
        .filter(|(_, times)| *times != 1)
        .collect();
    assert_eq!(wrong, [], "{} by mail read", read.len());
}

#[test]
fn a_crew_and_mail_read_never_both_get_a_letter() {
    (0..rounds()).for_each(|_| both_read(0));
}

#[test]
fn a_crew_that_is_killed_while_others_read_loses_none_and_gets_none_twice() {
    (0..rounds()).for_each(|_| both_read(KILLS));
}

#[test]
fn a_crew_does_not_hang_on_a_reader_that_does_not_end_and_reads_later() {
    let project = Project::new();
    project.write("rules.yaml", "rules: [{ when: ., times: 0, say: I see. }]");
    project.json(&["mail", "list", "lead"]);
    let (post, lead) = (Post::open(project.path()), Name::lead());
    // More than a pipe takes in: nobody reads on, so it waits with its letters printed in part.
    for n in 0..6 {
        send(&post, &format!("letter-{n}. {}", "x".repeat(20_000)));
    }
    let mut reader = project
        .command(&["mail", "read", "lead"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + DEADLINE;
    while !post.is_being_read(&lead) {
        assert!(Instant::now() < until, "nobody reads");
        std::thread::sleep(Duration::from_millis(2));
    }
    let who = format!("another program (process {})", reader.id());
    let ran = Ran(crew(&project, &["go"]).output().unwrap());
    let refused = project.refused(&["mail", "read", "lead"]);
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(ran.err().contains(&who), "{}", ran.err());
    assert!(ran.err().contains("which does not end"), "{}", ran.err());
    assert!(!log(&project).unwrap().contains("letter-"));
    assert!(refused.contains(&who), "{refused}");
    // It was killed before it acknowledged anything.
    let ran = Ran(crew(&project, &["--resume"]).output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let log = log(&project).unwrap();
    for n in 0..6 {
        assert_eq!(log.matches(&format!("letter-{n}.")).count(), 1, "{n}");
    }
    assert_eq!(
        project.json(&["mail", "read", "lead"]),
        serde_json::json!([])
    );
}

#[test]
fn an_inbox_that_is_cut_while_the_crew_has_it_loses_no_letter() {
    let project = Project::new();
    project.write("rules.yaml", BUSY);
    let mut child = start(&project);
    let (post, inbox) = (
        Post::open(project.path()),
        project.file(".team/inbox/lead.jsonl"),
    );
    let until = Instant::now() + DEADLINE;
    let mut wait = |what: &dyn Fn() -> bool| {
        while !what() {
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("that does not come");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let heard = |text: &str| log(&project).unwrap().contains(text);
    send(&post, "letter-1.");
    wait(&|| heard("letter-1."));
    let cursor = || std::fs::read_to_string(project.file(".team/inbox/.lead.cursor")).unwrap();
    wait(&|| project.file(".team/inbox/.lead.cursor").exists());
    let before = cursor();
    // As the reference's readers do.
    std::fs::write(&inbox, "").unwrap();
    wait(&|| cursor() != before);
    // More than was there.
    send(&post, "letter-2.");
    send(&post, "letter-3.");
    wait(&|| heard("letter-2.") && heard("letter-3."));
    project.write("stop", "");
    wait(&|| project.json(&["mail", "list", "lead"]) == serde_json::json!([]));
    assert!(child.wait().unwrap().success());
}

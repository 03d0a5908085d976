//! One agent that lasts: background jobs, subagents, compaction, and a session that is gone on with.

mod background;
mod compaction;
mod resuming;
mod saving;
mod subagents;

use std::process::{Child, Command, Stdio};

use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Message, check};

use crewdeck::domain::conversation::{Conversation, Record};

use serde_json::Value;

use crate::common::project::{Project, Ran};

/// `crewdeck run` with the rules of a script.
fn scripted(project: &Project, script: &str, args: &[&str]) -> Command {
    let file = project.write("script.yaml", script);
    let mut command = project.command(&["run"]);
    command.args(args).arg("--provider");
    command.arg(format!("script:{}", file.display()));
    command.stdin(Stdio::null());
    command
}

fn run(project: &Project, script: &str, args: &[&str]) -> Ran {
    Ran(scripted(project, script, args).output().unwrap())
}

fn events(ran: &Ran) -> Vec<Value> {
    let out = ran.out();
    out.lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["type"] == kind).collect()
}

/// A project whose commands may do what crewdeck forbids them: they stand for what happens to its files.
fn unconfined() -> Project {
    let project = Project::new();
    project.own_settings("confine = \"off\"\n");
    project
}

/// The log of one agent, by the end of its file's name.
fn log(project: &Project, end: &str) -> Vec<Record> {
    let dir = project.file(".transcripts");
    let mut found: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.to_string_lossy().ends_with(end))
        .collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    let text = std::fs::read_to_string(found.remove(0)).unwrap();
    let line = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    text.lines().map(line).collect()
}

/// The conversation of the lead, checked as a server would.
fn lead(project: &Project) -> Conversation {
    let conversation = Conversation::of(log(project, "-lead.jsonl"));
    assert_eq!(check(&conversation.messages), Ok(()));
    conversation
}

fn result_texts(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|m| &m.blocks);
    let texts = blocks.filter_map(|b| match b {
        Block::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    });
    texts.collect()
}

/// Waits until a file is there; the process that is to make it must be alive.
fn wait_for(project: &Project, file: &str, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(60);
    while !project.file(file).exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended");
        assert!(Instant::now() < until, "no {file}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `crewdeck run go`, until a command of the script has made the file `started`; what it says is thrown away.
fn started(project: &Project, script: &str) -> Child {
    let mut child = scripted(project, script, &["go"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(project, "started", &mut child);
    child
}

/// Kills a process and waits for its end.
fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Tells a process to end and waits until it has.
fn ask_to_end(child: &mut Child) {
    let pid = child.id().to_string();
    let asked = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(asked.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

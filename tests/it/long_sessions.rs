//! One long-lived agent: background jobs, subagents, compaction and resumed sessions.

mod background;
mod compaction;
mod resuming;
mod saving;
mod subagents;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Message, validate};
use crewdeck::domain::conversation::{Conversation, LogRecord};
use serde_json::Value;

use crate::common::project::{Project, RunResult};

/// Returns a command that starts `crewdeck run` with `script` as the model.
fn script_command(project: &Project, script: &str, args: &[&str]) -> Command {
    let file = project.write("script.yaml", script);
    let mut command = project.command(&["run"]);
    command.args(args).arg("--provider");
    command.arg(format!("script:{}", file.display()));
    command.stdin(Stdio::null());
    command
}

fn run(project: &Project, script: &str, args: &[&str]) -> RunResult {
    RunResult(script_command(project, script, args).output().unwrap())
}

fn parse_events(ran: &RunResult) -> Vec<Value> {
    let out = ran.out();
    out.lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect()
}

fn events_of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["type"] == kind).collect()
}

/// Returns a project whose commands run without the sandbox, so that they can damage crewdeck's files.
fn project_without_sandbox() -> Project {
    let project = Project::new();
    project.write_user_settings("sandbox = \"off\"\n");
    project
}

/// Reads the conversation log whose file name ends with `end`. Panics unless there is exactly one.
fn read_log(project: &Project, end: &str) -> Vec<LogRecord> {
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

/// Reads the lead's conversation. Panics if a server would not accept it.
fn lead_conversation(project: &Project) -> Conversation {
    let conversation = Conversation::from_records(read_log(project, "-lead.jsonl"));
    assert_eq!(validate(&conversation.messages), Ok(()));
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

/// Waits until `file` exists. Panics if `child` exits before that.
fn wait_for(project: &Project, file: &str, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(60);
    while !project.file(file).exists() {
        assert_eq!(child.try_wait().unwrap(), None, "the process exited");
        assert!(Instant::now() < until, "no {file}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts `crewdeck run go` and waits until its script has created the file `started`. Discards the output.
fn start_until_marker(project: &Project, script: &str) -> Child {
    let mut child = script_command(project, script, &["go"])
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

/// Sends SIGTERM to crewdeck and waits for its exit. Panics unless the exit code is 130.
fn terminate(child: &mut Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

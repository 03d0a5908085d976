//! What the user takes from MCP servers: resources as `@SERVER:URI`, prompts as `/SERVER:PROMPT`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crewdeck::crew::{Crew, ServerParts};
use crewdeck::domain::hook::HookSpec;
use crewdeck::domain::ids::Name;
use crewdeck::domain::mcp::ServerConfig;
use crewdeck::domain::server_offers::ServerOffers;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::domain::trust::{ApprovalCheck, NotApproved};
use crewdeck::model::script::Script;
use crewdeck::protocol::event::{CrewEvent, EventKind};
use crewdeck::protocol::{Command, CommandIds, EventReceiver, bus};
use crewdeck::store::prepare;
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::crew::{events, project, run_prompt};
use super::test_config;
use super::turns::{open, wait_for_file};
use crate::common::crew::crew_parts;
use crate::common::project::Project;

const ANSWER: &str = "  - say: done\n    times: 0\n";

/// Returns the attachments of the prompt, as the user sees them.
fn labels(events: &[Value]) -> Vec<&str> {
    let prompted = events.iter().find(|e| e["type"] == "prompted");
    let labels = prompted.unwrap()["attachments"].as_array().unwrap();
    labels.iter().map(|l| l.as_str().unwrap()).collect()
}

/// Returns the lead's conversation as it is on disk.
fn conversation(project: &Project) -> String {
    let folder = std::fs::read_dir(project.file(".transcripts")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut logs = paths.filter(|path| path.to_string_lossy().ends_with("-lead.jsonl"));
    std::fs::read_to_string(logs.next().unwrap()).unwrap()
}

fn starts(project: &Project) -> usize {
    let text = std::fs::read_to_string(project.file("pids")).unwrap_or_default();
    text.lines().count()
}

#[test]
fn resources_are_attached_as_text_and_images() {
    let project = project(true, &[], ANSWER);
    let prompt = "read @s:notes://text, @s:notes://long and @s:notes://image. Not @nobody:here";
    let ran = run_prompt(&project, prompt, &["--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(
        labels(&events(&ran)),
        [
            "s:notes://text · 2 lines",
            "s:notes://long · first 2000 of 5000 lines",
            "s:notes://image · 1x1 image"
        ]
    );
    let said = conversation(&project);
    let expected = r#"<attachment path=\"s:notes://text\" content=\"2 lines\">\nfirst line\nsecond line\n</attachment>"#;
    assert!(said.contains(expected), "{said}");
    assert!(!ran.err().contains("there is no file"), "{}", ran.err());
}

#[test]
fn resource_that_cannot_be_read_is_refused_in_one_line() {
    let project = project(true, &[], ANSWER);
    let config = std::fs::read_to_string(project.file(".config/crewdeck/mcp.json")).unwrap();
    let impatient = config.replace("\"command\"", "\"timeout\": 1000, \"command\"");
    for (mention, why) in [
        ("s:notes://none", "answered with an error: no such"),
        (
            "s:notes://zip",
            "application/zip, 3 bytes, neither text nor an image",
        ),
        ("s:notes://slow", "did not answer within 1 s"),
        ("s:notes://huge", "larger than 32 MiB"),
        ("s:notes://empty", "the server sent no content for it"),
        ("other:notes://text", "no MCP server is named other"),
    ] {
        let is_slow = mention.ends_with("slow");
        let config = if is_slow { &impatient } else { &config };
        project.write(".config/crewdeck/mcp.json", config);
        let ran = run_prompt(&project, &format!("read @{mention} now"), &[]);
        assert_eq!(ran.code(), 2, "{mention}: {}", ran.err());
        let line = ran.err();
        let line = line.lines().last().unwrap_or_default();
        assert!(
            line.contains(&format!("Cannot attach {mention}: ")) && line.contains(why),
            "{line}"
        );
        assert!(line.ends_with("The message was not sent.") && !line.contains('\u{1b}'));
    }
}

#[test]
fn wait_for_a_resource_holds_back_no_other_agent_and_ends_at_an_interrupt() {
    let rules = r"
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }]
  - agent: bob
    when: hello
    calls: [{ tool: write_file, input: { path: heard.txt, content: hello } }]
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    let mut screen = open(&project, &["--tool", "auto"]);
    screen.send("begin\r");
    screen.wait_for("Spawned 'bob'");
    screen.wait_for("2 idle");
    screen.send("read @s:notes://slow\r");
    screen.wait_for("queued: read @s:notes://slow");
    screen.send("@bob hello\r");
    wait_for_file(&project.file("heard.txt"));
    screen.wait_for("Ctrl+c stop lead");
    screen.send("\x03");
    screen.wait_for("you interrupted it");
}

#[test]
fn unapproved_server_is_not_started_for_a_resource_or_a_prompt() {
    let project = project(false, &[], ANSWER);
    for prompt in ["read @s:notes://text", "/s:greet Ann"] {
        let ran = run_prompt(&project, prompt, &[]);
        assert_eq!(ran.code(), 2, "{}", ran.err());
        let err = ran.err();
        assert!(
            err.contains("has not approved its configuration")
                && err.contains("crewdeck mcp approve s"),
            "{err}"
        );
    }
    assert_eq!(starts(&project), 0);
}

#[test]
fn prompts_are_sent_with_their_arguments() {
    for (typed, label, expected) in [
        (
            "/s:weather-report \\\"New York\\\" unit=C",
            "/s:weather-report · 1 message",
            "Weather in New York, C",
        ),
        (
            "/s:greet Ann",
            "/s:greet · 2 messages",
            "User: Greet Ann\\n\\nAssistant: Hello",
        ),
    ] {
        let project = project(true, &[], ANSWER);
        let ran = run_prompt(&project, &typed.replace("\\\"", "\""), &["--json"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        assert_eq!(labels(&events(&ran)), [label]);
        let said = conversation(&project);
        assert!(said.contains(&format!("\"text\":\"{typed}\"")), "{said}");
        let name = typed
            .split_whitespace()
            .next()
            .unwrap()
            .trim_start_matches('/');
        let block = format!("<command name=\\\"{name}\\\">\\n{expected}\\n</command>");
        assert!(said.contains(&block), "{said}");
    }
}

#[test]
fn prompt_that_cannot_be_sent_is_refused_in_one_line() {
    let project = project(true, &[], ANSWER);
    for (typed, why) in [
        (
            "/s:weather-report unit=C",
            "Cannot use /s:weather-report: the argument city is missing (/s:weather-report <city> [unit]). The message was \
             not sent.",
        ),
        (
            "/s2:greet Ann",
            "Cannot use /s2:greet: no MCP server is named s2. Did you mean /s:greet? The message was not sent.",
        ),
        (
            "/other:greet",
            "Cannot use /other:greet: no MCP server is named other. The servers are s. The message was not sent.",
        ),
        (
            "/s:zzz",
            "Cannot use /s:zzz: the MCP server s has no prompt zzz: its prompts are greet, Weather Report. The message was \
             not sent.",
        ),
    ] {
        let ran = run_prompt(&project, typed, &[]);
        assert_eq!(ran.code(), 2, "{}", ran.err());
        let err = ran.err();
        assert!(err.lines().last().unwrap().ends_with(why), "{err}");
    }
}

#[test]
fn command_of_a_file_wins_over_a_prompt() {
    let project = project(true, &[], ANSWER);
    project.write(".claude/commands/s/greet.md", "From the file: $1");
    let ran = run_prompt(&project, "/s:greet Ann", &["--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(conversation(&project).contains("From the file: Ann"));
    assert!(!conversation(&project).contains("Greet Ann"));
}

/// Waits until a server has listed what it offers.
async fn offers(events: &mut EventReceiver) -> ServerOffers {
    let search = async {
        loop {
            let event = events.next().await.expect("the crew runs");
            if let EventKind::Crew(CrewEvent::OffersListed(offers)) = event.kind {
                return offers;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), search).await;
    found.expect("the offers come")
}

/// An approval of all servers.
#[derive(Debug)]
struct Approved;

impl ApprovalCheck for Approved {
    fn check_server(&self, server: &ServerConfig) -> Result<ServerConfig, NotApproved> {
        Ok(server.clone())
    }

    fn check_hook(&self, _: &HookSpec, _: &Path) -> Result<(), NotApproved> {
        Ok(())
    }
}

#[tokio::test]
async fn offers_are_listed_when_asked_for_and_again_when_they_change() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let pids = dir.path().join("pids");
    let clock = || Timestamp(1.0);
    let (event_sender, mut events) = bus::bus(clock);
    let rules = "rules:\n  - when: add a prompt\n    calls: [{ tool: mcp__s__add_prompt, input: { name: extra } }]\n  \
                 - say: done\n    times: 0\n";
    let model = Arc::new(Script::parse(rules, 1.0).unwrap());
    let mut parts = crew_parts(dir.path(), event_sender, clock, model);
    let options = ["--templates", "--pids", pids.to_str().unwrap()];
    parts.extensions.servers = Some(ServerParts {
        configs: vec![
            test_config("s", &options),
            test_config("silent", &["--silent"]),
        ],
        unapproved: BTreeSet::new(),
        trust: Arc::new(Approved),
        logins: None,
    });
    let crew = Crew::start(parts).await.unwrap();
    let mut ids = CommandIds::default();
    let mut send = |command| crew.submit(ids.assign(command)).unwrap();
    // A server that was not needed yet is not started only because the user types `@`.
    send(Command::ListOffers { start: None });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!pids.exists());
    // A server that does not answer delays no other.
    let start = Some("silent".to_string());
    send(Command::ListOffers { start });
    let start = Some("s".to_string());
    send(Command::ListOffers { start });
    let first = offers(&mut events).await;
    assert_eq!((first.server.as_str(), first.problem.as_str()), ("s", ""));
    let uris: Vec<&str> = first.resources.iter().map(|r| r.uri.as_str()).collect();
    assert_eq!(uris, ["test://0", "test://1", "test://2", "notes://{name}"]);
    assert_eq!(first.resources[3].about, "Notes: a note");
    let named = |offers: &ServerOffers| -> Vec<String> {
        offers.prompts.iter().map(|p| p.name.clone()).collect()
    };
    assert_eq!(named(&first), ["greet", "Weather Report"]);
    send(Command::prompt(Name::lead(), "add a prompt"));
    let second = offers(&mut events).await;
    assert_eq!(named(&second), ["greet", "Weather Report", "extra"]);
    crew.stop().await.unwrap();
}

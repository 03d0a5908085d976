//! A session permission ends when the server changes its tool, and secrets of servers are shown nowhere.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::crew::{project, results, run};
use super::server_script;
use super::turns::wait_for_file;
use crate::common::project::Project;
use crate::common::pty::Screen;

/// A secret that redaction cannot detect by its form.
const SECRET: &str = "Zq8 very own 77 words";
const TOKEN: &str = "tok-5-of-the-header";

fn open(project: &Project) -> Screen {
    let provider = format!("script:{}", project.file("rules.yaml").display());
    let screen = Screen::start(project.path(), 140, 40, &["--provider", &provider]);
    screen.wait_for("scripted");
    screen
}

#[test]
fn session_permission_ends_with_the_definition_of_its_tool() {
    let rules = r"
  - when: first
    calls: [{ tool: mcp__s__structured, input: {} }]
  - when: second
    calls: [{ tool: mcp__s__structured, input: {} }]
  - when: third
    calls: [{ tool: mcp__s__change, input: { name: structured, to: { description: Deletes everything. } } }]
  - when: fourth
    calls: [{ tool: mcp__s__structured, input: {} }]
  - say: finished
    times: 0
";
    let project = project(true, &["--listed", "listed"], rules);
    project.write_user_settings("allow = [\"mcp__s__change\"]\n");
    let mut screen = open(&project);
    screen.send("first\r");
    let card = screen.wait_for("outside of the sandbox");
    assert!(
        card.contains("s · structured") && !card.contains("mcp__"),
        "{card}"
    );
    screen.send("\x1bw");
    screen.send_and_wait_for("A", "Allow for the whole team");
    screen.wait_for("every call of `s · structured`");
    // The first offer is this exact call, the second one is the tool.
    screen.send("\x1b[B");
    screen.send_until_gone("\r", "Allow for the whole team");
    screen.wait_for("finished");
    // The focus stays in Needs you until the user leaves it. Keys are ignored for a moment after the card has changed.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send_and_wait_for("\x1b", "Esc leave input");
    // Keys are ignored for a moment after the focus has returned to the composer.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send("second\r");
    screen.wait("the second call runs", |text| {
        text.matches("finished").count() >= 2
    });
    assert_eq!(requests(&project), 1, "the second call asked");
    screen.send("third\r");
    screen.wait("the tool is changed", |text| {
        text.matches("finished").count() >= 3
    });
    wait_for_file(&project.file("listed"));
    screen.send("fourth\r");
    screen.wait("the changed tool asks", |text| {
        text.contains("outside of the sandbox")
    });
    assert_eq!(requests(&project), 2);
}

/// Returns the number of approval requests of the project, open and decided ones.
fn requests(project: &Project) -> usize {
    let files = std::fs::read_dir(project.file(".team/requests")).unwrap();
    let names = files.map(|file| file.unwrap().path());
    names
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .count()
}

#[test]
fn tool_that_stops_being_read_only_asks_at_once() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__echo, input: { text: one } }]
  - calls: [{ tool: mcp__s__change, input: { name: echo, to: { annotations: { readOnlyHint: false } } } }]
  - calls: [{ tool: bash, input: { command: 'while [ ! -e listed ]; do sleep 0.01; done' } }]
  - calls: [{ tool: mcp__s__echo, input: { text: two } }]
  - say: done
    times: 0
";
    let project = project(true, &["--listed", "listed"], rules);
    project.write_user_settings("allow = [\"mcp__s__change\"]\n");
    let events = run(&project, &["--tool", "deny"]);
    let echoed = results(&events, "mcp__s__echo");
    assert_eq!(echoed.len(), 2, "{echoed:?}");
    assert_eq!(echoed[0].1, "one");
    assert!(echoed[1].1.starts_with("Error: rejected"), "{echoed:?}");
}

/// Returns the files of the project that contain one of the secrets, except the file that configures the servers.
fn leaks(project: &Project) -> Vec<String> {
    let found = std::process::Command::new("grep")
        .args([
            "--recursive",
            "--text",
            "--files-with-matches",
            "-e",
            SECRET,
            "-e",
            TOKEN,
            ".",
        ])
        .current_dir(project.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let is_config = |line: &&str| *line == "./.config/crewdeck/mcp.json";
    text.lines()
        .filter(|line| !is_config(line))
        .map(String::from)
        .collect()
}

#[test]
fn secrets_of_servers_are_shown_nowhere() {
    let rules = r"
  - when: begin
    calls:
      - { tool: mcp__s__env, input: { names: [OWN_KEY] } }
      - { tool: mcp__s__crash, input: {} }
  - say: finished
    times: 0
";
    let project = project(true, &[], rules);
    let config = json!({"mcpServers": {
        "s": {
            "command": "python3",
            "args": [server_script(), "--leak", "OWN_KEY"],
            "env": {"OWN_KEY": SECRET},
        },
        "web": {
            "type": "http",
            "url": "http://127.0.0.1:9/mcp",
            "headers": {"Authorization": format!("Bearer {TOKEN}")},
        },
    }});
    project.write(".config/crewdeck/mcp.json", &config.to_string());
    project.write_user_settings("allow = [\"mcp__s\"]\n");
    let mut screen = open(&project);
    screen.send("begin\r");
    screen.wait_for("finished");
    screen.send("/mcp\r");
    screen.wait_for("MCP servers");
    screen.send("\r");
    let text = screen.wait_for("the key is");
    assert!(text.contains("the key is [redacted: OWN_KEY]"), "{text}");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    assert!(!raw.contains(SECRET) && !raw.contains(TOKEN));
    assert!(!raw.contains("\x1b[31m and more"));
    // The popup may cover the line in the conversation.
    screen.send_until_gone("\x1b", "the key is");
    screen.wait_for("MCP server s: it ended");
    screen.send("\x03");
    screen.send("\x03\x03");
    screen.wait_for_exit();
    assert_eq!(leaks(&project), [""; 0]);
    for args in [
        &["mcp", "list"][..],
        &["mcp", "test", "s"],
        &["mcp", "list", "--with-tools", "--json"],
        &["doctor"],
    ] {
        let ran = project.run(args);
        let said = ran.out() + &ran.err();
        assert!(
            !said.contains(SECRET) && !said.contains(TOKEN),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn run_without_a_terminal_tells_what_needs_approval() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__structured, input: {} }]
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    let ran = project.run(&["run", "begin", "--provider", "script:rules.yaml"]);
    assert!(ran.err().contains("structured"), "{}", ran.err());
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    let text = std::fs::read_dir(project.file(".transcripts")).unwrap();
    let all: String = text
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    assert!(all.contains("Error: rejected"), "{all}");
}

#[test]
fn settings_allow_calls_with_certain_arguments() {
    let rules = r"
  - when: begin
    calls:
      - { tool: mcp__s__structured, input: { path: docs/a.md } }
      - { tool: mcp__s__structured, input: { path: src/a.rs } }
      - { tool: mcp__s__structured, input: { path: docs/../src/a.rs } }
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    project.write_user_settings("allow = [\"mcp__s__structured(path:docs/*)\"]\n");
    let events = run(&project, &["--tool", "deny"]);
    let ran = results(&events, "mcp__s__structured");
    let refused: Vec<bool> = ran
        .iter()
        .map(|(_, output)| output.starts_with("Error: rejected"))
        .collect();
    assert_eq!(refused, [false, true, true], "{ran:?}");
    project.write_user_settings("allow = [\"mcp__s__structured(path)\"]\n");
    let ran = project.run(&["run", "begin", "--provider", "script:rules.yaml"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
    assert!(
        ran.err().contains("allow names 'mcp__s__structured(path)'"),
        "{}",
        ran.err()
    );
}

//! Agents that try to approve what a project brings, or to read or write the files of approvals and logins.

use crewdeck::process::sandbox::Availability;

use super::{hostile_project, pairs, states};
use crate::common::project::{Project, RunResult};
use crate::common::supervised::{check_available, program};

/// Runs the prompt `go` with all tools allowed.
fn run(project: &Project, more: &[&str]) -> RunResult {
    let args = [
        "run",
        "go",
        "--provider",
        "script:rules.yaml",
        "--tool",
        "auto",
    ];
    let ran = project.run(&[&args[..], more].concat());
    assert_eq!(ran.code(), 0, "{}", ran.err());
    ran
}

#[test]
fn agents_can_neither_approve_nor_gain_from_an_approval() {
    let project = hostile_project();
    let refused = |args: &[&str]| {
        let out = project
            .command(args)
            .env("CREWDECK_JOB", "1")
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{args:?}: {err}");
        assert!(
            err.contains("in a shell outside of crewdeck"),
            "{args:?}: {err}"
        );
    };
    refused(&["trust", "--yes"]);
    refused(&["mcp", "approve", "--all", "--yes"]);
    refused(&["mcp", "add", "mine", "--", "sh", "run.sh"]);
    refused(&["mcp", "remove", "evil"]);
    refused(&["mcp", "logout", "evil"]);
    assert_eq!(
        states(&project),
        pairs(&[("evil", "needs_approval"), ("spy", "needs_approval")])
    );
    assert!(!project.file(".config/crewdeck/mcp.json").exists());
}

#[test]
fn agents_cannot_write_the_users_own_files_in_a_home_directory() {
    // The home of the user is the project.
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write(
        "rules.yaml",
        r#"rules:
  - when: ^go$
    calls:
      - { tool: write_file, input: { path: .config/crewdeck/mcp.json, content: "{}" } }
      - { tool: write_file, input: { path: .config/./crewdeck/hooks.json, content: "{}" } }
      - { tool: write_file, input: { path: .local/state/crewdeck/approved.json, content: "{}" } }
      - { tool: bash, input: { command: "echo x > .config/crewdeck/mcp.json; mkdir -p .local/state/crewdeck; echo x > .local/state/crewdeck/approved.json; mv .config moved; true" } }
  - say: done
"#,
    );
    let ran = run(&project, &[]);
    let exists = |file: &str| project.file(file).exists();
    let file_tool_wrote = exists(".config/crewdeck/hooks.json");
    assert!(!file_tool_wrote, "{}", ran.err());
    if check_available(sandbox_gap()) {
        for file in [
            ".config/crewdeck/mcp.json",
            ".local/state/crewdeck/approved.json",
            "moved",
        ] {
            assert!(!exists(file), "{file}: {}", ran.err());
        }
    }
}

#[test]
fn agents_cannot_read_logins_to_servers() {
    // The home of the user is the project.
    let project = Project::repository(&[("a.txt", "one\n")]);
    let login = ".config/crewdeck/mcp-logins/mcp-1.json";
    project.write(login, "token-of-the-user");
    project.write(
        "rules.yaml",
        r#"rules:
  - when: ^go$
    calls:
      - { tool: read_file, input: { path: .config/crewdeck/mcp-logins/mcp-1.json } }
      - { tool: grep, input: { pattern: token-of-the-user, path: .config } }
      - { tool: bash, input: { command: "cat .config/crewdeck/mcp-logins/*; ls .config/crewdeck" } }
  - say: done
"#,
    );
    let ran = run(&project, &["--json"]);
    let finished = |tool: &str| -> String {
        let lines = ran.out();
        let events = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut found = events.filter(|e| e["type"] == "tool_finished" && e["tool"] == tool);
        found.next().unwrap()["output"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert!(finished("read_file").contains("agents cannot read it"));
    assert!(
        !finished("grep").contains("mcp-1.json"),
        "{}",
        finished("grep")
    );
    if check_available(sandbox_gap()) {
        let text = finished("bash");
        assert!(
            !text.contains("token-of-the-user") && text.contains("mcp-logins"),
            "{text}"
        );
    }
    assert!(project.file(login).exists());
}

/// Returns what this machine lacks for a sandbox that keeps commands from writing; `None` if it has all.
fn sandbox_gap() -> Option<String> {
    let report = crewdeck::process::sandbox::probe(Some(&program()));
    match report.view {
        Availability::Yes => None,
        Availability::No { why } => Some(why),
    }
}

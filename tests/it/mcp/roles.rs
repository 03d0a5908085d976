//! MCP servers that a role describes itself: who sees them, and what approves them.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::crew::{results, run};
use super::server_script;
use super::turns::{open, wait_for_file};
use crate::common::project::Project;

const RULES: &str = r"rules:
  - agent: lead
    when: begin
    calls:
      - { tool: mcp__db__echo, input: { text: from the lead } }
      - { tool: spawn_teammate, input: { name: bob, role: analyst, prompt: go } }
      - { tool: task, input: { prompt: count, role: analyst } }
  - agent: bob
    when: go
    calls: [{ tool: mcp__db__echo, input: { text: from bob } }]
  - agent: lead.1
    when: count
    calls: [{ tool: mcp__db__echo, input: { text: from the subagent } }]
  - say: done
    times: 0
";

/// Returns a project whose role analyst describes the server db.
fn project(folder: &str) -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    let pids = project.file("pids");
    let script = server_script();
    let args = json!([script, "--pids", pids]);
    let role = format!(
        "---\nname: analyst\ndescription: Counts\nmcpServers:\n  - db:\n      command: python3\n      args: {args}\n---\nCount.\n"
    );
    project.write(&format!("{folder}/analyst.md"), &role);
    project.write("rules.yaml", RULES);
    project
}

fn starts(project: &Project) -> usize {
    let text = std::fs::read_to_string(project.file("pids")).unwrap_or_default();
    text.lines().count()
}

fn listed(project: &Project) -> Value {
    let ran = project.run(&["mcp", "list", "--json"]);
    let all: Value = serde_json::from_str(&ran.out()).unwrap();
    json!([
        all[0]["name"],
        all[0]["role"],
        all[0]["source"],
        all[0]["state"]
    ])
}

#[test]
fn server_of_a_role_runs_after_approval_and_only_for_its_agents() {
    let project = project(".claude/agents");
    assert_eq!(
        listed(&project),
        json!(["db", "analyst", "project", "needs_approval"])
    );
    let events = run(&project, &["--tool", "auto"]);
    let outputs = results(&events, "mcp__db__echo");
    let is_refused = |(_, output): &(&str, &str)| {
        output.starts_with("Unknown tool") || output.contains("the user has not approved it")
    };
    assert!(outputs.iter().all(is_refused), "{outputs:?}");
    assert_eq!((outputs.len(), starts(&project)), (3, 0));

    let unconfirmed = project.run(&["mcp", "approve", "db"]);
    let hint = "run crewdeck mcp approve --yes db";
    assert!(unconfirmed.err().contains(hint), "{}", unconfirmed.err());
    let approved = project.run(&["mcp", "approve", "db", "--yes"]);
    assert_eq!(approved.code(), 0, "{}", approved.err());
    assert_eq!(
        listed(&project),
        json!(["db", "analyst", "project", "approved"])
    );
    let text = project.run(&["mcp", "list"]).out();
    assert!(
        text.starts_with("db  project, role analyst  approved"),
        "{text}"
    );
    let events = run(&project, &["--tool", "auto"]);
    let mut outputs = results(&events, "mcp__db__echo");
    outputs.sort_unstable();
    let [bob, lead, subagent] = outputs[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(bob, ("bob", "from bob"));
    assert!(
        lead.0 == "lead" && lead.1.starts_with("Unknown tool"),
        "{lead:?}"
    );
    assert_eq!(subagent.1, "from the subagent");
    assert_eq!(starts(&project), 1);
    let status = events.iter().rfind(|e| e["type"] == "servers_changed");
    assert_eq!(status.unwrap()["servers"][0]["role"], "analyst");

    // A changed byte of the role asks again.
    let path = project.file(".claude/agents/analyst.md");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("Count.\n", "Count all.\n")).unwrap();
    assert_eq!(
        listed(&project),
        json!(["db", "analyst", "project", "needs_approval"])
    );
}

#[test]
fn own_role_needs_no_approval_and_a_taken_name_is_reported() {
    let project = project(".config/crewdeck/agents");
    assert_eq!(
        listed(&project),
        json!(["db", "analyst", "user", "approved"])
    );
    project.write(
        ".config/crewdeck/mcp.json",
        r#"{"mcpServers": {"db": {"command": "true"}}}"#,
    );
    let ran = project.run(&["mcp", "list"]);
    assert_eq!(ran.out().lines().count(), 1, "{}", ran.out());
    assert!(
        ran.err().contains(
            "server db: you have a server of this name, which is used instead: rename one of them"
        ),
        "{}",
        ran.err()
    );
}

#[test]
fn list_of_given_texts_names_the_source_of_each_text() {
    let rules = r"
  - agent: bob
    when: go
    calls: [{ tool: write_file, input: { path: bob.txt, content: x } }]
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: auditor, prompt: go } }]
  - say: done
    times: 0
";
    let project = super::crew::project(true, &["--instructions", "Ask for help."], rules);
    project.write("AGENTS.md", "Use tabs.\n");
    let role = "---\nname: auditor\ndescription: Audits\n---\nAudit it.\n";
    project.write(".claude/agents/auditor.md", role);
    let hook = json!({"type": "command", "command": "echo from the hook"});
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
    project.write(".config/crewdeck/hooks.json", &hooks.to_string());
    let mut screen = open(&project, &["--tool", "auto"]);
    screen.send("begin\r");
    wait_for_file(&project.file("bob.txt"));

    let text = screen.send_and_wait_for("/memory\r", "Given to lead");
    for row in [
        "AGENTS.md",
        "instructions of MCP server s",
        "output of SessionStart hooks",
    ] {
        assert!(text.contains(row), "no {row}: {text}");
    }
    assert!(!text.contains("role auditor"), "{text}");
    screen.send_until_gone("\u{1b}", "Given to lead");

    let text = screen.send_and_wait_for("/memory bob\r", "Given to bob");
    for row in [
        "role auditor (.claude/agents/auditor.md)",
        "AGENTS.md",
        "instructions of MCP server s",
    ] {
        assert!(text.contains(row), "no {row}: {text}");
    }
    assert!(!text.contains("output of"), "{text}");
    // The role is the first text of the list.
    screen.send_and_wait_for("\r", "Audit it.");
}

//! The crew's MCP servers for an external agent, which reaches them through the crew's own MCP server.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::Crew;

/// Returns a crew with the server `s` of the user, which runs `mcp/server.py`.
fn crew(options: &[&str]) -> Crew {
    let crew = Crew::new(&[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/server.py");
    let pids = crew.project.file("pids");
    let mut args = vec![json!(script), json!("--pids"), json!(pids)];
    args.extend(options.iter().map(|option| json!(option)));
    let config = json!({"mcpServers": {"s": {"command": "python3", "args": args}}});
    let path = ".config/crewdeck/mcp.json";
    crew.project.write(path, &config.to_string());
    crew
}

fn starts(crew: &Crew) -> usize {
    let pids = std::fs::read_to_string(crew.project.file("pids")).unwrap_or_default();
    pids.lines().count()
}

#[test]
fn external_agent_uses_the_servers_of_the_crew_under_its_rules() {
    let crew = crew(&[]);
    let task = "tools\ncall s__echo {\"text\": \"from bob\"}\ncall s__add {\"name\": \"more\"}";
    let events = crew.run(&[task], "", &["--tool", "deny"]);
    let said = events.said().join("\n");
    assert!(
        said.contains("tools: ") && said.contains(" s__echo"),
        "{said}"
    );
    // What only reads is called without approval, everything else asks.
    assert!(said.contains("called s__echo: from bob"), "{said}");
    assert!(said.contains("called s__add: Error: rejected by"), "{said}");
    // The approver was asked once, with what the tool would do.
    let requests = events.0.iter().filter(|e| e["type"] == "request_changed");
    let asked: BTreeSet<String> = requests.map(|e| e["request"]["body"].to_string()).collect();
    let asked: Vec<String> = asked.into_iter().collect();
    assert!(
        asked.len() == 1 && asked[0].contains("s · add"),
        "{asked:?}"
    );
    assert!(asked[0].contains("may change or delete data"), "{asked:?}");
    // On the screen, the call has the same name as that of another agent.
    let calls = events.of_bob("tool_finished");
    assert!(
        calls.iter().any(|call| call["tool"] == "mcp__s__echo"),
        "{calls:?}"
    );
    assert_eq!(starts(&crew), 1, "one connection for the whole crew");
    // The agent itself gets only the crew's server.
    assert!(crew.log().contains("servers crew"), "{}", crew.log());
}

#[test]
fn tool_that_a_server_adds_is_reported_to_the_external_agent() {
    let crew = crew(&[]);
    let task = "call s__add {\"name\": \"later\"}\nawait s__later";
    let events = crew.run(&[task], "", &["--tool", "auto"]);
    let said = events.said().join("\n");
    assert!(said.contains("awaited s__later after a change"), "{said}");
}

#[test]
fn role_limits_which_servers_the_external_agent_sees() {
    let crew = crew(&[]);
    let role = "---\nname: plain\ndescription: Works alone\nmcpServers: []\n---\nWork.\n";
    crew.project.write(".crewdeck/agents/plain.md", role);
    let events = crew.run(&["tools\ncall s__echo {}"], ", role: plain", &[]);
    let said = events.said().join("\n");
    let tools = said.lines().find(|line| line.contains("tools: ")).unwrap();
    assert!(!tools.contains(" s__"), "{said}");
    assert!(said.contains("called s__echo: not permitted"), "{said}");
}

#[test]
fn too_many_tools_are_left_out_with_a_mark() {
    let crew = crew(&["--tools", "100"]);
    let events = crew.run(&["tools", "tools"], "", &[]);
    let said = events.said();
    let tools = said.iter().find(|text| text.contains("tools: ")).unwrap();
    let offered = tools.split(' ').filter(|name| name.starts_with("s__"));
    assert!((30..=64).contains(&offered.count()), "{tools}");
    let notices = events.notices();
    let expected = "tools of MCP servers: an external agent gets at most 64 tools";
    assert_eq!(notices.matches(expected).count(), 1, "{notices}");
    assert!(
        crew.log().contains("<crew>You are offered "),
        "{}",
        crew.log()
    );
}

#[test]
fn without_servers_the_external_agent_gets_nothing_more() {
    let crew = Crew::new(&[]);
    let events = crew.run(&["tools"], "", &[]);
    let said = events.said().join("\n");
    assert!(said.contains("tools: ") && !said.contains("__"), "{said}");
}

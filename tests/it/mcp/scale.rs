//! A large team with several MCP servers.

use std::fmt::Write;

use serde_json::json;

use super::crew::{results, run};
use super::server_script;
use crate::common::project::Project;

const AGENTS: usize = 16;
const SERVERS: usize = 5;

#[test]
fn sixteen_agents_share_five_server_processes() {
    let calls: Vec<String> = (0..SERVERS)
        .map(|n| format!("{{ tool: mcp__s{n}__echo, input: {{ text: hello }} }}"))
        .collect();
    let calls = calls.join(", ");
    let mut rules = "rules:\n  - agent: lead\n    when: begin\n    calls:\n".to_string();
    for n in 0..AGENTS {
        writeln!(
            rules,
            "      - {{ tool: spawn_teammate, input: {{ name: a{n}, role: tester, prompt: go }} }}"
        )
        .unwrap();
    }
    for n in 0..AGENTS {
        writeln!(rules, "  - agent: a{n}\n    when: go\n    calls: [{calls}]").unwrap();
    }
    rules.push_str("  - say: done\n    times: 0\n");

    let project = Project::repository(&[("a.txt", "one\n")]);
    let script = server_script();
    let servers: serde_json::Map<_, _> = (0..SERVERS)
        .map(|n| {
            let pids = project.file(&format!("pids{n}"));
            let server = json!({"command": "python3", "args": [&script, "--pids", pids]});
            (format!("s{n}"), server)
        })
        .collect();
    project.write(
        ".config/crewdeck/mcp.json",
        &json!({ "mcpServers": servers }).to_string(),
    );
    project.write(
        ".config/crewdeck/config.toml",
        &format!("agents_max = {AGENTS}\n"),
    );
    project.write("rules.yaml", &rules);
    let events = run(&project, &["--tool", "deny"]);
    for n in 0..SERVERS {
        let tool = format!("mcp__s{n}__echo");
        let mut callers: Vec<&str> = results(&events, &tool)
            .into_iter()
            .map(|(agent, output)| {
                assert_eq!(output, "hello", "{agent} {tool}");
                agent
            })
            .collect();
        callers.sort_unstable();
        callers.dedup();
        assert_eq!(callers.len(), AGENTS, "{tool}: {callers:?}");
        let starts = std::fs::read_to_string(project.file(&format!("pids{n}"))).unwrap();
        assert_eq!(starts.lines().count(), 1, "s{n}");
    }
}

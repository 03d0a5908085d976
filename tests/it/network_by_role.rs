//! The network setting of each role, in a whole crew.

use std::net::TcpListener;

use crewdeck::process::sandbox::probe;
use serde_json::Value;

use crate::common::project::Project;
use crate::common::supervised;

/// Runs a lead and a teammate that each connect to a server on this machine with bash. The teammate then does it again
/// with a command that asks for the network. Returns the three outputs. `teammate` is the network setting of teammates
/// and `tool` who decides requests for permission.
fn outputs(teammate: &str, tool: &str) -> [String; 3] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5); print(\"connected\")'"
    );
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write_user_settings(&format!(
        "allow = ['python3']\n[network]\nlead = 'on'\nteammate = '{teammate}'\n"
    ));
    let command = |text: &str| Value::from(text).to_string();
    let script = format!(
        r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - {{ tool: bash, input: {{ command: {plain} }} }}
      - {{ tool: spawn_teammate, input: {{ name: alice, role: tester, prompt: try it }} }}
  - agent: alice
    when: try it
    calls:
      - {{ tool: bash, input: {{ command: {plain} }} }}
      - {{ tool: bash, input: {{ command: {asking} }} }}
  - {{ times: 0, say: Done. }}
",
        plain = command(&connect),
        asking = command(&format!("CREWDECK_NETWORK=on {connect}")),
    );
    let file = project.write("script.yaml", &script);
    let provider = format!("script:{}", file.display());
    let ran = project.run(&[
        "run",
        "go",
        "--json",
        "--tool",
        tool,
        "--provider",
        &provider,
    ]);
    let out = ran.out();
    let events = out
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap());
    let finished: Vec<Value> = events
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == "bash")
        .collect();
    let of = |agent: &str| {
        let output = |e: &Value| e["output"].as_str().unwrap().to_string();
        let own = finished.iter().filter(|e| e["agent"] == agent);
        own.map(output).collect::<Vec<String>>()
    };
    let all = [of("lead"), of("alice")].concat();
    all.try_into()
        .unwrap_or_else(|all| panic!("{all:#?}\n{out}"))
}

#[test]
fn each_role_has_the_network_that_its_setting_says() {
    let report = probe(Some(&supervised::program()));
    if !supervised::check_available(report.describe_missing()) {
        return;
    }
    let is_connected = |output: &String| output.starts_with("connected");
    for (teammate, tool, expected) in [
        ("on", "deny", [true, true, true]),
        ("off", "auto", [true, false, false]),
        ("ask", "auto", [true, false, true]),
        ("ask", "deny", [true, false, false]),
    ] {
        let outputs = outputs(teammate, tool);
        let connected: Vec<bool> = outputs.iter().map(is_connected).collect();
        assert_eq!(connected, expected, "{teammate} {tool}: {outputs:#?}");
        if (teammate, tool) == ("ask", "deny") {
            assert!(outputs[2].contains("rejected by policy"), "{outputs:#?}");
        }
    }
}

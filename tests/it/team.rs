//! A team with scripted models and everything else real: shutdown, forced end, failures, restarts.

mod failures;
mod leaving;
mod practice;
mod undecided_requests;
mod worktrees;

use serde_json::Value;

use crate::common::project::{Project, RunResult};
use crate::common::wait::wait_until;

fn provider(project: &Project, script: &str) -> String {
    let file = project.write("script.yaml", script);
    format!("script:{}", file.display())
}

fn run(project: &Project, script: &str, args: &[&str]) -> (RunResult, Vec<Value>) {
    let provider = provider(project, script);
    let mut all = vec!["run"];
    all.extend(args);
    all.extend(["--json", "--provider", &provider]);
    let ran = project.run(&all);
    let out = ran.out();
    let line = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    let events = out.lines().map(line).collect();
    (ran, events)
}

fn notices(events: &[Value]) -> Vec<String> {
    let text = |e: &Value| e["text"].as_str().unwrap_or_default().to_string();
    events
        .iter()
        .filter(|e| e["type"] == "notice")
        .map(text)
        .collect()
}

fn wait_for(project: &Project, file: &str) {
    wait_until(file, || project.file(file).exists());
}

#[test]
fn learn_claude_code_files_are_read_and_stay_compatible() {
    let project = Project::new();
    // As learn-claude-code writes them: indent 2, no other fields.
    let task = |id: u64, subject: &str, blocked_by: &str| {
        let text = format!(
            "{{\n  \"id\": {id},\n  \"subject\": \"{subject}\",\n  \"description\": \"\",\n  \"status\": \"pending\",\n  \"blockedBy\": {blocked_by},\n  \"owner\": \"\"\n}}"
        );
        project.write(&format!(".tasks/task_{id}.json"), &text);
    };
    task(1, "Setup project", "[]");
    task(2, "Write code", "[\n    1\n  ]");
    let carol = r#"{ "name": "carol", "role": "writer", "status": "working" }"#;
    let roster = format!("{{ \"team_name\": \"default\", \"members\": [{carol}] }}");
    project.write(".team/config.json", &roster);
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: list_teammates }
      - { tool: send_message, input: { to: carol, content: hello from here } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - when: 'auto-claimed>Task #(\d+)'
    times: 0
    calls: [{ tool: task_update, input: { task_id: "{{1}}", status: completed } }]
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let listed = events
        .iter()
        .find(|e| e["tool"] == "list_teammates" && e["type"] == "tool_finished");
    assert!(
        listed.unwrap()["output"]
            .as_str()
            .unwrap()
            .contains("carol")
    );
    let read = |path: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(project.file(path)).unwrap()).unwrap()
    };
    for id in [1, 2] {
        let task = read(&format!(".tasks/task_{id}.json"));
        assert_eq!(
            (&task["status"], &task["owner"]),
            (&"completed".into(), &"bob".into())
        );
        assert_eq!(
            (&task["id"], &task["blockedBy"]),
            (&id.into(), &serde_json::json!([]))
        );
    }
    let roster = read(".team/config.json");
    let member = |name: &str| {
        let all = roster["members"].as_array().unwrap();
        all.iter().find(|m| m["name"] == name).unwrap().clone()
    };
    // A teammate of another program is left alone, because it may be working.
    assert_eq!(
        (&member("carol")["status"], &member("carol")["role"]),
        (&"working".into(), &"writer".into())
    );
    assert_eq!(member("bob")["status"], "shutdown");
    let message = std::fs::read_to_string(project.file(".team/inbox/carol.jsonl")).unwrap();
    let message: Value = serde_json::from_str(message.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&message["type"], &message["from"], &message["content"]),
        (&"message".into(), &"lead".into(), &"hello from here".into())
    );
    assert!(message["timestamp"].is_number());
}

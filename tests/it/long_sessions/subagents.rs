//! Subagents: they run concurrently, have a step limit, and return only their answers.

use super::{events_of_type, lead_conversation, parse_events, read_log, result_texts, run};
use crate::common::project::Project;
use crewdeck::domain::conversation::Conversation;

#[test]
fn subagents_run_concurrently_and_return_only_their_answers() {
    let project = Project::new();
    project.write("requirements.txt", "pytest==8\n");
    // The two general subagents wait for each other: run in sequence they would never end.
    let script = r#"
rules:
  - agent: lead
    when: Use a subtask
    calls:
      - { tool: task, input: { prompt: "Which testing framework? Look at requirements.txt", description: find the framework } }
      - { tool: task, input: { prompt: "Write meet.txt, then wait for met.txt", kind: general } }
      - { tool: task, input: { prompt: "Write met.txt, then wait for meet.txt", kind: general } }
  - agent: lead
    when: .
    say: "It uses pytest."
  - when: Which testing framework
    calls: [{ tool: read_file, input: { path: requirements.txt } }, { tool: bash, input: { command: "touch no" } }]
  - when: pytest==8
    say: "pytest, version 8 (requirements.txt, line 1)"
  - when: Write (\w+).txt, then wait for (\w+).txt
    calls: [{ tool: bash, input: { command: "touch {{1}}.txt; while [ ! -e {{2}}.txt ]; do sleep 0.01; done; echo both", timeout_s: 120 } }]
  - when: ^both
    say: We met.
"#;
    let prompt = "Use a subtask to find what testing framework this project uses";
    let ran = run(&project, script, &[prompt, "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = parse_events(&ran);
    let started: Vec<_> = events_of_type(&events, "subagent_started");
    let names: Vec<&str> = started
        .iter()
        .map(|e| e["agent"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|n| n.starts_with("lead.")), "{names:?}");
    assert!(started.iter().all(|e| e["parent"] == "lead"));
    let conversation = lead_conversation(&project);
    assert_eq!(
        result_texts(&conversation.messages),
        [
            "pytest, version 8 (requirements.txt, line 1)",
            "We met.",
            "We met."
        ]
    );
    assert!(
        !project.file("no").exists(),
        "explore subagents are read-only"
    );
    assert_eq!(
        conversation.messages.len(),
        4,
        "the lead's conversation holds nothing else from the subagents"
    );
    let finished = events_of_type(&events, "tool_finished");
    let refused = finished
        .iter()
        .find(|e| e["tool"] == "bash" && e["outcome"] == "error")
        .unwrap();
    assert!(
        refused["output"]
            .as_str()
            .unwrap()
            .starts_with("Unknown tool: bash"),
        "{refused}"
    );
}

#[test]
fn subagent_has_a_step_limit_and_no_subagents() {
    let project = Project::new();
    // Each step prints another number, so that the calls do not count as repeated.
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: task, input: { prompt: look forever, kind: general } }]
  - agent: lead
    when: .
    say: fine
  - when: This is your last step
    say: I found nothing in 30 steps.
  - when: .
    times: 0
    calls: [{ tool: task, input: { prompt: deeper } }, { tool: bash, input: { command: "echo x >> steps; wc -l < steps" } }]
"#;
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let results = result_texts(&lead_conversation(&project).messages);
    assert_eq!(results, ["I found nothing in 30 steps."]);
    let steps = std::fs::read_to_string(project.file("steps")).unwrap();
    assert_eq!(steps.lines().count(), 29);
    let events = parse_events(&ran);
    assert_eq!(events_of_type(&events, "subagent_started").len(), 1);
    let finished = events_of_type(&events, "tool_finished");
    let nested = finished.iter().find(|e| e["agent"] == "lead.1").unwrap();
    let output = nested["output"].as_str().unwrap();
    assert!(output.starts_with("Unknown tool: task"), "{output}");
}

#[test]
fn resumed_session_continues_subagent_numbers() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: ^look
    calls: [{ tool: task, input: { prompt: find it } }]
  - agent: lead
    when: .
    say: fine
  - when: find it
    say: found
";
    assert_eq!(run(&project, script, &["look"]).code(), 0);
    assert_eq!(run(&project, script, &["look again", "--resume"]).code(), 0);
    for end in ["-lead.1.jsonl", "-lead.2.jsonl"] {
        assert_eq!(
            Conversation::from_records(read_log(&project, end))
                .messages
                .len(),
            2
        );
    }
}

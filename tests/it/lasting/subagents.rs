//! Subagents: side by side, bounded, and only their answers return.

use super::{events, lead, log, of, result_texts, run};
use crate::common::project::Project;
use crewdeck::domain::conversation::Conversation;

#[test]
fn subagents_work_side_by_side_and_only_their_answers_return() {
    let project = Project::new();
    project.write("requirements.txt", "pytest==8\n");
    // The two wait for each other: one after the other they would never end.
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
    calls: [{ tool: bash, input: { command: "touch {{1}}.txt; while [ ! -e {{2}}.txt ]; do sleep 0.01; done; echo both", timeout_s: 20 } }]
  - when: ^both
    say: We met.
"#;
    let prompt = "Use a subtask to find what testing framework this project uses";
    let ran = run(&project, script, &[prompt, "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let sent: Vec<_> = of(&events, "subagent_started");
    let names: Vec<&str> = sent.iter().map(|e| e["agent"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|n| n.starts_with("lead.")), "{names:?}");
    assert!(sent.iter().all(|e| e["parent"] == "lead"));
    let conversation = lead(&project);
    assert_eq!(
        result_texts(&conversation.messages),
        [
            "pytest, version 8 (requirements.txt, line 1)",
            "We met.",
            "We met."
        ]
    );
    assert!(!project.file("no").exists(), "explore only reads");
    assert_eq!(
        conversation.messages.len(),
        4,
        "nothing else of them is in the lead's conversation"
    );
    let asked = of(&events, "tool_finished");
    let refused = asked
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
fn a_subagent_has_no_subagents_and_an_end() {
    let project = Project::new();
    // Each step gives another number, so that it is no loop.
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: task, input: { prompt: look for ever, kind: general } }]
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
    let results = result_texts(&lead(&project).messages);
    assert_eq!(results, ["I found nothing in 30 steps."]);
    let steps = std::fs::read_to_string(project.file("steps")).unwrap();
    assert_eq!(steps.lines().count(), 29);
    let events = events(&ran);
    assert_eq!(of(&events, "subagent_started").len(), 1);
    let finished = of(&events, "tool_finished");
    let deeper = finished.iter().find(|e| e["agent"] == "lead.1").unwrap();
    let said = deeper["output"].as_str().unwrap();
    assert!(said.starts_with("Unknown tool: task"), "{said}");
}

#[test]
fn a_session_that_is_gone_on_with_counts_its_subagents_on() {
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
        assert_eq!(Conversation::of(log(&project, end)).messages.len(), 2);
    }
}

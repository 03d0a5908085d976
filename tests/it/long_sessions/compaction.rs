//! Compaction of conversations: goals, open tasks and todos survive.

use super::{events_of_type, lead_conversation, parse_events, read_log, run};
use crate::common::project::Project;
use crewdeck::domain::conversation::Conversation;
use serde_json::Value;

/// Returns a script for a single long turn in a context window of `window` tokens. The turn runs `rounds` commands with
/// about 3 kB of output each.
fn long_work(window: u64, rounds: usize) -> String {
    format!(
        r#"
window: {window}
rules:
  - when: Write down the state of this work
    times: 0
    say: "SUMMARY: the counter goes on; the user wants every number."
  - when: ^count
    calls:
      - {{ tool: todo, input: {{ items: [{{ id: "1", text: count to the end, status: in_progress }}] }} }}
      - {{ tool: task_create, input: {{ subject: Count, description: every number counts }} }}
  - when: Count
    calls: [{{ tool: claim_task, input: {{ task_id: 1 }} }}]
  - when: (?s).
    times: {rounds}
    calls: [{{ tool: bash, input: {{ command: "echo x >> count; wc -l < count; head -c 3000 /dev/zero | tr '\\0' y" }} }}]
  - when: .
    say: All counted.
"#
    )
}

#[test]
fn long_turn_stays_under_the_window_and_keeps_goals() {
    let project = Project::new();
    let (window, rounds) = (10_000, 120);
    let ran = run(
        &project,
        &long_work(window, rounds),
        &["count every number, never skip one", "--json"],
    );
    // Exit code 4: the claimed task is still open.
    assert_eq!(ran.code(), 4, "{}", ran.err());
    let events = parse_events(&ran);
    let counted = std::fs::read_to_string(project.file("count")).unwrap();
    assert_eq!(counted.lines().count(), rounds, "every round ran once");
    // The largest context that was sent, in tokens.
    let used = events_of_type(&events, "usage_changed");
    let largest = used
        .iter()
        .map(|e| e["context"].as_u64().unwrap())
        .max()
        .unwrap();
    assert!(largest < window * 9 / 10, "{largest}");
    let compacted = events_of_type(&events, "compacted");
    let summaries: Vec<_> = compacted.iter().filter(|e| e["how"] == "summary").collect();
    let prunings = compacted.len() - summaries.len();
    println!(
        "{prunings} prunings, {} summaries, at most {largest} tokens",
        summaries.len()
    );
    assert!(!summaries.is_empty() && prunings > summaries.len());
    // Each compaction invalidates the prompt cache. A round of 3 kB is about 750 tokens, and each
    // compaction frees at least a quarter of the window.
    assert!(compacted.len() as u64 <= rounds as u64 * 750 / (window / 4));
    let freed = |e: &Value| e["before"].as_u64().unwrap() - e["after"].as_u64().unwrap();
    let mut pruned_events = compacted.iter().filter(|e| e["how"] == "results");
    assert!(
        pruned_events.all(|e| freed(e) >= window / 4),
        "{compacted:?}"
    );
    // Each archived conversation is on disk, and the current one begins with what must not be lost.
    for event in &summaries {
        let path = event["transcript"].as_str().unwrap();
        assert!(project.file(path).exists(), "{path}");
    }
    let first = lead_conversation(&project).messages[0].text();
    for part in [
        "[Conversation compressed. Transcript: .transcripts/",
        "SUMMARY: the counter goes on",
        "<person-said>\ncount every number, never skip one\n</person-said>",
        "<open-task>Task #1: Count\nevery number counts</open-task>",
        "[>] #1: count to the end",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
}

#[test]
fn compact_tool_archives_the_whole_conversation() {
    let project = Project::new();
    let script = r"
rules:
  - when: (?s)Write down the state of this work.*Cover in most detail. the names
    say: We talked about names.
  - when: ^go$
    calls: [{ tool: bash, input: { command: seq 1000 } }, { tool: compact, input: { focus: the names } }]
  - when: We talked about names
    say: I go on.
";
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let archived = read_log(&project, "-lead.whole-1.jsonl");
    let before = Conversation::from_records(archived);
    assert_eq!(before.messages[0].text(), "go");
    let after = lead_conversation(&project);
    assert_eq!(after.messages.len(), 2);
    assert!(after.messages[0].text().contains("We talked about names."));
}

/// Searches again and again until the context is full. The output differs each time, so that no call counts as
/// repeated. `WRITE` is replaced by a further command.
const REPEATED_SEARCH: &str = r#"
window: 10000
rules:
  - when: Write down the state of this work
    times: 0
    say: "SUMMARY: nothing found yet"
  - when: (?s).
    times: 60
    calls: [{ tool: bash, input: { command: "head -c 8 /dev/urandom | od -An -tx1; head -c 8000 /dev/zero | tr '\\0' y; WRITE" } }]
  - when: .
    say: Sixty rounds.
"#;

#[test]
fn turn_that_compacts_twice_without_progress_ends() {
    let project = Project::new();
    let ran = run(
        &project,
        &REPEATED_SEARCH.replace("WRITE", "true"),
        &["find it", "--json"],
    );
    let events = parse_events(&ran);
    let ended = events_of_type(&events, "turn_ended");
    assert!(
        ended.iter().any(|e| e
            .to_string()
            .contains("no progress between two compactions")),
        "{ended:?}"
    );
    let warned = events_of_type(&events, "notice");
    assert!(
        warned.iter().any(|e| e["text"]
            .as_str()
            .unwrap()
            .contains("Send a message to continue")),
        "{warned:?}"
    );
    let compacted = events_of_type(&events, "compacted");
    let summaries = compacted.iter().filter(|e| e["how"] == "summary").count();
    assert_eq!(summaries, 2);
    // The remaining conversation is valid.
    let conversation = lead_conversation(&project);
    assert_eq!(
        crewdeck::domain::chat::validate(&conversation.messages),
        Ok(())
    );
    assert!(
        conversation.messages[0]
            .text()
            .contains("nothing found yet")
    );
}

#[test]
fn turn_that_changes_files_between_compactions_continues() {
    let project = Project::new();
    let ran = run(
        &project,
        &REPEATED_SEARCH.replace("WRITE", "echo x >> found"),
        &["find it", "--json"],
    );
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = parse_events(&ran);
    let compacted = events_of_type(&events, "compacted");
    let summaries = compacted.iter().filter(|e| e["how"] == "summary").count();
    assert!(summaries > 2, "{summaries}");
    let found = std::fs::read_to_string(project.file("found")).unwrap();
    assert_eq!(found.lines().count(), 60);
}

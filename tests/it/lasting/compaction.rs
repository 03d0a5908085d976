//! Conversations that are shortened: nothing that matters is lost.

use super::{events, lead, log, of, run};
use crate::common::project::Project;
use crewdeck::domain::conversation::Conversation;
use serde_json::Value;

/// A script for one long turn: `rounds` rounds of a command with much output.
fn long_work(window: u64, rounds: usize) -> String {
    format!(
        r#"
window: {window}
rules:
  - when: Write down where this work stands
    times: 0
    say: "SUMMARY: the counter goes on; the person wants every number."
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
fn a_hundred_rounds_stay_under_the_limit_and_lose_nothing_that_matters() {
    let project = Project::new();
    let (window, rounds) = (10_000, 120);
    let ran = run(
        &project,
        &long_work(window, rounds),
        &["count every number, never skip one", "--json"],
    );
    // The task that holds the work is left open.
    assert_eq!(ran.code(), 4, "{}", ran.err());
    let events = events(&ran);
    let counted = std::fs::read_to_string(project.file("count")).unwrap();
    assert_eq!(counted.lines().count(), rounds, "every round was made once");
    // The largest conversation that was sent.
    let used = of(&events, "usage_changed");
    let most = used
        .iter()
        .map(|e| e["context"].as_u64().unwrap())
        .max()
        .unwrap();
    assert!(most < window * 9 / 10, "{most}");
    let compacted = of(&events, "compacted");
    let whole: Vec<_> = compacted.iter().filter(|e| e["how"] == "summary").collect();
    let small = compacted.len() - whole.len();
    println!(
        "{small} small compactions, {} whole ones, at most {most} tokens",
        whole.len()
    );
    assert!(!whole.is_empty() && small > whole.len());
    // A prompt cache is lost once for each: a round of 3 kB is about 750 tokens, and each
    // compaction frees a quarter of the window at least.
    assert!(compacted.len() as u64 <= rounds as u64 * 750 / (window / 4));
    let freed = |e: &Value| e["before"].as_u64().unwrap() - e["after"].as_u64().unwrap();
    let mut small_ones = compacted.iter().filter(|e| e["how"] == "results");
    assert!(small_ones.all(|e| freed(e) >= window / 4), "{compacted:?}");
    // Each whole conversation is on disk, and the last one begins with what must not be lost.
    for event in &whole {
        let path = event["transcript"].as_str().unwrap();
        assert!(project.file(path).exists(), "{path}");
    }
    let first = lead(&project).messages[0].words();
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
fn compacting_on_demand_keeps_the_whole_conversation_aside() {
    let project = Project::new();
    let script = r"
rules:
  - when: (?s)Write down where this work stands.*Cover in most detail. the names
    say: We talked about names.
  - when: ^go$
    calls: [{ tool: bash, input: { command: seq 1000 } }, { tool: compact, input: { focus: the names } }]
  - when: We talked about names
    say: I go on.
";
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let aside = log(&project, "-lead.whole-1.jsonl");
    let before = Conversation::of(aside);
    assert_eq!(before.messages[0].words(), "go");
    let after = lead(&project);
    assert_eq!(after.messages.len(), 2);
    assert!(after.messages[0].words().contains("We talked about names."));
}

/// Works, forgets, begins again: with other output each time, so that no two rounds are the same.
const AROUND_IN_CIRCLES: &str = r#"
window: 10000
rules:
  - when: Write down where this work stands
    times: 0
    say: "SUMMARY: nothing found yet"
  - when: (?s).
    times: 60
    calls: [{ tool: bash, input: { command: "head -c 8 /dev/urandom | od -An -tx1; head -c 8000 /dev/zero | tr '\\0' y; WRITE" } }]
  - when: .
    say: Sixty rounds.
"#;

#[test]
fn a_turn_that_only_forgets_and_begins_again_is_ended() {
    let project = Project::new();
    let ran = run(
        &project,
        &AROUND_IN_CIRCLES.replace("WRITE", "true"),
        &["find it", "--json"],
    );
    let events = events(&ran);
    let ended = of(&events, "turn_ended");
    assert!(
        ended
            .iter()
            .any(|e| e.to_string().contains("compacted twice")),
        "{ended:?}"
    );
    let warned = of(&events, "notice");
    assert!(
        warned
            .iter()
            .any(|e| e["text"].as_str().unwrap().contains("Send a message to continue")),
        "{warned:?}"
    );
    let compacted = of(&events, "compacted");
    let whole = compacted.iter().filter(|e| e["how"] == "summary").count();
    assert_eq!(whole, 2);
    // What is left is a conversation that can be gone on with.
    let conversation = lead(&project);
    assert_eq!(
        crewdeck::domain::chat::check(&conversation.messages),
        Ok(())
    );
    assert!(
        conversation.messages[0]
            .words()
            .contains("nothing found yet")
    );
}

#[test]
fn a_turn_that_changes_a_file_between_compactions_goes_on() {
    let project = Project::new();
    let ran = run(
        &project,
        &AROUND_IN_CIRCLES.replace("WRITE", "echo x >> found"),
        &["find it", "--json"],
    );
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let compacted = of(&events, "compacted");
    let whole = compacted.iter().filter(|e| e["how"] == "summary").count();
    assert!(whole > 2, "{whole}");
    let found = std::fs::read_to_string(project.file("found")).unwrap();
    assert_eq!(found.lines().count(), 60);
}

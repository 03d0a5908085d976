//! Golden files of events: `tests/golden/events/GROUP.jsonl` has at least one line for each event of the group. Other
//! programs read these lines from `crewdeck run --json`, and crewdeck from the journals of older versions.
//!
//! `GOLDEN=write cargo test --lib protocol::` rewrites the lines in the form that this version writes: read the diff.

use std::collections::BTreeSet;
use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::json::tags;
use super::{AgentEvent, BoardEvent, CrewEvent, Event, TeamEvent};

fn check(group: &str, tags: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/events");
    let path = folder.join(format!("{group}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut seen = BTreeSet::new();
    let mut written = String::new();
    for line in text.lines() {
        let event: Event = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}\n{e}"));
        written += &serde_json::to_string(&event).unwrap();
        written.push('\n');
        let value: Value = serde_json::from_str(line).unwrap();
        seen.insert(value["type"].as_str().unwrap().to_string());
    }
    if std::env::var_os("GOLDEN").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    assert_eq!(written, text, "{group}");
    let missing: Vec<&&str> = tags.iter().filter(|tag| !seen.contains(**tag)).collect();
    assert_eq!(
        missing,
        Vec::<&&str>::new(),
        "no line in {}",
        path.display()
    );
    assert_eq!(seen.len(), tags.len(), "{group}");
}

#[test]
fn golden_lines_of_all_events_are_read_and_written_unchanged() {
    check("agent", tags::<AgentEvent>());
    check("board", tags::<BoardEvent>());
    check("team", tags::<TeamEvent>());
    check("crew", tags::<CrewEvent>());
}

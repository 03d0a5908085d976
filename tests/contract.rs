//! Odd but legitimate uses of the command line and of the files: what is written down is kept to the letter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;

use pretty_assertions::assert_eq;
use project::Project;
use serde_json::json;

/// A project whose team is amy, and bob who has shut down.
fn team() -> Project {
    let project = Project::new();
    project.write(
        ".team/config.json",
        r#"{"team_name": "default", "members": [{"name": "amy", "role": "r", "status": "idle"}, {"name": "bob", "status": "shutdown"}]}"#,
    );
    project
}

#[test]
fn looking_at_the_mail_again_and_again_changes_nothing() {
    let project = team();
    let letter = r#"{"type": "message", "from": "lead", "content": "x", "timestamp": 1.0}"#;
    project.write(
        ".team/inbox/amy.jsonl",
        &format!("{{\"torn\": \n{letter}\n"),
    );
    let aside = project.file(".team/inbox/amy.jsonl.damaged-1");
    for _ in 0..3 {
        let list = project.run(&["mail", "list", "amy", "--json"]);
        assert!(list.err().contains("1 damaged line"), "{}", list.err());
        assert!(!aside.exists());
    }
    let read = project.run(&["mail", "read", "amy"]);
    assert!(read.err().contains("were set aside"), "{}", read.err());
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "{\"torn\":\n");
}

#[test]
fn letters_of_no_type_and_for_nobody_are_refused_with_what_there_is() {
    let project = team();
    let line = project.refused(&["mail", "send", "amy", "x", "--type", "mesage"]);
    assert!(line.contains("message, broadcast"), "{line}");
    let line = project.refused(&["mail", "send", "ammy", "x"]);
    assert!(line.contains("amy, bob (shutdown)"), "{line}");
    assert!(!project.file(".team/inbox").join("ammy.jsonl").exists());
    let letter = project.json(&["mail", "send", "amy", "x", "--type", "plan_response"]);
    assert_eq!(letter["type"], "plan_response");
}

#[test]
fn an_empty_tag_is_no_tag() {
    let project = Project::new();
    let task = project.json(&["task", "add", "x", "--tag", "", "--tag", " rust "]);
    assert_eq!(task["tags"], json!(["rust"]));
    let task = project.json(&["task", "edit", "1", "--tag", ""]);
    assert_eq!(task["tags"], json!([]));
}

#[test]
fn every_verb_that_meets_a_damaged_task_sets_it_aside() {
    for verb in [
        &["task", "add", "three"][..],
        &["task", "claim", "--as", "amy"],
        &["task", "done", "2", "--as", "amy"],
        &["task", "edit", "2", "--subject", "more"],
        &["task", "show", "2"],
    ] {
        let project = Project::new();
        project.json(&["task", "add", "one"]);
        project.json(&["task", "add", "two"]);
        project.write(".tasks/task_1.json", "{\"id\": 1, \"subj");
        let done = project.run(verb);
        assert_eq!(done.code(), 0, "{verb:?}: {}", done.err());
        assert!(done.err().contains("damaged-1"), "{verb:?}: {}", done.err());
        assert!(project.file(".tasks/task_1.json.damaged-1").exists());
    }
}

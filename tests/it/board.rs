//! The board through the tools and the command line: every refusal names the remedy and changes nothing.

mod large;

use std::collections::BTreeMap;
use std::path::Path;

use crewdeck::domain::chat::Outcome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::project::Project;
use crate::common::tool_fixture::ToolFixture;

/// Creates ten tasks. 1 is owned by alice, 2 is blocked by 1, 3 is blocked by 2, 4 is completed, 5 is truncated, 6 is
/// too large, 7 has an invalid status, 8 is owned by carol, 9 needs a tag, and 10 is ready.
fn create_board(root: &Path) {
    let tasks = root.join(".tasks");
    std::fs::create_dir_all(&tasks).unwrap();
    let write = |id: u64, text: String| {
        let path = tasks.join(format!("task_{id}.json"));
        std::fs::write(&path, text).unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(old).unwrap();
    };
    for task in [
        json!({"id": 1, "subject": "Write it", "status": "in_progress", "owner": "alice", "blocks": [2]}),
        json!({"id": 2, "subject": "Test it", "blockedBy": [1], "blocks": [3], "color": "red"}),
        json!({"id": 3, "subject": "Ship it", "blockedBy": [2]}),
        json!({"id": 4, "subject": "Think of it", "status": "completed", "owner": "bob"}),
        json!({"id": 7, "subject": "Odd", "status": "banana"}),
        json!({"id": 8, "subject": "Theirs", "status": "in_progress", "owner": "carol"}),
        json!({"id": 9, "subject": "Special", "tags": ["rust"]}),
        json!({"id": 10, "subject": "Ready"}),
    ] {
        write(task["id"].as_u64().unwrap(), task.to_string());
    }
    write(5, "{\"id\": 5, \"subj".into());
    write(
        6,
        format!(
            "{{\"id\": 6, \"subject\": \"{}\"}}",
            "x".repeat(5 * 1024 * 1024)
        ),
    );
}

/// Returns every file of the board except hidden ones, such as the lock and the id counter.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(root.join(".tasks"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| !name.starts_with('.'))
        .collect()
}

/// A change that is refused: as command line arguments, as the same call of a tool by bob, and the expected message.
type Refusal = (
    &'static [&'static str],
    Option<(&'static str, Value)>,
    &'static str,
);

#[allow(clippy::too_many_lines)] // a table
fn refusals() -> Vec<Refusal> {
    let update = |input: Value| Some(("task_update", input));
    let create = |input: Value| Some(("task_create", input));
    let claim = |id: Value| Some(("claim_task", json!({"task_id": id})));
    let done = |id: u64| Some(("task_update", json!({"task_id": id, "status": "completed"})));
    vec![
        (
            &["task", "edit", "1", "--block-on", "3"],
            update(json!({"task_id": 1, "addBlockedBy": [3]})),
            "task #1 cannot wait for #3: #3 already waits for #1 (#3 waits for #2 waits for #1): remove one of these dependencies first",
        ),
        (
            &["task", "edit", "10", "--block-on", "10"],
            update(json!({"task_id": 10, "addBlockedBy": [10]})),
            "task #10 cannot wait for itself: name another task",
        ),
        (
            &["task", "edit", "10", "--block-on", "77"],
            update(json!({"task_id": 10, "addBlockedBy": [77]})),
            "task #77 does not exist: the board has 7 tasks, the last is #10",
        ),
        (
            &["task", "edit", "10", "--unblock", "77"],
            update(json!({"task_id": 10, "removeBlockedBy": [77]})),
            "task #77 does not exist",
        ),
        (
            &["task", "add", "More", "--blocked-by", "1,77"],
            create(json!({"subject": "More", "blocked_by": [1, 77]})),
            "task #77 does not exist",
        ),
        (
            &["task", "add", "More", "--blocked-by", "4"],
            create(json!({"subject": "More", "blocked_by": "4"})),
            "task #4 is already completed: leave it out of the blockers",
        ),
        (
            &["task", "add", "More", "--blocked-by", "write IT"],
            create(json!({"subject": "More", "blocked_by": ["write IT"]})),
            "'write IT' is the subject of a task: use its number 1",
        ),
        (
            &["task", "add", " \n "],
            create(json!({"subject": " \n "})),
            "a task needs a subject: one line that says what is to be done",
        ),
        (
            &["task", "done", "Ready", "--as", "bob"],
            update(json!({"task_id": "Ready", "status": "completed"})),
            "'Ready' is the subject of a task: use its number 10",
        ),
        (
            &["task", "show", "the first one"],
            Some(("task_get", json!({"task_id": "the first one"}))),
            "'the first one' is not the number of a task (list the tasks to see their numbers)",
        ),
        (
            &["task", "show", "99"],
            Some(("task_get", json!({"task_id": 99}))),
            "task #99 does not exist",
        ),
        (
            &["task", "claim", "1", "--as", "bob"],
            claim(json!(1)),
            "task #1 has already been claimed by alice: claim another",
        ),
        (
            &["task", "claim", "2", "--as", "bob"],
            claim(json!("#2")),
            "task #2 is blocked by #1: its blockers must be completed first",
        ),
        (
            &["task", "claim", "4", "--as", "bob"],
            claim(json!("4")),
            "task #4 is completed and cannot be changed: add a new task for what is left",
        ),
        (
            &["task", "claim", "9", "--as", "bob"],
            claim(json!(9)),
            "task #9 is for agents tagged rust: claim another",
        ),
        (
            &["task", "claim", "--as", "carol"],
            None,
            "carol already works on task #8: complete or release it first",
        ),
        (
            &["task", "done", "1", "--as", "bob"],
            done(1),
            "task #1 belongs to alice, and only alice can complete or release it: send alice a message or claim another task",
        ),
        (
            &["task", "release", "8", "--as", "bob"],
            update(json!({"task_id": 8, "status": "pending"})),
            "task #8 belongs to carol",
        ),
        (
            &["task", "start", "8", "--as", "bob"],
            update(json!({"task_id": 8, "status": "in_progress"})),
            "task #8 belongs to carol",
        ),
        (&["task", "rm", "8"], None, "task #8 is owned by carol"),
        (
            &["task", "done", "2", "--as", "bob"],
            done(2),
            "task #2 is blocked by #1: its blockers must be completed first",
        ),
        (
            &["task", "edit", "4", "--subject", "x"],
            update(json!({"task_id": 4, "subject": "x"})),
            "task #4 is completed",
        ),
        (
            &["task", "done", "5", "--as", "bob"],
            done(5),
            "task #5 cannot be used: .tasks/task_5.json is damaged (it is not valid JSON",
        ),
        (
            &["task", "edit", "10", "--block-on", "5"],
            update(json!({"task_id": 10, "addBlockedBy": [5]})),
            "fix the file, or run crewdeck task list, which renames it to task_5.json.damaged-N",
        ),
        (
            &["task", "claim", "6", "--as", "bob"],
            claim(json!(6)),
            "task #6 cannot be used: .tasks/task_6.json is ignored: it is larger than 4 MiB: fix it or move it away",
        ),
        (
            &["task", "claim", "7", "--as", "bob"],
            claim(json!(7)),
            "unknown variant `banana`, expected one of `pending`, `in_progress`, `completed`",
        ),
        (
            &["task", "claim", "10", "--as", "../x"],
            None,
            "\"../x\" is not a valid name: use 1 to 32 letters, digits, '-' or '_', starting with a letter or digit",
        ),
    ]
}

#[test]
fn cli_refusals_name_the_remedy_and_change_nothing() {
    let project = Project::new();
    create_board(project.path());
    let before = files(project.path());
    for (args, _, words) in refusals() {
        let line = project.expect_refusal(args);
        assert!(
            line.starts_with("crewdeck: ") && line.contains(words),
            "{args:?}: {line}"
        );
        let json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        assert_eq!(project.expect_refusal(&json), line);
    }
    assert_eq!(files(project.path()), before);
}

#[test]
fn tool_refusals_name_the_remedy_and_change_nothing() {
    let fixture = ToolFixture::new();
    create_board(&fixture.root());
    let before = files(&fixture.root());
    let more = [
        (
            "task_update",
            json!({"task_id": 1, "status": "banana"}),
            "unknown variant `banana`, expected one of",
        ),
        (
            "task_update",
            json!({"task_id": -1, "status": "completed"}),
            "'-1' is not the number of a task",
        ),
        (
            "task_update",
            json!({"task_id": [1]}),
            "expected the number of a task, not [1]",
        ),
        (
            "task_update",
            json!({"task_id": 10}),
            "nothing to change: pass status, subject, description, addBlockedBy or removeBlockedBy",
        ),
        (
            "task_update",
            json!({"task_id": 10, "color": "red"}),
            "unknown field `color`",
        ),
        ("task_create", json!({}), "missing field `subject`"),
        (
            "task_create",
            json!({"subject": "x".repeat(201)}),
            "the subject is too long (200 characters at most)",
        ),
        (
            "task_create",
            json!({"subject": "x", "description": "x".repeat(70_000)}),
            "the description is too long",
        ),
    ];
    let calls = refusals()
        .into_iter()
        .filter_map(|(_, call, words)| call.map(|(tool, input)| (tool, input, words)));
    for (tool, input, words) in calls.chain(more) {
        let out = fixture.call_as("bob", tool, input.clone());
        assert_eq!(out.outcome, Outcome::Error, "{input}: {out:?}");
        assert!(
            out.text.starts_with("Error: ") && out.text.contains(words),
            "{tool} {input}: {}",
            out.text
        );
        assert!(out.text.len() < 1000, "{tool} {input}");
    }
    assert_eq!(files(&fixture.root()), before);
    // The same change succeeds for the owner, and unknown fields are kept.
    let completed = fixture.call_as(
        "alice",
        "task_update",
        json!({"task_id": 1, "status": "completed"}),
    );
    assert_eq!(completed.outcome, Outcome::Ok, "{completed:?}");
    let text = fixture.read(".tasks/task_2.json");
    assert!(
        text.contains("\"color\": \"red\"") && text.contains("\"blockedBy\": []"),
        "{text}"
    );
}

//! The board through the tools and the command line: every refusal, and boards of up to 10,000 tasks.

use std::collections::BTreeMap;
use std::path::Path;

use crewdeck::domain::chat::Outcome;
use crewdeck::domain::graph::{Claimer, TaskEdit, TaskGraph};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::Board;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::project::Project;
use crate::common::tool_fixture::ToolFixture;

/// Creates ten tasks: 1 is owned by alice, 2 is blocked by 1 and 3 by 2, 4 is completed, 5 is truncated, 6 too large, 7 has an
/// invalid status, 8 is owned by carol, 9 needs a tag, and 10 is ready.
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

/// A refusal: the command line arguments, the same as a tool call by bob, and the expected message.
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
            "task #4 is already completed: nothing has to wait for it",
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
            "'the first one' is not the number of a task (list the tasks to see them)",
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
            "task #2 is blocked by #1: complete that first",
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
            "task #1 belongs to alice: only its owner can do that, send alice a message or claim another task",
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
        (&["task", "rm", "8"], None, "task #8 belongs to carol"),
        (
            &["task", "done", "2", "--as", "bob"],
            done(2),
            "task #2 is blocked by #1: complete that first",
        ),
        (
            &["task", "edit", "4", "--subject", "x"],
            update(json!({"task_id": 4, "subject": "x"})),
            "task #4 is completed",
        ),
        (
            &["task", "done", "5", "--as", "bob"],
            done(5),
            "task #5 cannot be used: .tasks/task_5.json is damaged (it is not complete JSON",
        ),
        (
            &["task", "edit", "10", "--block-on", "5"],
            update(json!({"task_id": 10, "addBlockedBy": [5]})),
            "fix it, or run crewdeck task list, which renames it",
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
            "\"../x\" is not a name: use 1 to 32 letters, digits, '-' or '_', starting with a letter or digit",
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

/// Creates `count` tasks: the first third is completed, and every third one of the others is blocked by the one before it.
fn create_large_board(root: &Path, count: u64) {
    let tasks = root.join(".tasks");
    std::fs::create_dir_all(&tasks).unwrap();
    for id in 1..=count {
        let task = json!({
            "id": id,
            "subject": format!("Task {id} {}", "of many words ".repeat(5)),
            "status": if id <= count / 3 { "completed" } else { "pending" },
            "blockedBy": if id > count / 3 && id % 3 == 0 { vec![id - 1] } else { vec![] },
        });
        std::fs::write(tasks.join(format!("task_{id}.json")), task.to_string()).unwrap();
    }
}

#[test]
fn task_list_pages_a_large_board() {
    let fixture = ToolFixture::new();
    create_large_board(&fixture.root(), 10_000);
    let first = fixture.ok("task_list", json!({}));
    let lines: Vec<&str> = first.lines().collect();
    assert_eq!(lines.len(), 302);
    assert!(first.len() < 64 * 1024, "{}", first.len());
    assert!(lines[0].starts_with("[ ] #3334: Task 3334"), "{}", lines[0]);
    assert_eq!(
        lines[300..],
        [
            "... (6367 more: call task_list with \"after\": 3633)",
            "(10000 tasks: 0 in progress, 4445 ready, 2222 waiting, 3333 completed; list some of them with \"show\": \"ready\" or \"completed\")"
        ]
    );
    let (mut after, mut seen) = (9_000, 0);
    loop {
        let part = fixture.ok("task_list", json!({"show": "ready", "after": after}));
        let ids: Vec<u64> = part
            .lines()
            .filter_map(|l| l.strip_prefix("[ ] #")?.split(':').next()?.parse().ok())
            .collect();
        seen += ids.len();
        match part.split_once("\"after\": ") {
            Some((_, rest)) => after = rest.split(')').next().unwrap().parse().unwrap(),
            None => break,
        }
        assert_eq!(ids.last(), Some(&after));
    }
    assert_eq!(seen, 667);
    let done = fixture.ok("task_list", json!({"show": "completed", "after": 3330}));
    assert_eq!(done.lines().filter(|l| l.starts_with("[x]")).count(), 3);
    // The results of other tools stay as short as on a small board.
    let claimed = fixture.ok("claim_task", json!({}));
    assert!(
        claimed.starts_with("Claimed task #3334") && claimed.len() < 300,
        "{claimed}"
    );
    let wrong = fixture.expect_error(
        "task_update",
        json!({"task_id": "x".repeat(10_000), "status": "completed"}),
    );
    assert!(wrong.len() < 400, "{}", wrong.len());
}

#[test]
fn task_blocking_thousands_is_handled_within_bounds() {
    let fixture = ToolFixture::new();
    let tasks = fixture.root().join(".tasks");
    std::fs::write(tasks.join("task_1.json"), r#"{"id": 1, "subject": "gate"}"#).unwrap();
    for id in 2..=2_000 {
        let on: Vec<u64> = [1, 2].into_iter().filter(|b| *b < id).collect();
        let text = json!({"id": id, "subject": "behind", "blockedBy": on});
        std::fs::write(tasks.join(format!("task_{id}.json")), text.to_string()).unwrap();
    }
    let done = fixture.ok("task_update", json!({"task_id": 1, "status": "completed"}));
    assert!(done.len() < 64 * 1024, "{}", done.len());
    let list = fixture.ok("task_list", json!({}));
    assert!(
        list.contains("#2: behind\n") && list.contains("#3: behind (blocked by: [2])"),
        "{list}"
    );
}

/// Runs a crew with a script and returns the `board_changed` events of its journal.
fn board_events(project: &Project, rules: &str) -> Vec<Value> {
    let script = project.write("script.yaml", &format!("rules:\n{rules}"));
    let provider = format!("script:{}", script.display());
    let ran = project.run(&["run", "go", "--tool", "auto", "--provider", &provider]);
    assert!([0, 4].contains(&ran.code()), "{}", ran.err());
    let sessions = std::fs::read_dir(project.file(".crewdeck/sessions")).unwrap();
    let session = sessions.map(|e| e.unwrap().path()).next().unwrap();
    std::fs::read_to_string(session.join("journal.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["type"] == "board_changed")
        .collect()
}

#[test]
fn journal_has_one_full_board_then_only_changes() {
    let project = Project::new();
    create_large_board(project.path(), 1_200);
    // Claim once the journal holds the whole board. The brackets keep the pattern from matching the journaled call itself.
    let wait =
        "until grep -q 'Task 120[0] ' .crewdeck/sessions/*/journal.jsonl; do sleep 0.02; done";
    let rules = format!(
        "  - calls: [{{tool: bash, input: {{command: \"{wait}\"}}}}]\n  - calls: [{{tool: claim_task, input: {{task_id: 500}}}}]\n  - say: done\n    times: 0\n"
    );
    let events = board_events(&project, &rules);
    let sizes: Vec<usize> = events
        .iter()
        .map(|e| e["changed"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes[..3], [500, 500, 200]);
    assert!(
        sizes.len() > 3 && sizes[3..].iter().all(|s| *s == 1),
        "{sizes:?}"
    );
    let claimed = &events[3]["changed"][0];
    assert_eq!(
        (&claimed["id"], &claimed["owner"]),
        (&json!(500), &json!("lead"))
    );
    assert!(events[3].to_string().len() < 700, "{}", events[3]);
}

/// Number of read system calls of this thread so far (Linux only).
fn read_count() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|l| l.strip_prefix("syscr:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn board_read_takes_two_reads_per_file() {
    let dir = tempfile::tempdir().unwrap();
    create_large_board(dir.path(), 500);
    let board = Board::open(dir.path());
    let before = read_count();
    assert_eq!(board.read().unwrap().graph.len(), 500);
    let reads = read_count() - before;
    assert!((500..=1_050).contains(&reads), "{reads} reads of 500 files");
}

/// A query beside changes by other threads of the process does not read the whole board.
#[test]
fn query_during_concurrent_changes_reads_few_files() {
    const TASKS: u64 = 2_000;
    let dir = tempfile::tempdir().unwrap();
    create_large_board(dir.path(), TASKS);
    let board = Board::open(dir.path());
    board.read().unwrap();
    let most = std::thread::scope(|scope| {
        let threads = (0..6).map(|thread| {
            let (board, first) = (board.clone(), 700 + thread * 20);
            scope.spawn(move || {
                let mut most = 0;
                for id in first..first + 20 {
                    let edit = TaskEdit {
                        subject: Some(format!("Another {id}")),
                        ..TaskEdit::default()
                    };
                    board.edit(TaskId(id), &edit, Timestamp(1.0)).unwrap();
                    let before = read_count();
                    board.query(TaskGraph::len).unwrap();
                    most = most.max(read_count() - before);
                }
                most
            })
        });
        let threads: Vec<_> = threads.collect();
        let most = threads.into_iter().map(|thread| thread.join().unwrap());
        most.max().unwrap()
    });
    // Recently written files are read again by each query, so the count is not zero.
    assert!(most < TASKS / 2, "a query took {most} reads");
}

#[test]
fn change_cost_is_independent_of_board_size() {
    let claimer = Claimer::user();
    let [few, many] = [20, 2_000].map(|size| {
        let dir = tempfile::tempdir().unwrap();
        create_large_board(dir.path(), size);
        let board = Board::open(dir.path());
        board.read().unwrap();
        // A change sometimes reads the whole board first, so take the minimum of three.
        let counts = (0..3).map(|_| {
            let before = read_count();
            let task = board
                .claim(None, &claimer, Timestamp(1.0))
                .unwrap()
                .unwrap();
            board
                .complete(task.id, &claimer.name, Timestamp(1.0))
                .unwrap();
            read_count() - before
        });
        counts.min().unwrap()
    });
    assert!(many <= few + 2, "{few} reads became {many}");
}

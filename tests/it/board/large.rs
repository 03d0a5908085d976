//! Boards of up to 10,000 tasks: bounded texts, and costs that do not grow with the board.

use std::path::Path;

use crewdeck::domain::graph::{Claimer, TaskEdit, TaskGraph};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::Board;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::project::Project;
use crate::common::tool_fixture::ToolFixture;

/// Creates `count` tasks. The first third is completed; among the others, every third one is blocked by the task before
/// it.
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
            "(10000 tasks: 0 in progress, 4445 ready, 2222 waiting, 3333 completed; to list only some, pass \"show\": \"ready\" or \"completed\")"
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
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
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

/// Returns the number of read system calls that this thread has made so far (Linux only).
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

/// While other threads of the process change tasks, a query must not read the whole board again.
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

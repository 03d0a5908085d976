//! Many processes on one project: task ids are unique, each task has one owner, no message is lost, no file is torn.
//!
//! The locks work between processes, so the test binary starts itself again with a role in the environment. More
//! rounds: `CREWDECK_ROUNDS=10 cargo test --test it race`.

mod readers;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::task::TaskStatus;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Board, Mailbox, prepare};

const ROLE: &str = "CREWDECK_RACE_ROLE";
const ROOT: &str = "CREWDECK_RACE_ROOT";
const NUMBER: &str = "CREWDECK_RACE_NUMBER";
const NOW: Timestamp = Timestamp(1.0);
/// Number of tasks per round with two blockers each, which two processes complete at the same time.
const JOIN_COUNT: u64 = 40;
/// Number of tasks that each of eight processes creates in a round.
const CREATED: u64 = 12;
/// Number of tasks for which eight processes compete in a round.
const CLAIMED: u64 = 40;
/// Number of tasks for which the user and a teammate compete.
const CONTESTED: u64 = 150;
/// Number of messages that each process sends.
const MESSAGES: u64 = 2000;
/// How often per round a process is killed while it writes.
const KILLS: u64 = 20;

/// Returns the number of rounds from `CREWDECK_ROUNDS`, which child processes inherit; 1 by default.
fn rounds() -> u64 {
    let value = std::env::var("CREWDECK_ROUNDS").ok();
    value.and_then(|v| v.parse().ok()).unwrap_or(1)
}

/// Starts this test binary as a child process that does the work of `role`.
fn start_process(role: &str, root: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "race::role", "--nocapture"])
        .env(ROLE, role)
        .env(ROOT, root)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs `count` child processes with the same role concurrently. Panics if one fails.
fn run_processes(role: &str, root: &Path, count: usize) {
    let children: Vec<Child> = (0..count).map(|n| start_process(role, root, n)).collect();
    for mut child in children {
        assert!(
            child.wait().unwrap().success(),
            "a process of role {role} failed"
        );
    }
}

fn agent(number: usize) -> Claimer {
    Claimer {
        name: Name::member(&format!("agent-{number}")).unwrap(),
        tags: vec![],
    }
}

fn new_task(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.into(),
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
        ..NewTask::default()
    }
}

/// What a child process of [`start_process`] runs. In the test process itself it does nothing.
#[test]
fn role() {
    let (Ok(role), Ok(root), Ok(number)) = (
        std::env::var(ROLE),
        std::env::var(ROOT),
        std::env::var(NUMBER),
    ) else {
        return;
    };
    let (root, number) = (Path::new(&root), number.parse::<usize>().unwrap());
    let board = Board::open(root);
    match role.as_str() {
        "create" => (0..CREATED * rounds()).for_each(|n| {
            board
                .create(new_task(&format!("{number}-{n}"), &[]), NOW)
                .unwrap();
        }),
        "claim" => {
            let me = agent(number);
            while let Some(claimed) = board.claim(None, &me, NOW).unwrap() {
                board.complete(claimed.id, &me.name, NOW).unwrap();
            }
        }
        "contend" => {
            // The user and a teammate claim the same tasks concurrently; each records what it claimed.
            let me = match number {
                0 => Claimer::user(),
                number => agent(number),
            };
            let mut mine = String::new();
            for id in 1..=CONTESTED {
                if let Ok(Some(task)) = board.claim(Some(TaskId(id)), &me, NOW) {
                    mine.push_str(&format!("{}\n", task.id.0));
                    board.complete(task.id, &me.name, NOW).unwrap();
                }
            }
            std::fs::write(root.join(format!("got-{number}")), mine).unwrap();
        }
        "hoard" => {
            // All processes claim under one name: while one of its tasks is open, another claim is refused.
            let me = agent(0);
            for _ in 0..20 {
                if let Ok(Some(mine)) = board.claim(None, &me, NOW) {
                    let reading = Board::open(root).read().unwrap();
                    let open = reading
                        .graph
                        .tasks()
                        .filter(|t| t.is_open_for(me.name.as_str()));
                    assert_eq!(open.map(|t| t.id).collect::<Vec<_>>(), [mine.id]);
                    board.release(mine.id, &me.name, NOW).unwrap();
                }
            }
        }
        "complete" => {
            // The two blockers of each join: numbers 3k+1 and 3k+2.
            for round in 0..JOIN_COUNT * rounds() {
                let id = TaskId(round * 3 + 1 + number as u64);
                board.complete(id, &agent(number).name, NOW).unwrap();
            }
        }
        "append" => {
            // Writes as learn-claude-code does: opens, appends one line, closes, takes no lock.
            let inbox = root.join(".team/inbox/bob.jsonl");
            for n in 0..MESSAGES {
                let line = format!(
                    "{{\"type\":\"message\",\"from\":\"w{number}\",\"content\":\"{n}\",\"timestamp\":1.0}}\n"
                );
                let mut file = std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&inbox)
                    .unwrap();
                file.write_all(line.as_bytes()).unwrap();
            }
        }
        "save" => loop {
            // Runs until it is killed.
            let me = agent(0);
            board.claim(Some(TaskId(1)), &me, NOW).unwrap();
            board.release(TaskId(1), &me.name, NOW).unwrap();
        },
        other => panic!("no role {other}"),
    }
}

#[test]
fn concurrent_creates_get_unique_task_ids() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    run_processes("create", dir.path(), 8);
    let reading = Board::open(dir.path()).read().unwrap();
    let ids: Vec<u64> = reading.graph.tasks().map(|t| t.id.0).collect();
    let count = 8 * CREATED * rounds();
    assert_eq!(ids, (1..=count).collect::<Vec<_>>());
    let subjects: BTreeSet<&str> = reading.graph.tasks().map(|t| t.subject.as_str()).collect();
    assert_eq!((subjects.len() as u64, reading.notices.len()), (count, 0));
}

#[test]
fn concurrent_claims_give_each_task_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for n in 0..CLAIMED * rounds() {
        board.create(new_task(&n.to_string(), &[]), NOW).unwrap();
    }
    run_processes("claim", dir.path(), 8);
    for task in board.read().unwrap().graph.tasks() {
        assert_eq!(
            (task.status, task.attempts),
            (TaskStatus::Completed, 1),
            "{task:?}"
        );
    }
}

#[test]
fn user_and_teammate_never_own_the_same_task() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for n in 0..CONTESTED {
        board.create(new_task(&n.to_string(), &[]), NOW).unwrap();
    }
    run_processes("contend", dir.path(), 2);
    let claimed_by = |number: u8| {
        let text = std::fs::read_to_string(dir.path().join(format!("got-{number}"))).unwrap();
        text.lines()
            .map(|l| l.parse().unwrap())
            .collect::<BTreeSet<u64>>()
    };
    let (user, teammate) = (claimed_by(0), claimed_by(1));
    assert_eq!(user.intersection(&teammate).count(), 0);
    for task in board.read().unwrap().graph.tasks() {
        let owner = if user.contains(&task.id.0) {
            "user"
        } else {
            "agent-1"
        };
        assert_eq!(
            (task.owner.as_str(), task.status, task.attempts),
            (owner, TaskStatus::Completed, 1),
            "{task:?}"
        );
    }
}

#[test]
fn one_agent_in_many_processes_has_at_most_one_open_task() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for n in 0..10 {
        board.create(new_task(&n.to_string(), &[]), NOW).unwrap();
    }
    run_processes("hoard", dir.path(), 4);
    let graph = board.read().unwrap().graph;
    assert_eq!(graph.ready().count(), 10, "{graph:?}");
    assert!(graph.tasks().any(|t| t.attempts > 0));
}

#[test]
fn blockers_completed_concurrently_unblock_the_task() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for round in 0..JOIN_COUNT * rounds() {
        board.create(new_task("left", &[]), NOW).unwrap();
        board.create(new_task("right", &[]), NOW).unwrap();
        board
            .create(new_task("join", &[round * 3 + 1, round * 3 + 2]), NOW)
            .unwrap();
    }
    run_processes("complete", dir.path(), 2);
    let graph = board.read().unwrap().graph;
    let ready = graph
        .tasks()
        .filter(|t| t.subject == "join" && graph.is_ready(t))
        .count();
    assert_eq!(ready as u64, JOIN_COUNT * rounds());
}

#[test]
fn inbox_writers_without_a_lock_lose_no_message() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let (mailbox, bob) = (Mailbox::open(dir.path()), Name::member("bob").unwrap());
    let mut children: Vec<Child> = (0..8)
        .map(|n| start_process("append", dir.path(), n))
        .collect();
    let mut received: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    loop {
        let all_exited = children.iter_mut().all(|c| c.try_wait().unwrap().is_some());
        let reader = mailbox.reader(&bob, Duration::ZERO).unwrap();
        let pending = reader.read_pending().unwrap();
        assert_eq!(pending.bad, 0);
        for message in &pending.messages {
            received
                .entry(message.from.clone())
                .or_default()
                .push(message.content.parse().unwrap());
        }
        reader.acknowledge(&pending.upto).unwrap();
        if all_exited && pending.messages.is_empty() {
            break;
        }
    }
    assert_eq!(received.len(), 8);
    for (from, numbers) in received {
        assert_eq!(
            numbers,
            (0..MESSAGES).collect::<Vec<_>>(),
            "{from}: each message once, in order"
        );
    }
}

#[test]
fn process_killed_while_saving_leaves_complete_files() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    board
        .create(new_task("saved over and over", &[]), NOW)
        .unwrap();
    for round in 0..KILLS * rounds() {
        let mut child = start_process("save", dir.path(), 0);
        let file = dir.path().join(".tasks/task_1.json");
        // Saving has begun when the file has a new modification time.
        let before = std::fs::metadata(&file).unwrap().modified().unwrap();
        while std::fs::metadata(&file).unwrap().modified().unwrap() == before {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_micros(round % KILLS * 225));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["subject"], "saved over and over");
        if value["status"] != "pending" {
            board.release(TaskId(1), &agent(0).name, NOW).unwrap();
        }
    }
    let reading = board.read().unwrap();
    assert_eq!((reading.graph.len(), reading.notices.len()), (1, 0));
    // Temporary files of killed processes: the next writer deletes those older than a minute.
    let temporary = || {
        let names = std::fs::read_dir(dir.path().join(".tasks")).unwrap();
        let paths = names.map(|e| e.unwrap().path());
        paths
            .filter(|p| {
                p.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with(".tmp-")
            })
            .collect::<Vec<_>>()
    };
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(90);
    for path in temporary() {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    let board = Board::open(dir.path());
    board.create(new_task("more", &[]), NOW).unwrap();
    assert_eq!(temporary(), Vec::<std::path::PathBuf>::new());
}

//! Many processes on one project: no number twice, no task with two owners, no letter lost, no file torn.
//!
//! The test binary starts itself again, with a role in the environment: locks are between processes. More rounds:
//! `CREWDECK_ROUNDS=10 cargo test --test it race`.

mod readers;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::stamp::Stamp;
use crewdeck::domain::task::TaskStatus;
use crewdeck::store::{Board, Post, prepare};

const ROLE: &str = "CREWDECK_RACE_ROLE";
const ROOT: &str = "CREWDECK_RACE_ROOT";
const NUMBER: &str = "CREWDECK_RACE_NUMBER";
const NOW: Stamp = Stamp(1.0);
/// How often two processes complete the two blockers of a task at once, in a round.
const JOINS: u64 = 40;
/// Tasks that each of eight processes creates in a round, and that all of them claim.
const CREATED: u64 = 12;
const CLAIMED: u64 = 40;
/// Tasks that the person and a teammate want at once.
const CONTESTED: u64 = 150;
/// Letters that each process writes.
const LETTERS: u64 = 2000;
/// How often a process is killed while it saves, in a round.
const KILLS: u64 = 20;

/// How many rounds are wished for; the processes that are started hear the same.
fn rounds() -> u64 {
    let wish = std::env::var("CREWDECK_ROUNDS").ok();
    wish.and_then(|v| v.parse().ok()).unwrap_or(1)
}

/// Starts this binary as a process of that role.
fn process(role: &str, root: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "race::role", "--nocapture"])
        .env(ROLE, role)
        .env(ROOT, root)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn all(role: &str, root: &Path, count: usize) {
    let children: Vec<Child> = (0..count).map(|n| process(role, root, n)).collect();
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

fn task(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.into(),
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
        ..NewTask::default()
    }
}

/// What a process does; does nothing in the test run itself.
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
                .create(task(&format!("{number}-{n}"), &[]), NOW)
                .unwrap();
        }),
        "claim" => {
            let me = agent(number);
            while let Some(claimed) = board.claim(None, &me, NOW).unwrap() {
                board.complete(claimed.id, &me.name, NOW).unwrap();
            }
        }
        "contend" => {
            // The person and a teammate want the same tasks at the same time; each notes what it got.
            let me = match number {
                0 => Claimer::person(),
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
            // Every process in the same name: whatever is open, the next is refused.
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
            for round in 0..JOINS * rounds() {
                let id = TaskId(round * 3 + 1 + number as u64);
                board.complete(id, &agent(number).name, NOW).unwrap();
            }
        }
        "append" => {
            // As the reference writes: opens, appends one line, closes, takes no lock.
            let inbox = root.join(".team/inbox/bob.jsonl");
            for n in 0..LETTERS {
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
            // Until it is killed.
            let me = agent(0);
            board.claim(Some(TaskId(1)), &me, NOW).unwrap();
            board.release(TaskId(1), &me.name, NOW).unwrap();
        },
        other => panic!("no role {other}"),
    }
}

#[test]
fn eight_processes_create_tasks_with_numbers_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    all("create", dir.path(), 8);
    let reading = Board::open(dir.path()).read().unwrap();
    let ids: Vec<u64> = reading.graph.tasks().map(|t| t.id.0).collect();
    let count = 8 * CREATED * rounds();
    assert_eq!(ids, (1..=count).collect::<Vec<_>>());
    let subjects: BTreeSet<&str> = reading.graph.tasks().map(|t| t.subject.as_str()).collect();
    assert_eq!((subjects.len() as u64, reading.notices.len()), (count, 0));
}

#[test]
fn eight_processes_claim_and_no_task_has_two_owners() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for n in 0..CLAIMED * rounds() {
        board.create(task(&n.to_string(), &[]), NOW).unwrap();
    }
    all("claim", dir.path(), 8);
    for task in board.read().unwrap().graph.tasks() {
        assert_eq!(
            (task.status, task.attempts),
            (TaskStatus::Completed, 1),
            "{task:?}"
        );
    }
}

#[test]
fn the_person_and_a_teammate_who_claim_at_once_are_never_both_the_owner() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for n in 0..CONTESTED {
        board.create(task(&n.to_string(), &[]), NOW).unwrap();
    }
    all("contend", dir.path(), 2);
    let got = |number: u8| {
        let text = std::fs::read_to_string(dir.path().join(format!("got-{number}"))).unwrap();
        text.lines()
            .map(|l| l.parse().unwrap())
            .collect::<BTreeSet<u64>>()
    };
    let (person, teammate) = (got(0), got(1));
    assert_eq!(person.intersection(&teammate).count(), 0);
    for task in board.read().unwrap().graph.tasks() {
        let owner = if person.contains(&task.id.0) {
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
fn one_name_in_many_processes_never_has_two_open_tasks() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for n in 0..10 {
        board.create(task(&n.to_string(), &[]), NOW).unwrap();
    }
    all("hoard", dir.path(), 4);
    let graph = board.read().unwrap().graph;
    assert_eq!(graph.ready().count(), 10, "{graph:?}");
    assert!(graph.tasks().any(|t| t.attempts > 0));
}

#[test]
fn two_blockers_that_are_completed_at_once_free_the_join() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    for round in 0..JOINS * rounds() {
        board.create(task("left", &[]), NOW).unwrap();
        board.create(task("right", &[]), NOW).unwrap();
        board
            .create(task("join", &[round * 3 + 1, round * 3 + 2]), NOW)
            .unwrap();
    }
    all("complete", dir.path(), 2);
    let graph = board.read().unwrap().graph;
    let free = graph
        .tasks()
        .filter(|t| t.subject == "join" && graph.is_ready(t))
        .count();
    assert_eq!(free as u64, JOINS * rounds());
}

#[test]
fn writers_without_a_lock_lose_no_letter() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let (post, bob) = (Post::open(dir.path()), Name::member("bob").unwrap());
    let mut children: Vec<Child> = (0..8).map(|n| process("append", dir.path(), n)).collect();
    let mut heard: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    loop {
        let are_done = children.iter_mut().all(|c| c.try_wait().unwrap().is_some());
        let reader = post.reader(&bob, Duration::ZERO).unwrap();
        let pending = reader.pending().unwrap();
        assert_eq!(pending.bad, 0);
        for letter in &pending.letters {
            heard
                .entry(letter.from.clone())
                .or_default()
                .push(letter.content.parse().unwrap());
        }
        reader.acknowledge(&pending.upto).unwrap();
        if are_done && pending.letters.is_empty() {
            break;
        }
    }
    assert_eq!(heard.len(), 8);
    for (from, numbers) in heard {
        assert_eq!(
            numbers,
            (0..LETTERS).collect::<Vec<_>>(),
            "{from}: each once, in order"
        );
    }
}

#[test]
fn a_process_that_is_killed_while_it_saves_leaves_whole_files() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let board = Board::open(dir.path());
    board.create(task("saved over and over", &[]), NOW).unwrap();
    for round in 0..KILLS * rounds() {
        let mut child = process("save", dir.path(), 0);
        let file = dir.path().join(".tasks/task_1.json");
        // It has begun to save when the file is another one than before.
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
    // What the killed left behind: the next writer deletes it once it is a minute old.
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
    board.create(task("more", &[]), NOW).unwrap();
    assert_eq!(temporary(), Vec::<std::path::PathBuf>::new());
}

//! Tests of the board with two `Board` values and a program that ignores the lock. Each value has its own cache, like a
//! process.

mod imports;

use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::files::{LAST_ID, LOCK};
use super::*;
use crate::store::notices::NOTICES_MAX;
use crate::store::{atomic::Lock, prepare};

const NOW: Timestamp = Timestamp(1.0);

struct TestBoard {
    dir: tempfile::TempDir,
}

impl TestBoard {
    fn new() -> TestBoard {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        TestBoard { dir }
    }

    fn open(&self) -> Board {
        Board::open(self.dir.path())
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(".tasks").join(name)
    }

    fn text(&self, id: u64) -> serde_json::Value {
        let text = std::fs::read_to_string(self.file(&files::name(TaskId(id)))).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Changes a task file as learn-claude-code does: in place, without the lock.
    fn rewrite(&self, id: u64, change: impl FnOnce(&mut serde_json::Value)) {
        let mut value = self.text(id);
        change(&mut value);
        let path = self.file(&files::name(TaskId(id)));
        std::fs::write(path, value.to_string()).unwrap();
    }
}

fn new(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.into(),
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
        ..NewTask::default()
    }
}

fn claimer(name: &str) -> Claimer {
    Claimer {
        name: Name::member(name).unwrap(),
        tags: vec![],
    }
}

#[test]
fn changes_of_another_process_count_at_once() {
    let fixture = TestBoard::new();
    let (a, b) = (fixture.open(), fixture.open());
    a.create(new("one", &[]), NOW).unwrap();
    b.create(new("two", &[1]), NOW).unwrap();
    let error = a
        .claim(Some(TaskId(2)), &claimer("alice"), NOW)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "task #2 is blocked by #1: its blockers must be completed first"
    );
    b.claim(None, &claimer("bob"), NOW).unwrap();
    assert!(
        a.query(|g| g.open_task_of(&claimer("bob").name).is_some())
            .unwrap()
    );
    b.complete(TaskId(1), &claimer("bob").name, NOW).unwrap();
    assert_eq!(
        a.claim(None, &claimer("alice"), NOW).unwrap().unwrap().id,
        TaskId(2)
    );
    assert_eq!(b.get(TaskId(2)).unwrap().owner, "alice");
    a.release(TaskId(2), &claimer("alice").name, NOW).unwrap();
    b.remove(TaskId(2), NOW).unwrap();
    assert_eq!(a.create(new("three", &[]), NOW).unwrap().id, TaskId(3));
    assert_eq!(
        a.get(TaskId(2)).unwrap_err().to_string(),
        "task #2 does not exist: the board has 2 tasks, the last is #3"
    );
}

#[test]
fn changes_of_a_writer_without_the_lock_are_kept_and_count() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    for (subject, on) in [("one", &[][..]), ("two", &[1]), ("three", &[])] {
        board.create(new(subject, on), NOW).unwrap();
    }
    // Another program changes the task that is then completed, and a task that depends on it.
    fixture.rewrite(1, |task| task["color"] = "red".into());
    fixture.rewrite(2, |task| task["description"] = "by hand".into());
    board
        .complete(TaskId(1), &claimer("alice").name, NOW)
        .unwrap();
    assert_eq!(fixture.text(1)["color"], "red");
    assert_eq!(
        (
            &fixture.text(2)["description"],
            &fixture.text(2)["blockedBy"]
        ),
        (&"by hand".into(), &serde_json::json!([]))
    );
    // Another program sets the owner of a task that is then claimed.
    fixture.rewrite(3, |task| task["owner"] = "carol".into());
    let error = board
        .claim(Some(TaskId(3)), &claimer("bob"), NOW)
        .unwrap_err();
    assert!(error.to_string().contains("claimed by carol"), "{error}");
    assert_eq!(
        board.claim(None, &claimer("bob"), NOW).unwrap().unwrap().id,
        TaskId(2)
    );
    // Another program completes the open task of bob, so that bob may claim another one.
    fixture.rewrite(2, |task| task["status"] = "done".into());
    fixture.rewrite(3, |task| task["owner"] = serde_json::Value::Null);
    assert_eq!(
        board
            .claim(Some(TaskId(3)), &claimer("bob"), NOW)
            .unwrap()
            .unwrap()
            .id,
        TaskId(3)
    );
    // Another program adds a blocker to a task that is then claimed.
    board.release(TaskId(3), &claimer("bob").name, NOW).unwrap();
    fixture.rewrite(3, |task| task["blockedBy"] = serde_json::json!([77]));
    let error = board
        .claim(Some(TaskId(3)), &claimer("bob"), NOW)
        .unwrap_err();
    assert!(error.to_string().contains("blocked by #77"), "{error}");
}

#[test]
fn task_without_id_gets_the_number_of_its_file() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    board.create(new("first", &[]), Timestamp(1.0)).unwrap();
    for (id, text) in [
        (2, r#"{"subject":"bare"}"#),
        (3, r#"{"id":null,"title":"older","status":"done"}"#),
    ] {
        std::fs::write(fixture.file(&format!("task_{id}.json")), text).unwrap();
    }
    let reading = board.read().unwrap();
    assert_eq!(reading.notices, Vec::<String>::new());
    let ids: Vec<TaskId> = reading.graph.tasks().map(|t| t.id).collect();
    assert_eq!(ids, [TaskId(1), TaskId(2), TaskId(3)]);
    board
        .claim(Some(TaskId(2)), &claimer("amy"), Timestamp(2.0))
        .unwrap();
    assert_eq!(fixture.text(2)["id"], 2);
}

#[test]
fn number_used_without_the_lock_is_not_given_again() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    board.create(new("one", &[]), NOW).unwrap();
    std::fs::write(
        fixture.file("task_2.json"),
        r#"{"id":2,"subject":"theirs"}"#,
    )
    .unwrap();
    assert_eq!(board.create(new("ours", &[]), NOW).unwrap().id, TaskId(3));
    assert_eq!(board.get(TaskId(2)).unwrap().subject, "theirs");
    // A folder with the name of a task file also uses up the task number.
    std::fs::create_dir(fixture.file("task_4.json")).unwrap();
    assert_eq!(board.create(new("ours", &[]), NOW).unwrap().id, TaskId(5));
    let highest = files::name(TaskId::MAX);
    std::fs::write(fixture.file(&highest), "{}").unwrap();
    board.read().unwrap();
    let error = board.create(new("more", &[]), NOW).unwrap_err().to_string();
    assert!(error.contains("no number is left"), "{error}");
}

#[test]
fn reserved_number_is_given_to_no_other_task() {
    let fixture = TestBoard::new();
    let (board, other) = (fixture.open(), fixture.open());
    let ours = new("ours", &[]);
    let reserved = board.reserve(&ours, NOW).unwrap();
    assert_eq!(other.create(new("theirs", &[]), NOW).unwrap().id, TaskId(2));
    let created = board.create_as(Some(reserved), ours.clone(), NOW).unwrap();
    assert_eq!(created.id, TaskId(1));
    // A lower number than the highest one does not become the highest one.
    assert_eq!(fixture.open().create(ours, NOW).unwrap().id, TaskId(3));
    // A task that cannot be created takes no number.
    assert!(board.reserve(&new("", &[]), NOW).is_err());
    assert_eq!(board.create(new("late", &[]), NOW).unwrap().id, TaskId(4));
    // A writer without the lock may have used the number.
    let reserved = board.reserve(&new("more", &[]), NOW).unwrap();
    std::fs::write(
        fixture.file("task_5.json"),
        r#"{"id":5,"subject":"theirs"}"#,
    )
    .unwrap();
    let created = board.create_as(Some(reserved), new("more", &[]), NOW);
    assert_eq!(created.unwrap().id, TaskId(6));
}

#[test]
fn failed_write_leaves_the_cache_unchanged() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    board.create(new("one", &[]), NOW).unwrap();
    std::fs::remove_file(fixture.file(LAST_ID)).unwrap();
    std::fs::create_dir(fixture.file(LAST_ID)).unwrap();
    board.create(new("two", &[1]), NOW).unwrap_err();
    let known = board.query(TaskGraph::clone).unwrap();
    assert_eq!((known.len(), known.dependants(TaskId(1)).len()), (1, 0));
    std::fs::remove_dir(fixture.file(LAST_ID)).unwrap();
    let edit = TaskEdit {
        description: Some("x".repeat(60_000)),
        ..TaskEdit::default()
    };
    fixture.rewrite(1, |task| task["extra"] = "y".repeat(4_150_000).into());
    let error = board.edit(TaskId(1), &edit, NOW).unwrap_err().to_string();
    assert!(
        error.contains("too large for its file (4 MiB at most)"),
        "{error}"
    );
    assert_eq!(board.get(TaskId(1)).unwrap().description, "");
}

#[test]
fn next_writer_cleans_up_and_sees_unfinished_writes() {
    let fixture = TestBoard::new();
    let (a, b) = (fixture.open(), fixture.open());
    a.create(new("one", &[]), NOW).unwrap();
    let left = fixture.file(".tmp-Ab12Cd");
    let file = std::fs::File::create(&left).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(120))
        .unwrap();
    b.read().unwrap();
    assert!(left.exists(), "reading deletes nothing");
    b.create(new("two", &[]), NOW).unwrap();
    assert!(!left.exists());
    // A writer has updated the change log, but has not written the task file yet. When it writes the file, the change
    // is seen.
    let lock = Lock::take(&fixture.file(LOCK)).unwrap();
    let mut log = change_log::ChangeLog::read(lock.file()).unwrap();
    log.append(&[TaskId(1)], lock.file()).unwrap();
    assert_eq!(
        a.query(|g| g.get(TaskId(1)).unwrap().owner.clone())
            .unwrap(),
        ""
    );
    fixture.rewrite(1, |task| task["owner"] = "dead".into());
    assert_eq!(
        a.query(|g| g.get(TaskId(1)).unwrap().owner.clone())
            .unwrap(),
        "dead"
    );
    drop(lock);
    let error = b.claim(Some(TaskId(1)), &claimer("bob"), NOW).unwrap_err();
    assert!(error.to_string().contains("claimed by dead"), "{error}");
}

#[test]
fn invalid_change_log_causes_a_full_refresh() {
    let fixture = TestBoard::new();
    let (a, b) = (fixture.open(), fixture.open());
    a.create(new("one", &[]), NOW).unwrap();
    for text in ["", "x", "crewdeck other\n3 9\nend\n"] {
        b.edit(
            TaskId(1),
            &TaskEdit {
                subject: Some(format!("now {text:?}")),
                ..TaskEdit::default()
            },
            NOW,
        )
        .unwrap();
        std::fs::write(fixture.file(LOCK), text).unwrap();
        let known = a
            .query(|g| g.get(TaskId(1)).unwrap().subject.clone())
            .unwrap();
        assert_eq!(known, b.get(TaskId(1)).unwrap().subject);
    }
}

#[test]
fn damaged_task_file_is_reported_and_set_aside() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    board.create(new("one", &[]), NOW).unwrap();
    board.create(new("two", &[]), NOW).unwrap();
    std::fs::write(fixture.file("task_1.json"), "{\"id\": 1, \"subj").unwrap();
    let error = board
        .complete(TaskId(1), &claimer("bob").name, NOW)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "task #1 cannot be used: .tasks/task_1.json is damaged (it is not valid JSON"
        ),
        "{error}"
    );
    assert!(
        error.ends_with(
            "fix the file, or run crewdeck task list, which renames it to task_1.json.damaged-N"
        ),
        "{error}"
    );
    assert_eq!(board.read().unwrap().notices.len(), 1);
    let known = board.query(TaskGraph::clone).unwrap();
    let news = board
        .update_since(&TaskSet::These([TaskId(1)].into()), &known)
        .unwrap();
    assert!(news.delta.is_empty());
    assert_eq!(news.notices.len(), 1);
    assert!(
        news.notices[0].ends_with("was renamed to .tasks/task_1.json.damaged-1"),
        "{news:?}"
    );
    assert_eq!(board.read().unwrap().notices, Vec::<String>::new());
    assert_eq!(board.create(new("three", &[]), NOW).unwrap().id, TaskId(3));
}

#[test]
fn updates_report_a_problem_once_and_snapshots_always() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    let empty = TaskGraph::default();
    for id in 1..=30 {
        let text = format!("{{\"id\": {id}, \"subject\": \"s\", \"status\": \"banana\"}}");
        std::fs::write(fixture.file(&format!("task_{id}.json")), text).unwrap();
    }
    std::fs::write(fixture.file("task_foo.json"), "x").unwrap();
    // Reading a snapshot does not mark problems as reported.
    board.read().unwrap();
    let first = board.update_since(&TaskSet::All, &empty).unwrap();
    assert_eq!(first.notices.len(), NOTICES_MAX + 1);
    assert_eq!(first.notices[NOTICES_MAX], "... and 11 more notices");
    assert_eq!(
        board.update_since(&TaskSet::All, &empty).unwrap(),
        BoardUpdate::default()
    );
    let notices = board.read().unwrap().notices;
    assert_eq!(notices.len(), NOTICES_MAX + 1);
    assert_eq!(
        notices[0],
        ".tasks/task_1.json is ignored: unknown variant `banana`, expected one of `pending`, `in_progress`, `completed`, `done`: fix it or move it away"
    );
}

#[test]
fn notice_of_a_cycle_ends_when_its_file_is_deleted() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    board.create(new("one", &[]), NOW).unwrap();
    board.create(new("two", &[1]), NOW).unwrap();
    fixture.rewrite(1, |task| task["blockedBy"] = serde_json::json!([2]));
    let notices = board.read().unwrap().notices;
    assert!(notices[0].contains("can never be claimed"), "{notices:?}");
    std::fs::remove_file(fixture.file("task_1.json")).unwrap();
    assert_eq!(board.read().unwrap().notices, Vec::<String>::new());
}

#[derive(Debug, Clone)]
enum Step {
    Create(Vec<u64>),
    Claim(Option<u64>, usize),
    Complete(u64, usize),
    Release(u64, usize),
    Edit(u64, Vec<u64>, Vec<u64>),
    Remove(u64),
    Rewrite(u64),
    Delete(u64),
}

fn any_step() -> impl Strategy<Value = (usize, Step)> {
    let id = || 1u64..8;
    let ids = || prop::collection::vec(1u64..8, 0..3);
    let claimer = || 0usize..3;
    let step = prop_oneof![
        4 => ids().prop_map(Step::Create),
        3 => (prop::option::of(id()), claimer()).prop_map(|(i, w)| Step::Claim(i, w)),
        3 => (id(), claimer()).prop_map(|(i, w)| Step::Complete(i, w)),
        1 => (id(), claimer()).prop_map(|(i, w)| Step::Release(i, w)),
        2 => (id(), ids(), ids()).prop_map(|(i, a, b)| Step::Edit(i, a, b)),
        1 => id().prop_map(Step::Remove),
        2 => id().prop_map(Step::Rewrite),
        1 => id().prop_map(Step::Delete),
    ];
    (0usize..2, step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Two processes and a program that ignores the lock make random changes in turn. Both processes see what is on
    /// disk.
    #[test]
    fn both_processes_see_what_is_on_disk(steps in prop::collection::vec(any_step(), 1..30)) {
        let fixture = TestBoard::new();
        let boards = [fixture.open(), fixture.open()];
        let names = ["alice", "bob", "carol"];
        let list = |ids: Vec<u64>| ids.into_iter().map(TaskId).collect::<Vec<_>>();
        let mut reported = TaskGraph::default();
        let last = steps.len() - 1;
        for (at, (index, step)) in steps.into_iter().enumerate() {
            let board = &boards[index];
            let mut by_hand = None;
            // The board may reject a step; only the state afterwards is checked.
            match step {
                Step::Create(on) => drop(board.create(NewTask { blocked_by: list(on), ..new("t", &[]) }, NOW)),
                Step::Claim(id, name) => drop(board.claim(id.map(TaskId), &claimer(names[name]), NOW)),
                Step::Complete(id, name) => drop(board.complete(TaskId(id), &claimer(names[name]).name, NOW)),
                Step::Release(id, name) => drop(board.release(TaskId(id), &claimer(names[name]).name, NOW)),
                Step::Edit(id, block_on, unblock) => {
                    let edit = TaskEdit { block_on: list(block_on), unblock: list(unblock), ..TaskEdit::default() };
                    drop(board.edit(TaskId(id), &edit, NOW));
                }
                Step::Remove(id) => drop(board.remove(TaskId(id), NOW)),
                Step::Rewrite(id) if fixture.file(&files::name(TaskId(id))).exists() => {
                    fixture.rewrite(id, |task| task["subject"] = "by hand".into());
                    by_hand = Some(TaskId(id));
                }
                Step::Delete(id) => {
                    drop(std::fs::remove_file(fixture.file(&files::name(TaskId(id)))));
                    by_hand = Some(TaskId(id));
                }
                Step::Rewrite(_) => {}
            }
            let truth = fixture.open().read().unwrap();
            prop_assert_eq!(&truth.notices, &Vec::<String>::new());
            for name in names {
                let own = truth.graph.tasks().filter(|t| t.is_open_for(name)).count();
                prop_assert!(own <= 1, "{} has {} open tasks", name, own);
            }
            for board in &boards {
                if let Some(id) = by_hand {
                    // The watch reports the task that was changed by hand.
                    board.update_since(&TaskSet::These([id].into()), &reported).unwrap();
                }
                // A query refreshes the cache. Most queries are left out, so that the changes have to refresh the
                // cache.
                if at % 7 != 0 && at != last {
                    continue;
                }
                prop_assert_eq!(&board.query(TaskGraph::clone).unwrap(), &*truth.graph);
            }
            if at % 7 == 0 || at == last {
                let delta = boards[0].update_since(&TaskSet::All, &reported).unwrap().delta;
                reported.apply(&delta.changed, &delta.removed);
                prop_assert_eq!(&reported, &*truth.graph);
            }
        }
    }
}

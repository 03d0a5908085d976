//! Two doors to one board are two processes: each knows what it has read. Beside them a writer without the lock.

use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::store::prepare;

const NOW: Stamp = Stamp(1.0);

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        Place { dir }
    }

    fn door(&self) -> Board {
        Board::open(self.dir.path())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(".tasks").join(name)
    }

    fn text(&self, id: u64) -> serde_json::Value {
        let text = std::fs::read_to_string(self.file(&files::name(TaskId(id)))).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// As the reference writes: in place, without the lock.
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

fn who(name: &str) -> Claimer {
    Claimer {
        name: Name::member(name).unwrap(),
        tags: vec![],
    }
}

#[test]
fn what_another_process_has_changed_counts_at_once() {
    let place = Place::new();
    let (a, b) = (place.door(), place.door());
    a.create(new("one", &[]), NOW).unwrap();
    b.create(new("two", &[1]), NOW).unwrap();
    let refused = a.claim(Some(TaskId(2)), &who("alice"), NOW).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "task #2 is blocked by #1: complete that first"
    );
    b.claim(None, &who("bob"), NOW).unwrap();
    assert!(
        a.ask(|g| g.open_task_of(&who("bob").name).is_some())
            .unwrap()
    );
    b.complete(TaskId(1), &who("bob").name, NOW).unwrap();
    assert_eq!(
        a.claim(None, &who("alice"), NOW).unwrap().unwrap().id,
        TaskId(2)
    );
    assert_eq!(b.get(TaskId(2)).unwrap().owner, "alice");
    a.release(TaskId(2), &who("alice").name, NOW).unwrap();
    b.remove(TaskId(2), NOW).unwrap();
    assert_eq!(a.create(new("three", &[]), NOW).unwrap().id, TaskId(3));
    assert_eq!(
        a.get(TaskId(2)).unwrap_err().to_string(),
        "task #2 does not exist: the board has 2 tasks, the last is #3"
    );
}

#[test]
fn what_a_writer_without_the_lock_has_put_into_a_task_is_kept_and_counts() {
    let place = Place::new();
    let board = place.door();
    for (subject, on) in [("one", &[][..]), ("two", &[1]), ("three", &[])] {
        board.create(new(subject, on), NOW).unwrap();
    }
    // The task itself, and one that waits for it.
    place.rewrite(1, |task| task["color"] = "red".into());
    place.rewrite(2, |task| task["description"] = "by hand".into());
    board.complete(TaskId(1), &who("alice").name, NOW).unwrap();
    assert_eq!(place.text(1)["color"], "red");
    assert_eq!(
        (&place.text(2)["description"], &place.text(2)["blockedBy"]),
        (&"by hand".into(), &serde_json::json!([]))
    );
    // Its owner and its status.
    place.rewrite(3, |task| task["owner"] = "carol".into());
    let refused = board.claim(Some(TaskId(3)), &who("bob"), NOW).unwrap_err();
    assert!(
        refused.to_string().contains("claimed by carol"),
        "{refused}"
    );
    assert_eq!(
        board.claim(None, &who("bob"), NOW).unwrap().unwrap().id,
        TaskId(2)
    );
    // The claimer's open task was finished by another hand: it is free again.
    place.rewrite(2, |task| task["status"] = "done".into());
    place.rewrite(3, |task| task["owner"] = serde_json::Value::Null);
    assert_eq!(
        board
            .claim(Some(TaskId(3)), &who("bob"), NOW)
            .unwrap()
            .unwrap()
            .id,
        TaskId(3)
    );
    // A blocker that was not there before.
    board.release(TaskId(3), &who("bob").name, NOW).unwrap();
    place.rewrite(3, |task| task["blockedBy"] = serde_json::json!([77]));
    let refused = board.claim(Some(TaskId(3)), &who("bob"), NOW).unwrap_err();
    assert!(refused.to_string().contains("blocked by #77"), "{refused}");
}

#[test]
fn a_task_without_a_number_has_the_one_of_its_file() {
    let place = Place::new();
    let board = place.door();
    board.create(new("first", &[]), Stamp(1.0)).unwrap();
    for (id, text) in [
        (2, r#"{"subject":"bare"}"#),
        (3, r#"{"id":null,"title":"older","status":"done"}"#),
    ] {
        std::fs::write(place.file(&format!("task_{id}.json")), text).unwrap();
    }
    let reading = board.read().unwrap();
    assert_eq!(reading.notices, Vec::<String>::new());
    let ids: Vec<TaskId> = reading.graph.tasks().map(|t| t.id).collect();
    assert_eq!(ids, [TaskId(1), TaskId(2), TaskId(3)]);
    board
        .claim(Some(TaskId(2)), &who("amy"), Stamp(2.0))
        .unwrap();
    assert_eq!(place.text(2)["id"], 2);
}

#[test]
fn a_number_that_somebody_took_without_the_lock_is_not_given() {
    let place = Place::new();
    let board = place.door();
    board.create(new("one", &[]), NOW).unwrap();
    std::fs::write(place.file("task_2.json"), r#"{"id":2,"subject":"theirs"}"#).unwrap();
    assert_eq!(board.create(new("ours", &[]), NOW).unwrap().id, TaskId(3));
    assert_eq!(board.get(TaskId(2)).unwrap().subject, "theirs");
    // Also when it is a folder, where nothing can be renamed to.
    std::fs::create_dir(place.file("task_4.json")).unwrap();
    assert_eq!(board.create(new("ours", &[]), NOW).unwrap().id, TaskId(5));
    let highest = files::name(TaskId::MAX);
    std::fs::write(place.file(&highest), "{}").unwrap();
    board.read().unwrap();
    let refused = board.create(new("more", &[]), NOW).unwrap_err().to_string();
    assert!(refused.contains("no number is left"), "{refused}");
}

#[test]
fn what_can_not_be_written_is_not_known_either() {
    let place = Place::new();
    let board = place.door();
    board.create(new("one", &[]), NOW).unwrap();
    std::fs::remove_file(place.file(LAST_ID)).unwrap();
    std::fs::create_dir(place.file(LAST_ID)).unwrap();
    board.create(new("two", &[1]), NOW).unwrap_err();
    let known = board.ask(TaskGraph::clone).unwrap();
    assert_eq!((known.len(), known.dependants(TaskId(1)).len()), (1, 0));
    std::fs::remove_dir(place.file(LAST_ID)).unwrap();
    let edit = TaskEdit {
        description: Some("x".repeat(60_000)),
        ..TaskEdit::default()
    };
    place.rewrite(1, |task| task["extra"] = "y".repeat(4_150_000).into());
    let refused = board.edit(TaskId(1), &edit, NOW).unwrap_err().to_string();
    assert!(
        refused.contains("too large for its file (4 MiB at most)"),
        "{refused}"
    );
    assert_eq!(board.get(TaskId(1)).unwrap().description, "");
}

#[test]
fn what_a_killed_writer_left_behind_is_swept_by_the_next_and_what_it_wrote_is_seen() {
    let place = Place::new();
    let (a, b) = (place.door(), place.door());
    a.create(new("one", &[]), NOW).unwrap();
    let left = place.file(".tmp-Ab12Cd");
    let file = std::fs::File::create(&left).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(120))
        .unwrap();
    b.read().unwrap();
    assert!(left.exists(), "who only reads deletes nothing");
    b.create(new("two", &[]), NOW).unwrap();
    assert!(!left.exists());
    // Killed between its record and its file: what it has written since is seen.
    let lock = Lock::take(&place.file(LOCK)).unwrap();
    let mut record = Record::read(lock.file()).unwrap();
    record.note(&[TaskId(1)], lock.file()).unwrap();
    assert_eq!(
        a.ask(|g| g.get(TaskId(1)).unwrap().owner.clone()).unwrap(),
        ""
    );
    place.rewrite(1, |task| task["owner"] = "dead".into());
    assert_eq!(
        a.ask(|g| g.get(TaskId(1)).unwrap().owner.clone()).unwrap(),
        "dead"
    );
    drop(lock);
    let refused = b.claim(Some(TaskId(1)), &who("bob"), NOW).unwrap_err();
    assert!(refused.to_string().contains("claimed by dead"), "{refused}");
}

#[test]
fn a_lost_record_and_a_changed_lock_file_mean_to_look_at_everything() {
    let place = Place::new();
    let (a, b) = (place.door(), place.door());
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
        std::fs::write(place.file(LOCK), text).unwrap();
        let known = a
            .ask(|g| g.get(TaskId(1)).unwrap().subject.clone())
            .unwrap();
        assert_eq!(known, b.get(TaskId(1)).unwrap().subject);
    }
}

#[test]
fn a_torn_file_is_told_to_who_wants_it_and_set_aside_by_the_next_reading() {
    let place = Place::new();
    let board = place.door();
    board.create(new("one", &[]), NOW).unwrap();
    board.create(new("two", &[]), NOW).unwrap();
    std::fs::write(place.file("task_1.json"), "{\"id\": 1, \"subj").unwrap();
    let refused = board
        .complete(TaskId(1), &who("bob").name, NOW)
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with(
            "task #1 can not be used: .tasks/task_1.json is damaged (it is not whole JSON"
        ),
        "{refused}"
    );
    assert!(
        refused.ends_with("mend it, or list the tasks to set it aside"),
        "{refused}"
    );
    assert_eq!(board.read().unwrap().notices.len(), 1);
    let known = board.ask(TaskGraph::clone).unwrap();
    let news = board
        .news(&Which::These([TaskId(1)].into()), &known)
        .unwrap();
    assert!(news.delta.is_empty());
    assert_eq!(news.notices.len(), 1);
    assert!(
        news.notices[0].ends_with("is now .tasks/task_1.json.damaged-1"),
        "{news:?}"
    );
    assert_eq!(board.read().unwrap().notices, Vec::<String>::new());
    assert_eq!(board.create(new("three", &[]), NOW).unwrap().id, TaskId(3));
}

#[test]
fn news_are_said_once_and_readings_say_everything() {
    let place = Place::new();
    let board = place.door();
    let empty = TaskGraph::default();
    for id in 1..=30 {
        let text = format!("{{\"id\": {id}, \"subject\": \"s\", \"status\": \"banana\"}}");
        std::fs::write(place.file(&format!("task_{id}.json")), text).unwrap();
    }
    std::fs::write(place.file("task_foo.json"), "x").unwrap();
    // Also when somebody else has read them before.
    board.read().unwrap();
    let first = board.news(&Which::All, &empty).unwrap();
    assert_eq!(first.notices.len(), NOTICES_MAX + 1);
    assert_eq!(
        first.notices[NOTICES_MAX],
        "... and 11 more files of the board can not be read"
    );
    assert_eq!(board.news(&Which::All, &empty).unwrap(), News::default());
    let notices = board.read().unwrap().notices;
    assert_eq!(notices.len(), NOTICES_MAX + 1);
    assert_eq!(
        notices[0],
        ".tasks/task_1.json is left out: unknown variant `banana`, expected one of `pending`, `in_progress`, `completed`, `done`: mend it or move it away"
    );
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
    let who = || 0usize..3;
    let step = prop_oneof![
        4 => ids().prop_map(Step::Create),
        3 => (prop::option::of(id()), who()).prop_map(|(i, w)| Step::Claim(i, w)),
        3 => (id(), who()).prop_map(|(i, w)| Step::Complete(i, w)),
        1 => (id(), who()).prop_map(|(i, w)| Step::Release(i, w)),
        2 => (id(), ids(), ids()).prop_map(|(i, a, b)| Step::Edit(i, a, b)),
        1 => id().prop_map(Step::Remove),
        2 => id().prop_map(Step::Rewrite),
        1 => id().prop_map(Step::Delete),
    ];
    (0usize..2, step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever two processes and a writer without the lock do in turn: each process knows what is on disk.
    #[test]
    fn each_door_knows_what_is_on_disk(steps in prop::collection::vec(any_step(), 1..30)) {
        let place = Place::new();
        let doors = [place.door(), place.door()];
        let names = ["alice", "bob", "carol"];
        let list = |ids: Vec<u64>| ids.into_iter().map(TaskId).collect::<Vec<_>>();
        let mut told = TaskGraph::default();
        let last = steps.len() - 1;
        for (at, (door, step)) in steps.into_iter().enumerate() {
            let door = &doors[door];
            let mut by_hand = None;
            // A refusal is fine here; what counts is what is known afterwards.
            match step {
                Step::Create(on) => drop(door.create(NewTask { blocked_by: list(on), ..new("t", &[]) }, NOW)),
                Step::Claim(id, name) => drop(door.claim(id.map(TaskId), &who(names[name]), NOW)),
                Step::Complete(id, name) => drop(door.complete(TaskId(id), &who(names[name]).name, NOW)),
                Step::Release(id, name) => drop(door.release(TaskId(id), &who(names[name]).name, NOW)),
                Step::Edit(id, block_on, unblock) => {
                    let edit = TaskEdit { block_on: list(block_on), unblock: list(unblock), ..TaskEdit::default() };
                    drop(door.edit(TaskId(id), &edit, NOW));
                }
                Step::Remove(id) => drop(door.remove(TaskId(id), NOW)),
                Step::Rewrite(id) if place.file(&files::name(TaskId(id))).exists() => {
                    place.rewrite(id, |task| task["subject"] = "by hand".into());
                    by_hand = Some(TaskId(id));
                }
                Step::Delete(id) => {
                    drop(std::fs::remove_file(place.file(&files::name(TaskId(id)))));
                    by_hand = Some(TaskId(id));
                }
                Step::Rewrite(_) => {}
            }
            let truth = place.door().read().unwrap();
            prop_assert_eq!(&truth.notices, &Vec::<String>::new());
            for name in names {
                let own = truth.graph.tasks().filter(|t| t.is_open_for(name)).count();
                prop_assert!(own <= 1, "{} has {} open tasks", name, own);
            }
            for door in &doors {
                if let Some(id) = by_hand {
                    // The watch tells of it.
                    door.news(&Which::These([id].into()), &told).unwrap();
                }
                // Who is asked catches up: most of the time a change has to do that itself.
                if at % 7 != 0 && at != last {
                    continue;
                }
                prop_assert_eq!(&door.ask(TaskGraph::clone).unwrap(), &*truth.graph);
            }
            if at % 7 == 0 || at == last {
                let delta = doors[0].news(&Which::All, &told).unwrap().delta;
                told.apply(&delta.changed, &delta.removed);
                prop_assert_eq!(&told, &*truth.graph);
            }
        }
    }
}

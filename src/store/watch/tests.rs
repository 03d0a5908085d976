//! Tests of the watch: reports by events and by polling, and handling of lost events.

use std::fs;
use std::sync::mpsc::{Receiver, channel};

use notify::EventKind;
use notify::event::{AccessKind, Flag};

use std::collections::BTreeSet;

use super::super::board::TaskSet;
use super::dirty::KINDS;
use super::events::handle_event;
use super::*;
use crate::domain::ids::TaskId;

const WITHIN: Duration = Duration::from_secs(4);

fn start_watch(root: &Path) -> (Watch, Receiver<Dirty>) {
    crate::store::prepare(root).unwrap();
    let (report, reports) = channel();
    (
        start(root, &Skills::open(root, None), move |d| {
            report.send(d).unwrap_or_default();
        })
        .unwrap(),
        reports,
    )
}

/// Creates the parts of a git repository that the watch checks.
fn begin_git(root: &Path) {
    for folder in [".git/objects", ".git/refs/heads"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
}

fn these(ids: &[u64]) -> Dirty {
    Dirty::Board(TaskSet::These(ids.iter().copied().map(TaskId).collect()))
}

#[test]
fn every_kind_of_change_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    begin_git(dir.path());
    let (watch, reports) = start_watch(dir.path());
    assert_eq!(watch.mode(), &WatchMode::Native);
    for (file, dirty) in [
        (".tasks/task_1.json", these(&[1])),
        (".tasks/task_7.json", these(&[7])),
        (".team/config.json", Dirty::Roster),
        (".team/requests/r1.json", Dirty::Requests),
        (".team/inbox/bob.jsonl", Dirty::Mail),
        (".team/inbox/.bob.cursor", Dirty::Mail),
        (".worktrees/index.json", Dirty::Branches),
        (".git/refs/heads/main", Dirty::Branches),
    ] {
        super::super::atomic::write(&dir.path().join(file), b"{}").unwrap();
        assert_eq!(reports.recv_timeout(WITHIN), Ok(dirty), "{file}");
    }
    // A file that is written in place, as learn-claude-code does, and a file that is deleted are reported too.
    let file = dir.path().join(".tasks/task_7.json");
    fs::write(&file, b"{}\n").unwrap();
    assert_eq!(reports.recv_timeout(WITHIN), Ok(these(&[7])));
    fs::remove_file(&file).unwrap();
    assert_eq!(reports.recv_timeout(WITHIN), Ok(these(&[7])));
}

#[test]
fn reads_locks_and_temporary_files_are_not_reported() {
    let dir = tempfile::tempdir().unwrap();
    begin_git(dir.path());
    let (_watch, reports) = start_watch(dir.path());
    let board = crate::store::Board::open(dir.path());
    for _ in 0..20 {
        board.read().unwrap();
    }
    let _lock = super::super::atomic::Lock::take(&dir.path().join(".tasks/.lock")).unwrap();
    let heads = dir.path().join(".git/refs/heads");
    fs::write(heads.join("main.lock"), b"0").unwrap();
    fs::write(dir.path().join(".worktrees/events.jsonl"), b"{}\n").unwrap();
    fs::write(dir.path().join(".tasks/.tmp-Ab12Cd"), b"{}").unwrap();
    fs::write(dir.path().join(".tasks/notes.txt"), b"x").unwrap();
    super::super::atomic::write(&dir.path().join(".team/config.json"), b"{}").unwrap();
    assert_eq!(
        reports.recv_timeout(WITHIN),
        Ok(Dirty::Roster),
        "the first report"
    );
}

#[test]
fn recreated_folder_is_watched_again() {
    let dir = tempfile::tempdir().unwrap();
    crate::store::prepare(dir.path()).unwrap();
    let (report, reports) = channel();
    let often: PollDelay = |_, _, _| Duration::from_millis(100);
    let report = move |d| report.send(d).unwrap_or_default();
    let _watch = start_with(dir.path(), None, WatchedFolders::native, often, report).unwrap();
    let folder = dir.path().join(".tasks");
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    // The next poll finds the first file in the new folder, if no event reports the file earlier.
    fs::write(folder.join("task_1.json"), b"{}").unwrap();
    let until = Instant::now() + WITHIN;
    let mut number = 1;
    loop {
        assert!(
            Instant::now() < until,
            "no task in it was reported by number"
        );
        match reports.recv_timeout(WITHIN).unwrap() {
            Dirty::Board(TaskSet::These(ids)) if ids.contains(&TaskId(number)) => break,
            Dirty::Board(_) => {
                number += 1;
                fs::write(folder.join(format!("task_{number}.json")), b"{}").unwrap();
            }
            Dirty::Roster | Dirty::Requests | Dirty::Mail | Dirty::Branches | Dirty::Skills => {}
        }
    }
}

#[test]
fn continuous_changes_do_not_delay_polling() {
    let dir = tempfile::tempdir().unwrap();
    crate::store::prepare(dir.path()).unwrap();
    let queue = Arc::<DirtyQueue>::default();
    queue.update(|pending| pending.add(these(&[1])));
    let (report, reports) = channel();
    let (base, thread_queue, noise) = (dir.path().into(), Arc::clone(&queue), Arc::clone(&queue));
    let thread = std::thread::spawn(move || {
        let often: PollDelay = |_, _, elapsed| MERGE.saturating_sub(elapsed.since_poll);
        let report = |dirty| {
            // Adds the next change before the current one is reported.
            if dirty == these(&[1]) {
                noise.update(|pending| pending.add(these(&[1])));
            }
            report.send(dirty).unwrap_or_default();
        };
        run_watch(
            &thread_queue,
            None,
            PollFallback::new(base, None),
            often,
            &report,
        );
    });
    let until = Instant::now() + WITHIN;
    // The first poll reports all kinds.
    while reports.recv_timeout(WITHIN) != Ok(Dirty::Roster) {
        assert!(Instant::now() < until, "nothing was polled");
    }
    queue.update(|pending| pending.is_stopping = true);
    thread.join().unwrap();
}

fn no_events(_: PathBuf, _: Option<Skills>, _: Arc<DirtyQueue>) -> notify::Result<WatchedFolders> {
    Err(notify::Error::generic("no more watches"))
}

#[test]
fn polling_finds_changes_and_gives_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    crate::store::prepare(dir.path()).unwrap();
    let (report, reports) = channel();
    let often: PollDelay = |_, coverage, _| {
        assert_eq!(coverage, EventCoverage::Absent);
        Duration::from_millis(10)
    };
    let report = move |d| report.send(d).unwrap_or_default();
    let watch = start_with(dir.path(), None, no_events, often, report).unwrap();
    let why = "no more watches".to_string();
    assert_eq!(watch.mode(), &WatchMode::Polling { why });
    // The first poll reports everything, because events may have missed changes before this poll.
    let first = (0..KINDS).map(|_| reports.recv_timeout(WITHIN).map(|d| d.kind()));
    assert_eq!(
        first.collect::<Result<Vec<_>, _>>(),
        Ok((0..KINDS).collect())
    );
    for file in [".team/config.json", ".tasks/task_3.json"] {
        fs::write(dir.path().join(file), b"{}").unwrap();
    }
    // Unchanged files are not reported. A new file is reported until its timestamps are reliable.
    let mut all = BTreeSet::new();
    while all.len() < 2 {
        all.insert(reports.recv_timeout(WITHIN).unwrap().kind());
    }
    let expected = [Dirty::Board(TaskSet::All), Dirty::Roster].map(|d| d.kind());
    assert_eq!(all, BTreeSet::from(expected));
}

#[test]
fn new_skill_in_a_new_folder_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (_watch, reports) = start_watch(dir.path());
    let skill = dir.path().join(".claude/skills/late/SKILL.md");
    let skills = Skills::open(dir.path(), None);
    fs::create_dir_all(skill.parent().unwrap()).unwrap();
    // A change is reported as soon as the folder exists.
    assert_eq!(reports.recv_timeout(WITHIN), Ok(Dirty::Skills));
    let before = skills.fingerprint();
    fs::write(&skill, "Come late.").unwrap();
    assert_eq!(reports.recv_timeout(WITHIN), Ok(Dirty::Skills));
    assert_ne!(skills.fingerprint(), before);
}

#[test]
fn limit_errors_name_the_setting() {
    let too_many = std::io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
    assert!(why(&notify::Error::io(too_many)).contains("max_user_instances"));
    let watches = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
    assert!(why(&watches).contains("max_user_watches"));
    assert_eq!(why(&notify::Error::generic("no_events")), "no_events");
}

#[test]
fn dropped_events_report_everything_and_access_nothing() {
    let (queue, root) = (DirtyQueue::default(), Path::new("/p"));
    let at = |kind: EventKind| notify::Event::new(kind).add_path("/p/.tasks/task_3.json".into());
    handle_event(
        &queue,
        root,
        None,
        None,
        Ok(at(EventKind::Access(AccessKind::Any))),
    );
    assert_eq!(queue.lock_pending().take(), []);
    handle_event(&queue, root, None, None, Ok(at(EventKind::Any)));
    assert_eq!(queue.lock_pending().take(), [these(&[3])]);
    for lost in [
        Ok(notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)),
        Err(notify::Error::generic("gone")),
    ] {
        handle_event(&queue, root, None, None, lost);
        let reports = queue.lock_pending().take();
        assert_eq!(
            (reports.len(), &reports[0]),
            (KINDS, &Dirty::Board(TaskSet::All))
        );
    }
}

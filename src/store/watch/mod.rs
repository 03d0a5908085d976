//! Watches the state folders. What it says is only "look again": events are hints, files are the truth.

mod heard;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::board::{Which, id_of_file};
use super::{StoreError, words};
use heard::{Ear, Heard};

/// Events within this time are one.
const MERGE: Duration = Duration::from_millis(10);
/// How often everything is looked at although nothing was heard.
const NET: Duration = Duration::from_secs(5);
/// The same where nothing can be heard.
const POLL: Duration = Duration::from_secs(1);
/// What is watched, below the root.
const FOLDERS: [&str; 6] = [
    ".tasks",
    ".team",
    ".team/inbox",
    ".team/requests",
    ".worktrees",
    HEADS,
];
/// Where git keeps the branches that have no folder in their names: what others merge is seen here. Outside a
/// repository it is not there.
const HEADS: &str = ".git/refs/heads";

/// What to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirty {
    /// The board: these tasks, or all of it when nobody knows which.
    Board(Which),
    /// The roster.
    Roster,
    /// The requests.
    Requests,
    /// The inboxes.
    Mail,
    /// The worktrees, or the branches that theirs are merged into.
    Branches,
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// The system tells at once.
    Native,
    /// The system can not; everything is looked at once a second.
    Polling {
        /// Why.
        why: String,
    },
}

/// A watch; ends when dropped.
pub struct Watch {
    how: Watching,
    ear: Arc<Ear>,
    thread: Option<JoinHandle<()>>,
}

/// Watches the state folders below `root`, which exist, and calls `tell` from a thread of its own.
///
/// # Errors
/// When the thread can not be started.
pub fn start(root: &Path, tell: impl Fn(Dirty) + Send + 'static) -> Result<Watch, StoreError> {
    start_with(root, Folders::native, NET, tell)
}

/// The same with another way to hear and another time between two looks at everything.
fn start_with(
    root: &Path,
    hear: fn(PathBuf, Arc<Ear>) -> notify::Result<Folders>,
    net: Duration,
    tell: impl Fn(Dirty) + Send + 'static,
) -> Result<Watch, StoreError> {
    let ear = Arc::<Ear>::default();
    let base = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let (folders, how, net) = match hear(base, Arc::clone(&ear)) {
        Ok(folders) => (Some(folders), Watching::Native, net),
        Err(error) => {
            let why = why(&error);
            (None, Watching::Polling { why }, net.min(POLL))
        }
    };
    let listening = Arc::clone(&ear);
    let thread = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || listen(&listening, folders, net, &tell))?;
    Ok(Watch {
        how,
        ear,
        thread: Some(thread),
    })
}

impl Watch {
    /// How changes are noticed.
    pub fn how(&self) -> &Watching {
        &self.how
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ear.tell(|heard| heard.is_over = true);
        // Not joined: it may be inside `tell`, which may wait for the thread that drops this.
        drop(self.thread.take());
    }
}

/// What tells a folder from another of its name: its inode, which may be used again, and its birth.
type Identity = (u64, Option<SystemTime>);

/// The folders that the system watches for us.
struct Folders {
    base: PathBuf,
    watcher: RecommendedWatcher,
    /// Which folder was there when the watch began: a watch belongs to it and not to its name.
    watched: [Option<Identity>; FOLDERS.len()],
}

impl Folders {
    fn native(base: PathBuf, ear: Arc<Ear>) -> notify::Result<Folders> {
        let root = base.clone();
        let watcher = notify::recommended_watcher(move |event| hear(&ear, &root, event))?;
        let mut folders = Folders {
            watched: FOLDERS.map(|_| None),
            base,
            watcher,
        };
        for (at, folder) in FOLDERS.iter().enumerate() {
            let path = folders.base.join(folder);
            if *folder == HEADS && !path.is_dir() {
                continue;
            }
            folders.watcher.watch(&path, RecursiveMode::NonRecursive)?;
            folders.watched[at] = identity(&path);
        }
        Ok(folders)
    }

    /// Watches those anew that were deleted and made again.
    fn renew(&mut self) {
        for (at, folder) in FOLDERS.iter().enumerate() {
            let path = self.base.join(folder);
            let now = identity(&path);
            if now == self.watched[at] {
                continue;
            }
            // The system has mostly forgotten the old one by itself.
            let _ = self.watcher.unwatch(&path);
            let is_watched = now.is_some()
                && self
                    .watcher
                    .watch(&path, RecursiveMode::NonRecursive)
                    .is_ok();
            self.watched[at] = now.filter(|_| is_watched);
        }
    }
}

/// Why the system can not watch, and what to do about it.
fn why(error: &notify::Error) -> String {
    match &error.kind {
        // Also the limit of instances is told as too many open files.
        notify::ErrorKind::Io(io) if words::is_too_many(io) => {
            "too many files are open or watched: raise ulimit -n or fs.inotify.max_user_instances"
                .into()
        }
        notify::ErrorKind::MaxFilesWatch => {
            "too many files are watched: raise fs.inotify.max_user_watches".into()
        }
        notify::ErrorKind::Io(io) => words::why(io),
        notify::ErrorKind::Generic(_)
        | notify::ErrorKind::PathNotFound
        | notify::ErrorKind::WatchNotFound
        | notify::ErrorKind::InvalidConfig(_) => error.to_string(),
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.created().ok()))
}

/// What the system says of the folders.
fn hear(ear: &Ear, root: &Path, event: notify::Result<notify::Event>) {
    match event {
        // Our own reading raises access events: to look again because of them would never end.
        Ok(event) if event.kind.is_access() && !event.need_rescan() => {}
        Ok(event) if !event.need_rescan() => {
            let mut dirty = event.paths.iter().filter_map(|p| dirty(root, p)).peekable();
            if dirty.peek().is_some() {
                ear.tell(|heard| dirty.for_each(|d| heard.add(d)));
            }
        }
        // The system has dropped events, or can not say what happened.
        Ok(_) | Err(_) => ear.tell(Heard::add_all),
    }
}

/// What a changed path makes dirty. Temporary files and locks make nothing dirty; a cursor tells that
/// letters were taken.
fn dirty(root: &Path, path: &Path) -> Option<Dirty> {
    let name = path.file_name()?.to_string_lossy();
    let folder: PathBuf = path.parent()?.strip_prefix(root).ok()?.to_path_buf();
    let is_hidden = name.starts_with('.');
    match folder.to_str()? {
        ".tasks" if !is_hidden => {
            let id = id_of_file(&name)?;
            Some(Dirty::Board(Which::These(BTreeSet::from([id]))))
        }
        ".team" if name == "config.json" => Some(Dirty::Roster),
        ".team/requests" if !is_hidden => Some(Dirty::Requests),
        ".team/inbox" if !is_hidden || name.ends_with(".cursor") => Some(Dirty::Mail),
        ".worktrees" if name == "index.json" => Some(Dirty::Branches),
        HEADS if !name.ends_with(".lock") => Some(Dirty::Branches),
        _ => None,
    }
}

fn listen(ear: &Ear, mut folders: Option<Folders>, net: Duration, tell: &impl Fn(Dirty)) {
    let mut last_net = Instant::now();
    loop {
        let is_quiet = ear
            .wait(net.saturating_sub(last_net.elapsed()), |h| !h.is_quiet())
            .is_quiet();
        if is_quiet {
            last_net = Instant::now();
            if let Some(folders) = &mut folders {
                folders.renew();
            }
            ear.heard().add_all();
        }
        // What follows at once is told with it.
        let mut heard = ear.wait(MERGE, |heard| heard.is_over);
        if heard.is_over {
            return;
        }
        let look = heard.take();
        drop(heard);
        look.into_iter().for_each(tell);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{Receiver, channel};

    use notify::EventKind;
    use notify::event::{AccessKind, Flag};

    use super::*;
    use crate::domain::ids::TaskId;

    const WITHIN: Duration = Duration::from_secs(4);

    fn watched(root: &Path) -> (Watch, Receiver<Dirty>) {
        crate::store::prepare(root).unwrap();
        let (tell, told) = channel();
        (
            start(root, move |d| tell.send(d).unwrap_or_default()).unwrap(),
            told,
        )
    }

    fn these(ids: &[u64]) -> Dirty {
        Dirty::Board(Which::These(ids.iter().copied().map(TaskId).collect()))
    }

    #[test]
    fn every_kind_of_change_is_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(HEADS)).unwrap();
        let (watch, told) = watched(dir.path());
        assert_eq!(watch.how(), &Watching::Native);
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
            assert_eq!(told.recv_timeout(WITHIN), Ok(dirty), "{file}");
        }
        // In place, as the reference writes, and deleted.
        let file = dir.path().join(".tasks/task_7.json");
        fs::write(&file, b"{}\n").unwrap();
        assert_eq!(told.recv_timeout(WITHIN), Ok(these(&[7])));
        fs::remove_file(&file).unwrap();
        assert_eq!(told.recv_timeout(WITHIN), Ok(these(&[7])));
    }

    #[test]
    fn reading_locking_and_temporary_files_tell_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(HEADS)).unwrap();
        let (_watch, told) = watched(dir.path());
        let board = crate::store::Board::open(dir.path());
        for _ in 0..20 {
            board.read().unwrap();
        }
        let _lock = super::super::atomic::Lock::take(&dir.path().join(".tasks/.lock")).unwrap();
        let heads = dir.path().join(HEADS);
        fs::write(heads.join("main.lock"), b"0").unwrap();
        fs::write(dir.path().join(".worktrees/events.jsonl"), b"{}\n").unwrap();
        fs::write(dir.path().join(".tasks/.tmp-Ab12Cd"), b"{}").unwrap();
        fs::write(dir.path().join(".tasks/notes.txt"), b"x").unwrap();
        super::super::atomic::write(&dir.path().join(".team/config.json"), b"{}").unwrap();
        assert_eq!(
            told.recv_timeout(WITHIN),
            Ok(Dirty::Roster),
            "the first that is told"
        );
    }

    #[test]
    fn a_folder_that_is_made_again_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let (tell, told) = channel();
        let net = Duration::from_millis(100);
        let tell = move |d| tell.send(d).unwrap_or_default();
        let _watch = start_with(dir.path(), Folders::native, net, tell).unwrap();
        let folder = dir.path().join(".tasks");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        // The first file in it is found by the look at everything at the latest.
        fs::write(folder.join("task_1.json"), b"{}").unwrap();
        let until = Instant::now() + WITHIN;
        let mut number = 1;
        loop {
            assert!(
                Instant::now() < until,
                "changes in it are never told by name"
            );
            match told.recv_timeout(WITHIN).unwrap() {
                Dirty::Board(Which::These(ids)) if ids.contains(&TaskId(number)) => break,
                Dirty::Board(_) => {
                    number += 1;
                    fs::write(folder.join(format!("task_{number}.json")), b"{}").unwrap();
                }
                Dirty::Roster | Dirty::Requests | Dirty::Mail | Dirty::Branches => {}
            }
        }
    }

    #[test]
    fn where_the_system_can_not_watch_everything_is_looked_at_and_it_is_said_why() {
        let dir = tempfile::tempdir().unwrap();
        let (tell, told) = channel();
        let deaf = |_: PathBuf, _: Arc<Ear>| Err(notify::Error::generic("no more watches"));
        let net = Duration::from_millis(10);
        let tell = move |d| tell.send(d).unwrap_or_default();
        let watch = start_with(dir.path(), deaf, net, tell).unwrap();
        let why = "no more watches".to_string();
        assert_eq!(watch.how(), &Watching::Polling { why });
        let all: Vec<Dirty> = (0..5).map(|_| told.recv_timeout(WITHIN).unwrap()).collect();
        assert_eq!(
            all,
            [
                Dirty::Board(Which::All),
                Dirty::Roster,
                Dirty::Requests,
                Dirty::Mail,
                Dirty::Branches
            ]
        );
        assert_eq!(told.recv_timeout(WITHIN), Ok(Dirty::Board(Which::All)));
    }

    #[test]
    fn limits_are_named_with_the_setting_that_raises_them() {
        let too_many = std::io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        assert!(why(&notify::Error::io(too_many)).contains("max_user_instances"));
        let watches = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        assert!(why(&watches).contains("max_user_watches"));
        assert_eq!(why(&notify::Error::generic("deaf")), "deaf");
    }

    #[test]
    fn events_that_were_dropped_mean_everything_and_access_means_nothing() {
        let (ear, root) = (Ear::default(), Path::new("/p"));
        let at =
            |kind: EventKind| notify::Event::new(kind).add_path("/p/.tasks/task_3.json".into());
        hear(&ear, root, Ok(at(EventKind::Access(AccessKind::Any))));
        assert_eq!(ear.heard().take(), []);
        hear(&ear, root, Ok(at(EventKind::Any)));
        assert_eq!(ear.heard().take(), [these(&[3])]);
        for lost in [
            Ok(notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)),
            Err(notify::Error::generic("gone")),
        ] {
            hear(&ear, root, lost);
            let told = ear.heard().take();
            assert_eq!((told.len(), &told[0]), (5, &Dirty::Board(Which::All)));
        }
    }
}

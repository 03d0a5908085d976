//! The folders watched by the operating system: state folders, folders with git branches and folders for skills.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::super::Skills;
use super::super::refs::GitFolders;
use super::dirty::FOLDERS;
use super::dirty_queue::DirtyQueue;
use super::events::handle_event;
use super::identity::{FolderId, identity};
use super::poll_fallback::{self, EventCoverage};

/// Maximum number of rounds in which newly watched folders are searched for further folders.
const ROUNDS_MAX: usize = 8;

/// The folders for which the operating system reports changes.
pub(super) struct WatchedFolders {
    base: PathBuf,
    skills: Option<Skills>,
    refs: Option<GitFolders>,
    watcher: RecommendedWatcher,
    /// The identity of the watched folder at each path, because a watch follows the folder and not its path. `None` if the
    /// path cannot be watched.
    watched: BTreeMap<PathBuf, Option<FolderId>>,
    is_shared: bool,
    /// Whether there are more branch folders than can be watched.
    is_incomplete: bool,
}

impl WatchedFolders {
    /// Starts to watch three kinds of folders: the state folders of the project in `base`, the folders in which git
    /// stores the branches, and the folders of `skills`. Fails if a state folder cannot be watched. A folder of the
    /// other kinds that cannot be watched is polled.
    pub(super) fn native(
        base: PathBuf,
        skills: Option<Skills>,
        queue: Arc<DirtyQueue>,
    ) -> notify::Result<WatchedFolders> {
        let refs = GitFolders::of(&base);
        let (root, event_skills, event_refs) = (base.clone(), skills.clone(), refs.clone());
        let watcher = notify::recommended_watcher(move |event| {
            handle_event(
                &queue,
                &root,
                event_skills.as_ref(),
                event_refs.as_ref(),
                event,
            );
        })?;
        let is_git_dir_shared = refs
            .as_ref()
            .is_some_and(|r| poll_fallback::is_shared_file_system(r.shared_folder()));
        let mut folders = WatchedFolders {
            watched: BTreeMap::new(),
            is_shared: is_git_dir_shared || poll_fallback::is_shared_file_system(&base),
            is_incomplete: false,
            base,
            skills,
            refs,
            watcher,
        };
        for folder in FOLDERS {
            let path = folders.base.join(folder);
            folders.watcher.watch(&path, RecursiveMode::NonRecursive)?;
            folders.watched.insert(path.clone(), identity(&path));
        }
        // If folders of branches or skills cannot be watched, polling finds their changes.
        folders.update();
        Ok(folders)
    }

    /// Watches recreated folders again, starts to watch new folders of branches and skills, and stops watching deleted
    /// ones.
    pub(super) fn update(&mut self) {
        // Several rounds may be needed, because a newly watched folder may already contain a new folder.
        for _ in 0..ROUNDS_MAX {
            if !self.update_once() {
                return;
            }
        }
    }

    /// Implements one round of [`WatchedFolders::update`]. Returns whether a folder was added.
    fn update_once(&mut self) -> bool {
        let mut wanted: Vec<PathBuf> = FOLDERS.map(|f| self.base.join(f)).into();
        let branches = self.refs.as_ref().map(GitFolders::folders);
        self.is_incomplete = branches.as_ref().is_some_and(|found| !found.is_complete);
        wanted.extend(branches.into_iter().flat_map(|found| found.folders));
        wanted.extend(self.skills.iter().flat_map(Skills::folders));
        let watcher = &mut self.watcher;
        self.watched.retain(|path, _| {
            let stays = wanted.contains(path);
            if !stays {
                // Usually the system has already removed the watch of a deleted folder.
                let _ = watcher.unwatch(path);
            }
            stays
        });
        let mut has_added = false;
        for path in wanted {
            let now = identity(&path);
            let before = self.watched.get(&path).copied().flatten();
            if now.is_some() && now == before {
                continue;
            }
            if self.watched.contains_key(&path) {
                let _ = watcher.unwatch(&path);
            }
            let is_watched =
                now.is_some() && watcher.watch(&path, RecursiveMode::NonRecursive).is_ok();
            if is_watched {
                has_added = true;
            }
            self.watched.insert(path, now.filter(|_| is_watched));
        }
        has_added
    }

    pub(super) fn coverage(&self) -> EventCoverage {
        if self.is_shared || self.is_incomplete || self.watched.values().any(Option::is_none) {
            EventCoverage::Partial
        } else {
            EventCoverage::Full
        }
    }
}

//! The folders that the system watches for us: those of the state, those in which git keeps the branches, and those in
//! which skills may come.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::super::Skills;
use super::super::refs::Refs;
use super::dirty::FOLDERS;
use super::hear;
use super::heard::Ear;
use super::net::{self, Hearing};

/// What tells a folder from another of its name: its inode, which may be used again, and its birth.
pub type Identity = (u64, Option<SystemTime>);

/// How often it is looked for folders in folders that were not watched before.
const ROUNDS_MAX: usize = 8;

/// What became of a look for folders to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    AsBefore,
    /// One is watched that was not.
    More,
}

/// The folders that the system watches for us.
pub(super) struct Folders {
    base: PathBuf,
    skills: Option<Skills>,
    refs: Option<Refs>,
    watcher: RecommendedWatcher,
    /// Which folder was there when the watch began: a watch belongs to it and not to its name. `None`: it is not
    /// watched.
    watched: BTreeMap<PathBuf, Option<Identity>>,
    is_shared: bool,
    /// Git keeps branches in more folders than are watched.
    is_cut: bool,
}

impl Folders {
    /// Begins to watch those below `base`, and those of its skills.
    pub(super) fn native(
        base: PathBuf,
        skills: Option<Skills>,
        ear: Arc<Ear>,
    ) -> notify::Result<Folders> {
        let refs = Refs::of(&base);
        let (root, shelves, branches) = (base.clone(), skills.clone(), refs.clone());
        let watcher = notify::recommended_watcher(move |event| {
            hear(&ear, &root, shelves.as_ref(), branches.as_ref(), event);
        })?;
        let is_elsewhere = refs.as_ref().is_some_and(|r| net::is_shared(r.shared()));
        let mut folders = Folders {
            watched: BTreeMap::new(),
            is_shared: is_elsewhere || net::is_shared(&base),
            is_cut: false,
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
        // Without a watch on the branches and the skills the net is all that they have.
        folders.renew();
        Ok(folders)
    }

    /// Watches those anew that were deleted and made again, and those of the branches and the skills as they are now.
    pub(super) fn renew(&mut self) {
        // In a folder that was not watched until now another one may have come already.
        for _ in 0..ROUNDS_MAX {
            if self.watch_wanted() == Watched::AsBefore {
                return;
            }
        }
    }

    fn watch_wanted(&mut self) -> Watched {
        let mut wanted: Vec<PathBuf> = FOLDERS.map(|f| self.base.join(f)).into();
        let branches = self.refs.as_ref().map(Refs::folders);
        self.is_cut = branches.as_ref().is_some_and(|found| !found.is_whole);
        wanted.extend(branches.into_iter().flat_map(|found| found.folders));
        wanted.extend(self.skills.iter().flat_map(Skills::folders));
        let watcher = &mut self.watcher;
        self.watched.retain(|path, _| {
            let stays = wanted.contains(path);
            if !stays {
                // The system has mostly forgotten a folder that is gone by itself.
                let _ = watcher.unwatch(path);
            }
            stays
        });
        let mut watched = Watched::AsBefore;
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
                watched = Watched::More;
            }
            self.watched.insert(path, now.filter(|_| is_watched));
        }
        watched
    }

    /// How far the system's word about them goes.
    pub(super) fn hearing(&self) -> Hearing {
        if self.is_shared || self.is_cut || self.watched.values().any(Option::is_none) {
            Hearing::Parts
        } else {
            Hearing::All
        }
    }
}

/// What tells the folder at `path` from another one that was there or will be; `None`: there is none.
pub fn identity(path: &Path) -> Option<Identity> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.created().ok()))
}

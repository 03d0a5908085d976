//! The folders that the system watches for us: those of the state, and those in which skills may come.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::super::Skills;
use super::dirty::{FOLDERS, is_there_always};
use super::hear;
use super::heard::Ear;
use super::net::{self, Hearing};

/// What tells a folder from another of its name: its inode, which may be used again, and its birth.
type Identity = (u64, Option<SystemTime>);

/// The folders that the system watches for us.
pub(super) struct Folders {
    base: PathBuf,
    skills: Option<Skills>,
    watcher: RecommendedWatcher,
    /// Which folder was there when the watch began: a watch belongs to it and not to its name. `None`: it is not
    /// watched.
    watched: BTreeMap<PathBuf, Option<Identity>>,
    is_shared: bool,
}

impl Folders {
    /// Begins to watch those below `base`, and those of its skills.
    pub(super) fn native(
        base: PathBuf,
        skills: Option<Skills>,
        ear: Arc<Ear>,
    ) -> notify::Result<Folders> {
        let (root, shelves) = (base.clone(), skills.clone());
        let watcher = notify::recommended_watcher(move |event| {
            hear(&ear, &root, shelves.as_ref(), event);
        })?;
        let mut folders = Folders {
            watched: BTreeMap::new(),
            is_shared: net::is_shared(&base),
            base,
            skills,
            watcher,
        };
        for folder in FOLDERS.into_iter().filter(|f| is_there_always(f)) {
            let path = folders.base.join(folder);
            folders.watcher.watch(&path, RecursiveMode::NonRecursive)?;
            folders.watched.insert(path.clone(), identity(&path));
        }
        // Without a watch on the skills the net is all that they have.
        folders.renew();
        Ok(folders)
    }

    /// Watches those anew that were deleted and made again, and those of the skills as they are now.
    pub(super) fn renew(&mut self) {
        let places = FOLDERS.map(|f| (f, self.base.join(f)));
        let there = places.into_iter();
        let there = there.filter(|(folder, path)| is_there_always(folder) || path.is_dir());
        let mut wanted: Vec<PathBuf> = there.map(|(_, path)| path).collect();
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
            self.watched.insert(path, now.filter(|_| is_watched));
        }
    }

    /// How far the system's word about them goes.
    pub(super) fn hearing(&self) -> Hearing {
        if self.is_shared || self.watched.values().any(Option::is_none) {
            Hearing::Parts
        } else {
            Hearing::All
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.created().ok()))
}

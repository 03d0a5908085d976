//! The Worktrees door: `.worktrees/`, with its registry, its log and the git commands behind them.
//!
//! Every change is made under one lock, from a fresh reading of the registry and of git's own. Where both
//! differ (somebody removed a folder, a process was killed between two steps) git and the disk are right.

mod aside;
mod branches;
mod create;
mod cut_merge;
mod debris;
mod diff;
mod inside;
mod judge;
mod log;
mod merge;
mod own;
mod remove;
mod repair;
mod strays;

use std::fs;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::atomic::{self, Lock};
use super::git::{Git, Repo};
use super::settle::{self, Found};
use crate::domain::ids::TaskId;
use crate::domain::stamp::Stamp;
use crate::domain::worktree::{OnDisk, Worktree, WorktreeError, WorktreeIndex, WorktreeName};
use log::{EventLog, Note};

pub use branches::{Look, Seen};
pub use create::NewWorktree;
pub use debris::Debris;
pub(super) use judge::size_of;
pub use strays::{Stray, StrayKind};

/// The word with which git locks a worktree while it makes it.
const INITIALIZING: &str = "initializing";

/// The worktrees of a root. Cheap to clone; holds no state of its own.
#[derive(Debug, Clone)]
pub struct Worktrees {
    root: PathBuf,
}

/// The registry as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The worktrees that stand.
    pub worktrees: Vec<Worktree>,
    /// What could not be read or was set aside, a line each.
    pub notices: Vec<String>,
}

/// All that is worked with: the repository, and the registry as it was read.
struct Work {
    repo: Repo,
    /// `.worktrees/`, without symbolic links.
    dir: PathBuf,
    index: WorktreeIndex,
    log: EventLog,
    notices: Vec<String>,
    /// Held for a change.
    _lock: Option<Lock>,
}

/// A worktree's folder as it was found.
struct Tree {
    on_disk: OnDisk,
    dir: PathBuf,
    /// Git in it and its own git folder, where it is whole.
    git: Option<(Git, PathBuf)>,
}

impl Worktrees {
    /// The worktrees below `root`.
    pub fn open(root: &Path) -> Worktrees {
        Worktrees {
            root: root.to_path_buf(),
        }
    }

    /// Checks that worktrees can be made here.
    ///
    /// # Errors
    /// Why not: no git, no repository, a bare one, or one without a commit.
    pub fn check(&self) -> Result<(), StoreError> {
        Repo::open(&self.root)?.head()?;
        Ok(())
    }

    /// The worktrees that stand, in the order in which they were made.
    ///
    /// # Errors
    /// When the root is no repository, or the registry can not be read.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let work = self.look()?;
        Ok(Listing {
            worktrees: work.index.standing().into_iter().cloned().collect(),
            notices: work.notices,
        })
    }

    /// The worktree in which a task is worked on. Its folder may be gone: see [`Worktrees::state`].
    ///
    /// # Errors
    /// When the root is no repository, or the registry can not be read.
    pub fn find_for(&self, task: TaskId) -> Result<Option<Worktree>, StoreError> {
        Ok(self.look()?.index.of_task(task).cloned())
    }

    /// A standing worktree by its name, or by the number of its task (`3` or `#3`).
    ///
    /// # Errors
    /// The names that there are.
    pub fn find(&self, wanted: &str) -> Result<Worktree, StoreError> {
        let work = self.look()?;
        let number = wanted.strip_prefix('#').unwrap_or(wanted).parse().ok();
        let name = WorktreeName::new(wanted);
        if let Some(tree) = name.as_ref().ok().and_then(|name| work.index.get(name)) {
            return Ok(tree.clone());
        }
        match (number, name) {
            (Some(number), _) => match work.index.of_task(TaskId(number)) {
                Some(tree) => Ok(tree.clone()),
                None => Err(work.index.unknown(wanted).into()),
            },
            (None, Ok(name)) => Err(work.index.unknown(name.as_str()).into()),
            (None, Err(refusal)) => Err(refusal.into()),
        }
    }

    /// Notes that a worktree is to stay.
    ///
    /// # Errors
    /// When there is none of that name, or the registry can not be written.
    pub fn keep(&self, name: &WorktreeName, now: Stamp) -> Result<Worktree, StoreError> {
        let mut work = self.work()?;
        let tree = work.index.change(name, |tree| tree.keep(now))?;
        work.save()?;
        work.log.note(Note::of("worktree.keep", &tree), now)?;
        Ok(tree)
    }

    /// Notes in the log that the task of a worktree is completed.
    ///
    /// # Errors
    /// When there is none of that name, or the log can not be written.
    pub fn task_completed(&self, name: &WorktreeName, now: Stamp) -> Result<(), StoreError> {
        let work = self.work()?;
        let tree = work.index.find(name)?;
        work.log.note(Note::completed(tree), now)
    }

    /// Takes the locks away that a git has left in a worktree's own folder when it was killed with its crew: the next
    /// one there would refuse to work. To be called when the owner comes back and none of its programs runs. A git of
    /// crewdeck itself, which outlives its crew, holds the lock that is waited for here.
    ///
    /// # Errors
    /// When there is none of that name, or a lock can not be taken away.
    pub fn unlock(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let work = self.work()?;
        work.index.find(name)?;
        let folder = self.root.join(".worktrees").join(name.as_str());
        let Some((own, shared)) = super::git_dirs(&folder) else {
            return Ok(());
        };
        if own == shared {
            return Ok(());
        }
        crate::process::history::unlock(&own);
        for left in ["index.lock", "HEAD.lock"] {
            let path = own.join(left);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(StoreError::at(path)(e)),
            }
        }
        Ok(())
    }

    /// Takes the lock and reads afresh, for a change.
    fn work(&self) -> Result<Work, StoreError> {
        let (repo, dir) = self.open_repo()?;
        let lock = Lock::take(&lock_path(&dir))?;
        let mut notices = Vec::new();
        aside::finish(&dir, &mut notices)?;
        let index = match read_index(&dir, &mut notices)? {
            Some(index) => index,
            None => set_aside(&dir, &mut notices)?,
        };
        Work::new(repo, dir, index, notices, Some(lock))
    }

    /// Reads without waiting for a change that somebody makes: the registry is whole at any time. A removal that was
    /// cut off is put in order first.
    fn look(&self) -> Result<Work, StoreError> {
        let (repo, dir) = self.open_repo()?;
        if aside::is_left(&dir)? && !Lock::is_held(&lock_path(&dir)) {
            return self.work();
        }
        let mut notices = Vec::new();
        match read_index(&dir, &mut notices)? {
            Some(index) => Work::new(repo, dir, index, notices, None),
            None => self.work(),
        }
    }

    fn open_repo(&self) -> Result<(Repo, PathBuf), StoreError> {
        let repo = Repo::open(&self.root)?;
        super::prepare(&repo.root)?;
        crate::process::history::recover(repo.git_dir(), repo.common());
        let dir = repo.root.join(".worktrees");
        let dir = fs::canonicalize(&dir).map_err(StoreError::at(dir))?;
        Ok((repo, dir))
    }
}

impl Work {
    fn new(
        mut repo: Repo,
        dir: PathBuf,
        index: WorktreeIndex,
        notices: Vec<String>,
        lock: Option<Lock>,
    ) -> Result<Work, StoreError> {
        if let Some(lock) = &lock {
            repo.git = repo.git.with_lock(lock.share()?);
        }
        let mut work = Work {
            log: EventLog::open(&dir),
            repo,
            dir,
            index,
            notices,
            _lock: lock,
        };
        work.adopt()?;
        Ok(work)
    }

    /// Enters worktrees of ours that git knows and the registry does not: it was lost, or a process was
    /// killed before it could write. They are written with the next change.
    fn adopt(&mut self) -> Result<(), StoreError> {
        for known in self.repo.registered()? {
            let Some(name) = self.name_of(&known.path) else {
                continue;
            };
            let is_ours = known.branch == Some(name.branch());
            let is_made = known.locked.as_deref() != Some(INITIALIZING);
            if is_ours && is_made && self.index.get(&name).is_none() && known.path.exists() {
                let path = known.path.to_string_lossy().into_owned();
                self.index.put(Worktree::new(name, path, Stamp::default()));
            }
        }
        Ok(())
    }

    /// The name of the worktree in that folder.
    fn name_of(&self, path: &Path) -> Option<WorktreeName> {
        let text = path.file_name()?.to_str()?;
        let is_here = path.parent() == Some(&self.dir);
        WorktreeName::new(text).ok().filter(|_| is_here)
    }

    fn tree(&self, name: &WorktreeName) -> Tree {
        let dir = self.dir.join(name.as_str());
        let on_disk = |on_disk| Tree {
            on_disk,
            dir: dir.clone(),
            git: None,
        };
        match fs::symlink_metadata(&dir) {
            Err(_) => return on_disk(OnDisk::Missing),
            Ok(meta) if !meta.is_dir() => return on_disk(OnDisk::Foreign),
            Ok(_) => {}
        }
        if let Some(own) = self.repo.git_dir_of(&dir) {
            let git = self
                .repo
                .git
                .in_worktree(&self.dir, &dir, &own, self.repo.common());
            return Tree {
                git: Some((git, own)),
                ..on_disk(OnDisk::Whole)
            };
        }
        let is_empty = fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none());
        on_disk(if is_empty {
            OnDisk::Missing
        } else {
            OnDisk::Foreign
        })
    }

    /// Git in a worktree's folder and its own git folder, which must be there.
    fn whole(&self, name: &WorktreeName) -> Result<(Git, PathBuf), StoreError> {
        let tree = self.tree(name);
        match (tree.on_disk, tree.git) {
            (OnDisk::Whole, Some(found)) => Ok(found),
            (OnDisk::Whole | OnDisk::Foreign, _) => {
                Err(WorktreeError::Foreign(name.clone()).into())
            }
            (OnDisk::Missing, _) => Err(WorktreeError::Missing(name.clone()).into()),
        }
    }

    /// The branch into which a worktree belongs, and its commit: the one it started from, else what the main
    /// work tree has checked out. The name is `None` where that is no branch.
    fn base_of(&self, tree: &Worktree) -> Result<(Option<String>, String), StoreError> {
        if !tree.base.is_empty()
            && let Some(commit) = self.repo.branch(&tree.base)?
        {
            return Ok((Some(tree.base.clone()), commit));
        }
        let head = self.repo.head()?;
        Ok((head.branch, head.commit))
    }

    fn save(&self) -> Result<(), StoreError> {
        let mut text = serde_json::to_string_pretty(&self.index)?;
        text.push('\n');
        atomic::write(&index_path(&self.dir), text.as_bytes())
    }
}

fn lock_path(dir: &Path) -> PathBuf {
    dir.join(".lock")
}

fn index_path(dir: &Path) -> PathBuf {
    dir.join("index.json")
}

/// The registry; `None`: it is damaged.
fn read_index(dir: &Path, notices: &mut Vec<String>) -> Result<Option<WorktreeIndex>, StoreError> {
    let path = index_path(dir);
    match settle::read::<WorktreeIndex>(&path)? {
        Found::Whole(index) => {
            notices.extend(index.notices());
            Ok(Some(index))
        }
        Found::Gone => Ok(Some(WorktreeIndex::default())),
        Found::Damaged(_) => Ok(None),
        Found::Foreign(why) => Err(StoreError::File {
            path,
            why: std::io::Error::other(format!("{why}: mend it or move it away")),
        }),
    }
}

/// Moves a damaged registry out of the way; the lock is held. What stands is found again through git.
fn set_aside(dir: &Path, notices: &mut Vec<String>) -> Result<WorktreeIndex, StoreError> {
    let aside = atomic::set_aside(&index_path(dir))?;
    let aside = aside.file_name().unwrap_or_default().to_string_lossy();
    notices.push(format!(
        ".worktrees/index.json was damaged and is now .worktrees/{aside}"
    ));
    Ok(WorktreeIndex::default())
}

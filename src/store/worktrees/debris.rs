//! Finds what killed gits left in the repository. Runs no git, so that it costs next to nothing in a clean repository.
//!
//! Every step notes in the log (`log.rs`) that it begins and that it has ended. A step whose end is not noted was
//! interrupted, unless a process holds the lock of the worktrees.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::log::EventLog;
use super::{INITIALIZING, Worktrees, index_path, lock_path, read_index};
use crate::domain::stamp::Stamp;
use crate::domain::worktree::{WorktreeIndex, WorktreeName};
use crate::store::atomic::Lock;
use crate::store::git::locks;
use crate::store::{StoreError, git_dirs, plain};

/// The event that a worktree is begun with.
pub(super) const CREATE: &str = "worktree.create.before";
/// The event with which branches begin to be merged into a worktree.
pub(super) const BRING: &str = "worktree.bring.before";
/// The event that a merge is begun with.
pub(super) const MERGE: &str = "worktree.merge.before";
/// The event that a removal is begun with.
pub(super) const REMOVE: &str = "worktree.remove.before";
/// Most bytes of a file of git that names a folder or a branch.
const LINK_MAX: u64 = 16 * 1024;
/// Most bytes of `packed-refs`.
const PACKED_MAX: u64 = 64 * 1024 * 1024;

/// Something that a killed git left behind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Debris {
    /// A lock file that no process holds; the path is relative to the root where the file is below it.
    Lock(PathBuf),
    /// A lock file that a git may hold which this system does not show. It is removed when it is old.
    UnseenLock(PathBuf),
    /// A worktree that git did not finish creating.
    HalfMade(WorktreeName),
    /// The same, with files in it and without the link to its repository: only the user can tell whose they are.
    Unlinked(WorktreeName),
    /// A worktree without all that was to be merged into it.
    NotStarted(WorktreeName),
    /// A merge of this worktree's branch into its base.
    Merge(WorktreeName),
    /// A removal of this worktree.
    Removal(WorktreeName),
    /// The branch of a worktree that was never made.
    Branch(WorktreeName),
}

impl fmt::Display for Debris {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Debris::Lock(path) => {
                write!(f, "{}: lock file of a git that was killed", path.display())
            }
            Debris::UnseenLock(path) => write!(
                f,
                "{}: lock file; a git that this system does not show may hold it",
                path.display()
            ),
            Debris::HalfMade(name) => write!(
                f,
                ".worktrees/{name} is incomplete: git was killed while it created it"
            ),
            Debris::Unlinked(name) => write!(
                f,
                ".worktrees/{name} is incomplete, and it holds files that git does not know"
            ),
            Debris::NotStarted(name) => write!(
                f,
                "worktree {name} lacks the work of the tasks that it builds on: git was killed while it merged them"
            ),
            Debris::Merge(name) => write!(f, "the merge of {} was interrupted", name.branch()),
            Debris::Removal(name) => write!(f, "the removal of worktree {name} was interrupted"),
            Debris::Branch(name) => write!(
                f,
                "branch {} belongs to a worktree that was not created",
                name.branch()
            ),
        }
    }
}

/// Where to look.
pub(super) struct Ground {
    pub root: PathBuf,
    /// `.worktrees/`.
    pub dir: PathBuf,
    /// The git folder that all worktrees share.
    pub common: PathBuf,
}

impl Worktrees {
    /// Returns what killed gits left behind. Changes nothing and runs no git. Empty while another process changes a
    /// worktree.
    ///
    /// # Errors
    /// When the registry or the log cannot be read.
    pub fn debris(&self) -> Result<Vec<Debris>, StoreError> {
        let Some(ground) = self.ground() else {
            return Ok(Vec::new());
        };
        if Lock::is_held(&lock_path(&ground.dir)) {
            return Ok(Vec::new());
        }
        let locks = locks::left_behind(&ground.root, &ground.common, &ground.cut_steps()?);
        let mut found: Vec<Debris> = locks
            .into_iter()
            .map(|(lock, holder)| match holder {
                None => Debris::Lock(ground.below(&lock)),
                Some(_) => Debris::UnseenLock(ground.below(&lock)),
            })
            .collect();
        found.extend(ground.signs()?);
        Ok(found)
    }

    /// `None`: no worktree was ever created here.
    pub(super) fn ground(&self) -> Option<Ground> {
        let root = fs::canonicalize(&self.root).ok()?;
        let dir = root.join(".worktrees");
        let (_, common) = git_dirs(&root)?;
        let common = fs::canonicalize(common).ok()?;
        let is_used = dir.join("events.jsonl").exists() || index_path(&dir).exists();
        is_used.then_some(Ground { root, dir, common })
    }
}

impl Ground {
    /// The path below the root where it lies there.
    pub(super) fn below(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }

    /// When the steps began that have not ended.
    pub(super) fn cut_steps(&self) -> Result<Vec<Stamp>, StoreError> {
        EventLog::open(&self.dir).cut_steps()
    }

    /// All but the locks, in order.
    pub(super) fn signs(&self) -> Result<Vec<Debris>, StoreError> {
        // What is damaged is set aside by the next change.
        let index = read_index(&self.dir, &mut Vec::new())?.unwrap_or_default();
        let entries = self.entries();
        let mut found: Vec<Debris> = self.half_made(&index, &entries);
        for (name, last) in EventLog::open(&self.dir).last_events()? {
            let Ok(name) = WorktreeName::new(&name) else {
                continue;
            };
            let is_incomplete = |found: &Debris| match found {
                Debris::HalfMade(other) | Debris::Unlinked(other) => *other == name,
                _ => false,
            };
            if found.iter().any(is_incomplete) {
                continue;
            }
            let stands = index.get(&name).is_some();
            let is_there = self.dir.join(name.as_str()).exists();
            match last.event.as_str() {
                CREATE | BRING if is_there && entries.contains_key(&name) => {
                    found.push(Debris::NotStarted(name));
                }
                CREATE if !stands && !is_there && self.has_branch(&name) => {
                    found.push(Debris::Branch(name));
                }
                MERGE if stands => found.push(Debris::Merge(name)),
                REMOVE if stands && !is_there => found.push(Debris::Removal(name)),
                _ => {}
            }
        }
        found.sort();
        Ok(found)
    }

    /// Worktrees that git did not finish, and folders that it made and did not fill.
    fn half_made(
        &self,
        index: &WorktreeIndex,
        entries: &BTreeMap<WorktreeName, bool>,
    ) -> Vec<Debris> {
        let broken = entries.iter().filter(|(_, is_whole)| !**is_whole);
        let mut names: Vec<WorktreeName> = broken.map(|(name, _)| name.clone()).collect();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(name) = WorktreeName::new(&name) else {
                continue;
            };
            let is_free = !entries.contains_key(&name) && index.get(&name).is_none();
            if is_free && name.task().is_some() && is_unfilled(&entry.path()) {
                names.push(name);
            }
        }
        let debris = |name: WorktreeName| {
            let dir = self.dir.join(name.as_str());
            if dir.exists() && !is_unfilled(&dir) && !dir.join(".git").is_file() {
                Debris::Unlinked(name)
            } else {
                Debris::HalfMade(name)
            }
        };
        names.into_iter().map(debris).collect()
    }

    /// The worktrees in `.worktrees` of which git keeps something, and whether it has all that it needs.
    pub(super) fn entries(&self) -> BTreeMap<WorktreeName, bool> {
        let all = fs::read_dir(self.common.join("worktrees"));
        let mut found = BTreeMap::new();
        for entry in all.into_iter().flatten().flatten() {
            let own = entry.path();
            let text = |file: &str| plain::read_text(&own.join(file), LINK_MAX).unwrap_or_default();
            let link = text("gitdir");
            let home = match Path::new(link.trim()).parent() {
                Some(home) if !link.trim().is_empty() => home.to_path_buf(),
                // Not written yet, or gone already: git names it as the folder.
                _ => self.dir.join(entry.file_name()),
            };
            let name = home
                .file_name()
                .and_then(|n| WorktreeName::new(n.to_str()?).ok());
            let Some(name) = name.filter(|n| n.task().is_some() && self.is_here(&home)) else {
                continue;
            };
            let head = text("HEAD");
            let has_head = head.starts_with("ref: ") || head.trim().chars().any(|c| c != '0');
            let is_whole = !link.trim().is_empty()
                && !text("commondir").trim().is_empty()
                && has_head
                && text("locked").trim() != INITIALIZING;
            found.insert(name, is_whole);
        }
        found
    }

    fn is_here(&self, home: &Path) -> bool {
        let folder = home
            .parent()
            .map(|p| fs::canonicalize(p).unwrap_or_else(|_| p.to_path_buf()));
        folder.as_deref() == Some(&self.dir)
    }

    fn has_branch(&self, name: &WorktreeName) -> bool {
        let full = format!("refs/heads/{}", name.branch());
        let packed =
            || plain::read_text(&self.common.join("packed-refs"), PACKED_MAX).unwrap_or_default();
        let ends = |line: &str| line.split_once(' ').is_some_and(|(_, name)| name == full);
        self.common.join(&full).exists() || packed().lines().any(ends)
    }
}

/// Whether a folder has nothing in it, or only git's link.
pub(super) fn is_unfilled(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut all| {
        all.all(|entry| {
            entry.is_ok_and(|e| e.file_name() == ".git" && e.file_type().is_ok_and(|t| t.is_file()))
        })
    })
}

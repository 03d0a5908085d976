//! Finds what killed git processes left in the repository. The search runs no git, so that it is cheap in a clean
//! repository.
//!
//! Every operation records its start and its end in the log (`log.rs`). An operation without a recorded end was
//! interrupted, unless a process holds the worktree lock.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::checkout::stale_checkouts;
use super::landing_record::has_landing;
use super::log::WorktreeLog;
use super::{INITIALIZING, Worktrees, index_path, lock_path, read_index};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{INCLUDE_FILE, WorktreeIndex, WorktreeName};
use crate::process::history;
use crate::store::atomic::Lock;
use crate::store::git::locks;
use crate::store::{StoreError, git_dirs, regular_file};

/// Tag of the log entry that is written before a worktree is created.
pub(super) const CREATE: &str = "worktree.create.before";
/// Tag of the log entry that is written before other branches are merged into a worktree.
pub(super) const BRING: &str = "worktree.bring.before";
/// Tag of the log entry that is written before a worktree's branch is merged into its base branch.
pub(super) const MERGE: &str = "worktree.merge.before";
/// Tag of the log entry that is written before a worktree is removed.
pub(super) const REMOVE: &str = "worktree.remove.before";
/// Maximum size in bytes of a git file that contains the path of a folder or the name of a branch.
const LINK_MAX: u64 = 16 * 1024;
/// Maximum size of git's file `packed-refs`, in bytes.
const PACKED_MAX: u64 = 64 * 1024 * 1024;

/// Something that a killed git process left behind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Debris {
    /// A lock file that no process holds. The path is relative to the root, or absolute if it is not below the root.
    Lock(PathBuf),
    /// A lock file that a git process in another container or on another machine may hold. The file is removed once it
    /// is ten minutes old.
    InvisibleLock(PathBuf),
    /// A worktree that git did not finish creating.
    Incomplete(WorktreeName),
    /// An incomplete worktree with files in it but without the `.git` file that links it to the repository. Only the
    /// user can know whose files these are.
    Unlinked(WorktreeName),
    /// The worktree of a task that lacks work of the task's blockers: not all of their branches were merged into it.
    MissingWork(WorktreeName),
    /// A worktree into which not all files that `.worktreeinclude` lists were copied.
    MissingFiles(WorktreeName),
    /// An interrupted merge of this worktree's branch into its base branch.
    Merge(WorktreeName),
    /// An interrupted landing of a merge train.
    Landing,
    /// Checkouts in which checks ran.
    Checkouts,
    /// An interrupted removal of this worktree.
    Removal(WorktreeName),
    /// The branch of a worktree that was never created.
    Branch(WorktreeName),
}

impl fmt::Display for Debris {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Debris::Lock(path) => {
                write!(f, "{}: lock file of a killed git process", path.display())
            }
            Debris::InvisibleLock(path) => write!(
                f,
                "{}: lock file that a git process in another container or on another machine may hold",
                path.display()
            ),
            Debris::Incomplete(name) => write!(
                f,
                ".worktrees/{name} is incomplete: git was killed while creating it"
            ),
            Debris::Unlinked(name) => write!(
                f,
                ".worktrees/{name} is incomplete and holds files that git does not track"
            ),
            Debris::MissingWork(name) => write!(
                f,
                "worktree {name} lacks work of the tasks it depends on: git was killed during the merge"
            ),
            Debris::MissingFiles(name) => write!(
                f,
                "worktree {name} may lack files that {INCLUDE_FILE} lists: crewdeck was killed while it created the worktree"
            ),
            Debris::Merge(name) => write!(f, "the merge of {} was interrupted", name.branch()),
            Debris::Landing => f.write_str("the landing of the merge train was interrupted"),
            Debris::Checkouts => f.write_str("checkouts of interrupted checks are left over"),
            Debris::Removal(name) => write!(f, "the removal of worktree {name} was interrupted"),
            Debris::Branch(name) => write!(
                f,
                "branch {} is left over: the creation of its worktree was interrupted",
                name.branch()
            ),
        }
    }
}

/// The folders that are searched for traces of interrupted operations.
pub(super) struct RepoPaths {
    pub root: PathBuf,
    /// The folder `.worktrees/`.
    pub dir: PathBuf,
    /// The git folder of the project's root.
    pub own: PathBuf,
    /// The git folder that all worktrees share.
    pub common: PathBuf,
}

impl Worktrees {
    /// Returns what killed git processes left behind: first lock files, then the rest. Changes nothing and runs no git.
    /// Returns an empty list while a process changes a worktree, and if no worktree was ever created in this project.
    ///
    /// # Errors
    /// When the registry or the log cannot be read.
    pub fn debris(&self) -> Result<Vec<Debris>, StoreError> {
        let Some(paths) = self.paths() else {
            return Ok(Vec::new());
        };
        if Lock::is_held(&lock_path(&paths.dir)) {
            return Ok(Vec::new());
        }
        let locks = locks::left_behind(&paths.root, &paths.common, &paths.interrupted_starts()?);
        let mut found: Vec<Debris> = locks
            .into_iter()
            .map(|(lock, holder)| match holder {
                None => Debris::Lock(paths.below(&lock)),
                Some(_) => Debris::InvisibleLock(paths.below(&lock)),
            })
            .collect();
        let private = history::stale_locks(&paths.own, &paths.common);
        found.extend(private.iter().map(|lock| Debris::Lock(paths.below(lock))));
        found.extend(paths.debris_except_locks()?);
        Ok(found)
    }

    /// Returns the folders to search; `None` if no worktree was ever created in this project, or the root is not the top of
    /// a repository.
    pub(super) fn paths(&self) -> Option<RepoPaths> {
        let root = fs::canonicalize(&self.root).ok()?;
        let dir = root.join(".worktrees");
        let (own, common) = git_dirs(&root)?;
        let (own, common) = (fs::canonicalize(own).ok()?, fs::canonicalize(common).ok()?);
        let is_used = dir.join("events.jsonl").exists() || index_path(&dir).exists();
        is_used.then_some(RepoPaths {
            root,
            dir,
            own,
            common,
        })
    }
}

impl RepoPaths {
    /// Returns `path` relative to the root, or unchanged if it is not below the root.
    pub(super) fn below(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }

    /// Returns the start times of the operations whose end is not in the log of worktree operations.
    pub(super) fn interrupted_starts(&self) -> Result<Vec<Timestamp>, StoreError> {
        WorktreeLog::open(&self.dir).interrupted_starts()
    }

    /// Returns what killed git processes left behind, except lock files, in sorted order.
    pub(super) fn debris_except_locks(&self) -> Result<Vec<Debris>, StoreError> {
        // A damaged registry counts as empty here. The next change renames it.
        let index = read_index(&self.dir, &mut Vec::new())?.unwrap_or_default();
        let entries = self.entries();
        let mut found: Vec<Debris> = self.find_incomplete(&index, &entries);
        for (name, last) in WorktreeLog::open(&self.dir).last_events()? {
            let Ok(name) = WorktreeName::new(&name) else {
                continue;
            };
            let is_incomplete = |found: &Debris| match found {
                Debris::Incomplete(other) | Debris::Unlinked(other) => *other == name,
                _ => false,
            };
            if found.iter().any(is_incomplete) {
                continue;
            }
            let stands = index.get(&name).is_some();
            let is_there = self.dir.join(name.as_str()).exists();
            match last.event.as_str() {
                CREATE | BRING if is_there && entries.contains_key(&name) => {
                    found.push(Debris::MissingWork(name));
                }
                CREATE if !stands && !is_there && self.has_branch(&name) => {
                    found.push(Debris::Branch(name));
                }
                MERGE if stands => found.push(Debris::Merge(name)),
                REMOVE if stands && !is_there => found.push(Debris::Removal(name)),
                _ => {}
            }
        }
        for tree in index.existing_worktrees() {
            let is_whole = entries.get(&tree.name) == Some(&true);
            if tree.include_pending && is_whole && self.dir.join(tree.name.as_str()).exists() {
                found.push(Debris::MissingFiles(tree.name.clone()));
            }
        }
        if has_landing(&self.dir) {
            found.push(Debris::Landing);
        }
        if !stale_checkouts(&self.root, &self.common).is_empty() {
            found.push(Debris::Checkouts);
        }
        found.sort();
        Ok(found)
    }

    /// Returns the worktrees that git did not finish creating, including folders that git left empty.
    fn find_incomplete(
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
            if is_free && name.task().is_some() && is_empty_worktree(&entry.path()) {
                names.push(name);
            }
        }
        let debris = |name: WorktreeName| {
            let dir = self.dir.join(name.as_str());
            if dir.exists() && !is_empty_worktree(&dir) && !dir.join(".git").is_file() {
                Debris::Unlinked(name)
            } else {
                Debris::Incomplete(name)
            }
        };
        names.into_iter().map(debris).collect()
    }

    /// Returns the worktrees of tasks in `.worktrees` for which git has an entry. The value is `true` if the entry is
    /// complete.
    pub(super) fn entries(&self) -> BTreeMap<WorktreeName, bool> {
        let all = fs::read_dir(self.common.join("worktrees"));
        let mut found = BTreeMap::new();
        for entry in all.into_iter().flatten().flatten() {
            let own = entry.path();
            let text =
                |file: &str| regular_file::read_text(&own.join(file), LINK_MAX).unwrap_or_default();
            let link = text("gitdir");
            let home = match Path::new(link.trim()).parent() {
                Some(home) if !link.trim().is_empty() => home.to_path_buf(),
                // The file `gitdir` is not written yet, or already deleted. Git names the entry after the folder.
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
        let packed = || {
            regular_file::read_text(&self.common.join("packed-refs"), PACKED_MAX)
                .unwrap_or_default()
        };
        let ends = |line: &str| line.split_once(' ').is_some_and(|(_, name)| name == full);
        self.common.join(&full).exists() || packed().lines().any(ends)
    }
}

/// Returns whether a folder is empty or holds only git's `.git` file. Returns `false` if `dir` cannot be read as a folder.
pub(super) fn is_empty_worktree(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut all| {
        all.all(|entry| {
            entry.is_ok_and(|e| e.file_name() == ".git" && e.file_type().is_ok_and(|t| t.is_file()))
        })
    })
}

//! The store of the worktrees in `.worktrees/`: the registry of worktrees (`index.json`), the log of operations, and
//! the git commands for these operations.
//!
//! Every change holds one lock, and first reads the registry and git's list of worktrees again. If they differ (a
//! folder was removed by hand, a process was killed between two steps), git and the disk take precedence.

mod branches;
mod cache;
mod checkout;
mod clone;
mod combination;
mod command_environment;
mod commands;
mod content;
mod create;
mod debris;
mod diff;
mod exchange;
mod exchange_base;
mod exchange_remote;
mod exchange_work;
mod fetched_refs;
mod hook_made;
mod include;
mod inspect;
mod interrupted_merge;
mod landed;
mod landing;
mod landing_record;
mod local_files;
mod log;
mod merge;
mod merge_hooks;
mod merge_status;
mod missing_content;
mod nested_repos;
mod orphans;
mod outgoing;
mod overwrite;
mod remove;
mod repair;
mod spare;
mod take_over;
mod teardown;
mod train;
mod trash;
mod uncommitted;
mod work_folder;

use std::fs;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::atomic::{self, Lock};
use super::git::{Git, Repo, RepoCache};
use super::read_stable::{self, StableRead};
use super::root::git_dirs;
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    FolderState, Worktree, WorktreeError, WorktreeIndex, WorktreeName, WorktreePhase,
};
use log::{LogEntry, WorktreeLog};

pub use branches::{BranchSnapshot, ScanMode};
pub use checkout::CheckCache;
pub use combination::{CombineOutcome, CombinedBranch, CombinedBranches};
pub use command_environment::{CACHE_VARIABLE, PORT_VARIABLE};
pub use commands::WorktreeCommands;
pub use create::NewWorktree;
pub use debris::Debris;
pub use exchange::{BranchExchange, FetchedBranch, FetchedBranches, Published};
pub use exchange_work::NeededWork;
pub(super) use inspect::size_of;
pub use landed::{LandedCommit, LandedCommits};
pub use landing::Landing;
pub use orphans::{OrphanKind, OrphanWorktree};
pub use outgoing::OutgoingQuery;
pub use teardown::{CommandTurn, Teardown};
pub use train::{TrainBranch, TrainLock, TrainPlan, TrainPlans};
pub use work_folder::WorkFolder;

/// The reason with which git locks a worktree while creating it.
const INITIALIZING: &str = "initializing";

/// The worktrees of a project. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Worktrees {
    root: PathBuf,
    repo: RepoCache,
}

/// The worktrees of a repository, and notices about registry files with errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorktreeList {
    /// The worktrees that have not been removed.
    pub worktrees: Vec<Worktree>,
    /// Notices about files that could not be read or were renamed, one line each.
    pub notices: Vec<String>,
}

/// The repository and the registry, as read from disk. They may be changed only if `_lock` is set.
struct OpenRegistry {
    repo: Repo,
    /// The path of `.worktrees/`, without symbolic links.
    dir: PathBuf,
    index: WorktreeIndex,
    log: WorktreeLog,
    notices: Vec<String>,
    /// The worktree lock, held during a change; `None` for reading.
    _lock: Option<Lock>,
}

/// The folder of a worktree and its state on disk.
struct WorktreeFolder {
    on_disk: FolderState,
    dir: PathBuf,
    /// A [`Git`] that runs in the folder, and the worktree's git folder; `None` if the folder is not a valid worktree.
    git: Option<(Git, PathBuf)>,
}

impl Worktrees {
    /// Returns the store of the worktrees of the project in `root`. Reads nothing yet.
    pub fn open(root: &Path) -> Worktrees {
        Worktrees {
            root: root.to_path_buf(),
            repo: RepoCache::default(),
        }
    }

    /// Returns the path of the folder of a worktree.
    pub fn path_of(&self, name: &WorktreeName) -> PathBuf {
        self.root.join(".worktrees").join(name.as_str())
    }

    /// Returns whether the folder of a worktree belongs to the repository of this project. In a copied project, the folders of
    /// worktrees belong to the repository of the original.
    pub fn owns_folder(&self, name: &WorktreeName) -> bool {
        let shared = |dir: &Path| git_dirs(dir)?.1.canonicalize().ok();
        let own = shared(&self.root);
        own.is_some() && shared(&self.path_of(name)) == own
    }

    /// Returns the name of the worktree in the folder `dir`; `None` if `dir` is not the path of a worktree's folder. Reads
    /// nothing.
    pub fn name_at(&self, dir: &Path) -> Option<WorktreeName> {
        let name = WorktreeName::new(dir.file_name()?.to_str()?).ok()?;
        (dir == self.path_of(&name)).then_some(name)
    }

    /// Checks that worktrees can be created in this project.
    ///
    /// # Errors
    /// When git is missing or too old, or the root is not a repository, is a bare repository or has no commit.
    pub fn check(&self) -> Result<(), StoreError> {
        self.repo.open(&self.root)?.head()?;
        Ok(())
    }

    /// Returns the worktrees that have not been removed, in the order of the registry. New worktrees are at its end.
    ///
    /// # Errors
    /// When the root is not a repository, or the registry cannot be read.
    pub fn list(&self) -> Result<WorktreeList, StoreError> {
        let work = self.read()?;
        Ok(WorktreeList {
            worktrees: work
                .index
                .existing_worktrees()
                .into_iter()
                .cloned()
                .collect(),
            notices: work.notices,
        })
    }

    /// Returns the worktree that the registry names for a task; `None` if the task has none. If the task has several,
    /// returns the newest one that is not merged, else the newest one. The worktree's folder may be gone: see
    /// [`Worktrees::state`].
    ///
    /// # Errors
    /// When the root is not a repository, or the registry cannot be read.
    pub fn find_for(&self, task: TaskId) -> Result<Option<Worktree>, StoreError> {
        Ok(self.read()?.index.of_task(task).cloned())
    }

    /// Finds a worktree by its name, regardless of case, or by the number of its task (`3` or `#3`, as in
    /// [`Worktrees::find_for`]). A name takes precedence. Ignores removed worktrees.
    ///
    /// # Errors
    /// When there is no such worktree; the error lists the existing names. Also when the registry cannot be read.
    pub fn find(&self, wanted: &str) -> Result<Worktree, StoreError> {
        let work = self.read()?;
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

    /// Marks a worktree so that it is not removed without the user's confirmation.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the registry cannot be written.
    pub fn keep(&self, name: &WorktreeName, now: Timestamp) -> Result<Worktree, StoreError> {
        let mut work = self.begin_change()?;
        let tree = work.index.change(name, |tree| tree.mark_kept(now))?;
        work.save()?;
        work.log.record(LogEntry::of("worktree.keep", &tree), now)?;
        Ok(tree)
    }

    /// Records in the registry that the task of a worktree has another owner. Writes nothing if `owner` is already
    /// recorded.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the registry cannot be read or written.
    pub fn set_owner(&self, name: &WorktreeName, owner: &str) -> Result<(), StoreError> {
        let mut work = self.begin_change()?;
        let tree = work.index.find(name)?;
        if tree.owner == owner && tree.phase != WorktreePhase::Spare {
            return Ok(());
        }
        work.index.change(name, |tree| {
            tree.owner = owner.into();
            if tree.phase == WorktreePhase::Spare {
                tree.phase = WorktreePhase::Used;
            }
        })?;
        work.save()
    }

    /// Records in the log that the task of a worktree is completed.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the log cannot be written.
    pub fn task_completed(&self, name: &WorktreeName, now: Timestamp) -> Result<(), StoreError> {
        let work = self.begin_change()?;
        let tree = work.index.find(name)?;
        work.log.record(LogEntry::completion(tree), now)
    }

    /// Removes the lock files that a killed git left in a worktree's own git folder, where they make every later git
    /// command fail. Call this when the agent that works in the worktree resumes and none of its programs runs. A git
    /// that crewdeck itself started may still run. Such a git holds the worktree lock, for which this method waits. Does
    /// nothing if the folder belongs to another repository, such as the one that this project was copied from.
    ///
    /// # Errors
    /// When there is no worktree with that name, or a lock file cannot be removed.
    pub fn unlock(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let work = self.begin_change()?;
        work.index.find(name)?;
        let folder = self.path_of(name);
        let Some((own, shared)) = super::git_dirs(&folder) else {
            return Ok(());
        };
        if own == shared || !self.owns_folder(name) {
            return Ok(());
        }
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

    /// Takes the worktree lock for a change, waiting for it without a limit, and reads the registry of worktrees.
    /// Completes or reverts an interrupted removal, and replaces a damaged registry.
    fn begin_change(&self) -> Result<OpenRegistry, StoreError> {
        let (repo, dir) = self.open_repo()?;
        let lock = Lock::take(&lock_path(&dir))?;
        let mut notices = Vec::new();
        trash::recover(&dir, &mut notices)?;
        let index = match read_index(&dir, &mut notices)? {
            Some(index) => index,
            None => replace_damaged_index(&dir, &mut notices)?,
        };
        OpenRegistry::new(repo, dir, index, notices, Some(lock))
    }

    /// Reads the registry of worktrees without waiting for a change in progress, because the registry is replaced
    /// atomically. Only if a removal was interrupted or the registry is damaged, takes the worktree lock, as
    /// [`Worktrees::begin_change`] does.
    fn read(&self) -> Result<OpenRegistry, StoreError> {
        let (repo, dir) = self.open_repo()?;
        if trash::has_leftovers(&dir)? && !Lock::is_held(&lock_path(&dir)) {
            return self.begin_change();
        }
        let mut notices = Vec::new();
        match read_index(&dir, &mut notices)? {
            Some(index) => OpenRegistry::new(repo, dir, index, notices, None),
            None => self.begin_change(),
        }
    }

    fn open_repo(&self) -> Result<(Repo, PathBuf), StoreError> {
        let repo = self.repo.open(&self.root)?;
        super::prepare(&repo.root)?;
        crate::process::history::recover(repo.git_dir(), repo.common());
        let dir = repo.root.join(".worktrees");
        let dir = fs::canonicalize(&dir).map_err(StoreError::at(dir))?;
        Ok((repo, dir))
    }
}

impl OpenRegistry {
    fn new(
        mut repo: Repo,
        dir: PathBuf,
        index: WorktreeIndex,
        notices: Vec<String>,
        lock: Option<Lock>,
    ) -> Result<OpenRegistry, StoreError> {
        if let Some(lock) = &lock {
            repo.git = repo.git.with_lock(lock.share()?);
        }
        let mut work = OpenRegistry {
            log: WorktreeLog::open(&dir),
            repo,
            dir,
            index,
            notices,
            _lock: lock,
        };
        work.adopt()?;
        Ok(work)
    }

    /// Adds crewdeck's worktrees that git lists but the registry lacks, because the registry was lost or a process was
    /// killed before writing it. The next change saves these entries.
    fn adopt(&mut self) -> Result<(), StoreError> {
        let is_known = |dir: &PathBuf| {
            let name = self.name_of(dir);
            name.is_none_or(|name| self.index.get(&name).is_some())
        };
        // Nearly always the registry lacks nothing, which can be seen without running git.
        let folders = self.repo.registered_folders();
        if folders.is_some_and(|folders| folders.iter().all(is_known)) {
            return Ok(());
        }
        for known in self.repo.list_worktrees()? {
            let Some(name) = self.name_of(&known.path) else {
                continue;
            };
            let is_ours = known.branch == Some(name.branch());
            let is_made = known.locked.as_deref() != Some(INITIALIZING);
            if is_ours && is_made && self.index.get(&name).is_none() && known.path.exists() {
                let path = known.path.to_string_lossy().into_owned();
                self.index
                    .put(Worktree::new(name, path, Timestamp::default()));
            }
        }
        Ok(())
    }

    /// Returns the name of the worktree in the folder `path`; `None` if the folder is not in `.worktrees/` or its name
    /// is not a valid worktree name.
    fn name_of(&self, path: &Path) -> Option<WorktreeName> {
        let text = path.file_name()?.to_str()?;
        let is_here = path.parent() == Some(&self.dir);
        WorktreeName::new(text).ok().filter(|_| is_here)
    }

    fn folder(&self, name: &WorktreeName) -> WorktreeFolder {
        let dir = self.dir.join(name.as_str());
        let on_disk = |on_disk| WorktreeFolder {
            on_disk,
            dir: dir.clone(),
            git: None,
        };
        match fs::symlink_metadata(&dir) {
            Err(_) => return on_disk(FolderState::Missing),
            Ok(meta) if !meta.is_dir() => return on_disk(FolderState::Foreign),
            Ok(_) => {}
        }
        if let Some(own) = self.repo.git_dir_of(&dir) {
            let git = self.git_of(name, &dir, &own);
            return WorktreeFolder {
                git: Some((git, own)),
                ..on_disk(FolderState::Whole)
            };
        }
        let is_empty = fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none());
        on_disk(if is_empty {
            FolderState::Missing
        } else {
            FolderState::Foreign
        })
    }

    /// Returns a [`Git`] that runs in `dir`, the folder of the worktree `name`. `own` is the worktree's git folder. Git
    /// ignores the files that were copied into the worktree.
    fn git_of(&self, name: &WorktreeName, dir: &Path, own: &Path) -> Git {
        let git = &self.repo.git;
        let git = git.in_worktree(&self.dir, dir, own, self.repo.common());
        match self.excludes_of(name) {
            Some(excludes) => git.with_excludes(&excludes),
            None => git,
        }
    }

    /// Returns a [`Git`] that runs in a worktree's folder, and the worktree's git folder. Fails if the worktree is missing or
    /// not valid.
    fn valid_folder(&self, name: &WorktreeName) -> Result<(Git, PathBuf), StoreError> {
        let tree = self.folder(name);
        match (tree.on_disk, tree.git) {
            (FolderState::Whole, Some(found)) => Ok(found),
            (FolderState::Whole | FolderState::Foreign, _) => {
                Err(WorktreeError::Foreign(name.clone()).into())
            }
            (FolderState::Missing, _) => Err(WorktreeError::Missing(name.clone()).into()),
        }
    }

    /// Returns the base branch of a worktree as name and commit: the branch that the worktree started from if it still
    /// exists, else what the main worktree has checked out. The name is `None` if `HEAD` of the main worktree is
    /// detached.
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

/// Reads the registry and adds notices about its entries to `notices`. Returns `None` if the registry is damaged, and
/// an empty registry if there is no file. Fails if the file cannot be read or has values that this version does not
/// know.
fn read_index(dir: &Path, notices: &mut Vec<String>) -> Result<Option<WorktreeIndex>, StoreError> {
    let path = index_path(dir);
    match read_stable::read::<WorktreeIndex>(&path)? {
        StableRead::Valid(index) => {
            notices.extend(index.notices());
            Ok(Some(index))
        }
        StableRead::Missing => Ok(Some(WorktreeIndex::default())),
        StableRead::Damaged(_) => Ok(None),
        StableRead::Unsupported(why) => Err(StoreError::File {
            path,
            why: std::io::Error::other(format!("{why}: fix it or move it away")),
        }),
    }
}

/// Renames a damaged registry and returns an empty one. The caller holds the worktree lock. The existing worktrees are
/// found again through git.
fn replace_damaged_index(
    dir: &Path,
    notices: &mut Vec<String>,
) -> Result<WorktreeIndex, StoreError> {
    let aside = atomic::set_aside(&index_path(dir))?;
    let aside = aside.file_name().unwrap_or_default().to_string_lossy();
    notices.push(format!(
        ".worktrees/index.json was damaged and was renamed to .worktrees/{aside}"
    ));
    Ok(WorktreeIndex::default())
}

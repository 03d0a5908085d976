//! Reads from the disk the facts on which the sandbox plan of a command depends.

use std::fs;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::{CacheFolder, HistoryProtection, PlanInputs, SandboxPlan, plan, sockets};
use crate::domain::folders::{CHECK_CACHE, CHECK_CHECKOUTS, STATE, WORKTREE_CACHE_PREFIX};
use crate::domain::sandbox::SocketGroup;
use crate::process::environment;
use crate::process::history::{
    CommandTransfer, PrivateHistory, TransferPhase, WritableBranch, hooks_path,
};

/// Maximum number of task worktrees that a command in the root can write; further ones are read-only. Also the maximum
/// number of entries that are searched for the git folder of a worktree.
const TREES_MAX: usize = 256;
/// Maximum number of bytes that are read of a small file in a git folder, such as `gitdir` or `config`.
const LINK_MAX: u64 = 16 * 1024;
/// Files and folders with keys and tokens for git servers, relative to the home directory. They are hidden from
/// commands, except in these cases:
///
/// - The settings allow the group [`SocketGroup::Ssh`].
/// - The user has approved the command as a git command.
/// - The folder contains the command's work directory.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".git-credentials",
    ".config/git/credentials",
    ".netrc",
    ".config/gh",
];

/// Where a command writes git history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HistoryReach {
    /// The command writes to a private copy of the history, one per work directory. After the command, the changes in
    /// this copy are transferred to the repository. Some changes are refused, such as those that would lose commits of
    /// the root's branch. Where a setting or the format of the repository prevents a private copy, the command writes
    /// to the repository.
    #[default]
    Private,
    /// The command writes to the repository itself. Only for git commands that the user has approved.
    Repository,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDirs {
    /// The git folder of the root itself. Differs from `common` if the root is itself a linked worktree.
    pub own: PathBuf,
    /// The git folder that all worktrees share.
    pub common: PathBuf,
}

/// The sandbox settings for the commands of a crew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    root: PathBuf,
    git: Option<GitDirs>,
    temp: Vec<PathBuf>,
    write: Vec<PathBuf>,
    caches: Vec<CacheFolder>,
    sockets: Vec<SocketGroup>,
    approved: SharedFiles,
    is_history_unprotected: bool,
    has_warned: SharedFlag,
    has_created_caches: SharedFlag,
}

/// A flag that is set once and shared by all clones. Two flags always compare as equal.
#[derive(Debug, Clone, Default)]
struct SharedFlag(Arc<AtomicBool>);

impl PartialEq for SharedFlag {
    fn eq(&self, _: &SharedFlag) -> bool {
        true
    }
}

impl Eq for SharedFlag {}

/// A list of files that all clones share. Two lists always compare as equal.
#[derive(Debug, Clone, Default)]
struct SharedFiles(Arc<RwLock<Arc<[PathBuf]>>>);

impl PartialEq for SharedFiles {
    fn eq(&self, _: &SharedFiles) -> bool {
        true
    }
}

impl Eq for SharedFiles {}

/// The note in the first tool result if the repository's format prevents protection of the history.
pub const HISTORY_EXPOSED: &str = "[The history of this repository is not protected from commands: its refs are stored in \
    the reftable format, for which crewdeck has no protection. Run no command that could delete or rewind commits \
    without asking the user. The user can convert the repository when it has no worktrees: \
    `git refs migrate --ref-format=files`.]";

/// The note in the first tool result if the settings disable protection of the history.
const HISTORY_PROTECTION_OFF: &str = "[The history of this repository is not protected from commands (setting \
    sandbox = \"files\"). Run no command that could delete or rewind commits without asking the user.]";

/// The note in the first tool result if the git folder is read-only.
const GIT_READ_ONLY: &str = "[Commands cannot write to the git folder, and they cannot create new files in the root folder \
    of the repository: this machine has no user namespaces, which are needed to protect the history. Read-only git \
    commands work. Do not run git add, commit, merge or other commands that write to git: they fail. crewdeck \
    commits the changes in a worktree when its task is completed. To allow git writes, the user can enable user \
    namespaces or set sandbox = \"files\".]";

impl Sandbox {
    /// Creates the sandbox settings for the crew in `root`. Commands can write in their work directory, in `temp` and
    /// in `write`. `git` is `None` outside of a repository. Symbolic links in the paths are resolved now.
    pub fn new(root: &Path, git: Option<GitDirs>, temp: &[PathBuf], write: &[PathBuf]) -> Sandbox {
        let git = git.map(|git| GitDirs {
            own: real(&git.own),
            common: real(&git.common),
        });
        let all = |paths: &[PathBuf]| paths.iter().map(|p| real(p)).collect();
        Sandbox {
            root: real(root),
            git,
            temp: all(temp),
            write: all(write),
            caches: Vec::new(),
            sockets: Vec::new(),
            approved: SharedFiles::default(),
            is_history_unprotected: false,
            has_warned: SharedFlag::default(),
            has_created_caches: SharedFlag::default(),
        }
    }

    /// Returns a warning for the model if `plan` leaves the git history unprotected or makes it read-only. Returns the
    /// warning only once per crew; afterwards, and for other plans, returns `None`.
    pub fn warning(&self, plan: &SandboxPlan) -> Option<&'static str> {
        let text = match plan.keeps_history {
            HistoryProtection::Private => return None,
            HistoryProtection::ReadOnly => GIT_READ_ONLY,
            HistoryProtection::Nothing if self.is_history_unprotected => HISTORY_PROTECTION_OFF,
            HistoryProtection::Nothing => HISTORY_EXPOSED,
        };
        let is_first = !self.has_warned.0.swap(true, Ordering::Relaxed);
        is_first.then_some(text)
    }

    /// Disables protection of the git history: commands write to the repository itself.
    #[must_use]
    pub fn without_history(self) -> Sandbox {
        Sandbox {
            is_history_unprotected: true,
            ..self
        }
    }

    /// Allows commands to write these caches. Before the first command starts, those of installed programs are created if
    /// they are missing.
    #[must_use]
    pub fn with_caches(self, caches: Vec<CacheFolder>) -> Sandbox {
        let mut write = self.write;
        for cache in &caches {
            let path = real(&cache.path);
            if !write.contains(&path) {
                write.push(path);
            }
        }
        Sandbox {
            write,
            caches,
            has_created_caches: SharedFlag::default(),
            ..self
        }
    }

    /// Allows commands to connect to the sockets in these groups. The sockets of all other groups are hidden.
    #[must_use]
    pub fn with_sockets(self, sockets: &[SocketGroup]) -> Sandbox {
        Sandbox {
            sockets: sockets.to_vec(),
            ..self
        }
    }

    /// Makes `files` read-only for commands: project files that the user has approved to run outside of the sandbox.
    /// Leaves out files in the state folders of crewdeck, which are read-only as a whole.
    #[must_use]
    pub fn with_approved(self, files: &[PathBuf]) -> Sandbox {
        let new = Sandbox {
            approved: SharedFiles::default(),
            ..self
        };
        new.add_approved(files);
        new
    }

    /// Like [`Sandbox::with_approved`], for files that the user approves while the crew runs, in addition to the files so
    /// far. Changes all clones. Has no effect on commands that run already.
    pub fn add_approved(&self, files: &[PathBuf]) {
        // The folders of crewdeck's state are read-only as a whole.
        let is_in_state = |path: &PathBuf| {
            let mut folders = STATE.iter().map(|name| self.root.join(name));
            folders.any(|folder| path.starts_with(folder))
        };
        let files = files.iter().map(|path| real(path));
        let files: Vec<PathBuf> = files.filter(|path| !is_in_state(path)).collect();
        let all = self.approved.0.write();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        let mut new = all.to_vec();
        new.extend(files);
        new.sort();
        new.dedup();
        *all = new.into();
    }

    /// Returns the files that [`Sandbox::with_approved`] and [`Sandbox::add_approved`] made read-only, with symbolic links
    /// resolved.
    pub fn approved_files(&self) -> Arc<[PathBuf]> {
        let files = self.approved.0.read();
        Arc::clone(&files.unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the names of the environment variables that commands do not get.
    pub fn unset_variables(&self) -> Vec<String> {
        sockets::unset(&self.sockets)
    }

    /// Like [`Sandbox::start`], but returns only the plan. Git changes that the command makes in its private history
    /// are therefore copied to the repository only when the next command in `workdir` starts.
    pub fn plan(&self, workdir: &Path, reach: HistoryReach) -> SandboxPlan {
        self.start(workdir, reach).0
    }

    /// Returns the plan for a command that starts in `workdir` now. Also returns the [`CommandTransfer`] with which the
    /// caller must copy the command's git changes to the repository afterwards; `None` if the work directory can have
    /// no private history. Creates missing folders and files that must be read-only. Blocks, and runs git if an earlier
    /// command has left changes that were not copied yet.
    pub fn start(
        &self,
        workdir: &Path,
        reach: HistoryReach,
    ) -> (SandboxPlan, Option<CommandTransfer>) {
        let workdir = real(workdir);
        if !self.has_created_caches.0.load(Ordering::Relaxed) {
            self.caches.iter().for_each(|cache| cache.create(&workdir));
            self.has_created_caches.0.store(true, Ordering::Relaxed);
        }
        let own_git = self.git.as_ref().and_then(|git| {
            if workdir == self.root {
                Some(git.own.clone())
            } else {
                git_dir_of(&workdir, &git.common)
            }
        });
        if let Some(own) = own_git.as_ref().filter(|own| own.is_dir()) {
            // Only existing paths can be mounted over. Without this call, the command could create a missing path.
            create_missing_protected_files(own);
        }
        let history = own_git
            .as_ref()
            .and_then(|own| self.history_of(&workdir, own));
        let is_history_exposed = own_git.is_some()
            && (history.is_none() || self.is_history_unprotected)
            && reach == HistoryReach::Private;
        let is_private = reach == HistoryReach::Private && !self.is_history_unprotected;
        // A command that writes to the repository itself also needs the changes of earlier commands.
        let phase = if is_private {
            TransferPhase::BeforePrivate
        } else {
            TransferPhase::BeforeRepository
        };
        let running = history.as_ref().map(|history| history.start(phase));
        let history = history.filter(|_| is_private);
        let hooks = own_git
            .as_ref()
            .filter(|_| reach == HistoryReach::Repository && !self.is_history_unprotected)
            .and_then(|own| hooks_path(own));
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let protected = self.protected_folders(&workdir);
        let is_open = |group| self.sockets.contains(&group);
        let mut hidden = sockets::hidden_paths(&self.sockets, home.as_deref(), &self.root);
        // Only an existing folder can be hidden.
        let logins = environment::login_folder().filter(|folder| folder.is_dir());
        hidden.extend(logins.map(|folder| real(&folder)));
        if reach == HistoryReach::Private && !is_open(SocketGroup::Ssh) {
            let home = home.as_deref().into_iter();
            let paths = home.flat_map(|home| CREDENTIALS.iter().map(|name| home.join(name)));
            let there = paths.filter_map(|path| fs::canonicalize(path).ok());
            hidden.extend(there.filter(|path| !workdir.starts_with(path)));
        }
        let plan = plan(&PlanInputs {
            hidden,
            abstract_sockets: is_open(SocketGroup::Display) || is_open(SocketGroup::Dbus),
            unset: sockets::unset(&self.sockets),
            history,
            is_history_exposed,
            hooks: hooks.map(|path| real(&workdir.join(path))),
            trees: if workdir == self.root {
                trees(&self.root)
            } else {
                Vec::new()
            },
            cache: cache_of(&self.root, &workdir),
            root: self.root.clone(),
            own_git,
            common_git: self.git.as_ref().map(|git| git.common.clone()),
            protected,
            temp: self.temp.clone(),
            write: self.write.clone(),
            workdir,
        });
        (plan, running)
    }
}

impl Sandbox {
    /// Returns the folders with the user's settings and decisions to which a command could write, followed by all files
    /// that the user has approved. Creates missing folders, because only existing ones can be mounted over.
    fn protected_folders(&self, workdir: &Path) -> Vec<PathBuf> {
        let writable = || {
            let others = self.temp.iter().chain(&self.write).map(PathBuf::as_path);
            others.chain([workdir])
        };
        let mut folders = environment::user_folders();
        folders.retain(|folder| writable().any(|path| folder.starts_with(path)));
        for folder in &folders {
            // An error is ignored here. It shows again when the folder is used.
            let _ = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder);
        }
        let folders = folders.iter().map(|folder| real(folder));
        let approved = self.approved_files();
        folders.chain(approved.iter().cloned()).collect()
    }

    fn history_of(&self, workdir: &Path, own: &Path) -> Option<PrivateHistory> {
        let common = &self.git.as_ref()?.common;
        let name = own.file_name()?.to_str()?;
        if workdir == self.root {
            PrivateHistory::of(own, common, "root", WritableBranch::checked_out(own))
        } else {
            PrivateHistory::of(own, common, name, WritableBranch::of_worktree(name))
        }
    }
}

/// Resolves symbolic links. A path that does not exist is returned unchanged.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Returns the git folder that the repository `common` records for the worktree in `workdir`; `None` if it records
/// none. First looks for a record with the name of the directory, then in the first [`TREES_MAX`] records. The
/// worktree's own `.git` file is not trusted, because agents can write it.
fn git_dir_of(workdir: &Path, common: &Path) -> Option<PathBuf> {
    let link = workdir.join(".git");
    let all = common.join("worktrees");
    let is_its = |own: &PathBuf| {
        short_file(&own.join("gitdir")).is_some_and(|text| Path::new(text.trim()) == link)
    };
    let likely = all.join(workdir.file_name()?);
    if is_its(&likely) {
        return Some(likely);
    }
    let entries = fs::read_dir(&all).ok()?.flatten().take(TREES_MAX);
    entries.map(|e| e.path()).find(is_its)
}

fn short_file(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(LINK_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Creates paths that are missing in the git folder `own` and must be read-only, because only existing paths can be
/// mounted read-only. These are the hooks folder and, if git reads that file, `config.worktree`.
fn create_missing_protected_files(own: &Path) {
    let settings = short_file(&own.join("config")).unwrap_or_default();
    let reads_more = settings.to_ascii_lowercase().contains("worktreeconfig");
    if own.join("config").exists() {
        // Fails if the folder exists, or if it cannot be written, which protects it as well.
        let _ = fs::create_dir(own.join("hooks"));
    }
    if reads_more {
        let path = own.join("config.worktree");
        let _ = fs::OpenOptions::new().append(true).create(true).open(path);
    }
}

/// Returns the cache folder of the worktree, or of the checkout of a check, in `workdir`; `None` if `workdir` is neither,
/// or has no such folder.
fn cache_of(root: &Path, workdir: &Path) -> Option<PathBuf> {
    let parent = workdir.parent()?;
    let path = if parent == root.join(".worktrees") {
        let name = workdir.file_name()?.to_str()?;
        parent.join(format!("{WORKTREE_CACHE_PREFIX}{name}"))
    } else if parent == root.join(CHECK_CHECKOUTS) {
        root.join(CHECK_CACHE)
    } else {
        return None;
    };
    fs::symlink_metadata(&path)
        .is_ok_and(|meta| meta.is_dir())
        .then_some(path)
}

fn trees(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(".worktrees")) else {
        return Vec::new();
    };
    // Caches of worktrees, and worktrees that are being removed.
    let is_hidden = |e: &fs::DirEntry| e.file_name().as_encoded_bytes().starts_with(b".");
    let is_folder = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_dir()) && !is_hidden(e);
    let folders = entries.flatten().filter(is_folder).take(TREES_MAX);
    folders.map(|e| e.path()).collect()
}

//! What a crew's confinement rests on, and the look at the disk that each command's plan needs.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{PlanInputs, KeepsHistory, SandboxPlan, plan, sockets};
use crate::domain::sandbox::SocketGroup;
use crate::process::history::{Branch, Phase, PrivateHistory, CommandTransfer, hooks_path};

/// Most worktrees that are looked at.
const TREES_MAX: usize = 256;
/// Most bytes of a file that holds a path.
const LINK_MAX: u64 = 16 * 1024;
/// Caches below the home directory that builds fill. Not what other programs run unasked: `~/.cargo/bin`
/// and the like stay closed.
const CACHES: &[&str] = &[
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm",
    ".yarn",
    ".bun/install/cache",
    ".local/share/pnpm",
    ".gradle/caches",
    ".gradle/daemon",
    ".m2/repository",
    ".nuget/packages",
    "go/pkg",
    "Library/Caches",
];

/// What of the history of a repository a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HistoryReach {
    /// A private part, of which only what loses nothing is transferred.
    #[default]
    Private,
    /// The repository itself: for a git command that the user was asked about.
    Repository,
}

/// The git folders of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDirs {
    /// The root's own one.
    pub own: PathBuf,
    /// The one that all worktrees share.
    pub common: PathBuf,
}

/// How the commands of a crew are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    root: PathBuf,
    git: Option<GitDirs>,
    temp: Vec<PathBuf>,
    write: Vec<PathBuf>,
    sockets: Vec<SocketGroup>,
    is_history_given_up: bool,
    has_warned: Once,
}

/// Something that is said once for all copies of a value, which are equal whether it was said.
#[derive(Debug, Clone, Default)]
struct Once(Arc<AtomicBool>);

impl PartialEq for Once {
    fn eq(&self, _: &Once) -> bool {
        true
    }
}

impl Eq for Once {}

/// The note in the first result of a session where the history cannot be protected.
pub const HISTORY_EXPOSED: &str = "[The history of this repository is not protected from commands: its refs are stored in \
    the reftable format, which crewdeck cannot keep apart. Run no command that could delete or rewind commits without \
    asking the user. The user can convert the repository when it has no worktrees: \
    `git refs migrate --ref-format=files`.]";

/// The same where the settings say so.
const HISTORY_GIVEN_UP: &str = "[The history of this repository is not protected from commands (setting \
    confine = \"files\"). Run no command that could delete or rewind commits without asking the user.]";

/// The note in the first result of a session where the git folder is read-only.
const GIT_READ_ONLY: &str = "[Commands cannot write the git folder here, and in the root of the repository they cannot \
    create files beside those that are there: this machine has no private view of the file system (user namespaces) in \
    which the history could be protected. git reads work. git add, commit, merge and the like fail in a command, so do \
    not try them: crewdeck commits what is left in a worktree when its task is completed. The user can allow user \
    namespaces, or set confine = \"files\".]";

/// The folders that commands may write everywhere: caches below `home`, and `named`, in which `~/` is `home`.
pub fn own_folders(home: Option<&Path>, named: &[String]) -> Vec<PathBuf> {
    let caches = home
        .into_iter()
        .flat_map(|home| CACHES.iter().map(|c| home.join(c)));
    let named = named.iter().map(|name| match (name.as_str(), home) {
        ("~", Some(home)) => home.to_path_buf(),
        (name, Some(home)) if name.starts_with("~/") => home.join(&name[2..]),
        (name, _) => name.into(),
    });
    caches.chain(named).collect()
}

impl Confinement {
    /// A confinement of the commands of the crew in `root`: they may write in their work directory, in `temp`
    /// and in `write`.
    pub fn new(
        root: &Path,
        git: Option<GitDirs>,
        temp: &[PathBuf],
        write: &[PathBuf],
    ) -> Confinement {
        let git = git.map(|git| GitDirs {
            own: real(&git.own),
            common: real(&git.common),
        });
        let all = |paths: &[PathBuf]| paths.iter().map(|p| real(p)).collect();
        Confinement {
            root: real(root),
            git,
            temp: all(temp),
            write: all(write),
            sockets: Vec::new(),
            is_history_given_up: false,
            has_warned: Once::default(),
        }
    }

    /// What to tell the model about the history that a command of this plan wrote, once for a crew.
    pub fn warning(&self, plan: &SandboxPlan) -> Option<&'static str> {
        let text = match plan.keeps_history {
            KeepsHistory::Private => return None,
            KeepsHistory::ReadOnly => GIT_READ_ONLY,
            KeepsHistory::Nothing if self.is_history_given_up => HISTORY_GIVEN_UP,
            KeepsHistory::Nothing => HISTORY_EXPOSED,
        };
        let is_first = !self.has_warned.0.swap(true, Ordering::Relaxed);
        is_first.then_some(text)
    }

    /// The same without protection of the history: commands write the repository itself.
    #[must_use]
    pub fn without_history(self) -> Confinement {
        Confinement {
            is_history_given_up: true,
            ..self
        }
    }

    /// The same with services that commands may reach on their sockets.
    #[must_use]
    pub fn with_sockets(self, sockets: &[SocketGroup]) -> Confinement {
        Confinement {
            sockets: sockets.to_vec(),
            ..self
        }
    }

    /// The plan for a command in `workdir`, as it is when no command runs there.
    pub fn plan(&self, workdir: &Path, reach: HistoryReach) -> SandboxPlan {
        self.start(workdir, reach).0
    }

    /// The plan for a command that starts in `workdir` now. Runs git where an earlier command was cut off.
    pub fn start(&self, workdir: &Path, reach: HistoryReach) -> (SandboxPlan, Option<CommandTransfer>) {
        let workdir = real(workdir);
        let own_git = self.git.as_ref().and_then(|git| {
            if workdir == self.root {
                Some(git.own.clone())
            } else {
                git_dir_of(&workdir, &git.common)
            }
        });
        if let Some(own) = own_git.as_ref().filter(|own| own.is_dir()) {
            // What is not there can not be mounted over, and what must not be written must not be made either.
            keep_what_is_missing(own);
        }
        let history = own_git
            .as_ref()
            .and_then(|own| self.history_of(&workdir, own));
        let is_history_exposed = own_git.is_some()
            && (history.is_none() || self.is_history_given_up)
            && reach == HistoryReach::Private;
        let is_private = reach == HistoryReach::Private && !self.is_history_given_up;
        // Also before a command that writes the repository itself: what the one before it made must be there.
        let phase = if is_private {
            Phase::BeforePrivate
        } else {
            Phase::BeforeRepository
        };
        let running = history.as_ref().map(|history| history.start(phase));
        let history = history.filter(|_| is_private);
        let hooks = own_git
            .as_ref()
            .filter(|_| reach == HistoryReach::Repository && !self.is_history_given_up)
            .and_then(|own| hooks_path(own));
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let is_open = |group| self.sockets.contains(&group);
        let plan = plan(&PlanInputs {
            hidden: sockets::hidden(&self.sockets, home.as_deref(), &self.root),
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
            root: self.root.clone(),
            own_git,
            common_git: self.git.as_ref().map(|git| git.common.clone()),
            temp: self.temp.clone(),
            write: self.write.clone(),
            workdir,
        });
        (plan, running)
    }
}

impl Confinement {
    fn history_of(&self, workdir: &Path, own: &Path) -> Option<PrivateHistory> {
        let common = &self.git.as_ref()?.common;
        let name = own.file_name()?.to_str()?;
        if workdir == self.root {
            PrivateHistory::of(own, common, "root", Branch::checked_out(own))
        } else {
            PrivateHistory::of(own, common, name, Branch::of_worktree(name))
        }
    }
}

/// The path without symbolic links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The git folder of the worktree in `workdir`, as the repository has it: what `.git` in there says is the
/// agent's to write, and counts for nothing.
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

/// Makes the folder of hooks, and the worktree's own settings where git would read them.
fn keep_what_is_missing(own: &Path) {
    let settings = short_file(&own.join("config")).unwrap_or_default();
    let reads_more = settings.to_ascii_lowercase().contains("worktreeconfig");
    if own.join("config").exists() {
        // Where it fails nobody can write there, the command neither.
        let _ = fs::create_dir(own.join("hooks"));
    }
    if reads_more {
        let path = own.join("config.worktree");
        let _ = fs::OpenOptions::new().append(true).create(true).open(path);
    }
}

fn trees(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(".worktrees")) else {
        return Vec::new();
    };
    let is_folder = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_dir());
    let folders = entries.flatten().filter(is_folder).take(TREES_MAX);
    folders.map(|e| e.path()).collect()
}

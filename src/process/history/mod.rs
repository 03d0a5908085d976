//! Protects the git history of a repository from the commands that agents run.
//!
//! A sandboxed command cannot write to the repository's own `objects` and `refs`. The mount view (see
//! [`sandbox`](super::sandbox)) replaces them by private folders. Each work directory has its own private folders, in
//! the folder `crewdeck/` of its git folder. A *transfer* copies the git changes of commands from there to the
//! repository. The folder `crewdeck/` contains:
//!
//! - `objects` receives new objects. The repository's objects are its alternate and are read-only.
//! - `refs` is a copy of the repository's loose refs. `packed-refs` is not copied but read-only, with the limitation
//!   described below.
//! - `logs` has the reflogs of this work directory only, and with them its stash.
//! - `base` is the content of `refs` after the last transfer.
//! - `made` lists the refs that commands in this work directory have created.
//! - `checkout` has copies of `HEAD`, `index` and `logs/HEAD`, from which these files are restored.
//! - `commands` is locked while commands run.
//! - `notes` holds text for the result of the next command.
//!
//! Limitation: some files are made read-only by mounting them over themselves. These are `config.worktree`, and in the
//! root also `config` and `packed-refs`. If a program outside the sandbox, such as `git config` or `git pack-refs`,
//! replaces such a file by renaming, the kernel removes the mount. A command that is already running can then write the
//! new file.
//!
//! `PrivateHistory::transfer` runs before and after each command. It first copies new objects into the repository, then
//! updates the refs that `refs::verdict` accepts, each only if it still has the value that the command saw. A crash
//! between the two steps leaves unreferenced objects, and the next transfer continues from `base`. Commits would lose
//! their last ref if the change that adds them is refused, or if a change replaces them. Such commits are kept below
//! `refs/crewdeck/beside/`.
//!
//! Objects are copied through git, which computes their names from their content. So a damaged or substituted object
//! never enters the repository under another name, and no file of the repository shares an inode with a file that a
//! command can write.
//!
//! Processes that are killed leave locks in the private folders. If no command runs, these locks are removed by each
//! transfer and by the repair at the start of a crew: see `leftovers`.

mod accept;
mod checkout;
mod command_lock;
mod folder;
mod git;
mod leftovers;
mod objects;
mod refs;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

pub use accept::RefusedRef;
use checkout::Checkout;
pub use command_lock::{CommandLock, CommandTransfer};
use folder::Folder;
pub use git::hooks_path;
pub use leftovers::{remove_stale_locks, stale_locks};
use refs::RefMap;
pub use refs::{WritableBranch, is_hash};

/// The name of the folder with the private history, in the git folder of a work directory.
pub const FOLDER: &str = "crewdeck";
/// The folder at which a sandbox mounts the repository's own objects. It is below [`FOLDER`] in the common git folder.
pub const SHARED_OBJECTS: &str = "shared";
/// If a command creates a file that only the user may create, the supervisor renames the file by appending this suffix.
pub const SET_ASIDE: &str = ".set-aside";
/// Prefix of the refs that crewdeck creates to keep objects from being deleted. They are hidden from commands.
const KEPT_REFS: &str = "refs/crewdeck/";
/// Maximum number of stash entries whose objects are kept. Garbage collection may delete the objects of older entries.
const STASH_MAX: usize = 64;
/// Maximum size of a small file in the private folder, such as `notes`, in bytes.
const FILE_MAX: u64 = 64 * 1024;
/// Maximum size of the stash's reflog, in bytes. A larger reflog counts as an empty stash.
const LOG_MAX: u64 = 16 * 1024 * 1024;
/// Maximum size of the repository's `objects/info/alternates`, in bytes.
const ALTERNATES_MAX: u64 = 1024 * 1024;
/// Maximum size of a repository's `config`, in bytes. A larger file counts as empty.
const CONFIG_MAX: u64 = 4 * 1024 * 1024;
/// Maximum number of refused refs that the result of a command lists. Of the others, the result says only how many
/// there are.
const NAMED_MAX: usize = 5;

/// The private history of one work directory: the objects, refs and reflogs to which the commands in that directory
/// write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateHistory {
    /// The git folder that all worktrees share.
    pub common: PathBuf,
    /// The private folder: [`FOLDER`] in the git folder of the work directory.
    pub dir: PathBuf,
    /// The name of the work directory, unique in the repository. Part of the names of its refs below `KEPT_REFS`.
    pub name: String,
    /// The branch that commands in this work directory can update, besides the refs that they have created.
    pub branch: WritableBranch,
}

/// The occasion of a transfer, which copies the git changes of commands from a private history to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferPhase {
    /// Before a command that writes to the private history.
    BeforePrivate,
    /// Before a command that writes to the repository itself, because the user approved it or the history is not
    /// protected.
    BeforeRepository,
    /// After a command that wrote to the private history, to copy its git changes to the repository.
    After,
    /// When the worktrees of the repository are read or changed, to recover changes of a killed crew.
    Recovery,
}

/// What the model must know about a transfer of git changes from a private history to the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransferReport {
    pub refused: Vec<RefusedRef>,
    /// One line for the model for each file in the git folder of the work directory that was restored, was moved away,
    /// or could not be checked for damage.
    pub restored: Vec<String>,
    /// The notes of earlier transfers that no result of a command has shown yet.
    pub earlier: Option<String>,
}

impl TransferReport {
    /// Formats the report for the model, one line per item; `None` if there is nothing to report.
    pub fn note(&self) -> Option<String> {
        let refused = self.refused.iter().take(NAMED_MAX);
        let mut lines: Vec<String> = Vec::new();
        if let Some(earlier) = &self.earlier {
            lines.push("[Earlier commands in this directory made these git changes:]".into());
            lines.push(earlier.clone());
        }
        lines.extend(refused.map(RefusedRef::line));
        let more = self.refused.len().saturating_sub(NAMED_MAX);
        if more > 0 {
            lines.push(format!("[{more} more refs were not updated.]"));
        }
        lines.extend(self.restored.iter().cloned());
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl PrivateHistory {
    /// Returns the private history of a work directory whose git folder is `own`. `None` if the repository stores its
    /// refs in a format that cannot be copied file by file.
    pub fn of(
        own: &Path,
        common: &Path,
        name: &str,
        branch: WritableBranch,
    ) -> Option<PrivateHistory> {
        can_be_private(common).then(|| PrivateHistory {
            common: common.to_path_buf(),
            dir: own.join(FOLDER),
            name: name.to_string(),
            branch,
        })
    }

    /// Creates what is missing:
    ///
    /// - the private folders, and the file `alternates` that names the repository's objects for them;
    /// - in the repository, what the sandbox covers with a private version: the folder [`SHARED_OBJECTS`] and an empty
    ///   file `packed-refs`.
    ///
    /// Removes a file that is in the place of a private subfolder.
    ///
    /// # Errors
    /// Fails if a folder or file cannot be written, or the repository's alternates cannot be read.
    pub fn prepare(&self) -> io::Result<()> {
        let dir = self.folder()?;
        for path in [
            "objects/info",
            "objects/pack",
            "refs/heads",
            "refs/tags",
            "logs/refs",
        ] {
            let (first, second) = path.split_once('/').unwrap_or((path, ""));
            let first = dir.make(first)?;
            if first.kind(second)? == Some(FileType::RegularFile) {
                first.remove_file(second)?;
            }
            first.make(second)?;
        }
        let packed = self.common.join("packed-refs");
        if packed.symlink_metadata().is_err() {
            // Only an existing file can be mounted read-only.
            if let Err(e) = fs::File::create_new(packed)
                && e.kind() != io::ErrorKind::AlreadyExists
            {
                return Err(e);
            }
        }
        let shared = self.common.join(FOLDER).join(SHARED_OBJECTS);
        if !shared.is_dir() {
            fs::create_dir_all(&shared)?;
        }
        let mut wanted = format!("{}\n", shared.display());
        // Makes relative alternates of the repository absolute, because its objects are mounted at another path, from
        // which relative alternates do not resolve.
        let objects = self.common.join("objects");
        let info = Folder::open(&objects).and_then(|all| all.sub("info"));
        let own = match info.and_then(|info| info.read("alternates", ALTERNATES_MAX)) {
            Ok(text) => text.unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => {
                let why = format!("{}: {e}", objects.join("info/alternates").display());
                return Err(io::Error::new(e.kind(), why));
            }
        };
        for line in own
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with(['/', '#']))
        {
            if let Ok(path) = fs::canonicalize(objects.join(line)) {
                wanted.push_str(&format!("{}\n", path.display()));
            }
        }
        let info = dir.sub("objects")?.sub("info")?;
        for (name, kind) in info.entries()? {
            if !kind.is_file() {
                info.remove(name)?;
            }
        }
        if info.read("alternates", FILE_MAX).ok().flatten().as_ref() != Some(&wanted) {
            info.write("alternates", &wanted)?;
        }
        Ok(())
    }

    /// Opens the private folder, and creates it if it is missing.
    fn folder(&self) -> io::Result<Folder> {
        Folder::open(self.own())?.make(FOLDER)
    }

    /// Returns whether a command has left changes to transfer: new objects, or a new value of [`Self::branch`]. Does
    /// not detect changes of other refs that need no new objects. False if no command has run yet or the private folder
    /// cannot be read. Cheap: takes only a few system calls.
    pub fn is_pending(&self) -> bool {
        let own = self.dir.parent().map(Folder::open);
        let Some(Ok(dir)) = own.map(|own| own.and_then(|own| own.sub(FOLDER))) else {
            return false;
        };
        if !matches!(dir.kind("base"), Ok(Some(_))) {
            return false;
        }
        let of = |folder: &Folder| match &self.branch {
            WritableBranch::Own(name) | WritableBranch::ForwardOnly(name) => {
                refs::loose(folder, name)
            }
            WritableBranch::None => None,
        };
        let private = of(&dir);
        let shared = || Folder::open(&self.common).ok().and_then(|all| of(&all));
        objects::has_objects(&dir) || private.is_some() && private != shared()
    }

    /// Copies objects and ref changes that commands have made from the private history to the repository. Then updates
    /// the private refs to those of the repository. Blocks while another transfer runs.
    ///
    /// Before a command: acquires the command lock and stores it in `own`. If no other command runs in the work
    /// directory and the new command writes to the private history, also saves copies of the files of [`Checkout`].
    ///
    /// After a command: releases the lock. If no other command runs in the work directory, also restores damaged files
    /// of [`Checkout`]. Files that a killed command has damaged are restored before the next command.
    ///
    /// In [`TransferPhase::Recovery`], does nothing while a command runs in the work directory.
    ///
    /// The report lists the changes that were refused and the files that were restored. In [`TransferPhase::After`], it
    /// also contains the reports of earlier transfers. In any other phase, the report is stored for the result of the
    /// next command.
    fn transfer(
        &self,
        phase: TransferPhase,
        own: &mut Option<CommandLock>,
    ) -> io::Result<TransferReport> {
        self.prepare()?;
        let dir = self.folder()?;
        let _lock = lock(&dir)?;
        let was_unused = leftovers::remove_if_unused(&dir)?;
        match phase {
            TransferPhase::BeforePrivate | TransferPhase::BeforeRepository => {
                *own = Some(CommandLock::take(&dir)?);
            }
            TransferPhase::Recovery if !was_unused => return Ok(TransferReport::default()),
            TransferPhase::After | TransferPhase::Recovery => {}
        }
        let checkout = Checkout::open(self.own(), &dir, &self.common)?;
        let is_unused = match phase {
            TransferPhase::After => {
                drop(own.take());
                leftovers::remove_if_unused(&dir)?
            }
            TransferPhase::BeforePrivate
            | TransferPhase::BeforeRepository
            | TransferPhase::Recovery => was_unused,
        };
        let is_checked = is_unused && (phase == TransferPhase::After || checkout.is_unchecked());
        let mut done = TransferReport::default();
        if is_checked {
            // git does not run without a valid HEAD.
            done.restored.extend(checkout.check_head()?);
        }
        done.refused = self.transfer_refs(&dir)?;
        if is_checked && phase != TransferPhase::Recovery {
            done.restored.extend(checkout.check()?);
        }
        if is_unused && phase == TransferPhase::BeforePrivate {
            checkout.save()?;
        }
        if phase == TransferPhase::After {
            done.restored.extend(self.shallow_note(&dir)?);
            done.earlier = command_lock::take_notes(&dir)?;
        }
        if phase != TransferPhase::After {
            command_lock::leave_note(&dir, &done)?;
        }
        Ok(done)
    }

    /// Moves the file `shallow.set-aside` from the git folder into the private folder. Returns a note for the model
    /// about it; `None` if there is no such file, or if the work directory is a worktree. The supervisor creates
    /// `shallow.set-aside` by renaming a file `shallow` that appeared while a command ran.
    fn shallow_note(&self, dir: &Folder) -> io::Result<Option<String>> {
        let aside = format!("shallow{SET_ASIDE}");
        let own = Folder::open(self.own())?;
        if self.own() != self.common || own.kind(&aside)?.is_none() {
            return Ok(None);
        }
        let aside = objects::move_aside(dir, &own, aside.as_ref(), "shallow")?;
        let (from, to) = (self.common.join("shallow"), self.dir.join(aside));
        Ok(Some(format!(
            "[{} was moved to {}: the file was created while the command ran, and it hides commits from git. \
             Tell the user, who can move the file back.]",
            from.display(),
            to.display()
        )))
    }

    /// Returns the git folder of the work directory.
    fn own(&self) -> &Path {
        self.dir.parent().unwrap_or(Path::new("/"))
    }

    fn transfer_refs(&self, dir: &Folder) -> io::Result<Vec<RefusedRef>> {
        let base = refs::read_list(dir, "base")?;
        let private = refs::read_loose(&dir.sub("refs")?)?;
        let mut shared = self.read_shared_refs()?;
        let mut refused = Vec::new();
        // Without the file `base`, no command has run yet, so there are no changes of commands.
        let changes = match &base {
            Some(base) => refs::changes(base, &private),
            None => Vec::new(),
        };
        let stash = stash(dir)?;
        let mut has_all_objects = true;
        if objects::has_objects(dir) {
            has_all_objects = objects::copy(dir, &self.dir, &self.common)?;
        }
        let is_stash_kept = self.keep_stash(&stash, &shared)?;
        if !changes.is_empty() {
            refused = self.accept(dir, &changes, has_all_objects)?;
        }
        if !changes.is_empty() || is_stash_kept {
            shared = self.read_shared_refs()?;
        }
        let shown: RefMap = shared
            .into_iter()
            .filter(|(name, _)| !name.starts_with(KEPT_REFS) && !refs::is_private(name))
            .collect();
        let now = refs::update_loose(dir, &private, &shown)?;
        if base.as_ref() != Some(&now) {
            refs::write_list(dir, "base", &now)?;
        }
        Ok(refused)
    }

    fn read_shared_refs(&self) -> io::Result<RefMap> {
        refs::read_loose(&Folder::open(&self.common.join("refs"))?)
    }

    /// Creates refs in the repository that keep the objects of stash entries alive, and deletes the refs of dropped
    /// entries. `stash` lists the commits of the entries; `shared` contains the refs of the repository. Returns whether
    /// any ref changed.
    fn keep_stash(&self, stash: &[String], shared: &RefMap) -> io::Result<bool> {
        let prefix = format!("{KEPT_REFS}stash/{}/", self.name);
        let wanted: RefMap = stash
            .iter()
            .map(|hash| (format!("{prefix}{}", &hash[..12]), hash.clone()))
            .collect();
        let kept: RefMap = shared
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let changes = refs::changes(&kept, &wanted);
        for change in &changes {
            // The update fails only for an entry whose objects a command has damaged.
            let _ = git::update_ref(&self.common, change)?;
        }
        Ok(!changes.is_empty())
    }
}

/// Returns the commits of the stash entries in the private folder `dir`, newest last, at most the newest [`STASH_MAX`].
/// A reflog that cannot be read counts as an empty stash.
fn stash(dir: &Folder) -> io::Result<Vec<String>> {
    let log = match dir.sub("logs")?.sub("refs") {
        // An unreadable reflog counts as an empty stash.
        Ok(logs) => logs.read("stash", LOG_MAX).unwrap_or_default(),
        Err(e) => return Err(e),
    };
    let text = log.unwrap_or_default();
    let hash = |line: &str| line.split(' ').nth(1).map(String::from);
    let all: Vec<String> = text.lines().filter_map(hash).collect();
    let from = all.len().saturating_sub(STASH_MAX);
    let last = all[from..].iter().filter(|hash| refs::is_hash(hash));
    Ok(last.cloned().collect())
}

/// Returns whether the refs of a repository are stored as files that can be copied, and not in the reftable format.
/// Reads only the repository's `config`, which commands cannot write. Returns true if that file cannot be read.
pub fn can_be_private(common: &Path) -> bool {
    let config = Folder::open(common).and_then(|common| common.read_bytes("config", CONFIG_MAX));
    let config = config.ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let is_table = |line: &str| line.contains("refstorage") && line.contains("reftable");
    !text.lines().any(is_table)
}

/// Transfers the changes that a killed crew has left in the work directories of a repository. Skips work directories
/// where a command runs. If a change is refused, the result of the next command in that work directory lists it. An
/// error is only logged.
pub fn recover(root_git: &Path, common: &Path) {
    for history in all(root_git, common) {
        if history.is_pending() {
            // The next command in this work directory tries again.
            if let Err(why) = history.transfer(TransferPhase::Recovery, &mut None) {
                tracing::error!("the git changes of earlier commands were not transferred: {why}");
            }
        }
    }
}

/// Returns the private histories of a repository: of the root, and of each worktree that has a private folder.
fn all(root_git: &Path, common: &Path) -> impl Iterator<Item = PrivateHistory> {
    let root = PrivateHistory::of(
        root_git,
        common,
        "root",
        WritableBranch::checked_out(root_git),
    );
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let trees = entries.flatten().filter_map(move |entry| {
        let name = entry.file_name().into_string().ok()?;
        let own = entry.path();
        let is_other = own != root_git && own.join(FOLDER).is_dir();
        is_other
            .then(|| PrivateHistory::of(&own, common, &name, WritableBranch::of_worktree(&name)))?
    });
    root.into_iter().chain(trees)
}

/// Acquires the lock of a private folder that is held during a transfer. Blocks while another transfer runs. The lock
/// is released when the returned file is closed.
fn lock(dir: &Folder) -> io::Result<fs::File> {
    let lock = dir.lock_file("lock")?;
    lock.lock()?;
    Ok(lock)
}

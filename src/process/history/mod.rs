//! Keeps the history of a repository out of reach of the commands that agents run.
//!
//! A sandboxed command does not see the repository's own `objects` and `refs` as writable folders. The mount view puts
//! private folders in their place, one set for each work directory, in `crewdeck/` of its git folder:
//!
//! - `objects` receives new objects. The shared ones are its alternate and read-only.
//! - `refs` is a copy of the shared loose refs; `packed-refs` is read-only, with the limit below.
//! - `logs` has the reflogs, and with them the stash, of this work directory alone.
//! - `base` is the content of `refs` after the last transfer, `made` lists the refs that commands here have created.
//! - `checkout` has copies of `HEAD`, `index` and `logs/HEAD`, from which they are restored.
//!
//! - `commands` is locked while commands run, `notes` is for the result of the next one.
//!
//! Limit: a file that is mounted over itself (`config.worktree`, and in the root `config` and `packed-refs`) is read-only
//! only as long as no program outside replaces it by renaming, as `git config` and `git pack-refs` do. The kernel takes
//! the mount away then, and a command that already runs can write the new file.
//!
//! `PrivateHistory::transfer` runs before and after each command. It copies new objects into the repository first,
//! then moves the refs that `refs::verdict` accepts, each only if it still has the value that the command saw. So a
//! crash between the two steps leaves objects that no ref needs yet, and the next transfer continues from `base`.
//! Commits of a refused change, and those that an accepted one leaves to no ref, are kept below `refs/crewdeck/beside/`.
//! Objects are copied through git, which computes their names from their content: a damaged or substituted object never
//! enters the repository under another name, and no file of the repository shares an inode with one that a command can
//! write.

mod accept;
mod checkout;
mod folder;
mod git;
mod objects;
mod refs;
mod command_lock;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

pub use accept::RefusedRef;
use checkout::Checkout;
use folder::Folder;
pub use git::hooks_path;
pub use refs::Branch;
use refs::Refs;
pub use command_lock::{CommandLock, CommandTransfer};

/// The folder below a git folder that holds the private parts.
pub const FOLDER: &str = "crewdeck";
/// Where the shared objects are mounted, below [`FOLDER`] of the common git folder.
pub const SHARED_OBJECTS: &str = "shared";
/// What a guard puts behind the name of a file that must not be there, and that the user may have made.
pub const SET_ASIDE: &str = ".set-aside";
/// Refs of crewdeck itself: they keep objects alive and are not shown to commands.
const KEPT_REFS: &str = "refs/crewdeck/";
/// Most stash entries whose objects are kept.
const STASH_MAX: usize = 64;
/// Longest file of a few lines.
const FILE_MAX: u64 = 64 * 1024;
/// Longest reflog of a stash.
const LOG_MAX: u64 = 16 * 1024 * 1024;
/// Longest list of alternates in bytes.
const ALTERNATES_MAX: u64 = 1024 * 1024;
/// Longest settings of a repository in bytes.
const CONFIG_MAX: u64 = 4 * 1024 * 1024;
/// Most refused refs that are named in the result of a command.
const NAMED_MAX: usize = 5;

/// The private part of a repository that commands in one work directory write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateHistory {
    /// The git folder that all worktrees share.
    pub common: PathBuf,
    /// [`FOLDER`] in the git folder of the work directory.
    pub dir: PathBuf,
    /// A name for what is kept on behalf of this work directory.
    pub name: String,
    /// The branch that commands here may move.
    pub branch: Branch,
}

/// When a transfer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before a command that writes the private history.
    BeforePrivate,
    /// Before a command that writes the repository itself, because the user was asked.
    BeforeRepository,
    /// After a command that wrote the private history.
    After,
    /// At another time.
    Recovery,
}

/// What a transfer did not take over, and what else the model must know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransferReport {
    /// Refs that were not updated.
    pub refused: Vec<RefusedRef>,
    /// A line on each file of the work directory's git folder that was restored.
    pub restored: Vec<String>,
    /// What transfers before the command have left to say.
    pub earlier: Option<String>,
}

impl TransferReport {
    /// What to tell the model; `None`: everything was taken over.
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
    /// The private history for commands in a work directory whose git folder is `own`. `None` where the repository
    /// stores its refs in a format that cannot be copied file by file.
    pub fn of(own: &Path, common: &Path, name: &str, branch: Branch) -> Option<PrivateHistory> {
        can_be_private(common).then(|| PrivateHistory {
            common: common.to_path_buf(),
            dir: own.join(FOLDER),
            name: name.to_string(),
            branch,
        })
    }

    /// Creates the private folders where they are missing.
    ///
    /// # Errors
    /// When a folder or file cannot be written.
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
            // What is not there cannot be mounted read-only.
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
        // Those that the repository names by a relative path are not found from where its objects are mounted.
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

    /// The private folder, made where it is missing.
    fn folder(&self) -> io::Result<Folder> {
        Folder::open(self.own())?.make(FOLDER)
    }

    /// Whether a command has left something that was not transferred, found with a few system calls: new objects, or
    /// another position of the own branch.
    pub fn is_pending(&self) -> bool {
        let own = self.dir.parent().map(Folder::open);
        let Some(Ok(dir)) = own.map(|own| own.and_then(|own| own.sub(FOLDER))) else {
            return false;
        };
        if !matches!(dir.kind("base"), Ok(Some(_))) {
            return false;
        }
        let of = |folder: &Folder| match &self.branch {
            Branch::Own(name) | Branch::ForwardOnly(name) => refs::loose(folder, name),
            Branch::None => None,
        };
        let private = of(&dir);
        let shared = || Folder::open(&self.common).ok().and_then(|all| of(&all));
        objects::are_there(&dir) || private.is_some() && private != shared()
    }

    /// Copies what commands have added to the history into the repository, and shows them the refs as they are now.
    /// Also saves the checkout before a command and restores what is damaged of it after it, unless other commands run
    /// in the same work directory: the last one does it then. Takes `own`, the lock of the command, before it, and gives
    /// it back after it. Returns what was refused and restored; at any time but [`Phase::After`] it is left for the
    /// result of the next command.
    fn transfer(&self, phase: Phase, own: &mut Option<CommandLock>) -> io::Result<TransferReport> {
        self.prepare()?;
        let dir = self.folder()?;
        let lock = dir.lock_file("lock")?;
        lock.lock()?;
        let was_unused = command_lock::is_unused(&dir)?;
        match phase {
            Phase::BeforePrivate | Phase::BeforeRepository => *own = Some(CommandLock::take(&dir)?),
            Phase::Recovery if !was_unused => return Ok(TransferReport::default()),
            Phase::After | Phase::Recovery => {}
        }
        let checkout = Checkout::open(self.own(), &dir, &self.common)?;
        let is_unused = match phase {
            Phase::After => {
                drop(own.take());
                command_lock::is_unused(&dir)?
            }
            Phase::BeforePrivate | Phase::BeforeRepository | Phase::Recovery => was_unused,
        };
        let is_checked = is_unused && (phase == Phase::After || checkout.is_unchecked());
        let mut done = TransferReport::default();
        if is_checked {
            // Without it no git runs.
            done.restored.extend(checkout.check_head()?);
        }
        done.refused = self.transfer_refs(&dir)?;
        if is_checked && phase != Phase::Recovery {
            done.restored.extend(checkout.check()?);
        }
        if is_unused && phase == Phase::BeforePrivate {
            checkout.save()?;
        }
        if phase == Phase::After {
            done.restored.extend(self.shallow_note(&dir)?);
            done.earlier = command_lock::take_notes(&dir)?;
        }
        if phase != Phase::After {
            command_lock::leave_note(&dir, &done)?;
        }
        Ok(done)
    }

    /// Moves a `shallow` that the guard has set aside into the private folder. Returns what to say about it.
    fn shallow_note(&self, dir: &Folder) -> io::Result<Option<String>> {
        let aside = format!("shallow{SET_ASIDE}");
        let own = Folder::open(self.own())?;
        if self.own() != self.common || own.kind(&aside)?.is_none() {
            return Ok(None);
        }
        let aside = objects::put_aside(dir, &own, aside.as_ref(), "shallow")?;
        let (from, to) = (self.common.join("shallow"), self.dir.join(aside));
        Ok(Some(format!(
            "[{} was moved to {}: it was made while the command ran, and it hides commits from git. If the user made \
             it, tell the user to move it back.]",
            from.display(),
            to.display()
        )))
    }

    /// The git folder of the work directory.
    fn own(&self) -> &Path {
        self.dir.parent().unwrap_or(Path::new("/"))
    }

    fn transfer_refs(&self, dir: &Folder) -> io::Result<Vec<RefusedRef>> {
        let base = refs::read_list(dir, "base")?;
        let private = refs::read_loose(&dir.sub("refs")?)?;
        let mut shared = self.shared()?;
        let mut refused = Vec::new();
        // Without a base nothing was shown to a command yet.
        let changes = match &base {
            Some(base) => refs::changes(base, &private),
            None => Vec::new(),
        };
        let stash = stash(dir)?;
        let mut objects = objects::CopyResult::All;
        if objects::are_there(dir) {
            objects = objects::copy(dir, &self.dir, &self.common)?;
        }
        let is_stash_kept = self.keep_stash(&stash, &shared)?;
        if !changes.is_empty() {
            refused = self.accept(dir, &changes, objects)?;
        }
        if !changes.is_empty() || is_stash_kept {
            shared = self.shared()?;
        }
        let shown: Refs = shared
            .into_iter()
            .filter(|(name, _)| !name.starts_with(KEPT_REFS) && !refs::is_private(name))
            .collect();
        let now = refs::show(dir, &private, &shown)?;
        if base.as_ref() != Some(&now) {
            refs::write_list(dir, "base", &now)?;
        }
        Ok(refused)
    }

    fn shared(&self) -> io::Result<Refs> {
        refs::read_loose(&Folder::open(&self.common.join("refs"))?)
    }

    /// Keeps the objects of stash entries in the repository, and lets go those of entries that were dropped.
    fn keep_stash(&self, stash: &[String], shared: &Refs) -> io::Result<bool> {
        let prefix = format!("{KEPT_REFS}stash/{}/", self.name);
        let wanted: Refs = stash
            .iter()
            .map(|hash| (format!("{prefix}{}", &hash[..12]), hash.clone()))
            .collect();
        let kept: Refs = shared
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let changes = refs::changes(&kept, &wanted);
        for change in &changes {
            // An entry that cannot be kept is one that the command has damaged itself.
            let _ = git::update_ref(&self.common, change)?;
        }
        Ok(!changes.is_empty())
    }
}

/// The commits of the stash of a work directory, newest last.
fn stash(dir: &Folder) -> io::Result<Vec<String>> {
    let log = match dir.sub("logs")?.sub("refs") {
        // What is no reflog holds no stash.
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

/// Whether the refs of a repository can be copied file by file: tables of refs cannot. Goes by the settings of the
/// repository, which commands cannot write; they can create any folder beside them.
pub fn can_be_private(common: &Path) -> bool {
    let config = Folder::open(common).and_then(|common| common.read_bytes("config", CONFIG_MAX));
    let config = config.ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let is_table = |line: &str| line.contains("refstorage") && line.contains("reftable");
    !text.lines().any(is_table)
}

/// Transfers what commands of a crew that was killed have left, in all work directories of a repository in which no
/// command runs. What is refused is named in the result of the next command there.
pub fn recover(root_git: &Path, common: &Path) {
    let root = PrivateHistory::of(root_git, common, "root", Branch::checked_out(root_git));
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let trees = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let own = entry.path();
        let is_other = own != root_git && own.join(FOLDER).is_dir();
        is_other.then(|| PrivateHistory::of(&own, common, &name, Branch::of_worktree(&name)))?
    });
    for history in root.into_iter().chain(trees) {
        if history.is_pending() {
            // What fails now is tried again with the next command there.
            if let Err(why) = history.transfer(Phase::Recovery, &mut None) {
                tracing::error!("the git changes of earlier commands were not transferred: {why}");
            }
        }
    }
}

/// Takes away the locks that a killed git has left in the private refs of a git folder. Only for when none of its
/// commands runs.
pub fn unlock(own: &Path) {
    let private = Folder::open(own).and_then(|own| own.sub(FOLDER));
    if let Ok(refs) = private.and_then(|private| private.sub("refs")) {
        refs::unlock(&refs);
    }
}

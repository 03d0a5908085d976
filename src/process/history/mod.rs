//! Keeps the history of a repository out of reach of the commands that agents run.
//!
//! A sandboxed command does not see the repository's own `objects` and `refs` as writable folders. The mount view puts
//! private folders in their place, one set for each work directory, in `crewdeck/` of its git folder:
//!
//! - `objects` receives new objects. The shared ones are its alternate and read-only.
//! - `refs` is a copy of the shared loose refs; `packed-refs` is read-only.
//! - `logs` has the reflogs, and with them the stash, of this work directory alone.
//! - `base` is the content of `refs` after the last transfer, `made` lists the refs that commands here have created.
//!
//! [`PrivateHistory::transfer`] runs before and after each command. It copies new objects into the repository first,
//! then moves the refs that `refs::verdict` accepts, each only if it still has the value that the command saw. So a
//! crash between the two steps leaves objects that no ref needs yet, and the next transfer continues from `base`.
//! Objects are copied through git, which computes their names from their content: a damaged or substituted object never
//! enters the repository under another name, and no file of the repository shares an inode with one that a command can
//! write.

mod folder;
mod git;
mod objects;
mod refs;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use folder::Folder;
pub use refs::Branch;
use refs::{Change, Refs, Verdict};

/// The folder below a git folder that holds the private parts.
pub const FOLDER: &str = "crewdeck";
/// Where the shared objects are mounted, below [`FOLDER`] of the common git folder.
pub const SHARED_OBJECTS: &str = "shared";
/// Refs of crewdeck itself: they keep objects alive and are not shown to commands.
const KEPT_REFS: &str = "refs/crewdeck/";
/// Most stash entries whose objects are kept.
const STASH_MAX: usize = 64;
/// Longest file of a few lines.
const FILE_MAX: u64 = 64 * 1024;
/// Longest reflog of a stash.
const LOG_MAX: u64 = 16 * 1024 * 1024;
/// Most refused refs that a note names.
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

/// A change of a ref that was not transferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The full name of the ref.
    pub name: String,
    /// Why, as the end of a sentence that begins with the name.
    pub why: String,
}

impl PrivateHistory {
    /// The private history for commands in a work directory whose git folder is `own`. `None` where the repository
    /// stores its refs in a format that cannot be copied file by file.
    pub fn of(own: &Path, common: &Path, name: &str, branch: Branch) -> Option<PrivateHistory> {
        let is_files = common.join("refs").is_dir() && !common.join("reftable").exists();
        is_files.then(|| PrivateHistory {
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
        let own = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
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
        let own = self.dir.parent().unwrap_or(Path::new("/"));
        Folder::open(own)?.make(FOLDER)
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
    /// Returns what was refused.
    ///
    /// # Errors
    /// When a file cannot be read or written, or git fails. Nothing is lost then: the next transfer tries again.
    pub fn transfer(&self) -> io::Result<Vec<Refused>> {
        self.prepare()?;
        let dir = self.folder()?;
        let lock = dir.lock_file("lock")?;
        lock.lock()?;
        let base = refs::read_list(&dir, "base")?;
        let private = refs::read_loose(&dir.sub("refs")?)?;
        let mut shared = self.shared()?;
        let mut refused = Vec::new();
        // Without a base nothing was shown to a command yet.
        let changes = match &base {
            Some(base) => refs::changes(base, &private),
            None => Vec::new(),
        };
        let stash = stash(&dir)?;
        let mut objects = objects::Copied::All;
        if objects::are_there(&dir) {
            objects = objects::copy(&dir, &self.dir, &self.common)?;
        }
        let is_stash_kept = self.keep_stash(&stash, &shared)?;
        if !changes.is_empty() {
            refused = self.accept(&dir, &changes, objects)?;
        }
        if !changes.is_empty() || is_stash_kept {
            shared = self.shared()?;
        }
        let shown: Refs = shared
            .into_iter()
            .filter(|(name, _)| !name.starts_with(KEPT_REFS) && !refs::is_private(name))
            .collect();
        let now = refs::show(&dir, &private, &shown)?;
        if base.as_ref() != Some(&now) {
            refs::write_list(&dir, "base", &now)?;
        }
        Ok(refused)
    }

    fn shared(&self) -> io::Result<Refs> {
        refs::read_loose(&Folder::open(&self.common.join("refs"))?)
    }

    /// Moves the refs that may be moved.
    fn accept(
        &self,
        dir: &Folder,
        changes: &[Change],
        objects: objects::Copied,
    ) -> io::Result<Vec<Refused>> {
        let packed = refs::read_packed(&self.common)?;
        let mut made: BTreeSet<String> = refs::read_names(dir, "made")?;
        let before = made.clone();
        let mut refused = Vec::new();
        for change in changes {
            let change = change.clone().with_packed(&packed);
            let refuse = |why: &str| Refused {
                name: change.name.clone(),
                why: why.to_string(),
            };
            match refs::verdict(&change, &self.branch, &made) {
                Verdict::Private => continue,
                Verdict::Refuse(why) => {
                    refused.push(refuse(why));
                    continue;
                }
                Verdict::AcceptForward => {
                    let (old, new) = (change.old.as_deref(), change.new.as_deref());
                    if let (Some(old), Some(new)) = (old, new)
                        && !git::is_ancestor(&self.common, old, new)?
                    {
                        refused.push(refuse(
                            "would lose commits: only a command that you were asked about may do that",
                        ));
                        continue;
                    }
                }
                Verdict::Accept => {}
            }
            if objects == objects::Copied::Some
                && let Some(new) = &change.new
                && !git::is_connected(&self.common, new)?
            {
                refused.push(refuse("leads to objects that are damaged or missing"));
                continue;
            }
            match git::update_ref(&self.common, &change)? {
                Ok(()) => match (&change.old, &change.new) {
                    (None, Some(_)) => drop(made.insert(change.name.clone())),
                    (Some(_), None) => drop(made.remove(&change.name)),
                    (_, _) => {}
                },
                Err(_) if self.has(&change)? => {}
                Err(why) => refused.push(refuse(&self.keep_beside(&change, &why)?)),
            }
        }
        if made != before {
            refs::write_names(dir, "made", &made)?;
        }
        Ok(refused)
    }

    /// Whether the repository has the ref where the change puts it: an earlier transfer was cut off.
    fn has(&self, change: &Change) -> io::Result<bool> {
        let loose = self.shared()?;
        let value = match loose.get(&change.name) {
            Some(value) => Some(value.clone()),
            None => refs::read_packed(&self.common)?.get(&change.name).cloned(),
        };
        Ok(value == change.new)
    }

    /// Keeps the commits of a change that cannot be made because the ref has moved in between.
    fn keep_beside(&self, change: &Change, why: &str) -> io::Result<String> {
        let Some(new) = &change.new else {
            return Ok(format!("cannot be deleted: {why}"));
        };
        let short: String = new.chars().take(12).collect();
        let kept = Change {
            name: format!("{KEPT_REFS}beside/{short}"),
            old: None,
            new: Some(new.clone()),
        };
        let kept = match git::update_ref(&self.common, &kept)? {
            Ok(()) => format!("; the commits are kept as {}", kept.name),
            Err(_) => String::new(),
        };
        Ok(format!("was moved meanwhile ({why}){kept}"))
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

/// Transfers what commands of a crew that was killed have left, in all work directories of a repository.
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
            let _ = history.transfer();
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

/// One line for the model on the refs that were not transferred.
pub fn note(refused: &[Refused]) -> Option<String> {
    let first = refused.first()?;
    let mut text = format!(
        "[The repository is unchanged there: {} {}",
        first.name, first.why
    );
    for more in refused.iter().skip(1).take(NAMED_MAX - 1) {
        text.push_str(&format!("; {} {}", more.name, more.why));
    }
    if refused.len() > NAMED_MAX {
        text.push_str(&format!("; and {} more", refused.len() - NAMED_MAX));
    }
    text.push_str(".]");
    Some(crate::domain::text::one_line(&text))
}

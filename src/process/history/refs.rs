//! Reads, compares and writes refs as files, and decides which changes of a command are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use super::folder::Folder;

/// Maps full names of refs to their values. A value is a hash or `ref: NAME`.
pub type RefMap = BTreeMap<String, String>;

/// Maximum size of a file that contains the value of a ref, in bytes.
const VALUE_MAX: u64 = 1024;
/// Maximum depth of folders below `refs`. Refs in deeper folders are ignored.
const DEPTH_MAX: usize = 32;
/// Maximum size of a file that lists refs, in bytes.
const LIST_MAX: u64 = 256 * 1024 * 1024;
/// Prefixes of the refs that commands can create. Commands cannot create other refs, such as those in `refs/replace/`,
/// which change how git shows the history.
const CREATABLE: &[&str] = &["refs/heads/", "refs/tags/", "refs/notes/", "refs/remotes/"];
/// Refs that each work directory has for itself, such as its stash. Changes to them are not transferred to the
/// repository. An entry that ends with `/` is a prefix.
const PRIVATE: &[&str] = &[
    "refs/stash",
    "refs/bisect/",
    "refs/worktree/",
    "refs/rewritten/",
];

/// The branch that commands in a work directory can update, given by its full name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WritableBranch {
    /// The branch of a task's worktree. Commands can amend, rebase and reset it.
    Own(String),
    /// The branch that is checked out in the root. Commands can only fast-forward it.
    ForwardOnly(String),
    /// No branch is checked out in the root. Commands can update only refs that they have created.
    None,
}

impl WritableBranch {
    pub fn of_worktree(name: &str) -> WritableBranch {
        WritableBranch::Own(format!("refs/heads/wt/{name}"))
    }

    pub fn is(&self, full: &str) -> bool {
        match self {
            WritableBranch::Own(name) | WritableBranch::ForwardOnly(name) => name == full,
            WritableBranch::None => false,
        }
    }

    /// Returns the branch that `HEAD` of a git folder names, as [`Self::ForwardOnly`]; [`Self::None`] if it names no
    /// branch.
    pub fn checked_out(git_dir: &Path) -> WritableBranch {
        let folder = Folder::open(git_dir).ok();
        let text = folder.and_then(|folder| value(&folder, "HEAD").ok()?);
        let text = text.unwrap_or_default();
        match text.strip_prefix("ref: ") {
            Some(name) if name.starts_with("refs/heads/") => {
                WritableBranch::ForwardOnly(name.into())
            }
            Some(_) | None => WritableBranch::None,
        }
    }
}

/// A change of a ref's value, which is a hash or `ref: NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// The full name of the ref, such as `refs/heads/main`.
    pub name: String,
    /// The value before the change; `None` if the change creates the ref.
    pub old: Option<String>,
    /// The value after the change; `None` if the change deletes the ref.
    pub new: Option<String>,
}

impl RefChange {
    /// If the change has no old value, sets it to the ref's value in `packed`. This is needed because a comparison of
    /// loose refs does not see packed refs.
    pub fn with_packed(self, packed: &RefMap) -> RefChange {
        RefChange {
            old: self.old.or_else(|| packed.get(&self.name).cloned()),
            ..self
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefVerdict {
    Accept,
    /// Apply the change if it is a fast-forward, otherwise refuse it.
    AcceptForward,
    /// Do not transfer the change, because the ref exists separately in each work directory.
    Private,
    Refuse(RefusalReason),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalReason {
    /// The ref is a symbolic ref, or would become one.
    Symbolic,
    /// The old or the new value is not the hash of an object.
    NoHash,
    /// Only crewdeck updates this ref.
    Managed,
    /// The ref is new, and its name begins with none of the prefixes that are allowed for new refs, such as
    /// `refs/heads/`.
    WrongPlace,
    /// The ref already existed, and no command in this work directory created it.
    NotMadeHere,
    /// The branch is checked out in the root, and the change is not a fast-forward: it would remove commits from the
    /// branch.
    LosesCommits,
    /// Objects that the new value needs are damaged or missing.
    Incomplete,
    /// Another process changed the ref since the command started.
    Moved,
    /// Git rejected the update with this error message.
    Git(String),
}

/// Decides whether to apply `change`, which a command has made without the user's approval. `made` lists the refs that
/// commands in the same work directory have created.
pub fn verdict(change: &RefChange, branch: &WritableBranch, made: &BTreeSet<String>) -> RefVerdict {
    let name = change.name.as_str();
    if is_private(name) {
        return RefVerdict::Private;
    }
    let is_named = |value: &Option<String>| value.as_deref().is_none_or(is_object);
    if !is_named(&change.old) || !is_named(&change.new) {
        let is_link =
            |value: &Option<String>| value.as_deref().is_some_and(|v| v.starts_with("ref:"));
        let is_symbolic = is_link(&change.old) || is_link(&change.new);
        return RefVerdict::Refuse(if is_symbolic {
            RefusalReason::Symbolic
        } else {
            RefusalReason::NoHash
        });
    }
    let is_it = |own: &String| own == name && change.new.is_some();
    match branch {
        WritableBranch::Own(own) if is_it(own) => return RefVerdict::Accept,
        WritableBranch::ForwardOnly(own) if is_it(own) => return RefVerdict::AcceptForward,
        WritableBranch::Own(_) | WritableBranch::ForwardOnly(_) | WritableBranch::None => {}
    }
    if name.starts_with("refs/heads/wt/") || name.starts_with(super::KEPT_REFS) {
        return RefVerdict::Refuse(RefusalReason::Managed);
    }
    if change.old.is_none() && !CREATABLE.iter().any(|prefix| name.starts_with(prefix)) {
        return RefVerdict::Refuse(RefusalReason::WrongPlace);
    }
    if change.old.is_none() || made.contains(name) {
        return RefVerdict::Accept;
    }
    RefVerdict::Refuse(RefusalReason::NotMadeHere)
}

/// Returns whether the ref exists separately in each work directory.
pub fn is_private(name: &str) -> bool {
    PRIVATE
        .iter()
        .any(|own| name == *own || own.ends_with('/') && name.starts_with(own))
}

/// Returns whether `text` is a hash and not the all-zero hash, which git uses for a missing ref.
pub fn is_object(text: &str) -> bool {
    is_hash(text) && text.bytes().any(|b| b != b'0')
}

/// Returns whether `text` has the form of a SHA-1 or SHA-256 hash.
pub fn is_hash(text: &str) -> bool {
    (text.len() == 40 || text.len() == 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the differences between two sets of refs, sorted by the name of the ref.
pub fn changes(before: &RefMap, now: &RefMap) -> Vec<RefChange> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let change = |name: &String| RefChange {
        name: name.clone(),
        old: before.get(name).cloned(),
        new: now.get(name).cloned(),
    };
    let all = names.into_iter().map(change);
    all.filter(|change| change.old != change.new).collect()
}

pub fn read_loose(refs: &Folder) -> io::Result<RefMap> {
    let mut out = RefMap::new();
    read_folder(refs, "refs", 0, &mut out)?;
    Ok(out)
}

fn read_folder(folder: &Folder, name: &str, depth: usize, out: &mut RefMap) -> io::Result<()> {
    for (file, kind) in folder.entries()? {
        let Some(file) = file.to_str() else {
            continue;
        };
        let full = format!("{name}/{file}");
        if kind.is_dir() && depth < DEPTH_MAX {
            match folder.sub(file) {
                Ok(sub) => read_folder(&sub, &full, depth + 1, out)?,
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        } else if kind.is_file()
            && file.strip_suffix(".lock").is_none()
            && let Ok(Some(value)) = value(folder, file)
        {
            out.insert(full, value);
        }
    }
    Ok(())
}

/// Reads the value of a loose ref from the file `name` in `folder`; `None` if the file is missing or empty. Fails if
/// the file is longer than [`VALUE_MAX`] bytes.
fn value(folder: &Folder, name: &str) -> io::Result<Option<String>> {
    let text = folder.read(name, VALUE_MAX)?.unwrap_or_default();
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_string()))
}

/// Returns the value of the loose ref with the full name `name`. `dir` is the folder that contains `refs`. Returns
/// `None` if the ref does not exist or cannot be read.
pub fn loose(dir: &Folder, name: &str) -> Option<String> {
    match name.split_once('/') {
        Some((folder, rest)) => loose(&dir.sub(folder).ok()?, rest),
        None => value(dir, name).ok()?,
    }
}

/// Reads the refs in the file `packed-refs` of a repository.
///
/// # Errors
/// Also fails if `packed-refs` is not a regular file or is longer than [`LIST_MAX`] bytes.
pub fn read_packed(common: &Path) -> io::Result<RefMap> {
    let list = read_list(&Folder::open(common)?, "packed-refs");
    let list = list.map_err(|e| io::Error::new(e.kind(), format!("packed-refs: {e}")))?;
    Ok(list.unwrap_or_default())
}

/// Returns the value of a ref of a repository, loose or packed; `None` if the ref does not exist.
pub fn current(common: &Path, name: &str) -> io::Result<Option<String>> {
    match loose(&Folder::open(common)?, name) {
        Some(value) => Ok(Some(value)),
        None => Ok(read_packed(common)?.remove(name)),
    }
}

/// Returns the refs of a repository, loose or packed, whose names start with `prefix`.
pub fn refs_below(common: &Path, prefix: &str) -> io::Result<RefMap> {
    let mut all = read_packed(common)?;
    all.extend(read_loose(&Folder::open(&common.join("refs"))?)?);
    all.retain(|name, _| name.starts_with(prefix));
    Ok(all)
}

/// Reads a file of `VALUE NAME` lines, such as `packed-refs`; `None` if the file does not exist. Skips comments and the
/// peeled values of annotated tags.
pub fn read_list(dir: &Folder, name: &str) -> io::Result<Option<RefMap>> {
    Ok(dir.read(name, LIST_MAX)?.map(|text| parse_list(&text)))
}

fn parse_list(text: &str) -> RefMap {
    // Skips comments and the peeled values of annotated tags.
    let lines = text.lines().filter(|l| !l.starts_with(['#', '^']));
    lines
        .filter_map(|line| {
            let (value, name) = line.rsplit_once(' ')?;
            Some((name.to_string(), value.to_string()))
        })
        .collect()
}

/// Writes a file of `VALUE NAME` lines.
pub fn write_list(dir: &Folder, name: &str, refs: &RefMap) -> io::Result<()> {
    let lines = refs.iter().map(|(name, value)| format!("{value} {name}\n"));
    dir.write(name, &lines.collect::<String>())
}

/// Reads a file of names, one per line. A missing file counts as empty.
pub fn read_names(dir: &Folder, name: &str) -> io::Result<BTreeSet<String>> {
    let text = dir.read(name, LIST_MAX)?.unwrap_or_default();
    Ok(text.lines().map(String::from).collect())
}

/// Writes a file of names, one per line.
pub fn write_names(dir: &Folder, name: &str, names: &BTreeSet<String>) -> io::Result<()> {
    let lines = names.iter().map(|name| format!("{name}\n"));
    dir.write(name, &lines.collect::<String>())
}

/// Updates the loose refs in `dir` to the values in `shown`. `private` contains the values that were read from `dir`
/// before. Skips private refs ([`is_private`]), and refs that are locked, cannot be written, or no longer have their
/// value in `private`.
///
/// Returns the refs as they are then. A skipped ref is returned with its value in `private`. If it were returned with
/// its value in `shown`, the next transfer would mistake the difference for a change of a command.
pub fn update_loose(dir: &Folder, private: &RefMap, shown: &RefMap) -> io::Result<RefMap> {
    let mut now = shown.clone();
    for change in changes(private, shown) {
        if is_private(&change.name) || replace(dir, &change)? {
            continue;
        }
        match change.old {
            Some(old) => now.insert(change.name, old),
            None => now.remove(&change.name),
        };
    }
    Ok(now)
}

/// Creates, updates or deletes a loose ref as git does: under a lock, and only if it has the old value. A link or
/// special file in its place counts as a missing ref and is removed. Returns whether the ref was changed.
fn replace(dir: &Folder, change: &RefChange) -> io::Result<bool> {
    let Some((folders, file)) = change.name.rsplit_once('/') else {
        return Ok(false);
    };
    let mut folders = folders.split('/');
    let mut folder = dir.make(folders.next().unwrap_or_default())?;
    for name in folders {
        match folder.make(name) {
            Ok(sub) => folder = sub,
            // A deleted ref with the name of this folder still has its file. The next transfer removes it.
            Err(_) => return Ok(false),
        }
    }
    let lock = format!("{file}.lock");
    let text = change.new.clone().unwrap_or_default() + "\n";
    // git never creates links or special files as locks, and would wait forever for them.
    if folder.kind(&lock)?.is_some_and(|kind| !kind.is_file()) {
        folder.remove(&lock)?;
    }
    if folder.create(&lock, &text).is_err() {
        return Ok(false);
    }
    let now = match folder.kind(file)? {
        // An empty folder that deleted branches have left.
        Some(FileType::Directory) => folder.remove_folder(file).map(|()| None),
        // A link or special file is not a ref.
        Some(kind) if !kind.is_file() => folder.remove_file(file).map(|()| None),
        Some(_) | None => value(&folder, file),
    };
    // An unreadable value counts as changed.
    let is_same = now.is_ok_and(|now| now == change.old);
    let done = match (is_same, &change.new) {
        (false, _) => false,
        (true, Some(_)) => folder.rename(&lock, &folder, file).is_ok(),
        (true, None) => folder.remove_file(file).is_ok(),
    };
    if !done || change.new.is_none() {
        let _ = folder.remove_file(&lock);
    }
    Ok(done)
}

#[cfg(test)]
#[path = "refs_tests.rs"]
mod tests;

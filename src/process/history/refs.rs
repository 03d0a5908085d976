//! Refs as files: read, compared, judged and shown to commands.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use super::folder::Folder;

/// Refs by their full names; the value is a hash or `ref: NAME`.
pub type Refs = BTreeMap<String, String>;

/// Longest content of a ref.
const VALUE_MAX: u64 = 1024;
/// Deepest folder of refs.
const DEPTH_MAX: usize = 32;
/// Longest list of refs.
const LIST_MAX: u64 = 256 * 1024 * 1024;
/// Where commands may make refs. Others, `refs/replace/` first of all, change what git shows of the history.
const MADE_BELOW: &[&str] = &["refs/heads/", "refs/tags/", "refs/notes/", "refs/remotes/"];
/// Refs that belong to one work directory. They are not transferred and stay as the commands there leave them.
const PRIVATE: &[&str] = &[
    "refs/stash",
    "refs/bisect/",
    "refs/worktree/",
    "refs/rewritten/",
];

/// The branch that commands in a work directory may move, with its full name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branch {
    /// That of the task's worktree: amended, rebased and reset at will.
    Own(String),
    /// The one that is checked out in the root: only to a commit that has the old one in its history.
    ForwardOnly(String),
    /// None is checked out.
    None,
}

impl Branch {
    /// The branch of the worktree of that name.
    pub fn of_worktree(name: &str) -> Branch {
        Branch::Own(format!("refs/heads/wt/{name}"))
    }

    /// Whether it is the branch with that full name.
    pub fn is(&self, full: &str) -> bool {
        match self {
            Branch::Own(name) | Branch::ForwardOnly(name) => name == full,
            Branch::None => false,
        }
    }

    /// The branch that the `HEAD` of a git folder names.
    pub fn checked_out(git_dir: &Path) -> Branch {
        let folder = Folder::open(git_dir).ok();
        let text = folder.and_then(|folder| value(&folder, "HEAD").ok()?);
        let text = text.unwrap_or_default();
        match text.strip_prefix("ref: ") {
            Some(name) if name.starts_with("refs/heads/") => Branch::ForwardOnly(name.into()),
            Some(_) | None => Branch::None,
        }
    }
}

/// A ref that has another value than before; `None`: it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its full name.
    pub name: String,
    /// Its value before.
    pub old: Option<String>,
    /// Its value now.
    pub new: Option<String>,
}

impl Change {
    /// The change seen from the repository: a ref that was packed had that value.
    pub fn with_packed(self, packed: &Refs) -> Change {
        Change {
            old: self.old.or_else(|| packed.get(&self.name).cloned()),
            ..self
        }
    }
}

/// What becomes of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    Accept,
    /// It is made if the new commit has the old one in its history.
    AcceptForward,
    /// It stays in the work directory.
    Private,
    /// It is not made.
    Refuse(Reason),
}

/// Why a change of a ref is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is or becomes a symbolic ref.
    Symbolic,
    /// Its new value names no object.
    NoHash,
    /// crewdeck itself manages it.
    Managed,
    /// It is new and not where commands create refs.
    WrongPlace,
    /// Commands in the same work directory did not create it.
    NotMadeHere,
    /// The new value lacks commits of the old one.
    LosesCommits,
    /// Objects that the new value needs are damaged or missing.
    Incomplete,
    /// Another process changed it since the command started.
    Moved,
    /// Git refuses, with its message.
    Git(String),
}

/// Judges a change by a command that the user was not asked about. `made`: the refs that commands in the same work directory
/// have created.
pub fn verdict(change: &Change, branch: &Branch, made: &BTreeSet<String>) -> Verdict {
    let name = change.name.as_str();
    if is_private(name) {
        return Verdict::Private;
    }
    let is_named = |value: &Option<String>| value.as_deref().is_none_or(is_object);
    if !is_named(&change.old) || !is_named(&change.new) {
        let is_link =
            |value: &Option<String>| value.as_deref().is_some_and(|v| v.starts_with("ref:"));
        let is_symbolic = is_link(&change.old) || is_link(&change.new);
        return Verdict::Refuse(if is_symbolic {
            Reason::Symbolic
        } else {
            Reason::NoHash
        });
    }
    let is_it = |own: &String| own == name && change.new.is_some();
    match branch {
        Branch::Own(own) if is_it(own) => return Verdict::Accept,
        Branch::ForwardOnly(own) if is_it(own) => return Verdict::AcceptForward,
        Branch::Own(_) | Branch::ForwardOnly(_) | Branch::None => {}
    }
    if name.starts_with("refs/heads/wt/") || name.starts_with(super::KEPT_REFS) {
        return Verdict::Refuse(Reason::Managed);
    }
    if change.old.is_none() && !MADE_BELOW.iter().any(|place| name.starts_with(place)) {
        return Verdict::Refuse(Reason::WrongPlace);
    }
    if change.old.is_none() || made.contains(name) {
        return Verdict::Accept;
    }
    Verdict::Refuse(Reason::NotMadeHere)
}

/// Whether a ref belongs to one work directory.
pub fn is_private(name: &str) -> bool {
    PRIVATE
        .iter()
        .any(|own| name == *own || own.ends_with('/') && name.starts_with(own))
}

/// Whether a text is a hash that an object can have. For git, one of zeros means that there is no ref.
pub fn is_object(text: &str) -> bool {
    is_hash(text) && text.bytes().any(|b| b != b'0')
}

/// Whether a text has the form of a hash.
pub fn is_hash(text: &str) -> bool {
    (text.len() == 40 || text.len() == 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// What differs, by name.
pub fn changes(before: &Refs, now: &Refs) -> Vec<Change> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let change = |name: &String| Change {
        name: name.clone(),
        old: before.get(name).cloned(),
        new: now.get(name).cloned(),
    };
    let all = names.into_iter().map(change);
    all.filter(|change| change.old != change.new).collect()
}

/// The loose refs in a folder `refs`.
pub fn read_loose(refs: &Folder) -> io::Result<Refs> {
    let mut out = Refs::new();
    read_folder(refs, "refs", 0, &mut out)?;
    Ok(out)
}

fn read_folder(folder: &Folder, name: &str, depth: usize, out: &mut Refs) -> io::Result<()> {
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

/// The value in the file of a ref; `None`: there is none.
fn value(folder: &Folder, name: &str) -> io::Result<Option<String>> {
    let text = folder.read(name, VALUE_MAX)?.unwrap_or_default();
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_string()))
}

/// The value of the loose ref `name` below a folder that has `refs`.
pub fn loose(dir: &Folder, name: &str) -> Option<String> {
    match name.split_once('/') {
        Some((folder, rest)) => loose(&dir.sub(folder).ok()?, rest),
        None => value(dir, name).ok()?,
    }
}

/// The packed refs of a repository.
///
/// # Errors
/// Also when `packed-refs` is no regular file or longer than [`LIST_MAX`] bytes.
pub fn read_packed(common: &Path) -> io::Result<Refs> {
    let list = read_list(&Folder::open(common)?, "packed-refs");
    let list = list.map_err(|e| io::Error::new(e.kind(), format!("packed-refs: {e}")))?;
    Ok(list.unwrap_or_default())
}

/// The value of a ref of a repository, loose or packed.
pub fn current(common: &Path, name: &str) -> io::Result<Option<String>> {
    match loose(&Folder::open(common)?, name) {
        Some(value) => Ok(Some(value)),
        None => Ok(read_packed(common)?.remove(name)),
    }
}

/// The refs of a repository below a folder that ends with a slash, loose or packed.
pub fn all_below(common: &Path, prefix: &str) -> io::Result<Refs> {
    let mut all = read_packed(common)?;
    all.extend(read_loose(&Folder::open(&common.join("refs"))?)?);
    all.retain(|name, _| name.starts_with(prefix));
    Ok(all)
}

/// A list of `VALUE NAME` lines; `None`: there is no such file.
pub fn read_list(dir: &Folder, name: &str) -> io::Result<Option<Refs>> {
    Ok(dir.read(name, LIST_MAX)?.map(|text| parse_list(&text)))
}

fn parse_list(text: &str) -> Refs {
    // Other lines are comments, or say where an annotated tag leads.
    let lines = text.lines().filter(|l| !l.starts_with(['#', '^']));
    lines
        .filter_map(|line| {
            let (value, name) = line.rsplit_once(' ')?;
            Some((name.to_string(), value.to_string()))
        })
        .collect()
}

/// Writes such a list.
pub fn write_list(dir: &Folder, name: &str, refs: &Refs) -> io::Result<()> {
    let lines = refs.iter().map(|(name, value)| format!("{value} {name}\n"));
    dir.write(name, &lines.collect::<String>())
}

/// A list of names, one a line.
pub fn read_names(dir: &Folder, name: &str) -> io::Result<BTreeSet<String>> {
    let text = dir.read(name, LIST_MAX)?.unwrap_or_default();
    Ok(text.lines().map(String::from).collect())
}

/// Writes such a list.
pub fn write_names(dir: &Folder, name: &str, names: &BTreeSet<String>) -> io::Result<()> {
    let lines = names.iter().map(|name| format!("{name}\n"));
    dir.write(name, &lines.collect::<String>())
}

/// Makes the loose refs of `dir` those of `shown`, from `private`, as they were read. Returns what commands see then.
/// A ref that a git holds locked, or that has changed since, stays as it is.
pub fn show(dir: &Folder, private: &Refs, shown: &Refs) -> io::Result<Refs> {
    let mut now = Refs::new();
    for change in changes(private, shown) {
        if is_private(&change.name) {
            continue;
        }
        if !replace(dir, &change)?
            && let Some(old) = change.old
        {
            now.insert(change.name, old);
        }
    }
    for (name, value) in shown {
        now.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Ok(now)
}

/// Removes all locks in a folder of refs.
pub fn unlock(folder: &Folder) {
    for (name, kind) in folder.entries().unwrap_or_default() {
        if kind.is_dir() {
            folder.sub(&name).iter().for_each(unlock);
        } else if Path::new(&name).extension().is_some_and(|e| e == "lock") {
            // One that stays is named by the next git.
            let _ = folder.remove_file(&name);
        }
    }
}

/// Gives one loose ref another value, as git does: under a lock, and only if it has the old one.
fn replace(dir: &Folder, change: &Change) -> io::Result<bool> {
    let Some((folders, file)) = change.name.rsplit_once('/') else {
        return Ok(false);
    };
    let mut folders = folders.split('/');
    let mut folder = dir.make(folders.next().unwrap_or_default())?;
    for name in folders {
        match folder.make(name) {
            Ok(sub) => folder = sub,
            // A ref that is gone has the name of the folder; it goes with the next transfer.
            Err(_) => return Ok(false),
        }
    }
    let lock = format!("{file}.lock");
    let text = change.new.clone().unwrap_or_default() + "\n";
    // Git never makes a link or the like for a lock, and would wait for it for ever.
    if folder.kind(&lock)?.is_some_and(|kind| !kind.is_file()) {
        folder.remove(&lock)?;
    }
    if folder.create(&lock, &text).is_err() {
        return Ok(false);
    }
    let now = match folder.kind(file)? {
        // Folders that branches have left empty.
        Some(FileType::Directory) => folder.remove_folder(file).map(|()| None),
        // A link or the like is no ref.
        Some(kind) if !kind.is_file() => folder.remove_file(file).map(|()| None),
        Some(_) | None => value(&folder, file),
    };
    // What cannot be read is not known to be the same.
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

//! What can change, and which path makes what dirty.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::board::{Which, id_of_file};

/// What is watched, below the root. In the order of [`Dirty::all`]. Beside them: the branches in git's own folders
/// ([`super::super::refs::Refs`]), and the skills.
pub(super) const FOLDERS: [&str; 5] = [
    ".tasks",
    ".team",
    ".team/inbox",
    ".team/requests",
    ".worktrees",
];
/// Kinds of files.
pub(super) const KINDS: usize = 6;

/// What to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirty {
    /// The board: these tasks, or all of it when nobody knows which.
    Board(Which),
    /// The roster.
    Roster,
    /// The inboxes.
    Mail,
    /// The requests.
    Requests,
    /// The worktrees, or the branches that theirs are merged into.
    Branches,
    /// The skills.
    Skills,
}

impl Dirty {
    /// Everything.
    pub fn all() -> [Dirty; KINDS] {
        [
            Dirty::Board(Which::All),
            Dirty::Roster,
            Dirty::Mail,
            Dirty::Requests,
            Dirty::Branches,
            Dirty::Skills,
        ]
    }

    /// Its place in [`Dirty::all`].
    pub(super) fn kind(&self) -> usize {
        match self {
            Dirty::Board(_) => 0,
            Dirty::Roster => 1,
            Dirty::Mail => 2,
            Dirty::Requests => 3,
            Dirty::Branches => 4,
            Dirty::Skills => 5,
        }
    }
}

/// What a changed path makes dirty. Temporary files and locks make nothing dirty; a cursor tells that
/// letters were taken.
pub(super) fn dirty(root: &Path, path: &Path) -> Option<Dirty> {
    let name = path.file_name()?.to_string_lossy();
    let folder: PathBuf = path.parent()?.strip_prefix(root).ok()?.to_path_buf();
    let is_hidden = name.starts_with('.');
    match folder.to_str()? {
        ".tasks" if !is_hidden => {
            let id = id_of_file(&name)?;
            Some(Dirty::Board(Which::These(BTreeSet::from([id]))))
        }
        ".team" if name == "config.json" => Some(Dirty::Roster),
        ".team/requests" if !is_hidden => Some(Dirty::Requests),
        ".team/inbox" if !is_hidden || name.ends_with(".cursor") => Some(Dirty::Mail),
        ".worktrees" if name == "index.json" => Some(Dirty::Branches),
        _ => None,
    }
}

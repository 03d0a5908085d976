//! The parts of the state that a watch reports as changed, and the files that belong to each part.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::board::{TaskSet, id_of_file};

/// The watched state folders, in the order of [`Dirty::all`]. Folders of branches ([`super::super::refs::GitFolders`])
/// and skills are watched too.
pub(super) const FOLDERS: [&str; 5] = [
    ".tasks",
    ".team",
    ".team/inbox",
    ".team/requests",
    ".worktrees",
];
/// Number of variants of [`Dirty`].
pub(super) const KINDS: usize = 6;

/// A part of the state that must be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirty {
    /// The board: some tasks, or all of them if it is unknown which have changed.
    Board(TaskSet),
    Roster,
    /// The inboxes and their read positions.
    Mail,
    Requests,
    /// The worktree registry, or the branches into which worktrees are merged.
    Branches,
    Skills,
}

impl Dirty {
    /// Returns one value of each variant; for the board, all tasks.
    pub fn all() -> [Dirty; KINDS] {
        [
            Dirty::Board(TaskSet::All),
            Dirty::Roster,
            Dirty::Mail,
            Dirty::Requests,
            Dirty::Branches,
            Dirty::Skills,
        ]
    }

    /// Returns the index of this variant in [`Dirty::all`].
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

/// Returns the part of the state to which the file at `path` belongs; `None` for other files, such as temporary files and
/// locks. A cursor file belongs to the inboxes, because it changes when messages are acknowledged.
pub(super) fn dirty_for_path(root: &Path, path: &Path) -> Option<Dirty> {
    let name = path.file_name()?.to_string_lossy();
    let folder: PathBuf = path.parent()?.strip_prefix(root).ok()?.to_path_buf();
    let is_hidden = name.starts_with('.');
    match folder.to_str()? {
        ".tasks" if !is_hidden => {
            let id = id_of_file(&name)?;
            Some(Dirty::Board(TaskSet::These(BTreeSet::from([id]))))
        }
        ".team" if name == "config.json" => Some(Dirty::Roster),
        ".team/requests" if !is_hidden => Some(Dirty::Requests),
        ".team/inbox" if !is_hidden || name.ends_with(".cursor") => Some(Dirty::Mail),
        ".worktrees" if name == "index.json" => Some(Dirty::Branches),
        _ => None,
    }
}

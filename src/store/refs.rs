//! Where git keeps the branches of a repository: as files with folders, packed into one file, or as tables; in the
//! folder that all worktrees share, and what is checked out in the root's own.

use std::fs;
use std::path::{Path, PathBuf};

use super::git::{Git, commit_of};
use super::{git_dirs, plain};
use crate::domain::worktree::CheckedOut;

/// Most folders of branches that are looked at; branches in those beyond are seen later.
const FOLDERS_MAX: usize = 256;
/// Most bytes of git's file that says what is checked out.
const HEAD_MAX: u64 = 16 * 1024;
/// Folders of branches within folders of branches that are looked into.
const DEPTH_MAX: usize = 16;
/// The branches of worktrees: what agents commit there moves nothing that others build on.
const WORKTREES: &str = "wt";

/// The folders of git in which a change can move a branch that others are merged into.
#[derive(Debug, Clone)]
pub(super) struct Refs {
    /// The root's own git folder.
    own: PathBuf,
    /// The one that all worktrees share.
    shared: PathBuf,
}

/// The folders, and whether those are all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefFolders {
    pub(super) folders: Vec<PathBuf>,
    pub(super) is_whole: bool,
}

impl Refs {
    /// Those of `root`; `None`: it is in no repository.
    pub(super) fn of(root: &Path) -> Option<Refs> {
        let (own, shared) = git_dirs(root)?;
        Some(Refs {
            own: own.canonicalize().ok()?,
            shared: shared.canonicalize().ok()?,
        })
    }

    /// The folder that all worktrees share, which may be on another file system than the root.
    pub(super) fn shared(&self) -> &Path {
        &self.shared
    }

    fn heads(&self) -> PathBuf {
        self.shared.join("refs/heads")
    }

    /// The folders in which a change can move a branch, as they are now.
    pub(super) fn folders(&self) -> RefFolders {
        let mut all = vec![self.own.clone(), self.shared.clone()];
        all.extend([&self.own, &self.shared].map(|git| git.join("reftable")));
        all.retain(|folder| folder.is_dir());
        all.sort();
        all.dedup();
        let (heads, is_whole) = self.head_folders();
        all.extend(heads);
        RefFolders {
            folders: all,
            is_whole,
        }
    }

    /// The folders of branches, and whether those are all.
    fn head_folders(&self) -> (Vec<PathBuf>, bool) {
        let (mut all, mut is_whole) = (Vec::new(), true);
        let mut ahead = vec![(self.heads(), 0)];
        while let Some((folder, depth)) = ahead.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            if all.len() == FOLDERS_MAX || depth > DEPTH_MAX {
                is_whole = false;
                continue;
            }
            for entry in entries.filter_map(Result::ok) {
                let is_own = depth == 0 && entry.file_name() == WORKTREES;
                if !is_own && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    ahead.push((entry.path(), depth + 1));
                }
            }
            all.push(folder);
        }
        all.sort();
        (all, is_whole)
    }

    /// The files and folders that look otherwise when a branch has moved.
    pub(super) fn marks(&self) -> Vec<PathBuf> {
        let (mut all, _) = self.head_folders();
        all.push(self.own.join("HEAD"));
        all.push(self.shared.join("packed-refs"));
        all.extend([&self.own, &self.shared].map(|git| git.join("reftable/tables.list")));
        all.dedup();
        all
    }

    /// Whether a change of `path` can have moved a branch. Locks move nothing, nor does what git notes for itself.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return false;
        };
        let heads = self.heads();
        if let Ok(below) = path.strip_prefix(&heads) {
            let is_lock = path.extension().is_some_and(|end| end == "lock");
            // No part of a branch's name begins with a dot.
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            return !is_lock && !is_hidden && !below.starts_with(WORKTREES);
        }
        (name == "HEAD" && folder == self.own)
            || (name == "packed-refs" && folder == self.shared)
            || (name == "tables.list"
                && [&self.own, &self.shared]
                    .map(|git| git.join("reftable"))
                    .contains(&folder.into()))
    }
}

/// What `root` has checked out, as its git folder says; `None`: it is in no repository, or that can not be told. Git is
/// only asked where it keeps the branches as tables.
pub fn checked_out(root: &Path) -> Option<CheckedOut> {
    let refs = Refs::of(root)?;
    let head = plain::read_text(&refs.own.join("HEAD"), HEAD_MAX).ok()?;
    if !refs.shared.join("reftable").is_dir() {
        return CheckedOut::parse(&head);
    }
    let git = Git::at(root);
    let name = git.run(&["symbolic-ref", "--quiet", "HEAD"]).ok()?;
    if name.code == 0 {
        return CheckedOut::parse(&format!("ref: {}", name.out));
    }
    let commit = commit_of(&git, "HEAD").ok()??;
    CheckedOut::parse(&commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn made(root: &Path, folders: &[&str]) {
        for folder in folders {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
    }

    #[test]
    fn what_moves_a_branch_is_told_from_what_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        assert!(Refs::of(&root).is_none());
        made(&root, &[".git/objects"]);
        let refs = Refs::of(&root).unwrap();
        for (path, expected) in [
            ("refs/heads/main", true),
            ("refs/heads/team/main", true),
            ("refs/heads/team/deep/main", true),
            ("refs/heads/main.lock", false),
            ("refs/heads/.tmp-Ab12Cd", false),
            ("refs/heads/wt/task-1", false),
            ("refs/heads/wt", false),
            ("refs/tags/v1", false),
            ("packed-refs", true),
            ("packed-refs.lock", false),
            ("HEAD", true),
            ("ORIG_HEAD", false),
            ("index", false),
            ("worktrees/task-1/HEAD", false),
            ("reftable/tables.list", true),
            ("reftable/0x01-0x02.ref", false),
        ] {
            assert_eq!(
                refs.concerns(&root.join(".git").join(path)),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn folders_of_branches_are_found_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let heads = ".git/refs/heads";
        made(
            &root,
            &[
                ".git/objects",
                ".git/refs/heads/wt/deep",
                ".git/refs/heads/a/b",
            ],
        );
        let refs = Refs::of(&root).unwrap();
        let expected = [".git", heads, ".git/refs/heads/a", ".git/refs/heads/a/b"];
        let found = refs.folders();
        assert_eq!(found.folders, expected.map(|f| root.join(f)));
        assert!(found.is_whole);
        for number in 0..FOLDERS_MAX {
            made(&root, &[&format!("{heads}/c/{number}")]);
        }
        let found = refs.folders();
        assert_eq!(
            (found.folders.len(), found.is_whole),
            (FOLDERS_MAX + 1, false)
        );
    }
}

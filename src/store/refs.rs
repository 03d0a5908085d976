//! Finds where git stores branches: loose ref files, `packed-refs` or reftable in the shared git folder, and `HEAD` in the
//! git folder of the root.

use std::fs;
use std::path::{Path, PathBuf};

use super::git::{Git, commit_of};
use super::{git_dirs, regular_file};
use crate::domain::worktree::CheckedOut;

/// Maximum number of branch folders (`refs/heads` and the folders below it) to watch and to poll. Changes in further
/// folders are noticed only when a watched or polled folder changes too.
const FOLDERS_MAX: usize = 256;
/// Maximum size of git's file `HEAD`, in bytes.
const HEAD_MAX: u64 = 16 * 1024;
/// Maximum depth of the folders to search below `refs/heads`. Deeper folders are left out.
const DEPTH_MAX: usize = 16;
/// Folder of the worktrees' branches in `refs/heads`. It is not watched, because commits of agents on these branches do
/// not change a base branch.
const WORKTREES: &str = "wt";

#[derive(Debug, Clone)]
pub(super) struct GitFolders {
    /// The git folder of the project's root.
    own: PathBuf,
    /// The git folder that all worktrees share.
    shared: PathBuf,
}

/// Folders in which git changes a file when a branch moves to another commit. Branches of worktrees are left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefFolders {
    pub(super) folders: Vec<PathBuf>,
    /// Whether `folders` is complete; false if a limit was reached.
    pub(super) is_complete: bool,
}

impl GitFolders {
    /// Returns the git folders of `root`, or `None` outside of a repository.
    pub(super) fn of(root: &Path) -> Option<GitFolders> {
        let (own, shared) = git_dirs(root)?;
        Some(GitFolders {
            own: own.canonicalize().ok()?,
            shared: shared.canonicalize().ok()?,
        })
    }

    /// Returns the shared git folder. It may be on another file system than the root.
    pub(super) fn shared_folder(&self) -> &Path {
        &self.shared
    }

    fn heads(&self) -> PathBuf {
        self.shared.join("refs/heads")
    }

    /// Lists the existing folders in which git changes a file when a branch moves to another commit. Leaves out the folder
    /// of the worktrees' branches.
    pub(super) fn folders(&self) -> RefFolders {
        let mut all = vec![self.own.clone(), self.shared.clone()];
        all.extend([&self.own, &self.shared].map(|git| git.join("reftable")));
        all.retain(|folder| folder.is_dir());
        all.sort();
        all.dedup();
        let (heads, is_complete) = self.head_folders();
        all.extend(heads);
        RefFolders {
            folders: all,
            is_complete,
        }
    }

    /// Returns `refs/heads` and the branch folders below it, sorted by path, except the folder of the worktrees'
    /// branches. The flag is `false` if a limit was reached, so that folders are missing.
    fn head_folders(&self) -> (Vec<PathBuf>, bool) {
        let (mut all, mut is_complete) = (Vec::new(), true);
        let mut ahead = vec![(self.heads(), 0)];
        while let Some((folder, depth)) = ahead.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            if all.len() == FOLDERS_MAX || depth > DEPTH_MAX {
                is_complete = false;
                continue;
            }
            for entry in entries.filter_map(Result::ok) {
                let is_worktrees = depth == 0 && entry.file_name() == WORKTREES;
                if !is_worktrees && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    ahead.push((entry.path(), depth + 1));
                }
            }
            all.push(folder);
        }
        all.sort();
        (all, is_complete)
    }

    /// Returns the files and folders whose metadata changes when a branch moves to another commit. Leaves out the
    /// branches of worktrees. The list includes files that do not exist. If [`GitFolders::head_folders`] has reached a
    /// limit, the list is incomplete, but it always contains the file of the checked-out branch.
    pub(super) fn ref_files(&self) -> Vec<PathBuf> {
        let (mut all, is_complete) = self.head_folders();
        if !is_complete
            && let Ok(head) = regular_file::read_text(&self.own.join("HEAD"), HEAD_MAX)
            && let Some(CheckedOut::Branch(name)) = CheckedOut::parse(&head)
        {
            all.push(self.heads().join(name));
        }
        all.push(self.own.join("HEAD"));
        all.push(self.shared.join("packed-refs"));
        all.extend([&self.own, &self.shared].map(|git| git.join("reftable/tables.list")));
        all.dedup();
        all
    }

    /// Returns whether a change of the file `path` can mean that a branch has moved to another commit. Lock files, other
    /// internal files of git, and the loose files of the worktrees' branches do not count.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return false;
        };
        let heads = self.heads();
        if let Ok(below) = path.strip_prefix(&heads) {
            let is_lock = path.extension().is_some_and(|end| end == "lock");
            // A name with a leading dot is not that of a branch, because no component of a branch name begins with a
            // dot.
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

/// Returns what `root` has checked out, or `None` outside of a repository or if it cannot be determined. Reads `HEAD`
/// directly and runs git only for repositories with reftable.
pub fn checked_out(root: &Path) -> Option<CheckedOut> {
    let refs = GitFolders::of(root)?;
    let head = regular_file::read_text(&refs.own.join("HEAD"), HEAD_MAX).ok()?;
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

    fn create_folders(root: &Path, folders: &[&str]) {
        for folder in folders {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
    }

    #[test]
    fn only_ref_files_can_move_a_branch() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        assert!(GitFolders::of(&root).is_none());
        create_folders(&root, &[".git/objects"]);
        let refs = GitFolders::of(&root).unwrap();
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
    fn branch_folders_are_found_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let heads = ".git/refs/heads";
        create_folders(
            &root,
            &[
                ".git/objects",
                ".git/refs/heads/wt/deep",
                ".git/refs/heads/a/b",
            ],
        );
        let refs = GitFolders::of(&root).unwrap();
        let expected = [".git", heads, ".git/refs/heads/a", ".git/refs/heads/a/b"];
        let found = refs.folders();
        assert_eq!(found.folders, expected.map(|f| root.join(f)));
        assert!(found.is_complete);
        let file = root.join(heads).join("z/main");
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/z/main").unwrap();
        assert!(!refs.ref_files().contains(&file));
        for number in 0..FOLDERS_MAX {
            create_folders(&root, &[&format!("{heads}/c/{number}")]);
        }
        assert!(refs.ref_files().contains(&file));
        let found = refs.folders();
        assert_eq!(
            (found.folders.len(), found.is_complete),
            (FOLDERS_MAX + 1, false)
        );
    }
}

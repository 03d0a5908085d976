//! Clones folders that git ignores, such as `node_modules`, from the root into a new worktree: those that the setting
//! `worktree.clone` names. The files share their blocks with the originals until one of the two is changed, so a clone
//! takes hardly any space. Where the file system cannot do that, nothing is copied. Hard links are never used, because a
//! program that changes a file in place would change the original too.
//!
//! A folder appears in the worktree with its complete content or not at all: it is cloned under another name and then
//! renamed. The worktree lock is not held meanwhile. If crewdeck is killed, the folders are cloned again with the setup.

mod folder;

use std::fs;
use std::path::{Path, PathBuf};

use super::Worktrees;
use crate::domain::worktree::{ClonedFolders, FolderState, WorktreeName};
use crate::store::git::Git;
use crate::store::{StoreError, os_errors};
use folder::{CloneError, FolderCloner, ShareBlocks, share_blocks};

impl Worktrees {
    /// Clones `folders`, paths relative to the root, into the worktree `name`. Leaves out a folder that is missing in the
    /// root, exists in the worktree, or that git does not ignore there. What cannot be cloned is no error, but part of the
    /// result.
    ///
    /// # Errors
    /// When there is no worktree with that name, the registry cannot be read, or git fails.
    pub fn clone_folders(
        &self,
        name: &WorktreeName,
        folders: &[String],
    ) -> Result<ClonedFolders, StoreError> {
        self.clone_with(name, folders, share_blocks)
    }

    fn clone_with(
        &self,
        name: &WorktreeName,
        folders: &[String],
        share: ShareBlocks,
    ) -> Result<ClonedFolders, StoreError> {
        let work = self.read()?;
        let name = work.index.find(name)?.name.clone();
        let tree = work.folder(&name);
        let (FolderState::Whole, Some((git, _))) = (tree.on_disk, tree.git) else {
            return Ok(ClonedFolders::default());
        };
        let (root, dir, trees) = (work.repo.root.clone(), tree.dir, work.dir.clone());
        drop(work);
        let to = CloneTarget {
            git: &git,
            root: &root,
            dir: &dir,
            scratch: &scratch_path(&trees, &name),
        };
        to.clone_folders(folders, share)
    }

    /// As [`Worktrees::clone_folders`], for a checkout in `dir` in which checks run. `scratch` is the path of the folder
    /// for unfinished clones; it must be on the same disk as `dir`.
    pub(super) fn clone_folders_to(
        &self,
        dir: &Path,
        scratch: &Path,
        folders: &[String],
    ) -> Result<ClonedFolders, StoreError> {
        let to = CloneTarget {
            git: &Git::at(dir),
            root: &self.root,
            dir,
            scratch,
        };
        to.clone_folders(folders, share_blocks)
    }
}

/// Where folders are cloned to.
struct CloneTarget<'a> {
    /// Git in `dir`.
    git: &'a Git,
    root: &'a Path,
    /// The folder of a worktree or checkout.
    dir: &'a Path,
    /// The folder for unfinished clones.
    scratch: &'a Path,
}

impl CloneTarget<'_> {
    fn clone_folders(
        &self,
        folders: &[String],
        share: ShareBlocks,
    ) -> Result<ClonedFolders, StoreError> {
        let CloneTarget {
            git,
            root,
            dir,
            scratch,
        } = *self;
        let mut report = ClonedFolders::default();
        let mut wanted = Vec::new();
        for folder in folders {
            if !root.join(folder).is_dir() || dir.join(folder).symlink_metadata().is_ok() {
                continue;
            }
            if is_ignored(git, folder)? {
                wanted.push(folder);
            } else {
                report.leave_out(folder, "git does not ignore it");
            }
        }
        if wanted.is_empty() {
            return Ok(report);
        }
        delete_scratch(scratch);
        fs::create_dir(scratch).map_err(StoreError::at(scratch))?;
        let mut cloner =
            FolderCloner::open(root, dir, scratch, share).map_err(StoreError::at(scratch))?;
        if cloner.can_share() {
            for folder in wanted {
                match cloner.clone_folder(Path::new(folder)) {
                    Ok(true) => report.add(folder),
                    Ok(false) => {}
                    Err(CloneError::TooMuch(why)) => report.leave_out(folder, why),
                    Err(CloneError::Io(error)) => {
                        report.leave_out(folder, &os_errors::explain(&error));
                    }
                }
            }
        } else {
            report.cannot_share = true;
        }
        delete_scratch(scratch);
        Ok(report)
    }
}

/// Returns whether git ignores a folder that does not exist yet. `git` runs in the worktree.
fn is_ignored(git: &Git, folder: &str) -> Result<bool, StoreError> {
    let path = format!("{folder}/");
    Ok(git.succeeds(&["check-ignore", "--quiet", "--", &path])?)
}

/// The prefix of the name of the folder with an unfinished clone in `.worktrees`. The name of the worktree follows.
const SCRATCH_PREFIX: &str = ".cloning-";

fn scratch_path(trees: &Path, name: &WorktreeName) -> PathBuf {
    trees.join(format!("{SCRATCH_PREFIX}{name}"))
}

/// Deletes the unfinished clone of a killed process. Commands of agents cannot write the folder `trees`.
pub(super) fn remove_scratch(trees: &Path, name: &WorktreeName) {
    delete_scratch(&scratch_path(trees, name));
}

fn delete_scratch(path: &Path) {
    if path.symlink_metadata().is_ok()
        && let Err(error) = fs::remove_dir_all(path)
    {
        tracing::warn!("{} cannot be deleted: {error}", path.display());
    }
}

/// Returns the name of the worktree whose unfinished clone is in the folder of this name.
pub(super) fn worktree_of(folder: &str) -> Option<WorktreeName> {
    let name = folder.strip_prefix(SCRATCH_PREFIX)?;
    WorktreeName::new(name).ok()
}

#[cfg(test)]
mod tests {
    use super::folder::copy_for_tests;
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::domain::timestamp::Timestamp;
    use crate::store::NewWorktree;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_ignored_folders_that_the_worktree_lacks_are_cloned() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = Git::at(&root);
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        git.ok(&["init", "--quiet"]).unwrap();
        for (key, value) in [("user.name", "Ada"), ("user.email", "a@example.org")] {
            git.ok(&["config", key, value]).unwrap();
        }
        write(".gitignore", "deps/\n/out/\n");
        write("pkg/a.txt", "tracked\n");
        git.ok(&["add", "--all"]).unwrap();
        git.ok(&["commit", "--quiet", "-m", "first"]).unwrap();
        write("deps/x/y.js", "y\n");
        write("pkg/deps/z.js", "z\n");
        write("out/made.o", "o\n");
        write("other/file", "not ignored\n");
        let trees = Worktrees::open(&root);
        let new = NewWorktree {
            task: TaskId(1),
            ..NewWorktree::default()
        };
        let name = trees.create(&new, Timestamp(1.0)).unwrap().worktree.name;
        let tree = root.join(".worktrees/task-1");
        fs::create_dir(tree.join("out")).unwrap();
        let folders = ["deps", "pkg/deps", "out", "other", "missing"].map(String::from);
        let cloned = trees.clone_with(&name, &folders, copy_for_tests).unwrap();
        assert_eq!(cloned.names, ["deps", "pkg/deps"]);
        assert_eq!(
            cloned.warnings(),
            ["worktree.clone: other is not copied: git does not ignore it."]
        );
        assert_eq!(fs::read_to_string(tree.join("deps/x/y.js")).unwrap(), "y\n");
        assert_eq!(
            fs::read_to_string(tree.join("pkg/deps/z.js")).unwrap(),
            "z\n"
        );
        assert!(!tree.join("out/made.o").exists() && !tree.join("other").exists());
        assert!(!root.join(".worktrees/.cloning-task-1").exists());
        assert_eq!(trees.state(&name).unwrap().dirty, 0);

        let nothing = trees.clone_with(&name, &folders[..1], |_, _| unreachable!());
        assert_eq!(nothing.unwrap(), ClonedFolders::default());
        fs::remove_dir_all(tree.join("deps")).unwrap();
        let refused = trees.clone_with(&name, &folders[..1], |_, _| Err(rustix::io::Errno::NOTSUP));
        assert!(refused.unwrap().cannot_share);
        assert!(!tree.join("deps").exists());
        assert!(!root.join(".worktrees/.cloning-task-1").exists());
    }
}

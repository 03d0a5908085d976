//! Clones folders that git ignores, such as `node_modules`, from the root into a new worktree: those that the setting
//! `worktree.clone` names. The files share their blocks with the originals until one of the two is changed, so a clone
//! takes hardly any space. Where the file system cannot do that, nothing is copied, or the files are copied as a whole if
//! the setting `worktree.clone_fallback` says so. Hard links are never used, not even of read-only files: a program in the
//! worktree may change the mode and the content of a file there, and would change the file of the user's checkout, which is
//! outside of its sandbox.
//!
//! A folder appears in the worktree with its complete content or not at all: it is cloned under another name and then
//! renamed. The worktree lock is not held meanwhile. If crewdeck is killed, the folders are cloned again with the setup.

mod folder;

use std::fs;
use std::path::{Path, PathBuf};

use super::Worktrees;
use crate::domain::worktree::{
    CloneFallback, ClonedFolders, FolderState, WorktreeName, WorktreeSettings,
};
use crate::store::git::Git;
use crate::store::{StoreError, os_errors};
use folder::{CloneError, FolderCloner, ShareBlocks, share_blocks};

impl Worktrees {
    /// Clones the folders that `settings` name, paths relative to the root, into the worktree `name`. Leaves out a folder
    /// that is missing in the root, exists in the worktree, or that git does not ignore there. What cannot be cloned is no
    /// error, but part of the result.
    ///
    /// # Errors
    /// When there is no worktree with that name, the registry cannot be read, or a folder for unfinished clones cannot be
    /// created.
    pub fn clone_folders(
        &self,
        name: &WorktreeName,
        settings: &WorktreeSettings,
    ) -> Result<ClonedFolders, StoreError> {
        self.clone_with(name, settings, share_blocks)
    }

    fn clone_with(
        &self,
        name: &WorktreeName,
        settings: &WorktreeSettings,
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
        to.clone_folders(settings, share, || self.copies_max(settings))
    }

    /// Returns the size of the files that may be copied because their blocks cannot be shared, in bytes: what
    /// `worktree.disk_limit` leaves.
    fn copies_max(&self, settings: &WorktreeSettings) -> u64 {
        match settings.disk_limit {
            Some(limit) => limit.saturating_sub(self.disk_use().bytes),
            None => u64::MAX,
        }
    }

    /// As [`Worktrees::clone_folders`], for a checkout in `dir` in which checks run. `scratch` is the path of the folder
    /// for unfinished clones; it must be on the same disk as `dir`.
    pub(super) fn clone_folders_to(
        &self,
        dir: &Path,
        scratch: &Path,
        settings: &WorktreeSettings,
    ) -> Result<ClonedFolders, StoreError> {
        let to = CloneTarget {
            git: &Git::at(dir),
            root: &self.root,
            dir,
            scratch,
        };
        to.clone_folders(settings, share_blocks, || self.copies_max(settings))
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
    /// Clones the folders that `settings` name. `copies_max` is called if files are to be copied.
    fn clone_folders(
        &self,
        settings: &WorktreeSettings,
        share: ShareBlocks,
        copies_max: impl Fn() -> u64,
    ) -> Result<ClonedFolders, StoreError> {
        let CloneTarget {
            git,
            root,
            dir,
            scratch,
        } = *self;
        let mut report = ClonedFolders::default();
        let mut wanted = Vec::new();
        for folder in settings.clone_folders.iter().flatten() {
            if !root.join(folder).is_dir() {
                continue;
            }
            let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
            let mut link = first_link(dir, parent);
            if link.is_none() {
                if dir.join(folder).symlink_metadata().is_ok() {
                    continue;
                }
                link = first_link(root, folder);
            }
            if let Some(link) = link {
                report.leave_out(folder, &format!("{link} is a symbolic link"));
                continue;
            }
            match is_ignored(git, folder) {
                Ok(true) => wanted.push(folder),
                Ok(false) => report.leave_out(folder, "git does not ignore it"),
                Err(error) => report.leave_out(folder, &error.to_string()),
            }
        }
        if wanted.is_empty() {
            return Ok(report);
        }
        delete_scratch(scratch);
        fs::create_dir(scratch).map_err(StoreError::at(scratch))?;
        let mut cloner =
            FolderCloner::open(root, dir, scratch, share).map_err(StoreError::at(scratch))?;
        let copies = settings.clone_fallback == Some(CloneFallback::Copy);
        if copies {
            cloner.allow_copies(copies_max());
        }
        if copies || cloner.can_share() {
            let space = cloner.copies_left();
            for folder in wanted {
                match cloner.clone_folder(Path::new(folder)) {
                    Ok(true) => report.add(folder),
                    Ok(false) => {}
                    Err(CloneError::Unsuitable(why)) => report.leave_out(folder, why),
                    Err(CloneError::Io(error)) => {
                        report.leave_out(folder, &os_errors::explain(&error));
                    }
                }
            }
            report.copied_bytes = space.saturating_sub(cloner.copies_left());
        } else {
            report.cannot_share = true;
        }
        delete_scratch(scratch);
        Ok(report)
    }
}

/// Returns the first part of the relative path `folder` that is a symbolic link in `base`; `None` if there is none.
fn first_link(base: &Path, folder: &str) -> Option<String> {
    let ends = folder.match_indices('/').map(|(at, _)| at);
    let mut parts = ends.chain([folder.len()]).map(|end| &folder[..end]);
    let is_link = |part: &&str| {
        let meta = base.join(part).symlink_metadata();
        meta.is_ok_and(|meta| meta.is_symlink())
    };
    parts.find(is_link).map(String::from)
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
        let settings = |folders: &[&str]| WorktreeSettings {
            clone_folders: Some(folders.iter().map(ToString::to_string).collect()),
            ..WorktreeSettings::default()
        };
        let all = settings(&["deps", "pkg/deps", "out", "other", "missing"]);
        let cloned = trees.clone_with(&name, &all, copy_for_tests).unwrap();
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

        let deps = settings(&["deps"]);
        let nothing = trees.clone_with(&name, &deps, |_, _| unreachable!());
        assert_eq!(nothing.unwrap(), ClonedFolders::default());
        fs::remove_dir_all(tree.join("deps")).unwrap();
        let cannot_share: ShareBlocks = |_, _| Err(rustix::io::Errno::NOTSUP);
        let refused = trees.clone_with(&name, &deps, cannot_share).unwrap();
        assert!(refused.cannot_share);
        assert!(!tree.join("deps").exists());
        assert!(!root.join(".worktrees/.cloning-task-1").exists());

        // Copies stay below the limit of the disk space.
        let copies = |limit| WorktreeSettings {
            clone_fallback: Some(CloneFallback::Copy),
            disk_limit: Some(limit),
            ..deps.clone()
        };
        let refused = trees.clone_with(&name, &copies(1), cannot_share).unwrap();
        assert_eq!((refused.names.len(), refused.copied_bytes), (0, 0));
        assert!(refused.warnings()[0].contains("worktree.disk_limit"));
        let copied = trees.clone_with(&name, &copies(1 << 30), cannot_share);
        let copied = copied.unwrap();
        assert_eq!(
            (copied.names, copied.copied_bytes),
            (vec!["deps".into()], 4096)
        );
        assert_eq!(fs::read_to_string(tree.join("deps/x/y.js")).unwrap(), "y\n");

        // A path that git refuses, or a link, does not prevent the others.
        fs::remove_dir_all(tree.join("deps")).unwrap();
        std::os::unix::fs::symlink("pkg", root.join("link")).unwrap();
        git.ok(&["add", "link"]).unwrap();
        git.ok(&["commit", "--quiet", "-m", "link"]).unwrap();
        std::os::unix::fs::symlink("pkg", tree.join("link")).unwrap();
        std::os::unix::fs::symlink("deps", root.join("linked")).unwrap();
        let some = settings(&["link/deps", "linked", "deps"]);
        let cloned = trees.clone_with(&name, &some, copy_for_tests).unwrap();
        assert_eq!(cloned.names, ["deps"]);
        assert_eq!(
            cloned.warnings(),
            [
                "worktree.clone: link/deps is not copied: link is a symbolic link.",
                "worktree.clone: linked is not copied: linked is a symbolic link."
            ]
        );
    }
}

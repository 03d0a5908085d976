//! Finds content of the repository that git has not fetched into a worktree: empty submodules, and files that contain a
//! pointer of Git LFS. Without `.gitmodules` and `.gitattributes`, runs git once.

use std::fs;
use std::path::{Component, Path};

use super::Worktrees;
use crate::domain::worktree::{FolderState, MissingContent, WorktreeName};
use crate::store::git::Git;
use crate::store::{StoreError, regular_file};

/// Maximum size of `.gitattributes` that is read, in bytes. In a larger file, Git LFS is not detected.
const ATTRIBUTES_MAX: u64 = 1024 * 1024;
/// Maximum size of git's list of paths, in bytes.
const LIST_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of submodules and of files of Git LFS that are checked.
const CHECKED_MAX: usize = 2000;
/// Maximum number of files `.gitattributes` that are read. If there are more, Git LFS is assumed.
const ATTRIBUTE_FILES_MAX: usize = 200;
/// Maximum size of a pointer of Git LFS, in bytes, as its specification says.
const POINTER_MAX: u64 = 1024;
/// The beginning of a pointer of Git LFS.
const POINTER_START: &[u8] = b"version https://git-lfs.github.com/spec/";
/// The mode of a submodule in git's index.
const SUBMODULE_MODE: &[u8] = b"160000 ";

impl Worktrees {
    /// Returns what git has not fetched into the worktree `name`. Checks at most 2,000 submodules and 2,000 files.
    ///
    /// # Errors
    /// When there is no worktree with that name, the registry cannot be read, or git fails.
    pub fn missing_content(&self, name: &WorktreeName) -> Result<MissingContent, StoreError> {
        let work = self.read()?;
        let name = work.index.find(name)?.name.clone();
        let tree = work.folder(&name);
        let mut missing = MissingContent::default();
        let (FolderState::Whole, Some((git, _))) = (tree.on_disk, &tree.git) else {
            return Ok(missing);
        };
        let is_file = |name: &str| {
            let meta = tree.dir.join(name).symlink_metadata();
            meta.is_ok_and(|meta| meta.is_file())
        };
        if is_file(".gitmodules") {
            for path in empty_submodules(git, &tree.dir)? {
                missing.submodules.add(&path);
            }
        }
        if work.repo.common().join("lfs").is_dir() || uses_lfs(git, &tree.dir)? {
            for path in lfs_pointers(git, &tree.dir)? {
                missing.lfs_pointers.add(&path);
            }
        }
        Ok(missing)
    }
}

/// Returns the submodules that `.gitmodules` names and whose folder is empty.
fn empty_submodules(git: &Git, dir: &Path) -> Result<Vec<String>, StoreError> {
    let pattern = r"^submodule\..*\.path$";
    let args = &[
        "config",
        "--file",
        ".gitmodules",
        "-z",
        "--get-regexp",
        pattern,
    ];
    let named = git.run_keeping(args, LIST_MAX)?;
    if named.code != 0 {
        // The file names no path, or is not valid.
        return Ok(Vec::new());
    }
    let paths = named
        .out
        .split('\0')
        .filter_map(|entry| entry.split_once('\n'));
    let paths = paths.map(|(_, path)| path).filter(|path| is_inside(path));
    let paths: Vec<String> = paths
        .take(CHECKED_MAX)
        .map(|path| format!(":(literal){path}"))
        .collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["ls-files", "--stage", "-z", "--"];
    args.extend(paths.iter().map(String::as_str));
    let listed = git.run_keeping(&args, LIST_MAX)?;
    if listed.code != 0 {
        return Err(listed.to_error(&args).into());
    }
    let submodules = listed.out.split('\0').filter_map(|entry| {
        let (stage, path) = entry.split_once('\t')?;
        stage.as_bytes().starts_with(SUBMODULE_MODE).then_some(path)
    });
    let is_empty = |path: &&str| match fs::read_dir(dir.join(path)) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    Ok(submodules.filter(is_empty).map(String::from).collect())
}

/// Returns whether a file `.gitattributes` of the worktree `dir`, in any folder, names the filter of Git LFS.
fn uses_lfs(git: &Git, dir: &Path) -> Result<bool, StoreError> {
    let args = &["ls-files", "-z", "--", ":(glob)**/.gitattributes"];
    let listed = git.run_keeping(args, LIST_MAX)?;
    if listed.code != 0 {
        return Err(listed.to_error(args).into());
    }
    let files = listed.out.split('\0').filter(|path| is_inside(path));
    let files: Vec<&str> = files.take(ATTRIBUTE_FILES_MAX + 1).collect();
    let names_lfs = |path: &&str| {
        let text = regular_file::read_text(&dir.join(path), ATTRIBUTES_MAX);
        text.is_ok_and(|text| text.contains("filter=lfs"))
    };
    Ok(files.len() > ATTRIBUTE_FILES_MAX || files.iter().any(names_lfs))
}

/// Returns the files in the worktree `dir` that are to be handled by Git LFS and contain a pointer.
fn lfs_pointers(git: &Git, dir: &Path) -> Result<Vec<String>, StoreError> {
    let args = &["ls-files", "-z", "--", ":(attr:filter=lfs)"];
    let listed = git.run_keeping(args, LIST_MAX)?;
    if listed.code != 0 {
        return Err(listed.to_error(args).into());
    }
    let files = listed.out.split('\0').filter(|path| is_inside(path));
    let files = files.take(CHECKED_MAX);
    let pointers = files.filter(|path| is_pointer(&dir.join(path)));
    Ok(pointers.map(String::from).collect())
}

fn is_pointer(path: &Path) -> bool {
    let meta = path.symlink_metadata();
    let is_small = meta.is_ok_and(|meta| meta.is_file() && meta.len() <= POINTER_MAX);
    is_small
        && regular_file::read(path, POINTER_MAX).is_ok_and(|text| text.starts_with(POINTER_START))
}

/// Returns whether a path is relative and does not leave its folder.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

//! Handles nested repositories (submodules) in a worktree. To check a nested repository for uncommitted changes, git
//! would run inside it with settings that an agent can write. Such settings can start any program outside the sandbox,
//! so crewdeck never lets git look into nested repositories. This loses no work, because a worktree with a nested
//! repository is removed only after the user has confirmed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::git::{Git, GitError};
use crate::store::{StoreError, regular_file};

/// Maximum size in bytes of git's list of all files in the index: enough for about 800,000 files.
const INDEX_MAX: usize = 64 * 1024 * 1024;

/// Maximum size in bytes of a git file that contains the path of a folder.
const LINK_MAX: u64 = 16 * 1024;

/// The option with which `git status` and `git diff` compare only the commit of a nested repository, not its files.
pub const IGNORE_NESTED_FILES: &str = "--ignore-submodules=dirty";

/// Returns the paths, relative to `dir`, of the nested repositories (such as submodules) that are both in the index and
/// on disk. `git` runs in `dir`.
pub fn nested_repos(git: &Git, dir: &Path) -> Result<Vec<String>, StoreError> {
    let args = &["ls-files", "--stage", "-z"];
    let answer = git.run_keeping(args, INDEX_MAX)?;
    if answer.code != 0 {
        return Err(answer.to_error(args).into());
    }
    if answer.lost > 0 {
        return Err(GitError::TooLong("ls-files".into()).into());
    }
    let links = split_nul(&answer.out).filter(|l| l.starts_with("160000 "));
    Ok(links
        .filter_map(|line| line.split_once('\t'))
        .filter(|(_, path)| dir.join(path).join(".git").symlink_metadata().is_ok())
        .map(|(_, path)| path.to_string())
        .collect())
}

/// Stages all uncommitted changes in `dir`. Of a nested repository, stages only the commit that is checked out in it;
/// `git add --all` has no option for this.
pub fn add_all(git: &Git, dir: &Path) -> Result<(), StoreError> {
    let nested = nested_repos(git, dir)?;
    let mut links = vec!["update-index", "--"];
    links.extend(nested.iter().map(String::as_str));
    if !nested.is_empty() {
        git.ok(&links)?;
    }
    let but = nested.iter().map(|p| format!(":(top,exclude,literal){p}"));
    let but: Vec<String> = but.collect();
    let mut all = vec!["add", "--all", "--", ":(top)"];
    all.extend(but.iter().map(String::as_str));
    git.ok(&all)?;
    Ok(())
}

/// Returns the paths, relative to `dir`, of the nested repositories in which `git merge` would run git. Leaves out
/// repositories whose git folder is below `kept`, where agents cannot write.
///
/// Git runs in all nested repositories on disk if `.gitmodules`, in the worktree or in the commit `tip`, has an
/// `ignore` setting. Otherwise it runs in none, and the result is empty.
pub fn scanned_by_merge(
    git: &Git,
    dir: &Path,
    kept: Option<&Path>,
    tip: &str,
) -> Result<Vec<String>, StoreError> {
    let kept = kept.and_then(|kept| fs::canonicalize(kept).ok());
    let is_open = |path: &String| {
        let Some(kept) = &kept else { return true };
        let link = fs::read_link(dir.join(path).join(".git"));
        let own = git_folder(&dir.join(path));
        link.is_ok() || own.is_none_or(|own| !own.starts_with(kept))
    };
    let mut open = nested_repos(git, dir)?;
    open.retain(is_open);
    if open.is_empty() {
        return Ok(open);
    }
    let of_tip = format!("--blob={tip}:.gitmodules");
    let file = dir.join(".gitmodules");
    let of_file = format!("--file={}", file.display());
    let says = |place: &str| {
        let wanted = r"^submodule\..*\.ignore$";
        git.run(&["config", place, "--name-only", "--get-regexp", wanted])
    };
    // If `.gitmodules` is missing, git prints nothing.
    let is_said = !says(&of_tip)?.out.is_empty() || !says(&of_file)?.out.is_empty();
    Ok(if is_said { open } else { Vec::new() })
}

/// Returns the git folder to which the `.git` file in `dir` points; `None` if there is no such file or folder.
fn git_folder(dir: &Path) -> Option<PathBuf> {
    let text = regular_file::read_text(&dir.join(".git"), LINK_MAX).ok()?;
    fs::canonicalize(dir.join(text.strip_prefix("gitdir:")?.trim())).ok()
}

/// Splits the output of a git command with `-z` into names.
pub(super) fn split_nul(names: &str) -> impl Iterator<Item = &str> {
    names.split('\0').filter(|name| !name.is_empty())
}

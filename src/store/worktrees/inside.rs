//! Repositories inside a work tree. To see whether something is uncommitted in one, git runs git in there, by settings
//! and attributes that an agent can write: these name programs, and nothing would confine them. So crewdeck's git does
//! not look into them. What is in there is not lost by it: a worktree with one of them is never removed unasked.

use std::fs;
use std::path::{Path, PathBuf};

use super::merge::split;
use crate::store::git::{Git, GitError};
use crate::store::{StoreError, plain};

/// Most bytes of the index that are read: some 800,000 files.
const INDEX_MAX: usize = 64 * 1024 * 1024;

/// Most bytes of a file of git that names a folder.
const LINK_MAX: u64 = 16 * 1024;

/// The option that looks at the commit of such a repository alone, for `git status` and `git diff`.
pub const LOOK_AT_NO_FILES: &str = "--ignore-submodules=dirty";

/// The paths of those that the index knows and that are there.
pub fn inside(git: &Git, dir: &Path) -> Result<Vec<String>, StoreError> {
    let args = &["ls-files", "--stage", "-z"];
    let answer = git.run_keeping(args, INDEX_MAX)?;
    if answer.code != 0 {
        return Err(answer.failed(args).into());
    }
    if answer.lost > 0 {
        return Err(GitError::TooLong("ls-files".into()).into());
    }
    let links = split(&answer.out).filter(|l| l.starts_with("160000 "));
    Ok(links
        .filter_map(|line| line.split_once('\t'))
        .filter(|(_, path)| dir.join(path).join(".git").symlink_metadata().is_ok())
        .map(|(_, path)| path.to_string())
        .collect())
}

/// Adds all that is uncommitted in `dir` to the index; of repositories inside the commit that they have checked out.
/// (`git add --all` knows no option for that.)
pub fn add_all(git: &Git, dir: &Path) -> Result<(), StoreError> {
    let inside = inside(git, dir)?;
    let mut links = vec!["update-index", "--"];
    links.extend(inside.iter().map(String::as_str));
    if !inside.is_empty() {
        git.ok(&links)?;
    }
    let but = inside.iter().map(|p| format!(":(top,exclude,literal){p}"));
    let but: Vec<String> = but.collect();
    let mut all = vec!["add", "--all", "--", ":(top)"];
    all.extend(but.iter().map(String::as_str));
    git.ok(&all)?;
    Ok(())
}

/// Those into which `git merge` would look: where `.gitmodules` says so, of what is checked out or of the commit `tip`.
/// Not those whose git folder lies below `kept`, which no command of an agent can write.
pub fn looked_into(
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
    let mut open = inside(git, dir)?;
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
    // What is not there can not be read either, and says nothing.
    let is_said = !says(&of_tip)?.out.is_empty() || !says(&of_file)?.out.is_empty();
    Ok(if is_said { open } else { Vec::new() })
}

/// The git folder that the file `.git` in `dir` names.
fn git_folder(dir: &Path) -> Option<PathBuf> {
    let text = plain::read_text(&dir.join(".git"), LINK_MAX).ok()?;
    fs::canonicalize(dir.join(text.strip_prefix("gitdir:")?.trim())).ok()
}

//! Shows what a worktree changes as a diff: committed changes, uncommitted changes and untracked files.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::inspect::{status_of, was_merged};
use super::nested_repos::IGNORE_NESTED_FILES;
use super::{OpenRegistry, Worktrees};
use crate::domain::worktree::{Worktree, WorktreeDiff, WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{Git, GitError, is_hash};

/// Maximum size of a diff, in bytes. The rest of a longer diff is cut.
const DIFF_MAX: usize = 256 * 1024;
/// Maximum size of the diff's statistics, in bytes.
const STAT_MAX: usize = 16 * 1024;
/// Maximum number of merge commits of the base branch that are searched for the merge of a worktree's branch.
const MERGES_MAX: usize = 1000;
/// Maximum number of untracked files whose content is shown.
const NEW_MAX: usize = 200;

impl Worktrees {
    /// Returns what has changed in a worktree since the merge base with its base branch, committed or not. If the
    /// branch is merged and has no later changes, returns what the merge changed.
    ///
    /// # Errors
    /// When there is no worktree with that name, its branch is gone, or git fails.
    pub fn diff(&self, name: &WorktreeName) -> Result<WorktreeDiff, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        let branch = tree.name.branch();
        let Some(tip) = work.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        let (_, base) = work.base_of(tree)?;
        let parted = work.repo.merge_base(&base, &tip)?;
        let start = parted.unwrap_or_else(|| base.clone());
        let found = work.folder(&tree.name);
        let status = match &found.git {
            Some((git, _)) => Some(status_of(git)?),
            None => None,
        };
        let is_clean = status.as_ref().is_none_or(|s| s.count == 0);
        let merge = if start == tip && is_clean && was_merged(tree) {
            work.merge_of(tree, &tip, &base)?
        } else {
            None
        };
        let main = work.repo.git.clone();
        let with_new = match (&merge, &found.git) {
            (None, Some((git, own))) => with_new_files(git, own),
            (Some(_), _) | (None, None) => None,
        };
        let (git, from, to) = match (merge, found.git) {
            (Some((before, merge)), _) => (main, before, Some(merge)),
            (None, Some((git, _))) => (git, start, None),
            (None, None) => (main, start, Some(tip)),
        };
        let git = with_new.as_ref().map_or(&git, |(git, _)| git);
        let mut range = vec![from.as_str()];
        range.extend(to.as_deref());
        Ok(WorktreeDiff {
            stat: diff_text(git, &["--stat=100"], &range, STAT_MAX)?,
            text: diff_text(git, &["--patch"], &range, DIFF_MAX)?,
            untracked: status.map(|s| s.untracked).unwrap_or_default(),
        })
    }
}

/// Returns the diff of `range`, one or two commits, in the form of the options `form`, at most `most` bytes. A line says if
/// it is cut.
pub(super) fn diff_text(
    git: &Git,
    form: &[&str],
    range: &[&str],
    most: usize,
) -> Result<String, GitError> {
    let mut args = vec![
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        IGNORE_NESTED_FILES,
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    args.extend(form);
    args.extend(range);
    args.push("--");
    let answer = git.run_keeping(&args, most)?;
    if answer.code != 0 {
        return Err(answer.to_error(&args));
    }
    Ok(match answer.lost {
        0 => answer.out,
        lost => format!("{}\n[… {lost} bytes cut here …]\n", answer.out),
    })
}

/// Returns a copy of `git` whose diffs show the content of untracked files. The copy uses a temporary index in which
/// these files are marked for adding; the worktree's own index is unchanged. The returned folder holds the temporary
/// index and must live as long as the copy is used. Returns `None` if there are no untracked files or git fails.
fn with_new_files(git: &Git, own: &Path) -> Option<(Git, TempDir)> {
    let list = ["ls-files", "--others", "--exclude-standard", "-z"];
    let answer = git.run(&list).ok().filter(|a| a.code == 0)?;
    // A path with a trailing slash is a nested repository, which is not read.
    let is_file = |path: &&str| !path.is_empty() && !path.ends_with('/');
    let new: Vec<&str> = answer
        .out
        .split('\0')
        .filter(is_file)
        .take(NEW_MAX)
        .collect();
    if new.is_empty() {
        return None;
    }
    let folder = tempfile::tempdir_in(own).ok()?;
    let index = folder.path().join("index");
    copy_with_time(&own.join("index"), &index).ok()?;
    let git = git.with_index(&index);
    let args = [
        "--literal-pathspecs",
        "add",
        "--intent-to-add",
        "--ignore-errors",
        "--",
    ];
    let args: Vec<&str> = args.into_iter().chain(new).collect();
    git.run(&args).ok()?;
    Some((git, folder))
}

/// Copies a git index together with its modification time. The index stores a time for each file, and git compares the
/// content only of files whose stored time is not older than the index. If the copy were newer than the original, git
/// would skip the comparison for some of these files and miss their changes.
fn copy_with_time(index: &Path, copy: &Path) -> io::Result<()> {
    let time = fs::metadata(index)?.modified()?;
    fs::copy(index, copy)?;
    File::options().write(true).open(copy)?.set_modified(time)
}

impl OpenRegistry {
    /// Returns two commits of the base branch: the commit before the merge of the commit `tip`, and the merge commit. That is
    /// the recorded merge commit of the worktree `tree`, which may have landed together with others in one commit. Otherwise
    /// searches the line of first parents. Returns `None` if `tip` was merged without a merge commit, or more than
    /// [`MERGES_MAX`] merges ago.
    fn merge_of(
        &self,
        tree: &Worktree,
        tip: &str,
        base: &str,
    ) -> Result<Option<(String, String)>, GitError> {
        let brings = |line: &str| {
            let mut hashes = line.split_whitespace();
            let (merge, before) = (hashes.next()?, hashes.next()?);
            let is_it = hashes.any(|parent| parent == tip);
            is_it.then(|| (before.to_string(), merge.to_string()))
        };
        let git = &self.repo.git;
        let known = tree.merged_commit.as_str();
        // Another program may have written the hash, and the user may have dropped the commit.
        if is_hash(known) {
            let line = git.run(&["rev-list", "--parents", "--max-count=1", known, "--"])?;
            if line.code == 0
                && let Some(found) = brings(&line.out)
                && git.succeeds(&["merge-base", "--is-ancestor", known, base])?
            {
                return Ok(Some(found));
            }
        }
        let most = format!("--max-count={MERGES_MAX}");
        let line = ["rev-list", "--first-parent", "--merges", "--parents", &most];
        let not = format!("^{tip}");
        let args: Vec<&str> = line.into_iter().chain([base, &not]).collect();
        let merges = git.ok(&args)?;
        Ok(merges.lines().find_map(brings))
    }
}

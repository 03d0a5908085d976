//! Finds files that a branch would publish although they are to stay on this machine, such as `.env.local`. An agent can
//! commit them with `git add --force`.

use std::io::{Seek, Write};
use std::path::Path;

use super::OpenRegistry;
use super::include::patterns;
use super::merge::short_list;
use super::nested_repos::split_nul;
use super::outgoing::refusal;
use crate::domain::text::one_line;
use crate::domain::worktree::INCLUDE_FILE;
use crate::store::StoreError;
use crate::store::git::Git;

/// Maximum size of the names of added files, in bytes.
const NAMES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of local files that are looked up in the base branch. Further ones count as added by the branch.
const LOOKED_UP_MAX: usize = 200;

impl OpenRegistry {
    /// Checks that the commits of `branch` after `start`, up to `commit`, add no file that git ignores in the root or that
    /// `.worktreeinclude` lists, and fails otherwise. A file that a later commit removes counts too: it is published with
    /// the history. The files `.gitignore` and `.worktreeinclude` of the root count, not those of the branch.
    ///
    /// # Errors
    /// When there is such a file, git fails, or `.worktreeinclude` cannot be read.
    pub(super) fn check_no_local_files(
        &self,
        branch: &str,
        start: &str,
        commit: &str,
    ) -> Result<(), StoreError> {
        let git = &self.repo.git;
        let names = added_names(git, start, commit)?;
        let added: Vec<&str> = split_nul(&names).collect();
        if added.is_empty() {
            return Ok(());
        }
        let ignored = ignored_names(git, &names)?;
        let ignored: Vec<&str> = split_nul(&ignored).collect();
        let patterns = patterns::read(&self.repo.root)
            .transpose()
            .map_err(refusal)?;
        let is_included = |name: &&str| {
            let patterns = patterns.as_ref();
            patterns.is_some_and(|patterns| patterns.matches(Path::new(name)))
        };
        let included = added.into_iter().filter(is_included);
        let mut local: Vec<&str> = ignored.into_iter().chain(included).collect();
        local.sort_unstable();
        local.dedup();
        let mut files = Vec::new();
        for (at, name) in local.into_iter().enumerate() {
            let is_known = at < LOOKED_UP_MAX
                && git
                    .run(&["cat-file", "-e", &format!("{start}:{name}")])?
                    .code
                    == 0;
            if !is_known {
                files.push(one_line(name));
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        let shown = short_list(&files, files.len());
        Err(refusal(format!(
            "{branch} has commits with files that are to stay on this machine, because git ignores them or {INCLUDE_FILE} lists them: {shown}. Remove them from its commits (git rebase -i), or, if they belong into the repository, add lines with ! for them to .gitignore or {INCLUDE_FILE}"
        )))
    }
}

/// Returns the names of the files that the commits after `start` up to `commit` add, separated by NUL bytes. Merge commits
/// count with files that none of their parents has.
fn added_names(git: &Git, start: &str, commit: &str) -> Result<String, StoreError> {
    let range = format!("{start}..{commit}");
    let args = [
        "log",
        "-c",
        "--no-show-signature",
        "--no-ext-diff",
        "--no-renames",
        "--diff-filter=A",
        "--name-only",
        "--format=",
        "-z",
        &range,
    ];
    let answer = git.run_keeping(&args, NAMES_MAX)?;
    if answer.code != 0 {
        return Err(answer.to_error(&args).into());
    }
    if answer.lost > 0 {
        return Err(refusal(
            "the branch adds so many files that crewdeck cannot check them: push it with git push",
        ));
    }
    Ok(answer.out)
}

/// Returns those of `names`, which NUL bytes separate, that git ignores in the root.
fn ignored_names(git: &Git, names: &str) -> Result<String, StoreError> {
    let write = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(names.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    let input = write().map_err(StoreError::at(std::env::temp_dir()))?;
    let args = ["check-ignore", "--no-index", "--stdin", "-z"];
    let answer = git.with_input(input).run_keeping(&args, NAMES_MAX)?;
    match answer.code {
        0 | 1 if answer.lost == 0 => Ok(answer.out),
        _ => Err(answer.to_error(&args).into()),
    }
}

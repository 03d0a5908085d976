//! Checks whether a branch is merged into another. It compares content, because squashed and rebased branches count as
//! merged too.

use super::{Git, GitError, Repo, is_hash};

impl Repo {
    /// Returns whether the commit `base` has all changes of the commit `tip`, so that a branch at `tip` can be deleted
    /// without loss.
    ///
    /// This is the case if `tip` is an ancestor of `base`, if merging `tip` would change nothing, or if `base` has the
    /// commits of `tip` under other hashes: each one (rebased) or all of them as one (squashed).
    ///
    /// # Errors
    /// When git fails.
    pub fn contains(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let git = &self.git;
        Ok(git.succeeds(&["merge-base", "--is-ancestor", tip, base])?
            || self.has_content(base, tip)?)
    }

    /// As [`Repo::contains`], for a `tip` that is known not to be an ancestor of `base`.
    ///
    /// # Errors
    /// When git fails.
    pub fn has_content(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let git = &self.git;
        if changes_nothing(git, base, tip)? || is_rebased(git, base, tip)? {
            return Ok(true);
        }
        // A single commit was already compared by `is_rebased`.
        let count = git.ok(&["rev-list", "--count", &format!("{base}..{tip}")])?;
        Ok(count != "1" && self.is_squashed(base, tip)?)
    }

    /// Returns the merge base of two commits; `None` if they share no history.
    ///
    /// # Errors
    /// When git fails.
    pub fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>, GitError> {
        let answer = self.git.run(&["merge-base", a, b])?;
        let hash = answer.out.trim().to_string();
        Ok((answer.code == 0 && is_hash(&hash)).then_some(hash))
    }

    /// Returns whether one commit in the history of `base` makes the same change as all commits of `tip` since the
    /// merge base together.
    fn is_squashed(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let Some(start) = self.merge_base(base, tip)? else {
            return Ok(false);
        };
        // No branch refers to the new commit, so git's garbage collection removes it later.
        let tree = format!("{tip}^{{tree}}");
        let git = self.git.committer()?;
        let squashed = git.ok(&["commit-tree", &tree, "-p", &start, "-m", "squashed"])?;
        has_equivalents(&git, base, &squashed)
    }
}

/// Returns whether merging the commit `tip` into the commit `base` would change no file. Git before 2.38 cannot compute
/// a merge without touching files. With such a git, the result is true only if both commits contain the same files.
fn changes_nothing(git: &Git, base: &str, tip: &str) -> Result<bool, GitError> {
    let trees = [base, tip].map(|commit| format!("{commit}^{{tree}}"));
    let both = git.ok(&["rev-parse", &trees[0], &trees[1]])?;
    let (tree, own) = both.split_once('\n').unwrap_or_default();
    if tree == own {
        return Ok(true);
    }
    let merged = git.run(&["merge-tree", "--write-tree", base, tip])?;
    Ok(merged.code == 0 && merged.out.trim() == tree)
}

/// Returns whether `base` has each commit of `tip` under another hash. Returns false for a branch with merge commits,
/// because changes made in a merge commit cannot be compared.
fn is_rebased(git: &Git, base: &str, tip: &str) -> Result<bool, GitError> {
    let range = format!("{base}..{tip}");
    if git.ok(&["rev-list", "--count", "--merges", &range])? != "0" {
        return Ok(false);
    }
    has_equivalents(git, base, tip)
}

/// Returns whether, for each commit of `tip` that `base` lacks, `base` has another commit with the same change. Merge
/// commits do not count.
fn has_equivalents(git: &Git, base: &str, tip: &str) -> Result<bool, GitError> {
    let twins = git.ok(&["cherry", base, tip])?;
    Ok(!twins.lines().any(|line| line.starts_with('+')))
}

//! Whether a branch's work is in another one: by content, since a squashed or rebased branch is merged too.

use super::{Git, GitError, Repo, is_hash};

impl Repo {
    /// Whether deleting `tip` would lose nothing that `base` does not have. Both are commits.
    ///
    /// Yes when `tip` is part of `base`'s history, when merging it would change nothing, when each of its
    /// commits is there under another hash (rebased), or when all of them together are (squashed).
    ///
    /// # Errors
    /// When git fails.
    pub fn contains(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let git = &self.git;
        Ok(
            git.says(&["merge-base", "--is-ancestor", tip, base])?
                || self.has_content(base, tip)?,
        )
    }

    /// The same where it is known that `tip` is no part of `base`'s history.
    ///
    /// # Errors
    /// When git fails.
    pub fn has_content(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let git = &self.git;
        if changes_nothing(git, base, tip)? || is_rebased(git, base, tip)? {
            return Ok(true);
        }
        // One commit alone was looked for just now.
        let count = git.ok(&["rev-list", "--count", &format!("{base}..{tip}")])?;
        Ok(count != "1" && self.is_squashed(base, tip)?)
    }

    /// Where two commits parted; `None`: they have no history in common.
    ///
    /// # Errors
    /// When git fails.
    pub fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>, GitError> {
        let answer = self.git.run(&["merge-base", a, b])?;
        let hash = answer.out.trim().to_string();
        Ok((answer.code == 0 && is_hash(&hash)).then_some(hash))
    }

    /// Whether some commit of `base` does what all commits of `tip` do together.
    fn is_squashed(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let Some(start) = self.merge_base(base, tip)? else {
            return Ok(false);
        };
        // A commit that no branch holds: git sweeps it up by itself.
        let tree = format!("{tip}^{{tree}}");
        let git = self.git.committer()?;
        let squashed = git.ok(&["commit-tree", &tree, "-p", &start, "-m", "squashed"])?;
        no_news(&git, base, &squashed)
    }
}

/// Whether merging would leave the files as they are. An older git (before 2.38) can not try a merge without
/// touching files: then only equal files count.
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

/// Whether each commit is in `base` under another hash. What was done in a merge commit has no such twin,
/// so a branch with merge commits does not count.
fn is_rebased(git: &Git, base: &str, tip: &str) -> Result<bool, GitError> {
    let range = format!("{base}..{tip}");
    if git.ok(&["rev-list", "--count", "--merges", &range])? != "0" {
        return Ok(false);
    }
    no_news(git, base, tip)
}

/// Whether `base` has each commit of `tip` that is no merge commit, under whatever hash.
fn no_news(git: &Git, base: &str, tip: &str) -> Result<bool, GitError> {
    let twins = git.ok(&["cherry", base, tip])?;
    Ok(!twins.lines().any(|line| line.starts_with('+')))
}

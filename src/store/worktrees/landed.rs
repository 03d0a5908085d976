//! Finds what has landed on a base branch since a branch began.

use super::Worktrees;
use crate::domain::text::{clip, one_line};
use crate::domain::worktree::WorktreeName;
use crate::store::StoreError;

/// Maximum size of git's output, in bytes. Enough for some hundred commits with long subjects.
const OUTPUT_MAX: usize = 256 * 1024;
/// Maximum length of a subject, in characters.
const SUBJECT_MAX: usize = 100;
/// The git command that lists commits for [`parse_commits`], without the commits.
const LIST: [&str; 5] = [
    "log",
    "--first-parent",
    "--no-show-signature",
    "--no-color",
    "--format=%H %P%x00%s",
];

/// A commit of a base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedCommit {
    pub hash: String,
    pub subject: String,
}

/// What has landed on a base branch since a branch began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedCommits {
    /// The commit before the first of `commits`.
    pub start: String,
    /// Oldest first, not empty. Only the commits on the line of first parents, so that each merge is one commit.
    pub commits: Vec<LandedCommit>,
}

impl Worktrees {
    /// Returns the newest commits of the base branch, whose last commit is `base`, that the commit `tip` does not
    /// contain: at most `max`. `None` if there are none.
    ///
    /// # Errors
    /// When a commit does not exist, or git fails.
    pub fn landed_since(
        &self,
        base: &str,
        tip: &str,
        max: usize,
    ) -> Result<Option<LandedCommits>, StoreError> {
        let work = self.read()?;
        let (most, without) = (format!("--max-count={max}"), format!("^{tip}"));
        let args = [&LIST[..], &[most.as_str(), base, without.as_str(), "--"]].concat();
        let answer = work.repo.git.run_keeping(&args, OUTPUT_MAX)?;
        if answer.code != 0 {
            return Err(answer.to_error(&args).into());
        }
        if answer.lost > 0 {
            return Ok(None);
        }
        Ok(parse_commits(&answer.out).map(|found| found.landed))
    }

    /// Returns the merges of single branches that the commit `hash` of a base branch has brought together; `None` if it has
    /// not brought several branches as a merge train does. More than `max` merges count as none.
    ///
    /// # Errors
    /// When git fails.
    pub fn merged_together(
        &self,
        hash: &str,
        max: usize,
    ) -> Result<Option<LandedCommits>, StoreError> {
        let work = self.read()?;
        // One more than `max` shows that there are too many.
        let most = format!("--max-count={}", max.saturating_add(1));
        let (inner, without) = (format!("{hash}^2"), format!("^{hash}^1"));
        let args = [
            &LIST[..],
            &[most.as_str(), inner.as_str(), without.as_str(), "--"],
        ]
        .concat();
        let answer = work.repo.git.run_keeping(&args, OUTPUT_MAX)?;
        if answer.code != 0 || answer.lost > 0 {
            // It has one parent, for example.
            return Ok(None);
        }
        let found = parse_commits(&answer.out);
        Ok(found
            .filter(|found| found.are_merges && found.landed.commits.len() <= max)
            .map(|found| found.landed))
    }

    /// Returns the worktrees whose branches the commit `hash` of a base branch has merged; none if another program has
    /// made this commit.
    ///
    /// # Errors
    /// When the registry cannot be read, the commit does not exist, or git fails.
    pub fn merged_by(&self, hash: &str) -> Result<Vec<WorktreeName>, StoreError> {
        let work = self.read()?;
        let (merged, before) = (format!("--merged={hash}"), format!("--no-merged={hash}^1"));
        let args = [
            "for-each-ref",
            "--format=%(objectname) %(refname:lstrip=3)",
            &merged,
            &before,
            "refs/heads/wt/",
        ];
        let answer = work.repo.git.run_keeping(&args, OUTPUT_MAX)?;
        if answer.code != 0 {
            return Err(answer.to_error(&args).into());
        }
        let lines = answer.out.lines().filter_map(|line| line.split_once(' '));
        // A branch that has just begun there has not been merged by it.
        let merged: Vec<&str> = lines
            .filter(|(tip, _)| *tip != hash)
            .map(|(_, name)| name)
            .collect();
        let trees = work.index.existing_worktrees().into_iter();
        // A branch that has got more commits since then is found by the registry.
        let is_merged =
            |name: &WorktreeName, by: &str| by == hash || merged.contains(&name.as_str());
        Ok(trees
            .filter(|tree| is_merged(&tree.name, &tree.merged_commit))
            .map(|tree| tree.name.clone())
            .collect())
    }
}

struct ParsedCommits {
    landed: LandedCommits,
    /// Whether each commit is a merge.
    are_merges: bool,
}

/// Parses the output of [`LIST`], newest commit first. Returns `None` if there are no commits with a parent.
fn parse_commits(out: &str) -> Option<ParsedCommits> {
    let mut commits = Vec::new();
    let mut start = String::new();
    let mut are_merges = true;
    for line in out.lines() {
        let Some((hashes, subject)) = line.split_once('\0') else {
            continue;
        };
        let mut hashes = hashes.split(' ').filter(|hash| !hash.is_empty());
        // The first commit of the repository has no state before it.
        let (Some(hash), Some(parent)) = (hashes.next(), hashes.next()) else {
            break;
        };
        are_merges &= hashes.next().is_some();
        start = parent.to_string();
        commits.push(LandedCommit {
            hash: hash.to_string(),
            subject: one_line(&clip(subject, SUBJECT_MAX)),
        });
    }
    commits.reverse();
    (!commits.is_empty()).then_some(ParsedCommits {
        landed: LandedCommits { start, commits },
        are_merges,
    })
}

//! Computes the merge status of a worktree's branch: its merge bases, how much it changes, and whether its base branch
//! has the same content in other commits (squashed, rebased or cherry-picked).
//!
//! Each branch takes several git commands, so a result is reused as long as it cannot have changed. The size of the
//! changes depends only on the branch's last commit and its merge bases. A base branch that has changed none of the
//! branch's files since the last check cannot have gained the branch's content.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::nested_repos::IGNORE_NESTED_FILES;
use crate::domain::worktree::ChangeSize;
use crate::store::StoreError;
use crate::store::git::{Git, Repo};

/// Maximum size in bytes of git's list of the files that a branch changes. If the list is longer, only the number of
/// changed files and lines is read.
const FILES_MAX: usize = 64 * 1024;
/// Maximum size in bytes of git's output with the number of changed files and lines.
const SUM_MAX: usize = 1024;
/// Maximum number of commits by which a base branch may have changed since it was last compared with a worktree's
/// branch. If there are more, [`touched_files`] returns `None`.
const COMMITS_MAX: usize = 2000;
/// The text that begins each commit in the output of `git log` (`%x01` in its format).
const COMMIT: &str = "\u{1}";
/// Maximum size in bytes of git's list of the files that a base branch has changed since it was last compared with a
/// worktree's branch. If the list is longer, [`touched_files`] returns `None`.
const TOUCHED_MAX: usize = 256 * 1024;
/// Maximum size in bytes of git's list of the commits that the worktrees' branches have and their base branch lacks.
const GRAPH_MAX: usize = 4 * 1024 * 1024;

/// Hashes of the names of changed files; `None` if there are too many files to compare, or git failed.
type FileHashes = Option<BTreeSet<u64>>;

/// What a worktree's branch has that the history of its base branch lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BranchChanges {
    tip: String,
    merge_bases: BTreeSet<String>,
    /// The size of the changes; `None` if git fails.
    pub(super) size: Option<ChangeSize>,
    files: FileHashes,
    /// The commit of the base branch that was last searched for the branch's content; empty if there was no search.
    checked_commit: String,
    /// Whether `checked_commit` has the branch's content.
    pub(super) is_contained: bool,
}

/// Limits the number of computations of branch status in one scan. A branch can need two: its changes, and whether the
/// base branch has its content.
pub(super) struct ScanBudget {
    left: usize,
    is_exhausted: bool,
}

impl ScanBudget {
    pub(super) fn new(branches: usize) -> ScanBudget {
        ScanBudget {
            left: branches,
            is_exhausted: false,
        }
    }

    /// Counts one computation. Returns `false` if the limit was already reached, so that the computation must wait for
    /// the next scan.
    fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.is_exhausted = true,
        }
        !self.is_exhausted
    }

    /// Returns whether [`ScanBudget::take`] was called more often than the limit allows.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }
}

impl BranchChanges {
    /// Computes what the branch with the last commit `tip` has changed since its merge bases. If `before` is for the
    /// same `tip` and the same merge bases, returns a copy of `before`. Returns `None` if the budget of this scan is
    /// used up.
    pub(super) fn of(
        git: &Git,
        (base, tip): (&str, &str),
        merge_bases: BTreeSet<String>,
        before: Option<&BranchChanges>,
        budget: &mut ScanBudget,
    ) -> Option<BranchChanges> {
        if let Some(branch) =
            before.filter(|branch| branch.tip == tip && branch.merge_bases == merge_bases)
        {
            return Some(branch.clone());
        }
        if !budget.take() {
            return None;
        }
        let (size, files) = read_changes(git, &format!("{base}...{tip}"));
        let mut only = merge_bases.iter();
        let checked_commit = match (only.next(), only.next()) {
            // At the merge base, the base branch had none of the branch's content.
            (Some(one), None) => one.clone(),
            (Some(_), Some(_)) | (None, _) => String::new(),
        };
        Some(BranchChanges {
            tip: tip.into(),
            merge_bases,
            size,
            files,
            checked_commit,
            is_contained: false,
        })
    }

    /// Checks whether the base branch has the branch's content. Skips the check if its result cannot have changed since
    /// the last check. If the budget of this scan is used up or git fails, the previous result stays.
    pub(super) fn update(&mut self, repo: &Repo, base: &mut BaseHistory, budget: &mut ScanBudget) {
        if self.checked_commit == base.commit {
            return;
        }
        // The result depends only on the commits, so that every process computes the same result.
        if base.content_may_have_changed(&repo.git, self) {
            if !budget.take() {
                return;
            }
            match repo.has_content(&base.commit, &self.tip) {
                Ok(is_contained) => self.is_contained = is_contained,
                // The previous result is kept, and the next scan tries again.
                Err(_) => return,
            }
        }
        self.checked_commit.clone_from(&base.commit);
    }
}

/// The history of a base branch, with results that are reused during one scan.
pub(super) struct BaseHistory {
    pub(super) commit: String,
    /// The newest commits in the history of the base branch. A merge that was undone with `git reset` is not among these
    /// commits.
    pub(super) newest: BTreeSet<String>,
    /// Maps an older commit of the base branch to the files that the base branch has changed since that commit.
    since: BTreeMap<String, FileHashes>,
    /// The commits of the worktrees' branches that the base branch lacks, each with its parents; `None` if there are
    /// too many.
    lacking: Option<HashMap<String, Vec<String>>>,
}

impl BaseHistory {
    /// Returns the history of the base branch whose last commit is `commit`. Reads from git which commits the branches
    /// with the last commits `tips` have and the base branch lacks.
    pub(super) fn new(
        git: &Git,
        commit: String,
        newest: BTreeSet<String>,
        tips: &[&str],
    ) -> Result<BaseHistory, StoreError> {
        let lacking = match tips {
            [] => Some(HashMap::new()),
            tips => missing_commits(git, &commit, tips)?,
        };
        Ok(BaseHistory {
            commit,
            newest,
            since: BTreeMap::new(),
            lacking,
        })
    }

    /// Returns the merge bases of the base branch and the branch whose last commit is `tip`: the commits of the base
    /// branch that are parents of the branch's own commits. If there are too many commits to compute the merge bases,
    /// returns the last commit of the base branch instead. The branch's changes are then computed again after every
    /// change of the base branch.
    pub(super) fn merge_bases(&self, tip: &str) -> BTreeSet<String> {
        let Some(lacking) = self.lacking.as_ref().filter(|all| all.contains_key(tip)) else {
            return [self.commit.clone()].into();
        };
        let (mut out, mut seen) = (BTreeSet::new(), BTreeSet::from([tip]));
        let mut ahead = vec![tip];
        while let Some(at) = ahead.pop() {
            for parent in lacking.get(at).into_iter().flatten() {
                if !lacking.contains_key(parent) {
                    out.insert(parent.clone());
                } else if seen.insert(parent) {
                    ahead.push(parent);
                }
            }
        }
        out
    }

    /// Returns whether the base branch may have gained or lost the content of `branch` since the last check.
    fn content_may_have_changed(&mut self, git: &Git, branch: &BranchChanges) -> bool {
        if branch.checked_commit.is_empty() {
            return true;
        }
        let commit = &self.commit;
        let since = self.since.entry(branch.checked_commit.clone());
        let since = since.or_insert_with(|| touched_files(git, &branch.checked_commit, commit));
        match (since, &branch.files) {
            (Some(since), Some(files)) => !since.is_disjoint(files),
            (None, _) | (_, None) => true,
        }
    }
}

/// Returns the commits that the branches with the last commits `tips` have and the commit `base` lacks, each with its
/// parents. Returns `None` if there are too many, or git fails.
fn missing_commits(
    git: &Git,
    base: &str,
    tips: &[&str],
) -> Result<Option<HashMap<String, Vec<String>>>, StoreError> {
    let not = format!("^{base}");
    let mut args = vec!["rev-list", "--parents"];
    args.extend(tips);
    args.extend([not.as_str(), "--"]);
    let answer = git.run_keeping(&args, GRAPH_MAX)?;
    if answer.code != 0 || answer.lost > 0 {
        return Ok(None);
    }
    let row = |line: &str| {
        let mut hashes = line.split(' ').map(String::from);
        Some((hashes.next()?, hashes.collect()))
    };
    Ok(Some(answer.out.lines().filter_map(row).collect()))
}

/// Returns the size of the changes in a range of commits, such as `a...b`, and the changed files. The size is `None` if
/// git fails.
fn read_changes(git: &Git, range: &str) -> (Option<ChangeSize>, FileHashes) {
    let diff = |form: &[&str], most| {
        let mut args = vec!["diff"];
        args.extend(form);
        args.extend([
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            IGNORE_NESTED_FILES,
            range,
            "--",
        ]);
        let answer = git.run_keeping(&args, most).ok()?;
        (answer.code == 0).then_some(answer)
    };
    match diff(&["--numstat", "-z"], FILES_MAX) {
        None => (None, None),
        Some(answer) if answer.lost == 0 => {
            let (size, files) = parse_numstat(&answer.out);
            (Some(size), Some(files))
        }
        Some(_) => {
            let sum = diff(&["--shortstat"], SUM_MAX);
            (sum.map(|sum| ChangeSize::parse(&sum.out)), None)
        }
    }
}

/// Parses `git diff --numstat -z`: `8\t1\tname\0`, and for a renamed file `8\t1\t\0before\0after\0`.
fn parse_numstat(text: &str) -> (ChangeSize, BTreeSet<u64>) {
    let (mut size, mut files) = (ChangeSize::default(), BTreeSet::new());
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let mut columns = part.splitn(3, '\t');
        // Git prints `-` for a binary file.
        let mut number = || columns.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        size.files += 1;
        size.added += number();
        size.removed += number();
        match columns.next() {
            None | Some("") => files.extend(parts.by_ref().take(2).map(hash_of)),
            Some(name) => drop(files.insert(hash_of(name))),
        }
    }
    (size, files)
}

/// Returns the files changed by the commits that only one of `from` and `to` has in its history. `from` and `to` are
/// commits of the same base branch. A merge counts as the changes since its first parent. Returns `None` if there are
/// too many commits or files, or git fails.
fn touched_files(git: &Git, from: &str, to: &str) -> FileHashes {
    let range = format!("{from}...{to}");
    let most = format!("--max-count={}", COMMITS_MAX + 1);
    let args = [
        "log",
        "-z",
        "--format=%x01",
        "--name-only",
        "--no-renames",
        "--no-show-signature",
        "--diff-merges=first-parent",
        "--no-ext-diff",
        IGNORE_NESTED_FILES,
        &most,
        &range,
        "--",
    ];
    let answer = git.run_keeping(&args, TOUCHED_MAX).ok()?;
    if answer.code != 0 || answer.lost > 0 {
        return None;
    }
    let (mut commits, mut files) = (0, BTreeSet::new());
    for part in answer.out.split('\0').filter(|part| !part.is_empty()) {
        match part {
            COMMIT => commits += 1,
            name => drop(files.insert(hash_of(name.strip_prefix('\n').unwrap_or(name)))),
        }
    }
    (commits <= COMMITS_MAX).then_some(files)
}

/// Returns the hash of a file name. If two names have the same hash, the only effect is an unnecessary check.
fn hash_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn parses_numstat_with_renames_and_binary_files() {
        let text = "8\t1\ta b\0-\t-\tpicture\x000\t0\t\0old\0new\x003\t0\ta\tb\0";
        let expected = ChangeSize {
            files: 4,
            added: 11,
            removed: 1,
        };
        let names = ["a b", "picture", "old", "new", "a\tb"].map(hash_of);
        assert_eq!(parse_numstat(text), (expected, BTreeSet::from(names)));
        assert_eq!(parse_numstat(""), (ChangeSize::default(), BTreeSet::new()));
    }

    #[test]
    fn merge_bases_are_where_commits_meet_the_base() {
        let text = [("d", "c m2"), ("c", "b"), ("b", "m1"), ("e", "m1")];
        let row = |(commit, parents): (&str, &str)| {
            let parents = parents.split(' ').map(String::from);
            (commit.to_string(), parents.collect())
        };
        let line = |lacking| BaseHistory {
            commit: "m3".into(),
            newest: BTreeSet::new(),
            since: BTreeMap::new(),
            lacking,
        };
        let known = line(Some(text.map(row).into()));
        let of =
            |line: &BaseHistory, tip: &str| line.merge_bases(tip).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&known, "d"), ["m1", "m2"]);
        assert_eq!(of(&known, "e"), ["m1"]);
        assert_eq!(of(&known, "x"), ["m3"]);
        assert_eq!(of(&line(None), "d"), ["m3"]);
    }
}

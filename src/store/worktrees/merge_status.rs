//! Computes the merge status of a branch: its merge bases, how much it changes, and whether the base has its content
//! under other commits (squashed, rebased or cherry-picked).
//!
//! Each branch takes several git commands, so results are reused while they cannot have changed: the size depends only
//! on the branch's commit and its merge bases, and a base that has touched none of the branch's files since the last
//! check cannot have gained the branch's content.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::nested_repos::IGNORE_NESTED_FILES;
use crate::domain::worktree::ChangeSize;
use crate::store::StoreError;
use crate::store::git::{Git, Repo};

/// Maximum size of the list of files that a branch changes, in bytes. If the list is longer, only the totals are read.
const FILES_MAX: usize = 64 * 1024;
/// Maximum size of git's output with the totals of a change, in bytes.
const SUM_MAX: usize = 1024;
/// Maximum number of new commits on a base, since the last scan, whose files are compared.
const COMMITS_MAX: usize = 2000;
/// The text that marks each commit in the output of `git log` (`%x01` in the format).
const COMMIT: &str = "\u{1}";
/// Maximum size of the list of files that the new commits on a base have changed, in bytes.
const TOUCHED_MAX: usize = 256 * 1024;
/// Maximum size of the list of the branches' commits that a base lacks, in bytes.
const GRAPH_MAX: usize = 4 * 1024 * 1024;

/// Hashes of file names; `None` if there are too many to compare.
type FileHashes = Option<BTreeSet<u64>>;

/// What a branch has that the history of its base lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BranchChanges {
    tip: String,
    merge_bases: BTreeSet<String>,
    /// The size of the changes; `None` if git fails.
    pub(super) size: Option<ChangeSize>,
    files: FileHashes,
    /// The commit of the base in which the branch's content was last searched; empty if there was no search.
    checked_commit: String,
    /// Whether `checked_commit` has the branch's content.
    pub(super) is_contained: bool,
}

/// Limits the number of branches whose status is computed in one scan.
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

    /// Takes one branch from the budget. Returns false if the budget is used up.
    fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.is_exhausted = true,
        }
        !self.is_exhausted
    }

    /// Returns whether more branches were requested than the limit allows.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }
}

impl BranchChanges {
    /// Computes the changes of the branch at `tip` since its merge bases. Returns a copy of `before` if `tip` and the merge
    /// bases are unchanged, and `None` if the budget of this scan is used up.
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
            // At the merge base, the base had none of the branch's content.
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

    /// Checks whether the base has the branch's content, if this may have changed since the last check. Keeps the
    /// previous result if the budget is used up or git fails.
    pub(super) fn update(&mut self, repo: &Repo, base: &mut BaseHistory, budget: &mut ScanBudget) {
        if self.checked_commit == base.commit {
            return;
        }
        // The result depends on the commits alone, so that every process computes the same.
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

/// The history of a base, with results that are reused during one scan.
pub(super) struct BaseHistory {
    pub(super) commit: String,
    /// The newest commits in the first-parent history of the base. A merge that was undone with `git reset` is not
    /// among them.
    pub(super) newest: BTreeSet<String>,
    /// Maps an older commit of the base to the files that the base has changed since that commit.
    since: BTreeMap<String, FileHashes>,
    /// The branches' commits that the base lacks, with their parents; `None` if there are too many.
    lacking: Option<HashMap<String, Vec<String>>>,
}

impl BaseHistory {
    /// Reads the history of the base at `commit`, and the commits of the branches at `tips` that it lacks.
    pub(super) fn new(
        git: &Git,
        commit: String,
        newest: BTreeSet<String>,
        tips: &[&str],
    ) -> Result<BaseHistory, StoreError> {
        let lacking = match tips {
            [] => Some(HashMap::new()),
            tips => lacking(git, &commit, tips)?,
        };
        Ok(BaseHistory {
            commit,
            newest,
            since: BTreeMap::new(),
            lacking,
        })
    }

    /// Returns the merge bases of the branch at `tip`, on which the branch's changes depend. If there are too many
    /// commits to compute them, returns the base's own commit, so that every change of the base causes a new
    /// computation of the branch's changes.
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

    /// Returns whether the base may have gained or lost the content of a branch since the last check.
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

/// Returns the commits of the branches at `tips` that `base` lacks, with their parents; `None` if there are too many.
fn lacking(
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

/// Returns the size of the changes in a range, and the changed files; `None` if git fails.
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

/// Returns the files changed by the commits that are in the history of either `from` or `to`, but not of both. Both are
/// commits of the same base. A merge counts by its difference from the first parent. Returns `None` if there are too
/// many commits or files, or git fails.
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

/// Returns the hash of a file name. If two names have the same hash, the only cost is a needless check.
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

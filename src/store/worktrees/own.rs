//! What a branch holds of its own: where it parted from its base, how much it changes, and whether the base has the
//! content by now under other commits (squashed, rebased, picked).
//!
//! To count and to compare takes gits for each branch. So what was found is kept as long as it can not be otherwise:
//! how much a branch changes follows from its commit and from where it parted, and a base that has changed none of its
//! files since has not taken its content in either.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::inside::LOOK_AT_NO_FILES;
use crate::domain::worktree::ChangeSize;
use crate::store::StoreError;
use crate::store::git::{Git, Repo};

/// Most bytes of git's list of what a branch changes; of a longer one only the sum is asked for.
const FILES_MAX: usize = 64 * 1024;
/// Most bytes of git's sum of changes.
const SUM_MAX: usize = 1024;
/// Most commits of a base between two looks whose files are compared.
const COMMITS_MAX: usize = 2000;
/// What stands for each of them in git's list of their files.
const COMMIT: &str = "\u{1}";
/// Most bytes of git's list of their files.
const TOUCHED_MAX: usize = 256 * 1024;
/// Most bytes of the list of commits that a base lacks.
const GRAPH_MAX: usize = 4 * 1024 * 1024;

/// Names of files, as numbers; `None`: too many to be compared.
type Files = Option<BTreeSet<u64>>;

/// What a branch holds that the history of its base lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    /// Its commit.
    tip: String,
    /// Where it parted from its base.
    parted: BTreeSet<String>,
    /// What it changes since; `None`: git does not say.
    pub(super) size: Option<ChangeSize>,
    files: Files,
    /// The commit of the base in which its content was looked for last.
    looked: String,
    /// Whether it was there.
    pub(super) is_there: bool,
}

/// How many branches may be counted or compared in one look.
pub(super) struct Budget {
    left: usize,
    is_overdrawn: bool,
}

impl Budget {
    /// So many.
    pub(super) fn of(branches: usize) -> Budget {
        Budget {
            left: branches,
            is_overdrawn: false,
        }
    }

    /// Whether one more may be.
    fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.is_overdrawn = true,
        }
        !self.is_overdrawn
    }

    /// Whether there were more.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.is_overdrawn
    }
}

impl Own {
    /// Counts what the branch at `tip` changes, which parted there. Kept from `before` where it is the same; `None`:
    /// too much was done already in this look.
    pub(super) fn of(
        git: &Git,
        (base, tip): (&str, &str),
        parted: BTreeSet<String>,
        before: Option<&Own>,
        budget: &mut Budget,
    ) -> Option<Own> {
        if let Some(own) = before.filter(|own| own.tip == tip && own.parted == parted) {
            return Some(own.clone());
        }
        if !budget.take() {
            return None;
        }
        let (size, files) = changes(git, &format!("{base}...{tip}"));
        let mut only = parted.iter();
        let looked = match (only.next(), only.next()) {
            // Where they parted the base had nothing of it.
            (Some(one), None) => one.clone(),
            (Some(_), Some(_)) | (None, _) => String::new(),
        };
        Some(Own {
            tip: tip.into(),
            parted,
            size,
            files,
            looked,
            is_there: false,
        })
    }

    /// Looks whether the base has the content by now, as far as the budget goes.
    pub(super) fn look(&mut self, repo: &Repo, base: &mut Line, budget: &mut Budget) {
        if self.looked == base.commit {
            return;
        }
        // Every look answers from the commits alone: whoever looks for the first time must find the same.
        if base.may_hold(&repo.git, self) {
            if !budget.take() {
                return;
            }
            match repo.has_content(&base.commit, &self.tip) {
                Ok(is_there) => self.is_there = is_there,
                // It stays as it was told and is tried again.
                Err(_) => return,
            }
        }
        self.looked.clone_from(&base.commit);
    }
}

/// A base as it is now, and what was asked of it in this look.
pub(super) struct Line {
    pub(super) commit: String,
    /// Its newest commits: a merge that was taken back is not among them.
    pub(super) newest: BTreeSet<String>,
    /// What it has changed since it was at another commit.
    since: BTreeMap<String, Files>,
    /// The commits that it lacks, with those they follow; `None`: too many.
    lacking: Option<HashMap<String, Vec<String>>>,
}

impl Line {
    /// The base at `commit`, and the commits of these branches that it lacks.
    pub(super) fn new(
        git: &Git,
        commit: String,
        newest: BTreeSet<String>,
        tips: &[&str],
    ) -> Result<Line, StoreError> {
        let lacking = match tips {
            [] => Some(HashMap::new()),
            tips => lacking(git, &commit, tips)?,
        };
        Ok(Line {
            commit,
            newest,
            since: BTreeMap::new(),
            lacking,
        })
    }

    /// The commits of the base at which the branch at `tip` has parted from it: what it changes follows from them. Where
    /// there are too many commits, the base itself, as if anything of it mattered.
    pub(super) fn parted(&self, tip: &str) -> BTreeSet<String> {
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

    /// Whether the base may have got the content of a branch, or lost it, since it was looked for.
    fn may_hold(&mut self, git: &Git, own: &Own) -> bool {
        if own.looked.is_empty() {
            return true;
        }
        let commit = &self.commit;
        let since = self.since.entry(own.looked.clone());
        let since = since.or_insert_with(|| touched(git, &own.looked, commit));
        match (since, &own.files) {
            (Some(since), Some(files)) => !since.is_disjoint(files),
            (None, _) | (_, None) => true,
        }
    }
}

/// The commits of these branches that `base` lacks, with those they follow.
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

/// How much lies between, and in which files; `None`: git does not say.
fn changes(git: &Git, range: &str) -> (Option<ChangeSize>, Files) {
    let diff = |form: &[&str], most| {
        let mut args = vec!["diff"];
        args.extend(form);
        args.extend([
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            LOOK_AT_NO_FILES,
            range,
            "--",
        ]);
        let answer = git.run_keeping(&args, most).ok()?;
        (answer.code == 0).then_some(answer)
    };
    match diff(&["--numstat", "-z"], FILES_MAX) {
        None => (None, None),
        Some(answer) if answer.lost == 0 => {
            let (size, files) = numbers(&answer.out);
            (Some(size), Some(files))
        }
        Some(_) => {
            let sum = diff(&["--shortstat"], SUM_MAX);
            (sum.map(|sum| ChangeSize::parse(&sum.out)), None)
        }
    }
}

/// Reads git's `--numstat -z`: `8\t1\tname\0`, and for a file with another name `8\t1\t\0before\0after\0`.
fn numbers(text: &str) -> (ChangeSize, BTreeSet<u64>) {
    let (mut size, mut files) = (ChangeSize::default(), BTreeSet::new());
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let mut columns = part.splitn(3, '\t');
        // Of what is no text git says `-`.
        let mut number = || columns.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        size.files += 1;
        size.added += number();
        size.removed += number();
        match columns.next() {
            None | Some("") => files.extend(parts.by_ref().take(2).map(number_of)),
            Some(name) => drop(files.insert(number_of(name))),
        }
    }
    (size, files)
}

/// The files that were touched on either side between two commits of a base, each merge by what it brought; `None`:
/// too many, or git does not say.
fn touched(git: &Git, from: &str, to: &str) -> Files {
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
        LOOK_AT_NO_FILES,
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
            name => drop(files.insert(number_of(name.strip_prefix('\n').unwrap_or(name)))),
        }
    }
    (commits <= COMMITS_MAX).then_some(files)
}

/// A number for the name of a file: two names with one number only cost a look too many.
fn number_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_numbers_of_git_are_read() {
        let text = "8\t1\ta b\0-\t-\tpicture\x000\t0\t\0old\0new\x003\t0\ta\tb\0";
        let expected = ChangeSize {
            files: 4,
            added: 11,
            removed: 1,
        };
        let names = ["a b", "picture", "old", "new", "a\tb"].map(number_of);
        assert_eq!(numbers(text), (expected, BTreeSet::from(names)));
        assert_eq!(numbers(""), (ChangeSize::default(), BTreeSet::new()));
    }

    #[test]
    fn a_branch_parts_where_its_commits_meet_those_of_the_base() {
        let text = [("d", "c m2"), ("c", "b"), ("b", "m1"), ("e", "m1")];
        let row = |(commit, parents): (&str, &str)| {
            let parents = parents.split(' ').map(String::from);
            (commit.to_string(), parents.collect())
        };
        let line = |lacking| Line {
            commit: "m3".into(),
            newest: BTreeSet::new(),
            since: BTreeMap::new(),
            lacking,
        };
        let known = line(Some(text.map(row).into()));
        let of = |line: &Line, tip: &str| line.parted(tip).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&known, "d"), ["m1", "m2"]);
        assert_eq!(of(&known, "e"), ["m1"]);
        assert_eq!(of(&known, "x"), ["m3"]);
        assert_eq!(of(&line(None), "d"), ["m3"]);
    }
}

//! Where the branches of the worktrees stand, and what of that is other than at the last look.
//!
//! Git is the truth: also a merge that the person makes by hand, or takes back, is seen. The registry knows of those
//! that git can not tell from the history, because the work was squashed or rebased.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::inside::LOOK_AT_NO_FILES;
use super::{Work, Worktrees};
use crate::domain::worktree::{Branch, BranchState, ChangeSize, Worktree, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{Git, is_hash};
use crate::store::print::Print;

/// Most branches whose changes are counted in one look: each takes a git of its own.
const SIZES_MAX: usize = 64;
/// Most bytes of git's count of changes.
const STAT_MAX: usize = 1024;
/// The characters of a commit's number that are shown.
const COMMIT_SHOWN: usize = 10;
/// Commits of a branch among which a merge is looked for; the number of an older one is not told.
const NEWEST_MAX: usize = 500;
/// Where the branches of worktrees are.
const HEADS: &str = "refs/heads/";

/// What a look saw; the next one begins with it.
#[derive(Debug, Default)]
pub struct Seen {
    /// `None`: nothing was looked at yet.
    marks: Option<Vec<Mark>>,
    trees: BTreeMap<WorktreeName, Known>,
}

impl Seen {
    /// Whether nothing was looked at yet.
    pub fn is_empty(&self) -> bool {
        self.marks.is_none()
    }
}

/// Whether to look where nothing seems to have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Only where the registry or what is checked out is other than before.
    IfChanged,
    /// In any case.
    Anew,
}

/// What a file looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Missing,
    /// Too fresh to be told from the next version.
    Fresh,
    Settled(Print),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    state: BranchState,
    /// The commits of the branch and of the other one when the changes were counted.
    between: (String, String),
}

/// What branches are merged into.
struct Base {
    name: String,
    commit: String,
    /// The branches that hold commits which it lacks.
    lacks: BTreeSet<String>,
    /// Its newest commits: a merge that was taken back is not among them.
    newest: BTreeSet<String>,
}

impl Worktrees {
    /// The branches that stand otherwise than `seen`. At the first look all are told, and that the worktrees are gone
    /// of those that the board names.
    ///
    /// # Errors
    /// When the root is no repository, the registry can not be read, or git fails; the next look tells all then.
    pub fn branches(
        &self,
        seen: &mut Seen,
        how: Look,
        named: &[WorktreeName],
    ) -> Result<Vec<Branch>, StoreError> {
        let marks = self.marks();
        let is_settled = !marks.contains(&Mark::Fresh);
        if how == Look::IfChanged && is_settled && seen.marks.as_ref() == Some(&marks) {
            return Ok(Vec::new());
        }
        let is_first = seen.is_empty();
        let now = self.look()?.branches(&seen.trees)?;
        let before = std::mem::replace(&mut seen.trees, now);
        seen.marks = Some(marks);
        let mut out: Vec<Branch> = Vec::new();
        for (name, known) in &seen.trees {
            if before.get(name).map(|b| &b.state) != Some(&known.state) {
                out.push(told(name, known.state.clone()));
            }
        }
        let gone = before.keys().chain(named.iter().filter(|_| is_first));
        let gone: BTreeSet<&WorktreeName> = gone.filter(|n| !seen.trees.contains_key(n)).collect();
        out.extend(gone.into_iter().map(|n| told(n, BranchState::Gone)));
        Ok(out)
    }

    /// What the files look like on which it depends where branches stand. Touches no git.
    fn marks(&self) -> Vec<Mark> {
        let mut paths: Vec<PathBuf> = vec![self.root.join(".worktrees/index.json")];
        if let Some((own, shared)) = crate::store::git_dirs(&self.root) {
            let of_refs = ["refs/heads", "packed-refs"].map(|name| shared.join(name));
            paths.extend(of_refs);
            paths.push(own.join("HEAD"));
        }
        let now = SystemTime::now();
        let mark = |path: &PathBuf| match fs::metadata(path) {
            Ok(meta) => Print::of(&meta, now).map_or(Mark::Fresh, Mark::Settled),
            Err(_) => Mark::Missing,
        };
        paths.iter().map(mark).collect()
    }
}

fn told(name: &WorktreeName, state: BranchState) -> Branch {
    Branch {
        worktree: name.clone(),
        state,
    }
}

impl Work {
    fn branches(
        &self,
        before: &BTreeMap<WorktreeName, Known>,
    ) -> Result<BTreeMap<WorktreeName, Known>, StoreError> {
        let mut out = BTreeMap::new();
        let standing = self.index.standing();
        if standing.is_empty() {
            return Ok(out);
        }
        let tips = heads(&self.repo.git, None)?;
        let mut bases: BTreeMap<&str, Base> = BTreeMap::new();
        let mut left = SIZES_MAX;
        for tree in standing {
            if !bases.contains_key(tree.base.as_str()) {
                bases.insert(&tree.base, self.base(tree)?);
            }
            let (Some(base), Some(tip)) =
                (bases.get(tree.base.as_str()), tips.get(&tree.name.branch()))
            else {
                // A worktree without its branch: there is nothing to merge.
                let between = (String::new(), String::new());
                let state = BranchState::Empty;
                out.insert(tree.name.clone(), Known { state, between });
                continue;
            };
            let between = (base.commit.clone(), tip.clone());
            let state = match state(tree, base, tip) {
                BranchState::Unmerged { into, .. } => {
                    let known = before.get(&tree.name).filter(|b| b.between == between);
                    let size = match known.map(|b| &b.state) {
                        Some(BranchState::Unmerged { size, .. }) if size.is_some() => *size,
                        Some(_) | None if left > 0 => {
                            left -= 1;
                            size_of(&self.repo.git, &between)
                        }
                        Some(_) | None => None,
                    };
                    BranchState::Unmerged { into, size }
                }
                other => other,
            };
            out.insert(tree.name.clone(), Known { state, between });
        }
        Ok(out)
    }

    fn base(&self, tree: &Worktree) -> Result<Base, StoreError> {
        let (name, commit) = self.base_of(tree)?;
        let lacks = heads(&self.repo.git, Some(&commit))?;
        Ok(Base {
            name: name.unwrap_or_else(|| short(&commit)),
            lacks: lacks.into_keys().collect(),
            newest: newest(&self.repo.git, &commit)?,
            commit,
        })
    }
}

/// Where the branch of a worktree stands; what it changes is not counted.
fn state(tree: &Worktree, base: &Base, tip: &str) -> BranchState {
    let into = base.name.clone();
    if base.lacks.contains(&tree.name.branch()) {
        // What was merged with a commit and is not there was taken back.
        return if tree.is_merged() && tree.merged_commit.is_empty() {
            let commit = String::new();
            BranchState::Merged { into, commit }
        } else {
            BranchState::Unmerged { into, size: None }
        };
    }
    if tree.is_merged() {
        let is_there = base.newest.contains(&tree.merged_commit);
        let commit = if is_there {
            short(&tree.merged_commit)
        } else {
            String::new()
        };
        BranchState::Merged { into, commit }
    } else if tip == tree.base_commit || tree.base_commit.is_empty() {
        BranchState::Empty
    } else {
        let commit = String::new();
        BranchState::Merged { into, commit }
    }
}

/// A commit's number, shortened; empty where it is none: others write into the registry.
fn short(commit: &str) -> String {
    let number = if is_hash(commit) { commit } else { "" };
    number.chars().take(COMMIT_SHOWN).collect()
}

/// The branches of worktrees with their commits: all of them, or those that hold commits which `base` lacks.
fn heads(git: &Git, base: Option<&str>) -> Result<BTreeMap<String, String>, StoreError> {
    let lacks = base.map(|commit| format!("--no-merged={commit}"));
    let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
    args.extend(lacks.as_deref());
    args.push("refs/heads/wt/");
    let answer = git.ok(&args)?;
    let lines = answer.lines().filter_map(|line| line.split_once(' '));
    let heads = lines.filter_map(|(commit, name)| {
        let branch = name.strip_prefix(HEADS)?;
        Some((branch.to_string(), commit.to_string()))
    });
    Ok(heads.collect())
}

/// The newest commits of a branch, as they came into it.
fn newest(git: &Git, commit: &str) -> Result<BTreeSet<String>, StoreError> {
    let most = format!("--max-count={NEWEST_MAX}");
    let answer = git.ok(&["rev-list", "--first-parent", &most, commit, "--"])?;
    Ok(answer.lines().map(String::from).collect())
}

/// What lies between two commits; `None`: git does not say.
fn size_of(git: &Git, (base, tip): &(String, String)) -> Option<ChangeSize> {
    let range = format!("{base}...{tip}");
    let args = [
        "diff",
        "--shortstat",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        LOOK_AT_NO_FILES,
        &range,
        "--",
    ];
    let answer = git.run_keeping(&args, STAT_MAX).ok()?;
    (answer.code == 0).then(|| ChangeSize::parse(&answer.out))
}

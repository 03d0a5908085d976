//! Where the branches of the worktrees stand, and what of that is other than at the last look.
//!
//! Git is the truth: also a merge that the person makes by hand, or takes back, is seen, and one that squashes or rebases
//! by its content. The registry only knows by which commit crewdeck has merged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::own::{Budget, Line, Own};
use super::{Work, Worktrees};
use crate::domain::worktree::{Branch, BranchState, OnDisk, Worktree, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{Git, is_hash};
use crate::store::print::Print;
use crate::store::refs::Refs;

/// Most branches whose changes are counted, or whose content is looked for, in one look: each takes gits of its own.
const OWN_MAX: usize = 64;
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
    is_partial: bool,
}

impl Seen {
    /// Whether nothing was looked at yet.
    pub fn is_empty(&self) -> bool {
        self.marks.is_none()
    }

    /// Whether there were more branches than one look takes in: the next one goes on.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether the branch of that worktree holds what the other one lacks.
    pub fn is_unmerged(&self, tree: &str) -> bool {
        let name = WorktreeName::new(tree).ok();
        let known = name.and_then(|name| self.trees.get(&name));
        known.is_some_and(|k| matches!(k.state, BranchState::Unmerged { .. }))
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
    /// What it holds that the history of the other one lacks.
    own: Option<Own>,
}

/// What branches are merged into.
struct Base {
    name: String,
    /// The branches that hold commits which it lacks.
    lacks: BTreeSet<String>,
    line: Line,
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
        let is_same = is_settled && !seen.is_partial && seen.marks.as_ref() == Some(&marks);
        if how == Look::IfChanged && is_same {
            return Ok(Vec::new());
        }
        let is_first = seen.is_empty();
        let mut budget = Budget::of(OWN_MAX);
        let now = self.look()?.branches(&seen.trees, &mut budget)?;
        seen.is_partial = budget.is_overdrawn();
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
        paths.extend(Refs::of(&self.root).iter().flat_map(Refs::marks));
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
        budget: &mut Budget,
    ) -> Result<BTreeMap<WorktreeName, Known>, StoreError> {
        let mut out = BTreeMap::new();
        let standing = self.index.standing();
        if standing.is_empty() {
            return Ok(out);
        }
        let tips = heads(&self.repo.git, None)?;
        let mut bases: BTreeMap<&str, Base> = BTreeMap::new();
        for tree in standing {
            if !bases.contains_key(tree.base.as_str()) {
                bases.insert(&tree.base, self.base(tree, &tips)?);
            }
            let (Some(base), Some(tip)) = (
                bases.get_mut(tree.base.as_str()),
                tips.get(&tree.name.branch()),
            ) else {
                // Without its branch there is nothing to merge; where somebody has removed the folder too, nothing at all.
                let state = match self.tree(&tree.name).on_disk {
                    OnDisk::Missing => BranchState::Gone,
                    OnDisk::Whole | OnDisk::Foreign => BranchState::Empty,
                };
                out.insert(tree.name.clone(), Known { state, own: None });
                continue;
            };
            let known = if base.lacks.contains(&tree.name.branch()) {
                let before = before.get(&tree.name).and_then(|known| known.own.as_ref());
                self.own(base, tip, before, budget)
            } else {
                let state = in_history(tree, base, tip);
                Known { state, own: None }
            };
            out.insert(tree.name.clone(), known);
        }
        Ok(out)
    }

    /// Where a branch stands of which the history of its base lacks commits: by content.
    fn own(&self, base: &mut Base, tip: &str, before: Option<&Own>, budget: &mut Budget) -> Known {
        let between = (base.line.commit.as_str(), tip);
        let own = Own::of(
            &self.repo.git,
            between,
            base.line.parted(tip),
            before,
            budget,
        );
        let own = own.map(|mut own| {
            own.look(&self.repo, &mut base.line, budget);
            own
        });
        let into = base.name.clone();
        let state = match &own {
            Some(own) if own.is_there => BranchState::Merged {
                into,
                commit: String::new(),
            },
            Some(own) => BranchState::Unmerged {
                into,
                size: own.size,
            },
            None => BranchState::Unmerged { into, size: None },
        };
        Known { state, own }
    }

    fn base(&self, tree: &Worktree, tips: &BTreeMap<String, String>) -> Result<Base, StoreError> {
        let (name, commit) = self.base_of(tree)?;
        let git = &self.repo.git;
        let lacks: BTreeSet<String> = heads(git, Some(&commit))?.into_keys().collect();
        let lacking = tips.iter().filter(|(branch, _)| lacks.contains(*branch));
        let lacking: Vec<&str> = lacking.map(|(_, tip)| tip.as_str()).collect();
        let newest = newest(git, &commit)?;
        Ok(Base {
            name: name.unwrap_or_else(|| short(&commit)),
            line: Line::new(git, commit, newest, &lacking)?,
            lacks,
        })
    }
}

/// Where a branch stands of which its base has all commits.
fn in_history(tree: &Worktree, base: &Base, tip: &str) -> BranchState {
    let into = base.name.clone();
    if tree.is_merged() {
        let is_there = base.line.newest.contains(&tree.merged_commit);
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

//! Reports the merge status of the worktrees' branches, and which of these branches have changed since the last scan.
//!
//! The status comes from git, so that it includes merges that the user made or undid. Squashed and rebased branches
//! are recognized by their content. The worktree registry only records the merge commits that crewdeck has created.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::merge_status::{BaseHistory, BranchChanges, ScanBudget};
use super::{OpenRegistry, Worktrees};
use crate::domain::worktree::{Branch, BranchState, FolderState, Worktree, WorktreeName};
use crate::store::StoreError;
use crate::store::file_fingerprint::FileFingerprint;
use crate::store::git::{Git, is_hash};
use crate::store::refs::GitFolders;

/// Maximum number of computations of branch status in one scan ([`ScanBudget`]), because each takes several git
/// commands. The next scan does the others.
const COMPUTED_MAX: usize = 64;
/// Number of characters of a commit hash that are shown to the user.
const COMMIT_SHOWN: usize = 10;
/// Number of newest commits of a base branch that are searched for the merge of a task's branch. If the merge is older,
/// its hash is not reported.
const NEWEST_MAX: usize = 500;
const HEADS: &str = "refs/heads/";

/// The result of a scan ([`Worktrees::branches`]). The next scan returns the branches whose status has changed since.
#[derive(Debug, Default)]
pub struct BranchSnapshot {
    /// The result of [`Worktrees::file_states`] at the last scan; `None` before the first scan.
    file_states: Option<Vec<FileState>>,
    trees: BTreeMap<WorktreeName, BranchRecord>,
    is_partial: bool,
}

impl BranchSnapshot {
    /// Returns whether there was no scan yet.
    pub fn is_empty(&self) -> bool {
        self.file_states.is_none()
    }

    /// Returns whether the last scan did not compute the status of all branches, because there were too many. The next
    /// scan computes the others.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns whether, at the last scan, the branch of the worktree named `tree` was unmerged. False for an unknown
    /// name.
    pub fn is_unmerged(&self, tree: &str) -> bool {
        let name = WorktreeName::new(tree).ok();
        let known = name.and_then(|name| self.trees.get(&name));
        known.is_some_and(|k| matches!(k.state, BranchState::Unmerged { .. }))
    }
}

/// When [`Worktrees::branches`] computes the status of the branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanMode {
    /// The status is computed only if the registry or a base branch may have changed since the last scan, or if that
    /// scan was partial. New commits on the worktrees' own branches alone cause no scan, except in a repository with
    /// reftable.
    IfChanged,
    Always,
}

/// The state of a file at one scan. If a file has the same state at two scans, it is unchanged, except for
/// [`FileState::Recent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Missing,
    /// Modified so recently that a further change could leave the same timestamp.
    Recent,
    Settled(FileFingerprint),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BranchRecord {
    state: BranchState,
    /// What the branch has that the history of its base branch lacks; `None` if the base branch lacks nothing, or if
    /// this was not computed yet.
    changes: Option<BranchChanges>,
}

/// A branch into which worktrees are merged.
struct BaseBranch {
    name: String,
    /// The worktrees' branches with commits that this base branch lacks.
    lacks: BTreeSet<String>,
    history: BaseHistory,
}

impl Worktrees {
    /// Returns the branches whose status differs from `seen`, and updates `seen`. `named` contains the worktrees to
    /// which the board refers. The first scan returns all branches, and reports each worktree in `named` that no longer
    /// exists.
    ///
    /// # Errors
    /// When the root is not a repository, the registry cannot be read, or git fails.
    pub fn branches(
        &self,
        seen: &mut BranchSnapshot,
        how: ScanMode,
        named: &[WorktreeName],
    ) -> Result<Vec<Branch>, StoreError> {
        let file_states = self.file_states();
        let is_settled = !file_states.contains(&FileState::Recent);
        let is_same =
            is_settled && !seen.is_partial && seen.file_states.as_ref() == Some(&file_states);
        if how == ScanMode::IfChanged && is_same {
            return Ok(Vec::new());
        }
        let is_first = seen.is_empty();
        let mut budget = ScanBudget::new(COMPUTED_MAX);
        let now = self.read()?.branches(&seen.trees, &mut budget)?;
        seen.is_partial = budget.is_exhausted();
        let before = std::mem::replace(&mut seen.trees, now);
        seen.file_states = Some(file_states);
        let mut out: Vec<Branch> = Vec::new();
        for (name, known) in &seen.trees {
            if before.get(name).map(|b| &b.state) != Some(&known.state) {
                out.push(to_branch(name, known.state.clone()));
            }
        }
        let gone = before.keys().chain(named.iter().filter(|_| is_first));
        let gone: BTreeSet<&WorktreeName> = gone.filter(|n| !seen.trees.contains_key(n)).collect();
        out.extend(gone.into_iter().map(|n| to_branch(n, BranchState::Gone)));
        Ok(out)
    }

    /// Returns the state of the registry, of `HEAD` and of the files in which git stores branches. Leaves out the
    /// worktrees' own branches. Runs no git.
    fn file_states(&self) -> Vec<FileState> {
        let mut paths: Vec<PathBuf> = vec![self.root.join(".worktrees/index.json")];
        paths.extend(
            GitFolders::of(&self.root)
                .iter()
                .flat_map(GitFolders::ref_files),
        );
        let now = SystemTime::now();
        let state = |path: &PathBuf| match fs::metadata(path) {
            Ok(meta) => {
                FileFingerprint::of(&meta, now).map_or(FileState::Recent, FileState::Settled)
            }
            Err(_) => FileState::Missing,
        };
        paths.iter().map(state).collect()
    }
}

fn to_branch(name: &WorktreeName, state: BranchState) -> Branch {
    Branch {
        worktree: name.clone(),
        state,
    }
}

impl OpenRegistry {
    fn branches(
        &self,
        before: &BTreeMap<WorktreeName, BranchRecord>,
        budget: &mut ScanBudget,
    ) -> Result<BTreeMap<WorktreeName, BranchRecord>, StoreError> {
        let mut out = BTreeMap::new();
        let standing = self.index.existing_worktrees();
        if standing.is_empty() {
            return Ok(out);
        }
        let tips = heads(&self.repo.git, None)?;
        let mut bases: BTreeMap<&str, BaseBranch> = BTreeMap::new();
        for tree in standing {
            if !bases.contains_key(tree.base.as_str()) {
                bases.insert(&tree.base, self.base(tree, &tips)?);
            }
            let (Some(base), Some(tip)) = (
                bases.get_mut(tree.base.as_str()),
                tips.get(&tree.name.branch()),
            ) else {
                // Without a branch there is nothing to merge. If the folder is missing too, the worktree is gone.
                let state = match self.folder(&tree.name).on_disk {
                    FolderState::Missing => BranchState::Gone,
                    FolderState::Whole | FolderState::Foreign => BranchState::Empty,
                };
                out.insert(
                    tree.name.clone(),
                    BranchRecord {
                        state,
                        changes: None,
                    },
                );
                continue;
            };
            let known = if base.lacks.contains(&tree.name.branch()) {
                let before = before
                    .get(&tree.name)
                    .and_then(|known| known.changes.as_ref());
                self.changes(base, tip, before, budget)
            } else {
                let state = in_history(tree, base, tip);
                BranchRecord {
                    state,
                    changes: None,
                }
            };
            out.insert(tree.name.clone(), known);
        }
        Ok(out)
    }

    /// Compares the content of the branch whose last commit is `tip` with its base branch, and returns the merge
    /// status. Called for a branch with commits that the history of the base branch lacks.
    fn changes(
        &self,
        base: &mut BaseBranch,
        tip: &str,
        before: Option<&BranchChanges>,
        budget: &mut ScanBudget,
    ) -> BranchRecord {
        let between = (base.history.commit.as_str(), tip);
        let changes = BranchChanges::of(
            &self.repo.git,
            between,
            base.history.merge_bases(tip),
            before,
            budget,
        );
        let changes = changes.map(|mut changes| {
            changes.update(&self.repo, &mut base.history, budget);
            changes
        });
        let into = base.name.clone();
        let state = match &changes {
            Some(changes) if changes.is_contained => BranchState::Merged {
                into,
                commit: String::new(),
            },
            Some(changes) => BranchState::Unmerged {
                into,
                size: changes.size,
            },
            None => BranchState::Unmerged { into, size: None },
        };
        BranchRecord { state, changes }
    }

    fn base(
        &self,
        tree: &Worktree,
        tips: &BTreeMap<String, String>,
    ) -> Result<BaseBranch, StoreError> {
        let (name, commit) = self.base_of(tree)?;
        let git = &self.repo.git;
        let lacks: BTreeSet<String> = heads(git, Some(&commit))?.into_keys().collect();
        let lacking = tips.iter().filter(|(branch, _)| lacks.contains(*branch));
        let lacking: Vec<&str> = lacking.map(|(_, tip)| tip.as_str()).collect();
        let newest = newest(git, &commit)?;
        Ok(BaseBranch {
            name: name.unwrap_or_else(|| short(&commit)),
            history: BaseHistory::new(git, commit, newest, &lacking)?,
            lacks,
        })
    }
}

/// Returns the merge status of a branch whose commits are all in its base branch. `tip` is the last commit of the
/// branch.
fn in_history(tree: &Worktree, base: &BaseBranch, tip: &str) -> BranchState {
    let into = base.name.clone();
    if tree.is_merged() {
        let is_there = base.history.newest.contains(&tree.merged_commit);
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

/// Returns the first [`COMMIT_SHOWN`] characters of a commit hash. Returns an empty string if `commit` is not a hash,
/// which can happen because other programs write the registry too.
fn short(commit: &str) -> String {
    let number = if is_hash(commit) { commit } else { "" };
    number.chars().take(COMMIT_SHOWN).collect()
}

/// Returns the worktrees' branches, each with the commit it points to. With a `base`, returns only the branches with
/// commits that `base` lacks.
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

/// Returns the newest commits in the history of `commit`, at most [`NEWEST_MAX`]. The merges of branches that have landed
/// together are not on the line of first parents.
fn newest(git: &Git, commit: &str) -> Result<BTreeSet<String>, StoreError> {
    let most = format!("--max-count={NEWEST_MAX}");
    let answer = git.ok(&["rev-list", &most, commit, "--"])?;
    Ok(answer.lines().map(String::from).collect())
}

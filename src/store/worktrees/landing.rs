//! Moves the base branch to a combination.

use super::combination::{CombinedBranches, commit_tree};
use super::landing_record::{LAND, LandingBranch, LandingRecord, remove_record};
use super::log::LogEntry;
use super::merge::{MergeOutcome, try_merge};
use super::train::TrainBranch;
use super::{OpenRegistry, Worktrees};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{Git, commit_of};

/// The result of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    Landed {
        /// The commit of the base branch now.
        commit: String,
        /// The commit of the base branch before. Used to undo the landing.
        before: String,
        /// Whether the main worktree has the base branch checked out, so that its files were updated too.
        is_checked_out: bool,
    },
    /// Another program has moved the base branch to this commit. Nothing was changed.
    BaseMoved(String),
}

/// How the base branch is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LandingPlace {
    /// The main worktree has the base branch checked out: its files are updated too.
    MainWorktree,
    /// No worktree has the base branch checked out: only the branch is moved.
    BranchOnly,
}

/// What an attempt to move the base branch has done.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BaseMove {
    Moved,
    /// Nothing was changed; the string says why.
    Unmoved(String),
    /// Git was killed; the string says how. What it had written by then is left in the main worktree.
    Killed(String),
    /// A branch was moved in a way that the checks have not seen; the string says how to undo it.
    Unchecked(String),
}

/// What has become of the merge commit of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MergeCheck {
    /// It is what the checks have seen.
    Checked,
    /// It was not what the checks have seen, and was taken back; the string says why.
    TakenBack(String),
    /// It is not what the checks have seen, but to take it back could lose commits; the string says how to undo it.
    Kept(String),
}

impl Worktrees {
    /// Moves the base branch `into` to a combination, if it is still the commit that was combined. If the main worktree
    /// has the base branch checked out, its files are updated too; it must have no uncommitted changes in tracked files
    /// then. If another branch is checked out there, no checkout is touched. The merge commits are signed if the user's
    /// settings say so. If the user has hooks for merge commits that agents cannot change, they run once, for one merge commit
    /// around all branches.
    ///
    /// # Errors
    /// When the base branch is checked out in a worktree that cannot be updated, a file would be overwritten, or a hook
    /// or git fails. Nothing was changed then, except for [`WorktreeError::LandedUnchecked`].
    pub fn land(
        &self,
        into: &str,
        combined: &CombinedBranches,
        now: Timestamp,
    ) -> Result<Landing, StoreError> {
        let mut work = self.begin_change()?;
        work.recover_landing_first(now)?;
        work.undo_interrupted_merges(now)?;
        let current = work.base_commit(into)?;
        if current != combined.base {
            return Ok(Landing::BaseMoved(current));
        }
        if combined.commit == combined.base {
            // Another program has merged the branches.
            let record = work.new_record(into, combined, false)?;
            work.record_landed(&record, now)?;
            let (commit, before) = (current.clone(), current);
            return Ok(Landing::Landed {
                commit,
                before,
                is_checked_out: false,
            });
        }
        let (place, is_merged) = work.landing_place(into)?;
        if place == LandingPlace::MainWorktree {
            work.check_nested_repos(&names(combined), &combined.commit)?;
            let (before, after) = (combined.base.as_str(), combined.tree.as_str());
            let options = ["-r", "--name-only", "-z", "--no-renames"];
            let added = ["diff-tree", "--diff-filter=A"];
            let diff = [&added[..], &options, &[before, after]].concat();
            work.check_no_overwrite(&names(combined), &diff)?;
        }
        let record = work.new_record(into, combined, is_merged)?;
        let started = LogEntry::of(LAND, &work.train_entry()?).head(&record.before);
        work.log.record(started, now)?;
        record.save(&work.dir)?;
        let moved = match place {
            LandingPlace::MainWorktree => work.move_main_worktree(&record, combined),
            LandingPlace::BranchOnly => work.move_branch(&record),
        };
        match moved {
            Ok(BaseMove::Moved) => {
                work.record_landed(&record, now)?;
                let (commit, before) = (work.base_commit(into)?, record.before);
                Ok(Landing::Landed {
                    commit,
                    before,
                    is_checked_out: place == LandingPlace::MainWorktree,
                })
            }
            Ok(BaseMove::Unmoved(why)) => {
                let current = work.base_commit(into)?;
                let failed = LogEntry::of("train.land.failed", &work.train_entry()?).error(&why);
                work.log.record(failed, now)?;
                remove_record(&work.dir)?;
                if current != combined.base {
                    return Ok(Landing::BaseMoved(current));
                }
                let branch = names(combined);
                Err(WorktreeError::NotMerged { branch, why }.into())
            }
            Ok(BaseMove::Killed(why)) => {
                // Git may have written files. If they cannot be undone now, the record stays, and the next change does it.
                let done = work.recover_landing_first(now)?;
                let why = done.map_or(why.clone(), |done| format!("{why}; {done}"));
                let branch = names(combined);
                Err(WorktreeError::NotMerged { branch, why }.into())
            }
            Ok(BaseMove::Unchecked(why)) => {
                let failed = LogEntry::of("train.land.failed", &work.train_entry()?).error(&why);
                work.log.record(failed, now)?;
                work.record_unchecked(&record)?;
                remove_record(&work.dir)?;
                Err(WorktreeError::LandedUnchecked(why).into())
            }
            // The record stays: the next change finds out what git has done.
            Err(error) => Err(error),
        }
    }
}

impl Worktrees {
    /// Checks that branches can land on the base branch `into` now, as far as this can be known before they are combined.
    ///
    /// # Errors
    /// See [`Worktrees::land`].
    pub fn check_landing(&self, into: &str) -> Result<(), StoreError> {
        self.read()?.landing_place(into)?;
        Ok(())
    }

    /// Returns a text that changes when the base branch of the worktree `name` moves; `None` if nothing can land on it now.
    ///
    /// # Errors
    /// When there is no worktree with that name, the registry cannot be read, or git fails.
    pub fn landing_state(&self, name: &WorktreeName) -> Result<Option<String>, StoreError> {
        let work = self.read()?;
        let (base, commit) = work.base_of(work.index.find(name)?)?;
        let base = base.filter(|base| work.landing_place(base).is_ok());
        Ok(base.map(|base| format!("{base} {commit}")))
    }
}

impl OpenRegistry {
    fn base_commit(&self, into: &str) -> Result<String, StoreError> {
        let commit = self.repo.branch(into)?;
        commit.ok_or_else(|| WorktreeError::NoBranch(into.to_string()).into())
    }

    /// Returns how the base branch can be moved, and whether git itself has to merge so that the user's hooks run. Fails
    /// if the base branch cannot be moved now.
    fn landing_place(&self, into: &str) -> Result<(LandingPlace, bool), StoreError> {
        let head = self.repo.head()?;
        let has_hooks = self.has_merge_hooks()?;
        if head.branch.as_deref() == Some(into) {
            self.check_main_ready(Some(into))?;
            return Ok((LandingPlace::MainWorktree, has_hooks));
        }
        if let Some(place) = self.repo.in_use_by_operation(into) {
            return Err(WorktreeError::BaseInUse {
                base: into.into(),
                path: place.to_string_lossy().into_owned(),
            }
            .into());
        }
        if has_hooks {
            // Without a checkout, the hooks could not run.
            let (on, base) = (head.branch, into.to_string());
            let on = on.unwrap_or_else(|| "no branch".into());
            return Err(WorktreeError::WrongBranch { on, base }.into());
        }
        let listed = self.repo.list_worktrees()?;
        let holder = listed
            .iter()
            .find(|tree| tree.branch.as_deref() == Some(into));
        match holder {
            Some(holder) => Err(WorktreeError::BaseElsewhere {
                base: into.into(),
                path: holder.path.to_string_lossy().into_owned(),
            }
            .into()),
            None => Ok((LandingPlace::BranchOnly, false)),
        }
    }

    /// Creates the merge commits as they are to land, and returns the record of the landing.
    fn new_record(
        &self,
        into: &str,
        combined: &CombinedBranches,
        is_merged: bool,
    ) -> Result<LandingRecord, StoreError> {
        let git = self.repo.git.committer()?;
        let flags: &[&str] = if !is_merged && signs_commits(&git)? {
            // `git commit-tree` does not read the setting itself.
            &["-S"]
        } else {
            &[]
        };
        let mut at = combined.base.clone();
        let mut branches = Vec::new();
        for step in &combined.branches {
            let TrainBranch { tip, message, .. } = &step.branch;
            let mut by = String::new();
            if let Some(tree) = &step.tree {
                at = commit_tree(&git, tree, (&at, tip), message, flags)?;
                by.clone_from(&at);
            }
            branches.push(LandingBranch::of(&step.branch, &by));
        }
        let merges = branches.iter().filter(|branch| !branch.commit.is_empty());
        if !is_merged && merges.count() > 1 {
            // Only the content after the last merge was checked. So the others are not on the line of first parents: one
            // commit brings them all. If git merges, it creates this commit.
            let (tree, message) = (&combined.tree, message(combined));
            at = commit_tree(&git, tree, (&combined.base, &at), &message, flags)?;
        }
        Ok(LandingRecord {
            into: into.into(),
            before: combined.base.clone(),
            commit: at,
            tree: combined.tree.clone(),
            is_merged,
            branches,
        })
    }

    /// Merges the commit of the record in the main worktree.
    fn move_main_worktree(
        &self,
        record: &LandingRecord,
        combined: &CombinedBranches,
    ) -> Result<BaseMove, StoreError> {
        let (head, into) = (self.repo.head()?, record.into.as_str());
        // Git merges into what is checked out, and the user may have been asked for a pass phrase since the last check.
        if head.branch.as_deref() != Some(into) || head.commit != record.before {
            let why = format!("{into} is not checked out any more, or was moved at the same time");
            return Ok(BaseMove::Unmoved(why));
        }
        let git = self.git_with_merge_hooks()?.committer()?;
        let own = self.repo.git_dir();
        let flags: &[&str] = if record.is_merged {
            &["--no-ff"]
        } else {
            &["--ff-only", "--no-overwrite-ignore"]
        };
        let message = message(combined);
        match try_merge(&git, own, &record.commit, &message, flags)? {
            MergeOutcome::Merged => {}
            MergeOutcome::Failed(why) => return Ok(BaseMove::Unmoved(why)),
            MergeOutcome::Killed(why) => return Ok(BaseMove::Killed(why)),
            MergeOutcome::Conflict(files) => {
                let why = format!("conflict in {}", files.join(", "));
                return Ok(BaseMove::Unmoved(why));
            }
        }
        let tip = self.base_commit(into)?;
        let contains = ["merge-base", "--is-ancestor", &record.commit, &tip];
        if !self.repo.git.succeeds(&contains)? {
            return Ok(BaseMove::Unchecked(self.other_branch_text(record)?));
        }
        if !record.is_merged {
            return Ok(BaseMove::Moved);
        }
        Ok(match self.take_back_unchecked(record, &tip)? {
            MergeCheck::Checked => BaseMove::Moved,
            MergeCheck::TakenBack(why) => BaseMove::Unmoved(why),
            MergeCheck::Kept(why) => BaseMove::Unchecked(why),
        })
    }

    /// Looks for the merge commit of the record in the history of `tip`, the last commit of the base branch. Takes it back
    /// if its content is not what was checked: a hook has changed it, or the base branch was moved in the meantime. This
    /// is done only if it is the last commit and checked out in the main worktree, because a reset would drop the commits
    /// on it.
    pub(super) fn take_back_unchecked(
        &self,
        record: &LandingRecord,
        tip: &str,
    ) -> Result<MergeCheck, StoreError> {
        let git = &self.repo.git;
        let since = format!("^{}", record.before);
        let options = ["rev-list", "--first-parent", "--reverse", "--parents"];
        let list = git.ok(&[&options[..], &[tip, since.as_str()]].concat())?;
        // The oldest one: a hook that commits during a merge creates another commit with this second parent.
        let found = list.lines().find_map(|line| {
            let mut words = line.split(' ');
            let (merge, first, second) = (words.next()?, words.next()?, words.next()?);
            (second == record.commit).then_some((merge, first))
        });
        let Some((merge, first)) = found else {
            // The user has brought the checked commit into the branch in another way.
            return Ok(MergeCheck::Checked);
        };
        let tree = git.ok(&["rev-parse", "--verify", &format!("{merge}^{{tree}}")])?;
        let why = if first != record.before {
            "another program moved the branch at the same time"
        } else if tree != record.tree {
            "a hook for merge commits changed files, so the merge was not what the checks have seen"
        } else {
            return Ok(MergeCheck::Checked);
        };
        let (head, into) = (self.repo.head()?, record.into.as_str());
        if head.branch.as_deref() == Some(into) && head.commit == merge {
            git.ok(&["reset", "--quiet", "--keep", first])?;
            return Ok(MergeCheck::TakenBack(why.into()));
        }
        Ok(MergeCheck::Kept(format!(
            "{why}. The merge {merge} stays in {into}, because there are commits on it or {into} is not checked out. To undo it, run git revert -m 1 {merge} on {into}"
        )))
    }

    /// Returns the text for a landing that has moved another branch than the base branch, because the user has checked
    /// it out at the same time. Only the user knows what is to be done with it.
    fn other_branch_text(&self, record: &LandingRecord) -> Result<String, StoreError> {
        let on = self.repo.head()?.branch;
        let on = on.unwrap_or_else(|| "HEAD".into());
        let into = &record.into;
        // Git writes down from where the merge has started.
        let undo = match commit_of(&self.repo.git, "ORIG_HEAD")? {
            Some(commit) => format!(". To undo this, run git reset --keep {commit} on {on}"),
            None => String::new(),
        };
        Ok(format!(
            "the branches were not merged into {into}: {on} was checked out at the same time, so git has merged them into {on}{undo}"
        ))
    }

    /// Moves the base branch, which no worktree has checked out. Git compares its old value, so that a commit of another
    /// program is never lost.
    fn move_branch(&self, record: &LandingRecord) -> Result<BaseMove, StoreError> {
        let git = self.git_with_merge_hooks()?;
        let full = format!("refs/heads/{}", record.into);
        let answer = git.run(&[
            "update-ref",
            "-m",
            "crewdeck: merge train",
            &full,
            &record.commit,
            &record.before,
        ])?;
        Ok(if answer.code == 0 {
            BaseMove::Moved
        } else {
            BaseMove::Unmoved(answer.error_message)
        })
    }
}

/// Returns whether the user's settings say that commits are signed.
fn signs_commits(git: &Git) -> Result<bool, StoreError> {
    let answer = git.run(&["config", "--type=bool", "--get", "commit.gpgSign"])?;
    Ok(answer.out.trim() == "true")
}

fn names(combined: &CombinedBranches) -> String {
    let all = combined.branches.iter();
    let all: Vec<String> = all.map(|step| step.branch.name.branch()).collect();
    all.join(", ")
}

/// Returns the message of one merge commit around all branches.
fn message(combined: &CombinedBranches) -> String {
    match combined.branches.as_slice() {
        [one] => one.branch.message.clone(),
        all => format!("Merge {} branches: {}", all.len(), names(combined)),
    }
}

//! Merges a worktree's branch into its base branch, in the main worktree. A failed merge leaves everything unchanged.

use std::path::Path;

use super::inspect::status_of;
use super::log::LogEntry;
use super::nested_repos::{add_all, scanned_by_merge, split_nul};
use super::{OpenRegistry, Worktrees};
use crate::domain::folders::STATE;
use crate::domain::text::{join_names, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    FILES_MAX, FolderState, GitOperation, Merge, Worktree, WorktreeError, WorktreeName,
};
use crate::store::StoreError;
use crate::store::git::{Git, GitError, busy_in, commit_of, head, is_hash};

pub enum MergeOutcome {
    Merged,
    /// The merge has conflicts in these files. Nothing was changed.
    Conflict(Vec<String>),
    /// Git, a hook or the time limit prevented the merge; the string says why. Nothing was changed.
    Failed(String),
    /// Git was killed or took too long; the string says why. What git had written by then may be left in the worktree.
    Killed(String),
}

/// Git ends with a code above this one only if a signal has ended it. For a fatal error it ends with exactly this code.
const FATAL: i32 = 128;

impl Worktrees {
    /// Commits all uncommitted files of a worktree except ignored ones. Returns the hash of the new commit; `None` if
    /// there were no such files. The author is the user, or crewdeck if the user has configured no name. Hooks and
    /// signing are off, because the commit is made unattended. They are on when the branch is merged into the base
    /// branch.
    ///
    /// # Errors
    /// When there is no worktree with that name, its folder is gone, a git operation is in progress in the folder, or
    /// git fails. If another branch is checked out in the folder, also when there are uncommitted files, or when that
    /// branch has commits that are neither in the worktree's own branch nor in the base branch.
    pub fn commit_leftovers(
        &self,
        name: &WorktreeName,
        message: &str,
    ) -> Result<Option<String>, StoreError> {
        let work = self.begin_change()?;
        let tree = work.index.find(name)?.clone();
        let name = tree.name.clone();
        let (git, own) = work.valid_folder(&name)?;
        if let Some(what) = busy_in(&own) {
            let place = format!("worktree {name}");
            return Err(WorktreeError::Busy { what, place }.into());
        }
        if status_of(&git)?.count == 0 {
            work.check_no_other_commits(&tree, &git)?;
            return Ok(None);
        }
        check_own_branch(&name, &git)?;
        add_all(&git, &work.folder(&name).dir)?;
        if git.succeeds(&["diff", "--cached", "--quiet"])? {
            return Ok(None);
        }
        git.committer()?.ok(&[
            "commit",
            "--quiet",
            "--no-verify",
            "--no-gpg-sign",
            "--cleanup=whitespace",
            "-m",
            message,
        ])?;
        let commit = head(&git)?.ok_or(GitError::NoCommits)?.commit;
        Ok(Some(commit))
    }

    /// Merges a worktree's branch into its base branch. If the base branch already has the branch's content, only
    /// records this. Otherwise, the main worktree must have the base branch checked out and have no uncommitted changes
    /// in tracked files. The task's worktree must be clean. The user's hooks run, unless agents can change one of them, and
    /// the commit is signed if the user's settings say so. If the merge has conflicts, undoes it and returns
    /// [`Merge::Conflict`].
    ///
    /// # Errors
    /// When the merge cannot be started, or something other than a conflict prevents it. Nothing was changed then.
    pub fn merge(&self, name: &WorktreeName, now: Timestamp) -> Result<Merge, StoreError> {
        let mut work = self.begin_change()?;
        work.recover_landing_first(now)?;
        let tree = work.index.find(name)?.clone();
        let branch = tree.name.branch();
        let Some(tip) = work.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        work.check_finished(&tree.name)?;
        let (base, commit) = work.base_of(&tree)?;
        let into = base.clone().unwrap_or_else(|| commit.clone());
        work.undo_interrupted_merges(now)?;
        if work.repo.contains(&commit, &tip)? {
            work.record_merged(&tree, &commit, now)?;
            return Ok(Merge::AlreadyMerged { into });
        }
        work.check_main_ready(base.as_deref())?;
        check_state_untouched(&work.repo.git, &branch, &commit, &tip)?;
        work.check_nested_repos(&branch, &tip)?;
        let between = format!("{commit}...{tip}");
        // Also the files that the branch has changed: the base branch may have stopped to track them.
        let options = ["--name-only", "-z", "--no-renames", "--no-ext-diff"];
        let diff = [
            &["diff", "--diff-filter=d"][..],
            &options,
            &[between.as_str()],
        ]
        .concat();
        work.check_no_overwrite(&branch, &diff)?;
        let started = LogEntry::of(super::debris::MERGE, &tree).head(&commit);
        work.log.record(started, now)?;
        let git = work.git_with_merge_hooks()?.committer()?;
        match try_merge(
            &git,
            work.repo.git_dir(),
            &tip,
            &tree.message(),
            &["--no-ff"],
        )? {
            MergeOutcome::Merged => {
                let head = work.repo.head();
                let by = head.as_ref().map_or("", |head| head.commit.as_str());
                let tree = work
                    .index
                    .change(&tree.name, |tree| tree.mark_merged(by, now))?;
                work.save()?;
                work.log
                    .record(LogEntry::of("worktree.merge.after", &tree), now)?;
                Ok(Merge::Merged {
                    into,
                    commit: head?.commit,
                    before: commit,
                })
            }
            MergeOutcome::Conflict(files) => {
                let note = LogEntry::of("worktree.merge.conflict", &tree).files(&files);
                work.log.record(note, now)?;
                Ok(Merge::Conflict { into, files })
            }
            MergeOutcome::Failed(why) => {
                let note = LogEntry::of("worktree.merge.failed", &tree).error(&why);
                work.log.record(note, now)?;
                Err(WorktreeError::NotMerged { branch, why }.into())
            }
            MergeOutcome::Killed(why) => {
                // The log does not have the end of the merge yet, so that it is undone as one that was interrupted.
                work.undo_interrupted_merges(now)?;
                let why = format!("{why}. What git had written was undone");
                Err(WorktreeError::NotMerged { branch, why }.into())
            }
        }
    }
}

impl OpenRegistry {
    /// Records that the base branch, whose last commit is `base`, has the content of a worktree's branch already.
    pub(super) fn record_merged(
        &mut self,
        tree: &Worktree,
        base: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let known = &tree.merged_commit;
        // The user may have removed the recorded merge commit from the base branch with `git reset`.
        let is_there = is_hash(known)
            && self
                .repo
                .git
                .succeeds(&["merge-base", "--is-ancestor", known, base])
                .unwrap_or(false);
        let by = if is_there { known.as_str() } else { "" };
        self.index
            .change(&tree.name, |tree| tree.mark_merged(by, now))?;
        self.save()
    }

    /// Checks that the worktree has its own branch checked out, is clean and has no operation in progress; fails
    /// otherwise. If the folder is gone, the check passes, because only the branch is merged.
    pub(super) fn check_finished(&self, name: &WorktreeName) -> Result<(), StoreError> {
        if self.folder(name).on_disk == FolderState::Missing {
            return Ok(());
        }
        let (git, own) = self.valid_folder(name)?;
        if let Some(what) = busy_in(&own) {
            let place = format!("worktree {name}");
            return Err(WorktreeError::Busy { what, place }.into());
        }
        check_own_branch(name, &git)?;
        check_clean(name, &git)
    }

    /// Checks that all commits in the history of the worktree's `HEAD` are in the worktree's own branch or in the base
    /// branch, and fails otherwise. Commits can be missing there if another branch or a commit is checked out. Other
    /// tasks build on the worktree's own branch and would not get these commits.
    fn check_no_other_commits(&self, tree: &Worktree, git: &Git) -> Result<(), StoreError> {
        let own = tree.name.branch();
        let Some((head, tip)) = head(git)?.zip(self.repo.branch(&own)?) else {
            return Ok(());
        };
        if head.branch.as_deref() == Some(&own) {
            return Ok(());
        }
        let base = self.base_of(tree)?.1;
        let beside = [
            "rev-list",
            "--max-count=1",
            &head.commit,
            "--not",
            &tip,
            &base,
        ];
        if git.ok(&beside)?.is_empty() {
            return Ok(());
        }
        Err(WorktreeError::CommitsOnOtherBranch {
            name: tree.name.clone(),
            on: head.branch.unwrap_or_else(|| "no branch".into()),
            own,
            commit: head.commit.chars().take(8).collect(),
        }
        .into())
    }

    /// Checks that a merge can start in the main worktree, and fails otherwise. The branch `base` must be checked out;
    /// with `None`, any branch. No git operation such as a rebase may be in progress, and tracked files must have no
    /// uncommitted changes.
    pub(super) fn check_main_ready(&self, base: Option<&str>) -> Result<(), StoreError> {
        let place = || "the main worktree".to_string();
        if let Some(what) = self.repo.busy() {
            let place = place();
            return Err(WorktreeError::Busy { what, place }.into());
        }
        let head = self.repo.head()?;
        let Some(on) = head.branch else {
            return Err(WorktreeError::MainDetached.into());
        };
        if let Some(base) = base.filter(|base| *base != on) {
            let base = base.to_string();
            return Err(WorktreeError::WrongBranch { on, base }.into());
        }
        let changed = self.repo.git.ok(&[
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=dirty",
        ])?;
        let files = super::inspect::paths(&changed);
        if files.is_empty() {
            return Ok(());
        }
        Err(WorktreeError::MainDirty(short_list(&files, files.len())).into())
    }

    /// Fails if a merge of `tip` into the main worktree would make git read settings that agents can write. These are
    /// the settings of nested repositories whose git folder is not in the repository's own git folder. They can start
    /// any program.
    pub(super) fn check_nested_repos(&self, branch: &str, tip: &str) -> Result<(), StoreError> {
        let kept = self.repo.common().join("modules");
        let open = scanned_by_merge(&self.repo.git, &self.repo.root, Some(&kept), tip)?;
        if open.is_empty() {
            return Ok(());
        }
        let why = format!(
            "the merge would use git settings that agents can write, in these submodules: {}. Run git submodule absorbgitdirs to move the settings out of the agents' reach",
            one_line(&short_list(&open, open.len()))
        );
        let branch = branch.to_string();
        Err(WorktreeError::NotMerged { branch, why }.into())
    }
}

pub fn check_clean(name: &WorktreeName, git: &Git) -> Result<(), StoreError> {
    let status = status_of(git)?;
    if status.count == 0 {
        return Ok(());
    }
    let files = short_list(&status.files, status.count);
    let name = name.clone();
    Err(WorktreeError::Uncommitted { name, files }.into())
}

pub fn check_own_branch(name: &WorktreeName, git: &Git) -> Result<(), StoreError> {
    let own = name.branch();
    let on = match head(git)? {
        Some(head) if head.branch.as_deref() == Some(&own) => return Ok(()),
        Some(head) => head.branch.unwrap_or_else(|| "a commit".into()),
        None => "nothing".into(),
    };
    let name = name.clone();
    Err(WorktreeError::OtherBranch { name, on, own }.into())
}

/// Fails if the branch changes a file in crewdeck's state folders. Git ignores these files, so a merge would overwrite
/// them silently: a teammate could forge messages, requests and settings by committing them.
pub(super) fn check_state_untouched(
    git: &Git,
    branch: &str,
    base: &str,
    tip: &str,
) -> Result<(), StoreError> {
    let between = format!("{base}...{tip}");
    let specs = STATE.map(|folder| format!(":(top,icase){folder}"));
    let mut args = vec!["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
    args.extend([between.as_str(), "--"]);
    args.extend(specs.iter().map(String::as_str));
    let names = git.ok(&args)?;
    let files: Vec<String> = split_nul(&names).map(one_line).collect();
    if files.is_empty() {
        return Ok(());
    }
    Err(WorktreeError::HoldsState {
        branch: branch.to_string(),
        files: short_list(&files, files.len()),
    }
    .into())
}

/// Returns a text with the first five paths and the number of further ones. `count` is the number of all files.
pub(super) fn short_list(files: &[String], count: usize) -> String {
    join_names(files, 5, count)
}

/// Merges the commit `tip` into `HEAD` of the worktree of `git`, or leaves everything unchanged unless git is killed.
///
/// Whether the merge has succeeded is read from the history and not from the exit code: a hook that fails or hangs
/// after the merge does not undo the merge.
pub fn try_merge(
    git: &Git,
    git_dir: &Path,
    tip: &str,
    message: &str,
    flags: &[&str],
) -> Result<MergeOutcome, StoreError> {
    let before = commit_of(git, "HEAD")?;
    let mut args = vec![
        "merge",
        "--quiet",
        "--commit",
        "--no-squash",
        "--no-edit",
        "--no-autostash",
        "--cleanup=whitespace",
        "-m",
        message,
    ];
    args.extend(flags);
    args.push(tip);
    let (mut is_killed, why) = match git.run(&args) {
        Ok(answer) if answer.code > FATAL => {
            let signal = answer.code - FATAL;
            (true, format!("git was killed by signal {signal}"))
        }
        Ok(answer) if answer.error_message.is_empty() => {
            (false, format!("exit code {}", answer.code))
        }
        Ok(answer) => (false, answer.error_message),
        Err(error @ GitError::TimedOut(_)) => (true, error.to_string()),
        Err(error) => return Err(error.into()),
    };
    if git.succeeds(&["merge-base", "--is-ancestor", tip, "HEAD"])? {
        return Ok(MergeOutcome::Merged);
    }
    let mut files = Vec::new();
    if busy_in(git_dir) == Some(GitOperation::Merge) {
        let names = git.ok(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        files = split_nul(&names)
            .take(FILES_MAX)
            .map(String::from)
            .collect();
        git.ok(&["merge", "--abort"])?;
        is_killed = false;
    }
    if is_killed {
        return Ok(MergeOutcome::Killed(why));
    }
    if commit_of(git, "HEAD")? != before {
        let why = "another program moved the branch at the same time: try again".into();
        return Ok(MergeOutcome::Failed(why));
    }
    Ok(if files.is_empty() {
        MergeOutcome::Failed(why)
    } else {
        MergeOutcome::Conflict(files)
    })
}

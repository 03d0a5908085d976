//! Merging a worktree's branch into its base, in the main work tree, or leaving everything as it was.

use std::path::Path;

use super::inside::{add_all, looked_into};
use super::judge::status_of;
use super::log::Note;
use super::{Work, Worktrees};
use crate::domain::folders::STATE;
use crate::domain::stamp::Stamp;
use crate::domain::text::one_line;
use crate::domain::worktree::{
    Busy, FILES_MAX, Leftovers, Merge, OnDisk, Worktree, WorktreeError, WorktreeName,
};
use crate::store::StoreError;
use crate::store::git::{Git, GitError, Hooks, busy_in, commit_of, head, is_hash};

/// How an attempt to merge ended.
pub enum Attempt {
    /// It is merged.
    Done,
    /// These files conflict. All is as it was.
    Conflict(Vec<String>),
    /// Git, a hook or the deadline stopped it. All is as it was.
    Refused(String),
}

impl Worktrees {
    /// Commits all that is uncommitted in a worktree (ignored files are not), as the person or, where the
    /// person has set no name, as crewdeck. Hooks do not run and nothing is signed: what is to be saved
    /// here is saved unattended, and a merge into the base follows the person's rules again.
    ///
    /// # Errors
    /// When the folder is gone, has another branch checked out, is in the middle of something, or git fails.
    pub fn commit_leftovers(
        &self,
        name: &WorktreeName,
        message: &str,
    ) -> Result<Leftovers, StoreError> {
        let work = self.work()?;
        let tree = work.index.find(name)?.clone();
        let name = tree.name.clone();
        let (git, own) = work.whole(&name)?;
        if let Some(what) = busy_in(&own) {
            let place = format!("worktree {name}");
            return Err(WorktreeError::Busy { what, place }.into());
        }
        if status_of(&git)?.count == 0 {
            work.none_beside(&tree, &git)?;
            return Ok(Leftovers::None);
        }
        on_own_branch(&name, &git)?;
        add_all(&git, &work.tree(&name).dir)?;
        if git.succeeds(&["diff", "--cached", "--quiet"])? {
            return Ok(Leftovers::None);
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
        Ok(Leftovers::Committed(commit))
    }

    /// Merges a worktree's branch into its base. The main work tree must be on the base and clean, the
    /// worktree must have nothing uncommitted. There the person's hooks run and signatures are made.
    ///
    /// # Errors
    /// Why it was not tried, or what stopped it; all is as it was then.
    pub fn merge(&self, name: &WorktreeName, now: Stamp) -> Result<Merge, StoreError> {
        let mut work = self.work()?;
        let tree = work.index.find(name)?.clone();
        let branch = tree.name.branch();
        let Some(tip) = work.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        work.is_finished(&tree.name)?;
        let (base, commit) = work.base_of(&tree)?;
        let into = base.clone().unwrap_or_else(|| commit.clone());
        work.undo_cut_merges(now)?;
        if work.repo.contains(&commit, &tip)? {
            let known = &tree.merged_commit;
            // One that was taken back is no reason any more.
            let is_there = is_hash(known)
                && work
                    .repo
                    .git
                    .succeeds(&["merge-base", "--is-ancestor", known, &commit])
                    .unwrap_or(false);
            let by = if is_there { known.as_str() } else { "" };
            work.index.change(&tree.name, |tree| tree.merged(by, now))?;
            work.save()?;
            return Ok(Merge::AlreadyMerged { into });
        }
        work.is_ready(base.as_deref())?;
        leaves_state_alone(&work.repo.git, &branch, &commit, &tip)?;
        work.looks_nowhere(&branch, &tip)?;
        let begun = Note::of(super::debris::MERGE, &tree).head(&commit);
        work.log.note(begun, now)?;
        let git = work.repo.git.with_hooks(Hooks::Run).committer()?;
        match try_merge(&git, work.repo.git_dir(), &tip, &tree.message(), &["--no-ff"])? {
            Attempt::Done => {
                let head = work.repo.head();
                let by = head.as_ref().map_or("", |head| head.commit.as_str());
                let tree = work.index.change(&tree.name, |tree| tree.merged(by, now))?;
                work.save()?;
                work.log
                    .note(Note::of("worktree.merge.after", &tree), now)?;
                Ok(Merge::Merged {
                    into,
                    commit: head?.commit,
                    before: commit,
                })
            }
            Attempt::Conflict(files) => {
                let note = Note::of("worktree.merge.conflict", &tree).files(&files);
                work.log.note(note, now)?;
                Ok(Merge::Conflict { into, files })
            }
            Attempt::Refused(why) => {
                let note = Note::of("worktree.merge.failed", &tree).error(&why);
                work.log.note(note, now)?;
                Err(WorktreeError::NotMerged { branch, why }.into())
            }
        }
    }
}

impl Work {
    /// Nothing is uncommitted or under way in the worktree. One whose folder is gone has only its branch.
    fn is_finished(&self, name: &WorktreeName) -> Result<(), StoreError> {
        if self.tree(name).on_disk == OnDisk::Missing {
            return Ok(());
        }
        let (git, own) = self.whole(name)?;
        if let Some(what) = busy_in(&own) {
            let place = format!("worktree {name}");
            return Err(WorktreeError::Busy { what, place }.into());
        }
        on_own_branch(name, &git)?;
        clean(name, &git)
    }

    /// What is checked out has no commits that the worktree's own branch lacks: others build on that one.
    fn none_beside(&self, tree: &Worktree, git: &Git) -> Result<(), StoreError> {
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
        Err(WorktreeError::Beside {
            name: tree.name.clone(),
            on: head.branch.unwrap_or_else(|| "no branch".into()),
            own,
            commit: head.commit.chars().take(8).collect(),
        }
        .into())
    }

    /// The main work tree can take a merge into `base`.
    fn is_ready(&self, base: Option<&str>) -> Result<(), StoreError> {
        let place = || "the main work tree".to_string();
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
        let files = super::judge::paths(&changed);
        if files.is_empty() {
            return Ok(());
        }
        Err(WorktreeError::MainDirty(few(&files, files.len())).into())
    }

    /// A merge of `tip` into the main work tree starts no program that a repository inside names.
    fn looks_nowhere(&self, branch: &str, tip: &str) -> Result<(), StoreError> {
        let kept = self.repo.common().join("modules");
        let open = looked_into(&self.repo.git, &self.repo.root, Some(&kept), tip)?;
        if open.is_empty() {
            return Ok(());
        }
        let why = format!(
            "git would go by the settings of a repository inside that agents can write ({}): git submodule absorbgitdirs puts them where they can not",
            one_line(&few(&open, open.len()))
        );
        let branch = branch.to_string();
        Err(WorktreeError::NotMerged { branch, why }.into())
    }
}

/// A worktree without uncommitted files.
pub fn clean(name: &WorktreeName, git: &Git) -> Result<(), StoreError> {
    let status = status_of(git)?;
    if status.count == 0 {
        return Ok(());
    }
    let files = few(&status.files, status.count);
    let name = name.clone();
    Err(WorktreeError::Uncommitted { name, files }.into())
}

/// A worktree that has its own branch checked out.
pub fn on_own_branch(name: &WorktreeName, git: &Git) -> Result<(), StoreError> {
    let own = name.branch();
    let on = match head(git)? {
        Some(head) if head.branch.as_deref() == Some(&own) => return Ok(()),
        Some(head) => head.branch.unwrap_or_else(|| "a commit".into()),
        None => "nothing".into(),
    };
    let name = name.clone();
    Err(WorktreeError::Elsewhere { name, on, own }.into())
}

/// The branch changes nothing in the folders of crewdeck. These are ignored files, which git's merge replaces without
/// a word: a teammate could write letters, requests and settings by what it commits.
fn leaves_state_alone(git: &Git, branch: &str, base: &str, tip: &str) -> Result<(), StoreError> {
    let between = format!("{base}...{tip}");
    let specs = STATE.map(|folder| format!(":(top,icase){folder}"));
    let mut args = vec!["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
    args.extend([between.as_str(), "--"]);
    args.extend(specs.iter().map(String::as_str));
    let names = git.ok(&args)?;
    let files: Vec<String> = split(&names).map(one_line).collect();
    if files.is_empty() {
        return Ok(());
    }
    Err(WorktreeError::HoldsState {
        branch: branch.to_string(),
        files: few(&files, files.len()),
    }
    .into())
}

/// The names in an answer of git with `-z`.
pub(super) fn split(names: &str) -> impl Iterator<Item = &str> {
    names.split('\0').filter(|name| !name.is_empty())
}

/// The first few paths, and how many more there are.
fn few(files: &[String], count: usize) -> String {
    let shown: Vec<&str> = files.iter().take(5).map(String::as_str).collect();
    match count - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Merges the commit `tip` into what is checked out where `git` is, or leaves all as it was.
///
/// Whether it is merged is read from the history and not from the exit code: a hook that fails or hangs
/// after the merge does not undo it.
pub fn try_merge(
    git: &Git,
    git_dir: &Path,
    tip: &str,
    message: &str,
    flags: &[&str],
) -> Result<Attempt, StoreError> {
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
    let why = match git.run(&args) {
        Ok(answer) if answer.error_message.is_empty() => format!("exit code {}", answer.code),
        Ok(answer) => answer.error_message,
        Err(error @ GitError::TimedOut(_)) => error.to_string(),
        Err(error) => return Err(error.into()),
    };
    if git.succeeds(&["merge-base", "--is-ancestor", tip, "HEAD"])? {
        return Ok(Attempt::Done);
    }
    let mut files = Vec::new();
    if busy_in(git_dir) == Some(Busy::Merge) {
        let names = git.ok(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        files = split(&names).take(FILES_MAX).map(String::from).collect();
        git.ok(&["merge", "--abort"])?;
    }
    if commit_of(git, "HEAD")? != before {
        let why = "the branch was moved by somebody else at the same time".into();
        return Ok(Attempt::Refused(why));
    }
    Ok(if files.is_empty() {
        Attempt::Refused(why)
    } else {
        Attempt::Conflict(files)
    })
}

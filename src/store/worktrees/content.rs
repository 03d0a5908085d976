//! What checks need to know about a worktree: its content, and what its branch changes.

use super::merge::{check_clean, check_own_branch};
use super::nested_repos::split_nul;
use super::{OpenRegistry, Worktrees};
use crate::domain::text::one_line;
use crate::domain::worktree::{FolderState, TaskContent, Worktree, WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::is_hash;

/// Maximum number of bytes that are read of the list of changed files. The files in the rest of a longer list count as
/// changed, but have no names.
const LIST_MAX: usize = 1024 * 1024;

impl Worktrees {
    /// Returns the committed content of a worktree, and what its branch changes compared with the base branch. If the
    /// folder of the worktree is gone, the branch is what is left.
    ///
    /// # Errors
    /// When there is no worktree with that name or no branch, another branch is checked out in its folder, it has
    /// uncommitted files, or git fails.
    pub fn content(&self, name: &WorktreeName) -> Result<TaskContent, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        if work.folder(&tree.name).on_disk != FolderState::Missing {
            let (git, _) = work.valid_folder(&tree.name)?;
            check_own_branch(&tree.name, &git)?;
            check_clean(&tree.name, &git)?;
        }
        work.branch_content(tree)
    }

    /// Returns the content of the branch of a worktree. Does not look at its folder.
    ///
    /// # Errors
    /// When there is no worktree with that name or no branch, or git fails.
    pub fn branch_content(&self, name: &WorktreeName) -> Result<TaskContent, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        work.branch_content(tree)
    }
}

impl OpenRegistry {
    fn branch_content(&self, tree: &Worktree) -> Result<TaskContent, StoreError> {
        let branch = tree.name.branch();
        let Some(tip) = self.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        let (_, base) = self.base_of(tree)?;
        let start = self.repo.merge_base(&base, &tip)?;
        let start = start.unwrap_or_else(|| base.clone());
        let changed = self.changed_between(&start, &tip)?;
        let hash = format!("{tip}^{{tree}}");
        Ok(TaskContent {
            tree: self.repo.git.ok(&["rev-parse", "--verify", &hash])?,
            changed,
            has_own_changes: self.has_own_changes(tree, &base, &tip)?,
            subject: tree.subject.clone(),
            commit: tip,
        })
    }

    /// Returns the files that differ between two commits; `None` if they are too many.
    fn changed_between(&self, from: &str, to: &str) -> Result<Option<Vec<String>>, StoreError> {
        let between = format!("{from}..{to}");
        let list = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
        let args: Vec<&str> = list.into_iter().chain([&*between, "--"]).collect();
        let answer = self.repo.git.run_keeping(&args, LIST_MAX)?;
        if answer.code != 0 {
            return Err(answer.to_error(&args).into());
        }
        let is_whole = answer.lost == 0;
        Ok(is_whole.then(|| split_nul(&answer.out).map(one_line).collect()))
    }

    /// Returns whether the branch with the last commit `tip` changes anything itself: its commits change files, and the
    /// branch as a whole differs from where the worktree started. What crewdeck or the owner merged from the branches of
    /// other tasks or from the base branch is not a change of this task.
    fn has_own_changes(&self, tree: &Worktree, base: &str, tip: &str) -> Result<bool, StoreError> {
        let git = &self.repo.git;
        let known = &tree.base_commit;
        let is_known = is_hash(known) && git.succeeds(&["cat-file", "-e", known]).unwrap_or(false);
        let start = if is_known { known.as_str() } else { base };
        if self
            .changed_between(start, tip)?
            .is_some_and(|files| files.is_empty())
        {
            return Ok(false);
        }
        let other = format!("--exclude={}", tree.name.branch());
        let mut args = vec![
            "log",
            "--first-parent",
            "--no-merges",
            "--format=",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            tip,
            "--not",
            start,
            &other,
            "--branches=wt/*",
        ];
        // A branch that was merged already has its changes in the base branch.
        if !git.succeeds(&["merge-base", "--is-ancestor", tip, base])? {
            args.push(base);
        }
        args.push("--");
        let answer = git.run_keeping(&args, 1024)?;
        if answer.code != 0 {
            return Err(answer.to_error(&args).into());
        }
        Ok(!answer.out.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::domain::timestamp::Timestamp;
    use crate::store::NewWorktree;
    use std::path::Path;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        let name = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let mut command = Command::new("git");
        let done = command.current_dir(dir).args(name).args(args).output();
        assert!(done.unwrap().status.success(), "{args:?}");
    }

    #[test]
    fn content_says_what_the_branch_itself_changes() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        std::fs::write(root.join("base"), "base\n").unwrap();
        git(&root, &["add", "base"]);
        git(&root, &["commit", "-q", "-m", "base"]);
        let store = Worktrees::open(&root);
        let create = |task: u64, needs: Vec<String>| {
            let new = NewWorktree {
                task: TaskId(task),
                subject: "s".into(),
                owner: "bob".into(),
                base: None,
                start: None,
                needs,
                made: None,
                has_setup: false,
            };
            let created = store.create(&new, Timestamp(1.0)).unwrap();
            created.worktree.name
        };
        let first = create(1, Vec::new());
        let folder = root.join(".worktrees").join(first.as_str());
        let empty = store.content(&first).unwrap();
        assert_eq!(
            (empty.changed, empty.has_own_changes),
            (Some(Vec::new()), false)
        );
        std::fs::write(folder.join("new file"), "x\n").unwrap();
        let why = store.content(&first).unwrap_err().to_string();
        assert!(why.contains("new file"), "{why}");
        store.commit_leftovers(&first, "work").unwrap();
        let one = store.content(&first).unwrap();
        assert_eq!(one.changed, Some(vec!["new file".to_string()]));
        assert!(one.has_own_changes && one.tree != empty.tree);
        // A task that builds on the first has its files, but has changed nothing itself.
        let second = create(2, vec![first.branch()]);
        let two = store.content(&second).unwrap();
        assert_eq!(two.changed, one.changed);
        assert!(!two.has_own_changes);
        assert_eq!(two.tree, one.tree);
        let folder = root.join(".worktrees").join(second.as_str());
        git(&folder, &["switch", "-q", "--detach"]);
        assert!(store.content(&second).is_err());
        // If the folder is lost, the branch is left.
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(store.content(&second).unwrap().tree, two.tree);
    }

    #[test]
    fn empty_and_reverted_commits_are_no_changes_but_merged_work_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        git(&root, &["commit", "-q", "--allow-empty", "-m", "base"]);
        let store = Worktrees::open(&root);
        let new = NewWorktree {
            task: TaskId(1),
            owner: "bob".into(),
            ..NewWorktree::default()
        };
        let name = store.create(&new, Timestamp(1.0)).unwrap().worktree.name;
        let folder = root.join(".worktrees").join(name.as_str());
        let has_changes = || store.content(&name).unwrap().has_own_changes;
        git(&folder, &["commit", "-q", "--allow-empty", "-m", "nothing"]);
        assert!(!has_changes());
        std::fs::write(folder.join("file"), "x\n").unwrap();
        git(&folder, &["add", "file"]);
        git(&folder, &["commit", "-q", "-m", "one"]);
        assert!(has_changes());
        // A copy of the branch, and an early merge, are no reason to doubt the work.
        git(&root, &["branch", "backup", &name.branch()]);
        assert!(has_changes());
        git(
            &root,
            &["merge", "-q", "--no-ff", "-m", "early", &name.branch()],
        );
        assert!(has_changes());
        git(&folder, &["revert", "--no-edit", "HEAD"]);
        assert!(!has_changes());
    }

    #[test]
    fn checkout_has_the_committed_content_and_replaces_an_older_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        std::fs::write(root.join("base"), "base\n").unwrap();
        git(&root, &["add", "base"]);
        git(&root, &["commit", "-q", "-m", "base"]);
        let store = Worktrees::open(&root);
        let first = store.check_out("k", "HEAD").unwrap();
        std::fs::write(first.join("base"), "changed\n").unwrap();
        std::fs::write(first.join("extra"), "x\n").unwrap();
        // The folder of a process that was killed.
        let stale = first.with_file_name("check-k-2147483646");
        std::fs::create_dir_all(&stale).unwrap();
        let again = store.check_out("k", "HEAD").unwrap();
        assert_eq!(again, first);
        assert!(!stale.exists() && !again.join("extra").exists());
        let text = std::fs::read_to_string(again.join("base")).unwrap();
        assert_eq!(text, "base\n");
        assert!(store.list().unwrap().worktrees.is_empty());
        assert!(store.orphans().unwrap().is_empty());
        store.delete_checkout(&again).unwrap();
        assert!(!again.exists());
    }
}

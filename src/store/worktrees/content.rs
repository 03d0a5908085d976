//! What checks need to know about a worktree: its content, and what its branch changes.

use super::Worktrees;
use super::merge::{check_clean, check_own_branch};
use super::nested_repos::split_nul;
use crate::domain::text::one_line;
use crate::domain::worktree::{TaskContent, WorktreeError, WorktreeName};
use crate::store::StoreError;

/// Maximum number of bytes that are read of the list of changed files. The files in the rest of a longer list count as
/// changed, but have no names.
const LIST_MAX: usize = 1024 * 1024;

impl Worktrees {
    /// Returns the committed content of a worktree, and what its branch changes compared with the base branch.
    ///
    /// # Errors
    /// When there is no worktree with that name, its own branch is not checked out, it has uncommitted files, or git
    /// fails.
    pub fn content(&self, name: &WorktreeName) -> Result<TaskContent, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        let (git, _) = work.valid_folder(&tree.name)?;
        check_own_branch(&tree.name, &git)?;
        check_clean(&tree.name, &git)?;
        let branch = tree.name.branch();
        let Some(tip) = work.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        let (_, base) = work.base_of(tree)?;
        let start = work.repo.merge_base(&base, &tip)?;
        let start = start.unwrap_or_else(|| base.clone());
        let between = format!("{start}..{tip}");
        let list = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
        let args: Vec<&str> = list.into_iter().chain([&*between, "--"]).collect();
        let answer = git.run_keeping(&args, LIST_MAX)?;
        if answer.code != 0 {
            return Err(answer.to_error(&args).into());
        }
        let is_whole = answer.lost == 0;
        let changed: Vec<String> = split_nul(&answer.out).map(one_line).collect();
        // Commits that crewdeck or the owner merged from the branches of other tasks are not changes of this task.
        let other = format!("--exclude={branch}");
        let own = [
            "rev-list",
            "--max-count=1",
            "--no-merges",
            &tip,
            "--not",
            &other,
            "--branches",
        ];
        let has_own_commits = !git.ok(&own)?.is_empty();
        Ok(TaskContent {
            tree: git.ok(&["rev-parse", "--verify", &format!("{tip}^{{tree}}")])?,
            changed: is_whole.then_some(changed),
            has_own_commits,
        })
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
                needs,
                made: None,
            };
            let created = store.create(&new, Timestamp(1.0)).unwrap();
            created.worktree.name
        };
        let first = create(1, Vec::new());
        let folder = root.join(".worktrees").join(first.as_str());
        let empty = store.content(&first).unwrap();
        assert_eq!(
            (empty.changed, empty.has_own_commits),
            (Some(Vec::new()), false)
        );
        std::fs::write(folder.join("new file"), "x\n").unwrap();
        let why = store.content(&first).unwrap_err().to_string();
        assert!(why.contains("new file"), "{why}");
        store.commit_leftovers(&first, "work").unwrap();
        let one = store.content(&first).unwrap();
        assert_eq!(one.changed, Some(vec!["new file".to_string()]));
        assert!(one.has_own_commits && one.tree != empty.tree);
        // A task that builds on the first has its files, but has changed nothing itself.
        let second = create(2, vec![first.branch()]);
        let two = store.content(&second).unwrap();
        assert_eq!(two.changed, one.changed);
        assert!(!two.has_own_commits);
        assert_eq!(two.tree, one.tree);
        let folder = root.join(".worktrees").join(second.as_str());
        git(&folder, &["switch", "-q", "--detach"]);
        assert!(store.content(&second).is_err());
    }
}

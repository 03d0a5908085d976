//! Whether a worktree may be removed.

use super::{FolderState, Worktree, WorktreeError, WorktreeState, WorktreeStatus};

/// Under which condition a worktree may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalMode {
    /// The worktree may be removed only if no work would be lost and it is not marked to be kept.
    OnlyIfSafe,
    /// The worktree may be removed although work would be lost, because the user has confirmed this.
    Confirmed,
}

/// Checks whether a worktree may be removed (guarantee 6 in docs/GUARANTEES.md). With [`RemovalMode::OnlyIfSafe`], no
/// work may be lost and the worktree must not be marked to be kept. With [`RemovalMode::Confirmed`], any work may be
/// lost except [`WorktreeState::unreachable_commit`]. A folder that is not a worktree of this repository is never
/// removed.
///
/// # Errors
/// Returns what would be lost, or why the folder cannot be removed.
pub fn check_removal(
    tree: &Worktree,
    state: &WorktreeState,
    removal: RemovalMode,
) -> Result<(), WorktreeError> {
    let name = &tree.name;
    if state.on_disk == FolderState::Foreign {
        return Err(WorktreeError::Foreign(name.clone()));
    }
    let losses = state.losses();
    match (removal, &state.unreachable_commit) {
        (RemovalMode::Confirmed, Some(commit)) => Err(WorktreeError::UnreachableCommit {
            name: name.clone(),
            commit: commit.clone(),
        }),
        (RemovalMode::Confirmed, None) => Ok(()),
        (RemovalMode::OnlyIfSafe, _) if tree.status == WorktreeStatus::Kept => {
            Err(WorktreeError::Kept(name.clone()))
        }
        (RemovalMode::OnlyIfSafe, _) if losses.is_empty() => Ok(()),
        (RemovalMode::OnlyIfSafe, _) => Err(WorktreeError::Unsafe {
            name: name.clone(),
            losses,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::domain::worktree::{ContentStatus, GitOperation, WorktreeName};
    use pretty_assertions::assert_eq;

    fn clean() -> WorktreeState {
        WorktreeState {
            on_disk: FolderState::Whole,
            other_checkout: None,
            unreachable_commit: None,
            busy: None,
            dirty: 0,
            files: vec![],
            ahead: 3,
            content: ContentStatus::Merged,
            unmerged: vec![],
            nested: vec![],
        }
    }

    #[test]
    fn removal_requires_clean_and_merged_worktree() {
        let name = WorktreeName::new("task-1").unwrap();
        let mut tree = Worktree::new(name, "/x".into(), Timestamp(1.0));
        let check = |tree: &Worktree, state: &WorktreeState, removal| {
            check_removal(tree, state, removal).map_err(|e| e.to_string())
        };
        let stays = |what: &str| Err(format!("worktree task-1 was not removed: it has {what}"));
        let files: Vec<String> = (1..=7).map(|n| format!("f{n}")).collect();
        for (state, safe) in [
            (clean(), Ok(())),
            (
                WorktreeState {
                    content: ContentStatus::Nothing,
                    ahead: 0,
                    ..clean()
                },
                Ok(()),
            ),
            (
                WorktreeState {
                    dirty: 9,
                    files,
                    ..clean()
                },
                stays("9 uncommitted files (f1, f2, f3, f4, f5 and 4 more)"),
            ),
            (
                WorktreeState {
                    content: ContentStatus::Unmerged,
                    ahead: 1,
                    unmerged: vec!["write it".into()],
                    ..clean()
                },
                stays("1 unmerged commit (write it)"),
            ),
            (
                WorktreeState {
                    nested: vec!["lib".into()],
                    ..clean()
                },
                stays("a nested repository (lib)"),
            ),
            (
                WorktreeState {
                    nested: vec!["a".into(), "b".into()],
                    ..clean()
                },
                stays("nested repositories (a, b)"),
            ),
            (
                WorktreeState {
                    busy: Some(GitOperation::Rebase),
                    ..clean()
                },
                stays("a rebase in progress"),
            ),
        ] {
            assert_eq!(check(&tree, &state, RemovalMode::OnlyIfSafe), safe);
            assert_eq!(check(&tree, &state, RemovalMode::Confirmed), Ok(()));
        }
        let foreign = WorktreeState {
            on_disk: FolderState::Foreign,
            ..clean()
        };
        for removal in [RemovalMode::OnlyIfSafe, RemovalMode::Confirmed] {
            assert!(check(&tree, &foreign, removal).is_err());
        }
        tree.mark_kept(Timestamp(2.0));
        assert_eq!(
            check(&tree, &clean(), RemovalMode::OnlyIfSafe),
            Err("worktree task-1 was not removed: it is marked to be kept".into())
        );
        assert_eq!(check(&tree, &clean(), RemovalMode::Confirmed), Ok(()));
    }
}

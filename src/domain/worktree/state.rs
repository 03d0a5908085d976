//! What was found in a worktree, and what of it would be lost.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Worktree, WorktreeError, WorktreeStatus};

/// Most files that are named.
pub const FILES_MAX: usize = 20;
/// Most commits that are named.
pub const SUBJECTS_MAX: usize = 20;
/// Most files and commits that an error names.
const NAMED_MAX: usize = 5;

/// Whether the folder is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDisk {
    /// A worktree of this repository.
    Whole,
    /// Nothing, or an empty folder.
    Missing,
    /// A folder with something else in it.
    Foreign,
}

/// Whether the base has what the branch has, whatever the commits are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// The branch has nothing of its own (yet), or is gone.
    Nothing,
    /// The base has all of it: merged, squashed or rebased.
    Merged,
    /// The base lacks something.
    Unmerged,
}

/// A command of git that was begun and is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Busy {
    /// `git merge`
    Merge,
    /// `git rebase` or `git am`
    Rebase,
    /// `git cherry-pick`
    CherryPick,
    /// `git revert`
    Revert,
    /// `git bisect`
    Bisect,
}

impl Busy {
    /// The words behind `git` that give it up.
    pub fn abort(self) -> &'static str {
        match self {
            Busy::Merge => "merge --abort",
            Busy::Rebase => "rebase --abort",
            Busy::CherryPick => "cherry-pick --abort",
            Busy::Revert => "revert --abort",
            Busy::Bisect => "bisect reset",
        }
    }

    /// The command's name.
    pub fn command(self) -> &'static str {
        match self {
            Busy::Merge => "merge",
            Busy::Rebase => "rebase",
            Busy::CherryPick => "cherry-pick",
            Busy::Revert => "revert",
            Busy::Bisect => "bisect",
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}", self.command())
    }
}

/// A worktree as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeState {
    /// Whether the folder is there.
    pub on_disk: OnDisk,
    /// What it has checked out when it is not its own branch.
    pub elsewhere: Option<String>,
    /// The commit that it has checked out, where no branch has it and the base lacks its content.
    pub loose: Option<String>,
    /// What is under way in it.
    pub busy: Option<Busy>,
    /// How many files are not committed; an untracked folder counts once.
    pub dirty: usize,
    /// The first of them, at most [`FILES_MAX`].
    pub files: Vec<String>,
    /// How many commits the base does not have under the same hash.
    pub ahead: u64,
    /// Whether their content is in the base.
    pub content: Content,
    /// The subjects of the commits whose content is not in the base, newest first, at most [`SUBJECTS_MAX`].
    pub unmerged: Vec<String>,
    /// Repositories inside (submodules that were fetched, clones): commits in there are not looked at.
    pub nested: Vec<String>,
}

impl WorktreeState {
    /// What would be lost if it were removed.
    pub fn losses(&self) -> Losses {
        let commits = match self.content {
            Content::Unmerged => self.ahead,
            Content::Nothing | Content::Merged => 0,
        };
        Losses {
            files: self.dirty,
            named: self.files.clone(),
            commits,
            subjects: self.unmerged.clone(),
            nested: self.nested.clone(),
            busy: self.busy,
        }
    }
}

/// What would be lost with a worktree. Ignored files are not counted: they can be made again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Losses {
    /// How many files are not committed.
    pub files: usize,
    /// The first of them.
    pub named: Vec<String>,
    /// How many commits are not merged.
    pub commits: u64,
    /// The subjects of the newest.
    pub subjects: Vec<String>,
    /// Repositories inside.
    pub nested: Vec<String>,
    /// What is under way.
    pub busy: Option<Busy>,
}

impl Losses {
    /// What of it stays although the worktree is removed: the commits, on its branch.
    #[must_use]
    pub fn kept(&self) -> Losses {
        Losses {
            commits: self.commits,
            subjects: self.subjects.clone(),
            ..Losses::default()
        }
    }

    /// What of it is lost for good when the worktree is removed all the same.
    #[must_use]
    pub fn gone(&self) -> Losses {
        Losses {
            commits: 0,
            subjects: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether nothing would be lost.
    pub fn is_empty(&self) -> bool {
        self.files == 0 && self.commits == 0 && self.nested.is_empty() && self.busy.is_none()
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.files > 0 {
            let names = named(&self.named, self.files);
            parts.push(format!(
                "{} ({names})",
                count(self.files, "uncommitted file")
            ));
        }
        if self.commits > 0 {
            let commits = usize::try_from(self.commits).unwrap_or(usize::MAX);
            let subjects = named(&self.subjects, commits);
            parts.push(format!(
                "{} ({subjects})",
                count(commits, "unmerged commit")
            ));
        }
        if !self.nested.is_empty() {
            let names = named(&self.nested, self.nested.len());
            parts.push(format!("a repository of its own inside ({names})"));
        }
        if let Some(busy) = self.busy {
            parts.push(format!("{busy} under way"));
        }
        f.write_str(&parts.join(", "))
    }
}

/// `1 file`, `2 files`.
fn count(n: usize, what: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{n} {what}{end}")
}

/// The first few, and how many more there are.
fn named(names: &[String], all: usize) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more = all.saturating_sub(shown.len());
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Who wants a worktree removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Anybody: only when nothing would be lost.
    OnlyIfSafe,
    /// A person who was told what would be lost.
    WhatIsLostIsKnown,
}

/// Whether a worktree may be removed (promise 6).
///
/// # Errors
/// What would be lost, or why its folder can not be judged.
pub fn may_remove(
    tree: &Worktree,
    state: &WorktreeState,
    removal: Removal,
) -> Result<(), WorktreeError> {
    let name = &tree.name;
    if state.on_disk == OnDisk::Foreign {
        return Err(WorktreeError::Foreign(name.clone()));
    }
    let losses = state.losses();
    match (removal, &state.loose) {
        (Removal::WhatIsLostIsKnown, Some(commit)) => Err(WorktreeError::Loose {
            name: name.clone(),
            commit: commit.clone(),
        }),
        (Removal::WhatIsLostIsKnown, None) => Ok(()),
        (Removal::OnlyIfSafe, _) if tree.status == WorktreeStatus::Kept => {
            Err(WorktreeError::Kept(name.clone()))
        }
        (Removal::OnlyIfSafe, _) if losses.is_empty() => Ok(()),
        (Removal::OnlyIfSafe, _) => Err(WorktreeError::Unsafe {
            name: name.clone(),
            losses,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::stamp::Stamp;
    use crate::domain::worktree::WorktreeName;
    use pretty_assertions::assert_eq;

    fn clean() -> WorktreeState {
        WorktreeState {
            on_disk: OnDisk::Whole,
            elsewhere: None,
            loose: None,
            busy: None,
            dirty: 0,
            files: vec![],
            ahead: 3,
            content: Content::Merged,
            unmerged: vec![],
            nested: vec![],
        }
    }

    #[test]
    fn only_what_is_clean_and_merged_may_go() {
        let name = WorktreeName::new("task-1").unwrap();
        let mut tree = Worktree::new(name, "/x".into(), Stamp(1.0));
        let judge = |tree: &Worktree, state: &WorktreeState, removal| {
            may_remove(tree, state, removal).map_err(|e| e.to_string())
        };
        let stays = |what: &str| Err(format!("worktree task-1 stays, it has {what}"));
        let files: Vec<String> = (1..=7).map(|n| format!("f{n}")).collect();
        for (state, safe) in [
            (clean(), Ok(())),
            (
                WorktreeState {
                    content: Content::Nothing,
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
                    content: Content::Unmerged,
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
                stays("a repository of its own inside (lib)"),
            ),
            (
                WorktreeState {
                    busy: Some(Busy::Rebase),
                    ..clean()
                },
                stays("a rebase under way"),
            ),
        ] {
            assert_eq!(judge(&tree, &state, Removal::OnlyIfSafe), safe);
            assert_eq!(judge(&tree, &state, Removal::WhatIsLostIsKnown), Ok(()));
        }
        let foreign = WorktreeState {
            on_disk: OnDisk::Foreign,
            ..clean()
        };
        for removal in [Removal::OnlyIfSafe, Removal::WhatIsLostIsKnown] {
            assert!(judge(&tree, &foreign, removal).is_err());
        }
        tree.keep(Stamp(2.0));
        assert_eq!(
            judge(&tree, &clean(), Removal::OnlyIfSafe),
            Err("worktree task-1 is to be kept: nothing removes it by itself".into())
        );
        assert_eq!(judge(&tree, &clean(), Removal::WhatIsLostIsKnown), Ok(()));
    }
}

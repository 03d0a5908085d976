//! Content of a repository that git has not fetched into a worktree: submodules and files of Git LFS.

use super::paths::PathSummary;
use crate::domain::text::count_noun;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingContent {
    /// The submodules whose folder is empty.
    pub submodules: PathSummary,
    /// The files that contain a pointer of Git LFS in place of their content.
    pub lfs_pointers: PathSummary,
}

impl MissingContent {
    /// Returns a sentence for the user about each kind of missing content, with the name of the kind.
    pub fn warnings(&self) -> Vec<(&'static str, String)> {
        let mut warnings = Vec::new();
        if self.submodules.count > 0 {
            warnings.push((
                "submodules",
                format!(
                    "Worktrees have empty submodules: {}. Agents fetch them if they need them and have network access. To fetch them in each worktree, run git submodule init once in your checkout and set worktree.setup to git submodule update.",
                    self.submodules.list()
                ),
            ));
        }
        if self.lfs_pointers.count > 0 {
            warnings.push((
                "lfs",
                format!(
                    "Worktrees have {} of Git LFS without its content: {}. Agents run git lfs pull if they need them and have network access; worktree.setup can do it for all.",
                    count_noun(self.lfs_pointers.count, "file"),
                    self.lfs_pointers.list()
                ),
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_the_first_paths() {
        let mut missing = MissingContent::default();
        assert!(missing.warnings().is_empty());
        missing.submodules.add("lib");
        for n in 0..8 {
            missing.lfs_pointers.add(&format!("{n}.bin"));
        }
        let warnings = missing.warnings();
        assert!(
            warnings[0]
                .1
                .starts_with("Worktrees have empty submodules: lib. "),
            "{warnings:?}"
        );
        assert!(
            warnings[1].1.contains("8 files of Git LFS")
                && warnings[1].1.contains("4.bin and 3 more."),
            "{warnings:?}"
        );
    }
}

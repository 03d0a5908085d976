//! Content of a repository that git has not fetched into a worktree: submodules and files of Git LFS.

use crate::domain::text::{count_noun, join_names, one_line};

/// Maximum number of paths of each kind that are kept.
const NAMES_MAX: usize = 5;

/// Paths of one kind: the first ones, and the number of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingPaths {
    names: Vec<String>,
    pub count: usize,
}

impl MissingPaths {
    pub fn add(&mut self, path: &str) {
        self.count += 1;
        if self.names.len() < NAMES_MAX {
            self.names.push(one_line(path));
        }
    }

    /// Returns the first paths and the number of further ones: `a, b and 3 more`.
    pub fn list(&self) -> String {
        join_names(&self.names, NAMES_MAX, self.count)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingContent {
    /// The submodules whose folder is empty.
    pub submodules: MissingPaths,
    /// The files that contain a pointer of Git LFS in place of their content.
    pub lfs_pointers: MissingPaths,
}

impl MissingContent {
    /// Returns a sentence for the user about each kind of missing content.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.submodules.count > 0 {
            warnings.push(format!(
                "New worktrees have empty submodules: {}. Agents run git submodule update --init if they need them, with network access; worktree.setup can do it for all.",
                self.submodules.list()
            ));
        }
        if self.lfs_pointers.count > 0 {
            warnings.push(format!(
                "New worktrees have {} of Git LFS without its content: {}. Agents run git lfs pull if they need them, with network access; worktree.setup can do it for all.",
                count_noun(self.lfs_pointers.count, "file"),
                self.lfs_pointers.list()
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn warnings_name_the_first_paths() {
        let mut missing = MissingContent::default();
        assert_eq!(missing.warnings(), Vec::<String>::new());
        missing.submodules.add("lib\n");
        for n in 0..8 {
            missing.lfs_pointers.add(&format!("{n}.bin"));
        }
        let warnings = missing.warnings();
        assert!(
            warnings[0].starts_with("New worktrees have empty submodules: lib. "),
            "{warnings:?}"
        );
        assert!(
            warnings[1].contains("8 files of Git LFS") && warnings[1].contains("4.bin and 3 more."),
            "{warnings:?}"
        );
    }
}

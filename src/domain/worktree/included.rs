//! Reports which untracked files were copied into a new worktree, and which were not.

use crate::domain::text::{count_noun, join_names, one_line};

/// The file in the root that lists the untracked files to copy into each new worktree, in the syntax of `.gitignore`.
pub const INCLUDE_FILE: &str = ".worktreeinclude";

/// Maximum number of copied files whose paths are kept.
pub const COPIED_NAMES_MAX: usize = 10;
/// Maximum number of paths in a warning for each reason.
const LEFT_OUT_NAMES_MAX: usize = 5;

/// The result of copying the files that [`INCLUDE_FILE`] lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncludedFiles {
    /// Number of copied files.
    pub count: usize,
    /// The paths of the first [`COPIED_NAMES_MAX`] copied files, relative to the root, escaped for display.
    pub names: Vec<String>,
    /// The files that were not copied although [`INCLUDE_FILE`] lists them, one entry for each reason.
    left_out: Vec<LeftOutFiles>,
    /// What is wrong with [`INCLUDE_FILE`] or prevented its use, each as a sentence without a full stop.
    pub problems: Vec<String>,
}

/// Files that were not copied for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LeftOutFiles {
    why: String,
    count: usize,
    /// The paths of the first [`LEFT_OUT_NAMES_MAX`] files, escaped for display.
    names: Vec<String>,
}

impl IncludedFiles {
    /// Adds a copied file.
    pub fn add(&mut self, path: &str) {
        self.count += 1;
        if self.names.len() < COPIED_NAMES_MAX {
            self.names.push(one_line(path));
        }
    }

    /// Adds a file that was not copied. `why` is the reason in a few words.
    pub fn leave_out(&mut self, path: &str, why: &str) {
        let at = self.left_out.iter().position(|known| known.why == why);
        let at = at.unwrap_or_else(|| {
            self.left_out.push(LeftOutFiles {
                why: why.into(),
                count: 0,
                names: Vec::new(),
            });
            self.left_out.len() - 1
        });
        if let Some(same) = self.left_out.get_mut(at) {
            same.count += 1;
            if same.names.len() < LEFT_OUT_NAMES_MAX {
                same.names.push(one_line(path));
            }
        }
    }

    /// Returns what was copied: `3 files copied (.worktreeinclude)`. Returns `None` if nothing was copied.
    pub fn summary(&self) -> Option<String> {
        let files = count_noun(self.count, "file");
        (self.count > 0).then(|| format!("{files} copied ({INCLUDE_FILE})"))
    }

    /// Returns a sentence for each problem, and one that names what was left out.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.problems.iter().map(|p| format!("{p}.")).collect();
        let groups: Vec<String> = self
            .left_out
            .iter()
            .map(|group| {
                let names = join_names(&group.names, LEFT_OUT_NAMES_MAX, group.count);
                format!("{names} ({})", group.why)
            })
            .collect();
        if !groups.is_empty() {
            warnings.push(format!(
                "Not copied into new worktrees, although {INCLUDE_FILE} lists them: {}.",
                groups.join("; ")
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
    fn summary_counts_copied_files() {
        let mut files = IncludedFiles::default();
        assert_eq!((files.summary(), files.warnings()), (None, Vec::new()));
        files.add(".env");
        assert_eq!(files.summary().unwrap(), "1 file copied (.worktreeinclude)");
        (0..20).for_each(|n| files.add(&format!("config/{n}\n")));
        assert_eq!(
            files.summary().unwrap(),
            "21 files copied (.worktreeinclude)"
        );
        assert_eq!(files.names.len(), COPIED_NAMES_MAX);
        assert_eq!(files.names[1], "config/0");
    }

    #[test]
    fn warning_groups_files_by_reason_and_is_bounded() {
        let mut files = IncludedFiles::default();
        files.problems.push("Line 1 is wrong".into());
        files.leave_out("link", "a symbolic link");
        (0..1000).for_each(|n| files.leave_out(&format!("f{n}"), "too many"));
        files.leave_out("a\u{1b}[2J", "a symbolic link");
        assert_eq!(
            files.warnings(),
            [
                "Line 1 is wrong.",
                "Not copied into new worktrees, although .worktreeinclude lists them: link, a␛[2J (a symbolic link); \
                 f0, f1, f2, f3, f4 and 995 more (too many).",
            ]
        );
    }
}

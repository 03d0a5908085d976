//! Reports which ignored folders were cloned into a new worktree, and which were not.

use super::outcome::DiskUse;
use crate::domain::text::{clip, one_line};

/// Maximum length of the name of a folder in a report, in characters.
const NAME_MAX: usize = 100;

/// The result of cloning the folders that the setting `worktree.clone` names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClonedFolders {
    /// The folders that were cloned, relative to the root, escaped for display.
    pub names: Vec<String>,
    /// The folders that were not cloned although they exist, each with the reason.
    left_out: Vec<(String, String)>,
    /// Whether nothing was cloned, because the file system cannot share blocks between files.
    pub cannot_share: bool,
    /// The disk space of the cloned files whose blocks are not shared with the originals, in bytes.
    pub copied_bytes: u64,
}

impl ClonedFolders {
    pub fn add(&mut self, folder: &str) {
        self.names.push(shown(folder));
    }

    pub fn leave_out(&mut self, folder: &str, why: &str) {
        self.left_out.push((shown(folder), one_line(why)));
    }

    /// Returns what was cloned: `node_modules, target copied (worktree.clone)`, and the disk space that it takes if blocks are
    /// not shared. Returns `None` if nothing was cloned.
    pub fn summary(&self) -> Option<String> {
        let names = self.names.join(", ");
        let copied = DiskUse {
            bytes: self.copied_bytes,
            at_least: false,
        };
        let space = match self.copied_bytes {
            0 => String::new(),
            _ => format!(", {copied} of disk space"),
        };
        (!names.is_empty()).then(|| format!("{names} copied (worktree.clone{space})"))
    }

    /// Returns a sentence for each reason why folders were not cloned.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self
            .left_out
            .iter()
            .map(|(name, why)| format!("worktree.clone: {name} is not copied: {why}."))
            .collect();
        if self.cannot_share {
            warnings.push(
                "worktree.clone copies nothing: the file system of .worktrees cannot share blocks between files, as Btrfs and XFS can. Create these folders with worktree.setup, or set worktree.clone_fallback to \"copy\" if there is space for full copies."
                    .into(),
            );
        }
        warnings
    }
}

fn shown(folder: &str) -> String {
    one_line(&clip(folder, NAME_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn report_names_cloned_folders_and_reasons() {
        let mut cloned = ClonedFolders::default();
        assert_eq!((cloned.summary(), cloned.warnings()), (None, Vec::new()));
        cloned.add("node_modules");
        cloned.add("target\n");
        cloned.leave_out("big", "more than 200,000 files");
        assert_eq!(
            cloned.summary().as_deref(),
            Some("node_modules, target copied (worktree.clone)")
        );
        assert_eq!(
            cloned.warnings(),
            ["worktree.clone: big is not copied: more than 200,000 files."]
        );
        cloned.copied_bytes = 3 * 1024 * 1024;
        assert_eq!(
            cloned.summary().as_deref(),
            Some("node_modules, target copied (worktree.clone, 3.0 MiB of disk space)")
        );
        cloned.cannot_share = true;
        assert!(cloned.warnings()[1].contains("worktree.setup"));
    }
}

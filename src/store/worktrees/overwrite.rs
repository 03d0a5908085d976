//! Checks that a merge overwrites no file that git does not track. Git itself refuses to overwrite untracked files, but
//! overwrites those that it ignores, such as `.env`, without a message.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::OpenRegistry;
use super::merge::short_list;
use super::nested_repos::split_nul;
use crate::domain::text::one_line;
use crate::domain::worktree::WorktreeError;
use crate::store::StoreError;
use crate::store::git::GitError;

/// Maximum size, in bytes, of the list of files that a merge writes: enough for about 800,000 files.
const NAMES_MAX: usize = 64 * 1024 * 1024;
/// Maximum number of paths in one git command.
const PATHS_MAX: usize = 200;

impl OpenRegistry {
    /// Fails if a file in the main worktree that git does not track is in the way of a merge of `branch`. `diff` is the
    /// git command that compares the content before the merge with the merged content.
    pub(super) fn check_no_overwrite(&self, branch: &str, diff: &[&str]) -> Result<(), StoreError> {
        let git = &self.repo.git;
        let answer = git.run_keeping(diff, NAMES_MAX)?;
        if answer.code != 0 {
            return Err(answer.to_error(diff).into());
        }
        if answer.lost > 0 {
            return Err(GitError::TooLong("diff".into()).into());
        }
        let names = split_nul(&answer.out);
        let on_disk = names.filter_map(|name| path_in_the_way(&self.repo.root, name));
        let on_disk: BTreeSet<String> = on_disk
            .map(|path| format!(":(top,literal){path}"))
            .collect();
        let on_disk: Vec<String> = on_disk.into_iter().collect();
        let mut found = Vec::new();
        for paths in on_disk.chunks(PATHS_MAX) {
            // Without an option for ignored files, git lists them too.
            let mut args = vec!["ls-files", "--others", "-z", "--"];
            args.extend(paths.iter().map(String::as_str));
            found.extend(split_nul(&git.ok(&args)?).map(one_line));
        }
        if found.is_empty() {
            return Ok(());
        }
        let why = format!(
            "these untracked working tree files would be overwritten by the merge: {}. Move or rename them, then merge again",
            short_list(&found, found.len())
        );
        let branch = branch.to_string();
        Err(WorktreeError::NotMerged { branch, why }.into())
    }
}

/// Returns the path, relative to `root`, that git has to replace to write the file `name`: the file itself, or a file
/// or symbolic link where the file needs a folder. Returns `None` if there is neither.
fn path_in_the_way(root: &Path, name: &str) -> Option<String> {
    let mut ancestors: Vec<&Path> = Path::new(name).ancestors().collect();
    // The last one is the empty path.
    ancestors.pop();
    for path in ancestors.into_iter().rev() {
        let meta = fs::symlink_metadata(root.join(path)).ok()?;
        if !meta.is_dir() || path == Path::new(name) {
            return path.to_str().map(String::from);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn file_or_its_ancestor_is_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("folder")).unwrap();
        fs::write(root.join("folder/file"), "").unwrap();
        std::os::unix::fs::symlink("folder", root.join("link")).unwrap();
        for (name, expected) in [
            ("folder/file", Some("folder/file")),
            ("folder/file/below", Some("folder/file")),
            ("folder", Some("folder")),
            ("folder/new", None),
            ("new/file", None),
            ("link/file", Some("link")),
        ] {
            let found = path_in_the_way(root, name);
            assert_eq!((name, found.as_deref()), (name, expected));
        }
    }
}

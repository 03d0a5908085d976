//! Computes the paths that Landlock makes writable if the mount view could not be created. The git folder is not among
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use super::plan::{Mount, SandboxPlan};
use crate::domain::folders::STATE;

/// Maximum number of entries of a folder that become writable one by one, if the folder itself must not become
/// writable. Further entries stay read-only.
const ENTRIES_MAX: usize = 4096;

/// Returns the writable paths of `plan` without the git folder. A folder that contains the git folder is replaced by
/// its current entries, except symbolic links and read-only paths. The reason is that Landlock can only allow a folder
/// with everything below it. Commands can therefore not create new files in that folder itself.
///
/// If the command runs in the root, folders that contain the state folders or other read-only paths are replaced in the
/// same way.
pub fn writable_without_git(plan: &SandboxPlan) -> Vec<PathBuf> {
    let git: Vec<&Path> = plan
        .history
        .iter()
        .flat_map(|private| [Some(private.common.as_path()), private.dir.parent()])
        .flatten()
        .collect();
    let read_only: Vec<&Path> = plan
        .view
        .iter()
        .filter_map(|step| match step {
            Mount::ReadOnly(path) => Some(path.as_path()),
            _ => None,
        })
        .collect();
    let is_state = |path: &&Path| STATE.iter().any(|name| path.ends_with(name));
    // If the command runs in the root, folders that contain the state folders or other read-only paths are replaced by
    // their entries, too.
    let inner: &[&Path] = if read_only.iter().any(is_state) {
        &read_only
    } else {
        &[]
    };
    let closed = ReadOnlyPaths {
        split: git.iter().chain(inner).copied().collect(),
        git,
        read_only,
    };
    // The paths that steps of the mount view make writable, such as the tasks' worktrees in the root.
    let trees = plan.view.iter().filter_map(|step| match step {
        Mount::Writable(path) => Some(path),
        _ => None,
    });
    let mut out = Vec::new();
    for path in plan.writable.iter().chain(trees) {
        closed.add(path, &mut out);
    }
    out.sort();
    out.dedup();
    out
}

struct ReadOnlyPaths<'a> {
    git: Vec<&'a Path>,
    read_only: Vec<&'a Path>,
    /// Paths that must not become writable as part of a folder. A folder that contains such a path is replaced by the
    /// folder's entries.
    split: Vec<&'a Path>,
}

impl ReadOnlyPaths<'_> {
    fn add(&self, path: &Path, out: &mut Vec<PathBuf>) {
        if self.git.iter().any(|git| path.starts_with(git)) {
            return;
        }
        if !self.split.iter().any(|closed| closed.starts_with(path)) {
            out.push(path.to_path_buf());
            return;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries.take(ENTRIES_MAX) {
            let path = entry.path();
            // Landlock would follow a symbolic link, which may lead into the git folder.
            let is_followed = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if !is_followed && !self.read_only.contains(&path.as_path()) {
                self.add(&path, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::history::{PrivateHistory, WritableBranch};
    use crate::process::sandbox::{PlanInputs, plan};
    use pretty_assertions::assert_eq;

    /// Creates a repository with the worktree `a` in a temporary folder. Returns the paths that a command in the
    /// worktree `tree` can write, relative to the temporary folder; if `tree` is `None`, the command runs in the root.
    /// `temp_above` adds the temporary folder to the plan's writable folders.
    fn writable(tree: Option<&str>, temp_above: bool) -> Vec<String> {
        let above = tempfile::tempdir().unwrap();
        let above = above.path().canonicalize().unwrap();
        let root = above.join("r");
        for folder in ["src", ".git/worktrees/a", ".worktrees/a", ".tasks"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("README.md"), "").unwrap();
        std::os::unix::fs::symlink(".git", root.join("link")).unwrap();
        let common = root.join(".git");
        let own = tree.map_or(common.clone(), |name| common.join("worktrees").join(name));
        let workdir = tree.map_or(root.clone(), |name| root.join(".worktrees").join(name));
        let plan = plan(&PlanInputs {
            trees: tree.map_or(vec![root.join(".worktrees/a")], |_| Vec::new()),
            root,
            workdir,
            own_git: Some(own.clone()),
            common_git: Some(common.clone()),
            hidden: Vec::new(),
            abstract_sockets: false,
            unset: Vec::new(),
            history: Some(PrivateHistory {
                common,
                dir: own.join("crewdeck"),
                name: "a".into(),
                branch: WritableBranch::None,
            }),
            is_history_exposed: false,
            hooks: None,
            cache: None,
            protected: Vec::new(),
            temp: if temp_above {
                vec![above.clone()]
            } else {
                Vec::new()
            },
            write: Vec::new(),
        });
        let paths = writable_without_git(&plan);
        let below = paths.iter().filter_map(|p| p.strip_prefix(&above).ok());
        below.map(|p| p.display().to_string()).collect()
    }

    #[test]
    fn a_worktree_is_writable_and_the_git_folder_is_not() {
        assert_eq!(writable(Some("a"), false), ["r/.worktrees/a"]);
        assert_eq!(writable(Some("a"), true), ["r/.worktrees/a"]);
    }

    #[test]
    fn existing_entries_of_the_root_are_writable() {
        for temp_above in [false, true] {
            assert_eq!(
                writable(None, temp_above),
                ["r/.worktrees/a", "r/README.md", "r/src"]
            );
        }
    }
}

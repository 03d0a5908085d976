//! Which of the user's hooks run at a push and at a merge: not those that agents can change.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{Git, GitError, Hooks, Repo};

/// The hooks that git runs at a push. The second runs when git updates its branch of the remote.
const HOOKS: &[&str] = &["pre-push", "reference-transaction"];
/// The hooks that git runs at a merge or when it moves a branch.
const MERGE_HOOKS: &[&str] = &[
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-merge",
    "post-index-change",
    "reference-transaction",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushHooks {
    None,
    /// The names of the hooks. They are not files of the project, so that only the user can change them.
    Own(Vec<&'static str>),
    /// The first hook that is a file of the project, as `core.hooksPath = .husky` names it. Agents can change such files,
    /// therefore no hooks run.
    InProject(PathBuf),
}

impl PushHooks {
    /// Finds the hooks of the repository.
    ///
    /// # Errors
    /// When git fails.
    pub fn find(repo: &Repo) -> Result<PushHooks, GitError> {
        PushHooks::find_of(repo, HOOKS)
    }

    fn find_of(repo: &Repo, hooks: &[&'static str]) -> Result<PushHooks, GitError> {
        let folder = hooks_folder(&repo.git)?;
        let mut names = Vec::new();
        for name in hooks {
            let path = folder.join(name);
            if !path.is_file() || access(&path, Access::EXEC_OK).is_err() {
                continue;
            }
            if is_in_project(repo, &path) {
                return Ok(PushHooks::InProject(path));
            }
            names.push(*name);
        }
        Ok(if names.is_empty() {
            PushHooks::None
        } else {
            PushHooks::Own(names)
        })
    }

    /// Returns whether git runs hooks at a push.
    pub fn to_run(&self) -> Hooks {
        match self {
            PushHooks::Own(_) => Hooks::Run,
            PushHooks::None | PushHooks::InProject(_) => Hooks::Skip,
        }
    }
}

/// Returns the folder of the hooks or the first hook for merges, if it is a file of the project, so that agents can change
/// it. Without such a hook, a merge can still bring one into the folder. Returns `None` if no hook of the project can run.
///
/// # Errors
/// When git fails.
pub fn merge_hooks_in_project(repo: &Repo) -> Result<Option<PathBuf>, GitError> {
    let folder = hooks_folder(&repo.git)?;
    if is_in_project(repo, &folder) {
        return Ok(Some(folder));
    }
    Ok(match PushHooks::find_of(repo, MERGE_HOOKS)? {
        PushHooks::InProject(path) => Some(path),
        PushHooks::None | PushHooks::Own(_) => None,
    })
}

/// Returns whether `path`, which may be a link, is in the project and not in the folder of hooks in the git folder.
fn is_in_project(repo: &Repo, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let (root, own) = (real(&repo.root), real(repo.common()).join("hooks"));
    let target = real(path);
    target.starts_with(&root) && !target.starts_with(&own)
}

/// Returns the folder of the hooks: `core.hooksPath`, else the one in the git folder.
fn hooks_folder(git: &Git) -> Result<PathBuf, GitError> {
    // Without hooks, git would name the empty folder that replaces them.
    let git = git.with_hooks(Hooks::Run);
    let folder = git.ok(&["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?;
    Ok(folder.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use pretty_assertions::assert_eq;

    use super::*;

    fn hook(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn hooks_of_the_project_do_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("r"), dir.path().join("outside"));
        fs::create_dir(&root).unwrap();
        let git = |args: &[&str]| {
            let ran = Command::new("git").arg("-C").arg(&root).args(args).output();
            assert!(ran.unwrap().status.success(), "{args:?}");
        };
        git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        git(&[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "first",
        ]);
        let find = || PushHooks::find(&Repo::open(&root).unwrap()).unwrap();
        assert_eq!(find(), PushHooks::None);
        let own = root.join(".git/hooks/pre-push");
        hook(&own);
        assert_eq!(find(), PushHooks::Own(vec!["pre-push"]));
        assert_eq!(find().to_run(), Hooks::Run);
        // A link to a script of the project, and a folder of the project.
        hook(&root.join("scripts/check"));
        fs::remove_file(&own).unwrap();
        symlink("../../scripts/check", &own).unwrap();
        assert!(matches!(find(), PushHooks::InProject(path) if path.ends_with("hooks/pre-push")));
        git(&["config", "core.hooksPath", ".husky"]);
        assert_eq!(find(), PushHooks::None);
        hook(&root.join(".husky/reference-transaction"));
        assert!(
            matches!(find(), PushHooks::InProject(path) if path.ends_with(".husky/reference-transaction"))
        );
        assert_eq!(find().to_run(), Hooks::Skip);
        let path = outside.display().to_string();
        git(&["config", "core.hooksPath", &path]);
        hook(&outside.join("pre-push"));
        assert_eq!(find(), PushHooks::Own(vec!["pre-push"]));
    }

    #[test]
    fn no_hooks_run_at_merges_if_agents_can_change_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = |args: &[&str]| {
            let ran = Command::new("git").arg("-C").arg(&root).args(args).output();
            assert!(ran.unwrap().status.success(), "{args:?}");
        };
        git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        let find = || merge_hooks_in_project(&Repo::open(&root).unwrap()).unwrap();
        assert_eq!(find(), None);
        let own = root.join(".git/hooks/post-merge");
        hook(&own);
        assert_eq!(find(), None);
        hook(&root.join("scripts/check"));
        fs::remove_file(&own).unwrap();
        symlink("../../scripts/check", &own).unwrap();
        assert_eq!(find(), Some(own));
        // A merge can bring hooks into a folder that does not exist yet.
        git(&["config", "core.hooksPath", ".husky"]);
        assert_eq!(find(), Some(root.join(".husky")));
        let outside = tempfile::tempdir().unwrap();
        hook(&outside.path().join("post-merge"));
        git(&["config", "core.hooksPath", outside.path().to_str().unwrap()]);
        assert_eq!(find(), None);
    }
}

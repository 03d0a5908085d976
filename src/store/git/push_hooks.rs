//! Which of the user's hooks run at a push.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{Git, GitError, Hooks, Repo};

/// The hooks that git runs at a push. The second runs when git updates its branch of the remote.
const HOOKS: &[&str] = &["pre-push", "reference-transaction"];

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
        let folder = hooks_folder(&repo.git)?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let (root, own) = (real(&repo.root), real(repo.common()).join("hooks"));
        let mut names = Vec::new();
        for name in HOOKS {
            let path = folder.join(name);
            if !path.is_file() || access(&path, Access::EXEC_OK).is_err() {
                continue;
            }
            // The folder or the hook may be a link into the project.
            let target = real(&path);
            if target.starts_with(&root) && !target.starts_with(&own) {
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
}

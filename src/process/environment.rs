//! Removes secrets from the environment of child processes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock};

use super::added_environment::replaced_git_settings;
use crate::domain::secret_env::{self, WithheldReason};

/// Names of the variables that child processes get although they look like secrets (setting `pass_env`). Global,
/// because all child processes inherit the same environment.
static ALLOWED: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Replaces the set of variables that child processes get although they look like secrets.
pub fn set_allowed(names: impl IntoIterator<Item = String>) {
    *ALLOWED.write().unwrap_or_else(PoisonError::into_inner) = names.into_iter().collect();
}

/// Names of variables that child processes do not get, in addition to those that look like secrets. Headers of model
/// calls use these variables.
static WITHHELD: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Replaces the set of variables that child processes do not get, in addition to those that look like secrets.
pub fn set_withheld(names: BTreeSet<String>) {
    *WITHHELD.write().unwrap_or_else(PoisonError::into_inner) = names;
}

/// Removes secrets from the environment of `command`: the variables that look like secrets, and those of
/// [`set_withheld`]. Keeps the variables of [`set_allowed`]. A setting of git that is a secret is replaced by a setting
/// without meaning, because git fails if one of the numbered settings is missing.
pub fn scrub(command: &mut Command) {
    let allowed = ALLOWED.read().unwrap_or_else(PoisonError::into_inner);
    let withheld = WITHHELD.read().unwrap_or_else(PoisonError::into_inner);
    let secrets = secrets(std::env::vars_os()).map(|(name, _)| name);
    let names = secrets.chain(withheld.iter().map(OsString::from));
    let is_allowed = |name: &OsString| name.to_str().is_some_and(|name| allowed.contains(name));
    let removed: Vec<OsString> = names.filter(|name| !is_allowed(name)).collect();
    for name in &removed {
        command.env_remove(name);
    }
    command.envs(replaced_git_settings(&removed));
}

/// Returns whether commands must not get a variable: it looks like a secret or is one of [`set_withheld`], and
/// [`set_allowed`] does not allow it.
pub fn is_withheld(name: &str, value: &str) -> bool {
    let allowed = ALLOWED.read().unwrap_or_else(PoisonError::into_inner);
    let withheld = WITHHELD.read().unwrap_or_else(PoisonError::into_inner);
    let is_secret = withheld.contains(name) || secret_env::reason(name, value).is_some();
    is_secret && !allowed.contains(name)
}

/// Returns the folders in which crewdeck stores the user's settings and decisions: first the configuration folder, then
/// the state folder. Empty if the user has no home directory. Agents must not write to these folders, even if the
/// project is the home directory and contains them.
pub fn user_folders() -> Vec<PathBuf> {
    use etcetera::BaseStrategy;
    let Ok(dirs) = etcetera::choose_base_strategy() else {
        return Vec::new();
    };
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_dir());
    [dirs.config_dir(), state]
        .map(|folder| folder.join("crewdeck"))
        .to_vec()
}

/// Returns the folder with the tokens of MCP servers, which agents must not read. The folder may not exist. Returns
/// `None` without a home directory.
pub fn login_folder() -> Option<PathBuf> {
    let config = user_folders().into_iter().next()?;
    Some(config.join("mcp-logins"))
}

/// Returns whether `path` is [`login_folder`] or is in it; false if that folder does not exist. `path` must be absolute
/// and must not contain symbolic links.
pub fn is_login(path: &Path) -> bool {
    let folder = login_folder().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// Returns the names of this process's environment variables that look like secrets, in alphabetical order, each with
/// the reason. Variables that [`set_allowed`] has allowed are included.
pub fn secret_names() -> Vec<(String, WithheldReason)> {
    let mut all: Vec<(String, WithheldReason)> = secrets(std::env::vars_os())
        .map(|(name, reason)| (name.to_string_lossy().into_owned(), reason))
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// Returns the path of the program that would be started for `program` in the directory `dir`; `None` if it does not
/// exist or is not executable. A name without `/` is looked up in the folders of `PATH`; any other is relative to
/// `dir`.
pub fn find_program(program: &str, dir: &Path) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
    };
    if program.contains('/') {
        return Some(dir.join(program)).filter(is_executable);
    }
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| dir.join(folder).join(program));
    paths.find(is_executable)
}

/// Returns the path of the program `name` in the folders of `PATH`, but only outside of the folder `project`, so that the
/// project does not decide which program runs. Folders of `PATH` that are relative to the current directory are skipped.
/// `project` must be absolute and must not contain symbolic links.
///
/// # Errors
/// If the program is not found, returns the first path in the project at which it was skipped; `None` if there is none.
pub fn find_program_outside(name: &str, project: &Path) -> Result<PathBuf, Option<PathBuf>> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    find_in_folders(name, std::env::split_paths(&folders), project)
}

/// Returns the folders of `PATH` that are outside of the folder `project`, so that a program with the user's rights or tokens
/// starts no programs of the project. Leaves out folders that do not exist or are relative to the current directory.
/// `project` must be absolute and must not contain symbolic links.
pub fn path_outside(project: &Path) -> OsString {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    folders_outside(std::env::split_paths(&folders), project)
}

fn folders_outside(folders: impl Iterator<Item = PathBuf>, project: &Path) -> OsString {
    let outside = folders.filter(|folder| {
        let real = folder.canonicalize();
        folder.is_absolute() && real.is_ok_and(|real| !real.starts_with(project))
    });
    // The folders come from a `PATH`, so that none contains the separator.
    std::env::join_paths(outside).unwrap_or_default()
}

fn find_in_folders(
    name: &str,
    folders: impl Iterator<Item = PathBuf>,
    project: &Path,
) -> Result<PathBuf, Option<PathBuf>> {
    let mut skipped = None;
    for folder in folders.filter(|folder| folder.is_absolute()) {
        let path = folder.join(name);
        let is_executable = rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_ok();
        if !is_executable || !path.is_file() {
            continue;
        }
        // The folder or the program may be a link to or from the project.
        let is_inside = [folder.canonicalize(), path.canonicalize()]
            .iter()
            .any(|real| real.as_ref().map_or(true, |real| real.starts_with(project)));
        if !is_inside {
            return Ok(path);
        }
        skipped.get_or_insert(path);
    }
    Err(skipped)
}

fn secrets(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, WithheldReason)> {
    all.filter_map(|(name, value)| {
        let reason = secret_env::reason(&name.to_string_lossy(), &value.to_string_lossy())?;
        Some((name, reason))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn program_is_found_only_outside_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let [project, tools, links] = ["project", "tools", "links"].map(|name| root.join(name));
        for folder in [&project, &tools, &links] {
            fs::create_dir(folder).unwrap();
        }
        for folder in [&project, &tools] {
            let program = folder.join("gh");
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(project.join("gh"), links.join("gh")).unwrap();
        symlink(&project, root.join("linked")).unwrap();
        let find = |folders: &[PathBuf]| find_in_folders("gh", folders.iter().cloned(), &project);
        let linked = root.join("linked");
        let found: Result<PathBuf, Option<PathBuf>> = Ok(tools.join("gh"));
        assert_eq!(find(&[project.clone(), tools.clone()]), found);
        assert_eq!(find(&[links.clone(), linked.clone(), tools.clone()]), found);
        assert_eq!(find(&[links.clone(), linked]), Err(Some(links.join("gh"))));
        for folder in ["", ".", "tools"] {
            assert_eq!(find(&[folder.into()]), Err(None), "{folder:?}");
        }
        let outside = folders_outside(
            [
                project.clone(),
                root.join("linked"),
                "tools".into(),
                root.join("missing"),
                tools.clone(),
                links,
            ]
            .into_iter(),
            &project,
        );
        let expected = std::env::join_paths([tools.clone(), root.join("links")]);
        assert_eq!(outside, expected.unwrap());
        let no_program = tools.join("gh");
        fs::set_permissions(&no_program, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find(&[tools]), Err(None));
    }
}

//! Checks whether tasks can have git worktrees in a directory. If a first commit is missing, determines what it would
//! contain, and creates it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ignore::WalkBuilder;

use super::onboarding::{FirstCommit, GitStatus};
use crate::domain::folders;
use crate::store::{self, GitError};

/// Maximum number of files in a first commit that crewdeck creates. If there are more, the user has to choose the files
/// and commit them.
const FILES_MAX: usize = 1000;
/// Maximum number of files and directories that are visited to count the files for a first commit.
const ENTRIES_MAX: usize = 10_000;
/// Maximum total size, in bytes, of the files in a first commit that crewdeck creates. If they are larger, the user has
/// to choose the files and commit them.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The reason for [`FirstCommit::ChooseFiles`] if [`FILES_MAX`], [`ENTRIES_MAX`] or [`BYTES_MAX`] is exceeded.
const A_LOT: &str = "there are many or large files here";

/// Prefixes of the names of files that often contain secrets.
const SECRET_STARTS: &[&str] = &[
    ".env",
    "id_rsa",
    "id_ed25519",
    "credentials",
    ".netrc",
    ".npmrc",
];
const SECRET_ENDS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".kdbx"];

/// Returns whether tasks can have worktrees in `root`, or what is missing: git, a repository or a first commit. Returns
/// [`GitStatus::Ready`] for any other problem with git, which the crew reports. Changes nothing.
pub fn check(root: &Path) -> GitStatus {
    judge(root, files)
}

/// Returns whether [`check`] would return [`GitStatus::Ready`]. Faster than `check`, because it does not visit the
/// user's files.
pub fn is_ready(root: &Path) -> bool {
    judge(root, |_| FirstCommit::Files(0)) == GitStatus::Ready
}

fn judge(root: &Path, files: fn(&Path) -> FirstCommit) -> GitStatus {
    match store::git_facts(root).repository {
        Err(GitError::NoRepository(_)) => GitStatus::NoRepository(files(root)),
        Err(GitError::NoCommits) => GitStatus::NoCommits(files(root)),
        Err(why @ (GitError::Missing | GitError::TooOld(_))) => GitStatus::NoGit(why.to_string()),
        // Other problems do not belong on the setup page: the crew reports them.
        Ok(_) | Err(_) => GitStatus::Ready,
    }
}

/// Creates a repository with a first commit in `root`. Stops git if `stop` becomes true.
///
/// # Errors
/// Fails if git fails or was stopped.
pub fn make(root: &Path, stop: Arc<AtomicBool>) -> Result<(), GitError> {
    store::begin_repository(root, stop, || {
        // Ignore errors: state folders that could not be excluded from git are reported at the next start.
        drop(store::prepare(root));
    })
}

/// Returns what a first commit would contain; [`FirstCommit::NotAllowed`] in the home directory and the root of the
/// file system.
fn files(root: &Path) -> FirstCommit {
    let is_home = etcetera::home_dir().is_ok_and(|home| home == root);
    if is_home {
        return FirstCommit::NotAllowed("This is your home directory");
    }
    if root.parent().is_none() {
        return FirstCommit::NotAllowed("This is the root of the file system");
    }
    count_files(root, ENTRIES_MAX)
}

/// Counts the files below `root` that git does not ignore. Returns [`FirstCommit::ChooseFiles`] instead in these cases:
/// there are too many files, they are too large, there are more than `limit` files and directories besides `root`, or a
/// name suggests a secret or another repository.
fn count_files(root: &Path, limit: usize) -> FirstCommit {
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| {
            let is_top = entry.depth() == 1;
            let name = entry.file_name().to_string_lossy();
            !(is_top && (name == ".git" || folders::STATE.contains(&name.as_ref())))
        })
        .build();
    let (mut count, mut bytes) = (0, 0);
    for (seen, entry) in walk.flatten().enumerate() {
        if seen > limit {
            return FirstCommit::ChooseFiles(A_LOT);
        }
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.depth() > 1 && name == ".git" {
            return FirstCommit::ChooseFiles("a subfolder is a separate git repository");
        }
        if entry.file_type().is_none_or(|t| t.is_dir()) {
            continue;
        }
        let is_secret = SECRET_STARTS.iter().any(|s| name.starts_with(s))
            || SECRET_ENDS.iter().any(|s| name.ends_with(s));
        if is_secret {
            return FirstCommit::ChooseFiles("a file name suggests a secret");
        }
        count += 1;
        bytes += entry.metadata().map_or(0, |m| m.len());
        if count > FILES_MAX || bytes > BYTES_MAX {
            return FirstCommit::ChooseFiles(A_LOT);
        }
    }
    FirstCommit::Files(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;

    #[test]
    fn first_commit_counts_files_and_detects_secrets() {
        let cases: &[(&[&str], FirstCommit)] = &[
            (&[], FirstCommit::Files(0)),
            (&["a", "b/c", ".tasks/task_1.json"], FirstCommit::Files(2)),
            (
                &["a", ".env.local"],
                FirstCommit::ChooseFiles("a file name suggests a secret"),
            ),
            (
                &["certs/Server.PEM"],
                FirstCommit::ChooseFiles("a file name suggests a secret"),
            ),
            (
                &["lib/.git/HEAD"],
                FirstCommit::ChooseFiles("a subfolder is a separate git repository"),
            ),
        ];
        for (names, expected) in cases {
            let dir = tempfile::tempdir().unwrap();
            for name in *names {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "x").unwrap();
            }
            assert_eq!(files(dir.path()), *expected, "{names:?}");
        }
    }

    #[test]
    fn many_folders_exceed_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::create_dir(dir.path().join(number.to_string())).unwrap();
        }
        // The root folder itself counts.
        assert_eq!(count_files(dir.path(), 20), FirstCommit::Files(0));
        assert_eq!(count_files(dir.path(), 19), FirstCommit::ChooseFiles(A_LOT));
    }

    #[test]
    fn ignored_files_are_not_counted_or_committed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("target")).unwrap();
        for (name, text) in [(".gitignore", "/target\n"), ("a", "a"), ("target/b", "b")] {
            fs::write(root.join(name), text).unwrap();
        }
        assert_eq!(check(root), GitStatus::NoRepository(FirstCommit::Files(2)));
        store::prepare(root).unwrap();
        make(root, Arc::default()).unwrap();
        assert_eq!(check(root), GitStatus::Ready);
        let out = std::process::Command::new("git")
            .args(["ls-files"])
            .current_dir(root)
            .output();
        assert_eq!(
            String::from_utf8(out.unwrap().stdout).unwrap(),
            ".gitignore\na\n"
        );
        // A second call does nothing.
        make(root, Arc::default()).unwrap();
    }
}

//! What git offers to a team in a directory, and what a first commit there would hold; and that commit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ignore::WalkBuilder;

use super::first::{Files, Ground};
use crate::domain::folders;
use crate::store::{self, GitError};

/// Most files that are committed unasked for each.
const FILES_MAX: usize = 1000;
/// Most files and folders that are looked at.
const ENTRIES_MAX: usize = 10_000;
/// Most bytes that are committed unasked for each.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Why more is not committed unasked for each.
const A_LOT: &str = "there is a lot here";

/// How names of files begin and end that often hold secrets.
const SECRET_STARTS: &[&str] = &[
    ".env",
    "id_rsa",
    "id_ed25519",
    "credentials",
    ".netrc",
    ".npmrc",
];
const SECRET_ENDS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".kdbx"];

/// Looks at `root`; changes nothing.
pub fn look(root: &Path) -> Ground {
    judge(root, files)
}

/// Whether [`look`] finds nothing to say. Looks at no file of the person.
pub fn is_fine(root: &Path) -> bool {
    judge(root, |_| Files::Few(0)) == Ground::Fine
}

fn judge(root: &Path, files: fn(&Path) -> Files) -> Ground {
    match store::git_facts(root).repository {
        Err(GitError::NoRepository(_)) => Ground::NoRepository(files(root)),
        Err(GitError::NoCommits) => Ground::NoCommits(files(root)),
        Err(why @ (GitError::Missing | GitError::TooOld(_))) => Ground::NoGit(why.to_string()),
        // What else is in the way, the crew says.
        Ok(_) | Err(_) => Ground::Fine,
    }
}

/// Makes the directory a repository with a first commit, unless `stop` becomes true before.
///
/// # Errors
/// What git says.
pub fn make(root: &Path, stop: Arc<AtomicBool>) -> Result<(), GitError> {
    store::begin_repository(root, stop, || {
        // What could not be excluded is told at the next start.
        drop(store::prepare(root));
    })
}

/// What a first commit would hold.
fn files(root: &Path) -> Files {
    let is_home = etcetera::home_dir().is_ok_and(|home| home == root);
    if is_home {
        return Files::NotHere("This is your home directory");
    }
    if root.parent().is_none() {
        return Files::NotHere("This is the root of the file system");
    }
    walked(root, ENTRIES_MAX)
}

/// What lies there, looking at so many entries at the most.
fn walked(root: &Path, most: usize) -> Files {
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
        if seen > most {
            return Files::Choose(A_LOT);
        }
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.depth() > 1 && name == ".git" {
            return Files::Choose("there is another repository inside");
        }
        if entry.file_type().is_none_or(|t| t.is_dir()) {
            continue;
        }
        let is_secret = SECRET_STARTS.iter().any(|s| name.starts_with(s))
            || SECRET_ENDS.iter().any(|s| name.ends_with(s));
        if is_secret {
            return Files::Choose("a file here may hold a secret, by its name");
        }
        count += 1;
        bytes += entry.metadata().map_or(0, |m| m.len());
        if count > FILES_MAX || bytes > BYTES_MAX {
            return Files::Choose(A_LOT);
        }
    }
    Files::Few(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;

    #[test]
    fn what_a_first_commit_would_hold_is_counted_and_secrets_are_seen() {
        let cases: &[(&[&str], Files)] = &[
            (&[], Files::Few(0)),
            (&["a", "b/c", ".tasks/task_1.json"], Files::Few(2)),
            (
                &["a", ".env.local"],
                Files::Choose("a file here may hold a secret, by its name"),
            ),
            (
                &["certs/Server.PEM"],
                Files::Choose("a file here may hold a secret, by its name"),
            ),
            (
                &["lib/.git/HEAD"],
                Files::Choose("there is another repository inside"),
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
    fn folders_without_end_are_a_lot_too() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::create_dir(dir.path().join(number.to_string())).unwrap();
        }
        // The folder itself is one of them.
        assert_eq!(walked(dir.path(), 20), Files::Few(0));
        assert_eq!(walked(dir.path(), 19), Files::Choose(A_LOT));
    }

    #[test]
    fn what_is_ignored_is_not_counted_and_not_committed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("target")).unwrap();
        for (name, text) in [(".gitignore", "/target\n"), ("a", "a"), ("target/b", "b")] {
            fs::write(root.join(name), text).unwrap();
        }
        assert_eq!(look(root), Ground::NoRepository(Files::Few(2)));
        store::prepare(root).unwrap();
        make(root, Arc::default()).unwrap();
        assert_eq!(look(root), Ground::Fine);
        let out = std::process::Command::new("git")
            .args(["ls-files"])
            .current_dir(root)
            .output();
        assert_eq!(
            String::from_utf8(out.unwrap().stdout).unwrap(),
            ".gitignore\na\n"
        );
        // Again: there is nothing to do.
        make(root, Arc::default()).unwrap();
    }
}

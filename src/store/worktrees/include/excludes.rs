//! The file with which git ignores the copied files in a worktree, so that they do not count as changes there and
//! `git add --all` does not add them. Git has no such file of its own for a single worktree: `info/exclude` counts in all
//! worktrees. So crewdeck passes the file to git as the setting `core.excludesFile`, in its own git commands and in the
//! environment of the commands of agents. It begins with the user's own patterns, because it takes the place of the
//! user's file.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::domain::worktree::{INCLUDE_FILE, WorktreeName};
use crate::store::git::Git;
use crate::store::{StoreError, atomic, regular_file};

/// Maximum size of the user's own file, in bytes. A larger one counts as empty.
const USER_MAX: u64 = 1024 * 1024;
/// Maximum length of the path of the user's own file, in bytes.
const PATH_MAX: usize = 16 * 1024;
/// Maximum size of the file that this module writes, in bytes. A larger one is written again.
const SIZE_MAX: u64 = 16 * 1024 * 1024;

/// Returns the path of the file for a worktree. `dir` is `.worktrees/`, which commands of agents cannot write.
pub fn path_of(dir: &Path, name: &WorktreeName) -> PathBuf {
    dir.join(format!(".excludes-{name}"))
}

/// Writes patterns for `files`, paths relative to the worktree, to the file at `path`. Keeps the patterns that the file
/// has. `git` runs in the root.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write<'a>(
    path: &Path,
    git: &Git,
    root: &Path,
    files: impl Iterator<Item = &'a Path>,
) -> Result<(), StoreError> {
    let mut text = regular_file::read(path, SIZE_MAX).unwrap_or_else(|_| {
        let mut text = user_patterns(git, root);
        text.extend(format!("\n# Copied by {INCLUDE_FILE}\n").into_bytes());
        text
    });
    let known: HashSet<Vec<u8>> = text.split(|byte| *byte == b'\n').map(Vec::from).collect();
    let new: Vec<Vec<u8>> = files
        .map(pattern)
        .filter(|line| !known.contains(line))
        .collect();
    for line in new {
        text.extend(line);
        text.push(b'\n');
    }
    atomic::write(path, &text)
}

/// Deletes the file of a worktree that no longer exists. A file that remains is harmless: the next worktree of that name
/// replaces it.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Returns the pattern that matches exactly the file at `path`.
fn pattern(path: &Path) -> Vec<u8> {
    let mut line = b"/".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            // A pattern cannot contain line breaks.
            b'\n' | b'\r' => line.push(b'?'),
            b'\\' | b'*' | b'?' | b'[' | b' ' | b'\t' => line.extend([b'\\', *byte]),
            _ => line.push(*byte),
        }
    }
    line
}

/// Returns the content of the user's file of ignored files; empty if there is none or it cannot be read.
pub fn user_patterns(git: &Git, root: &Path) -> Vec<u8> {
    let set = git.run_bytes(
        &["config", "--type=path", "--get", "core.excludesFile"],
        PATH_MAX,
    );
    let path = match set {
        Ok(set) if set.code == 0 => {
            let path = set.out.strip_suffix(b"\n").unwrap_or(&set.out);
            (!path.is_empty()).then(|| root.join(OsStr::from_bytes(path)))
        }
        Ok(_) | Err(_) => default_file(),
    };
    let text = path.and_then(|path| regular_file::read(&path, USER_MAX).ok());
    text.unwrap_or_default()
}

/// Returns the file that git reads without the setting `core.excludesFile`.
fn default_file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty());
    let config = folder("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(folder("HOME")?).join(".config")))?;
    Some(config.join("git/ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn git(dir: &Path, args: &[&str]) -> String {
        Git::at(dir).ok(args).unwrap()
    }

    #[test]
    fn patterns_match_exactly_the_files_with_these_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        git(&root, &["init", "--quiet"]);
        let odd = [
            "a*b",
            "[x]",
            "what?",
            "back\\slash",
            "#hash",
            "!bang",
            " space ",
            "tab\t",
            "new\nline",
            "sub/[a] b",
        ];
        fs::create_dir(root.join("sub")).unwrap();
        let others = ["axb", "x", "whats", "sub/a b", "sub/!bang"];
        for name in odd.iter().chain(&others) {
            fs::write(root.join(name), "").unwrap();
        }
        let user = root.join("user");
        fs::write(&user, "user\nexcludes\n").unwrap();
        git(&root, &["config", "core.excludesFile", "user"]);
        let path = root.join("excludes");
        // A second call adds nothing.
        for _ in 0..2 {
            write(&path, &Git::at(&root), &root, odd.iter().map(Path::new)).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 4 + odd.len(), "{text}");
        let git = Git::at(&root).with_excludes(&path);
        let left = git.ok(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let left = left.unwrap();
        let mut left: Vec<&str> = left.split('\0').filter(|name| !name.is_empty()).collect();
        left.sort_unstable();
        let mut expected = others.to_vec();
        expected.sort_unstable();
        assert_eq!(left, expected);
        remove(&path);
        assert!(!path.exists());
    }
}

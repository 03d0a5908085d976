//! Finds the project root, creates its state folders and excludes them from `git status`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{StoreError, atomic, regular_file};
use crate::domain::folders::STATE;

/// Subfolders that [`prepare`] creates in the state folders.
const SUBFOLDERS: [&str; 4] = [
    ".team/inbox",
    ".team/requests",
    ".crewdeck/sessions",
    ".crewdeck/logs",
];

/// Pattern for git's `info/exclude`: the temporary files that a killed file tool leaves in the project.
const TEMPORARY: &str = ".crewdeck-*.tmp";

/// Maximum size, in bytes, of a git file that holds the path of a folder (`.git` in a worktree, `commondir`).
const LINK_MAX: u64 = 16 * 1024;
/// Maximum size of git's file `info/exclude`, in bytes.
const EXCLUDE_MAX: u64 = 1024 * 1024;

/// Returns the root for work in `dir`: the nearest folder with a `.git`, at or above `dir`. If there is none, returns
/// `dir` itself. The worktree of a task (`ROOT/.worktrees/NAME`) belongs to `ROOT`, so all worktrees share one board.
pub fn find_root(dir: &Path) -> PathBuf {
    let top = dir
        .ancestors()
        .find(|d| d.join(".git").exists())
        .unwrap_or(dir);
    let above = top
        .parent()
        .filter(|p| p.file_name().is_some_and(|name| name == ".worktrees"))
        .and_then(Path::parent)
        .filter(|root| root.join(".git").exists() && top.join(".git").is_file());
    above.unwrap_or(top).to_path_buf()
}

/// Creates the missing state folders and adds them to git's `info/exclude`. Returns warnings, one line each. Must run before
/// a watch starts, because the first event in a new folder would be lost.
///
/// # Errors
/// When a folder cannot be created.
pub fn prepare(root: &Path) -> Result<Vec<String>, StoreError> {
    for folder in STATE.into_iter().chain(SUBFOLDERS) {
        let path = root.join(folder);
        fs::create_dir_all(&path).map_err(StoreError::at(path))?;
    }
    let excluded = match git_dirs(root) {
        Some((_, shared)) => exclude(&shared.join("info").join("exclude")),
        None => Ok(()),
    };
    Ok(match excluded {
        Ok(()) => Vec::new(),
        Err(error) => vec![format!(
            "git status will show the folders of crewdeck, because they cannot be excluded: {error}"
        )],
    })
}

/// Returns the git folder of `root` and the git folder that all worktrees share. In a worktree, `.git` is a file that
/// names the worktree's git folder, and the file `commondir` in that folder names the shared one. Returns `None` outside
/// of a repository, or if the named folder is not a git folder: a file in the project must not make crewdeck write to
/// other folders.
pub fn git_dirs(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let dot = root.join(".git");
    let (own, shared) = if dot.is_dir() {
        (dot.clone(), dot)
    } else {
        let text = regular_file::read_text(&dot, LINK_MAX).ok()?;
        let own = root.join(text.strip_prefix("gitdir:")?.trim());
        match regular_file::read_text(&own.join("commondir"), LINK_MAX) {
            Ok(common) => (own.clone(), own.join(common.trim())),
            Err(_) => (own.clone(), own),
        }
    };
    shared.join("objects").is_dir().then_some((own, shared))
}

fn exclude(path: &Path) -> Result<(), StoreError> {
    // As bytes, so that existing lines in another encoding stay unchanged.
    let mut text = match regular_file::read(path, EXCLUDE_MAX) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(StoreError::at(path)(e)),
    };
    let lines = text.split(|b| *b == b'\n');
    let known: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).collect();
    let folders = STATE.iter().map(|folder| format!("/{folder}/"));
    let lines = folders.chain([TEMPORARY.to_string()]);
    let missing: Vec<String> = lines
        .filter(|line| !known.contains(&line.as_bytes()))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    for line in missing {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
    }
    atomic::write(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_the_git_top_level_or_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(find_root(&deep), deep);
        fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(find_root(&deep), dir.path());
        let tree = dir.path().join(".worktrees/task-1");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(find_root(&tree.join("src")), dir.path());
    }

    #[test]
    fn folders_are_excluded_once_and_other_lines_stay() {
        let dir = tempfile::tempdir().unwrap();
        let info = dir.path().join(".git/info");
        fs::create_dir_all(&info).unwrap();
        fs::create_dir(dir.path().join(".git/objects")).unwrap();
        fs::write(info.join("exclude"), b"*.log\n\xff").unwrap();
        assert_eq!(prepare(dir.path()).unwrap(), Vec::<String>::new());
        assert_eq!(prepare(dir.path()).unwrap(), Vec::<String>::new());
        let text = fs::read(info.join("exclude")).unwrap();
        assert_eq!(
            text,
            b"*.log\n\xff\n/.tasks/\n/.team/\n/.transcripts/\n/.crewdeck/\n/.worktrees/\n.crewdeck-*.tmp\n"
        );
    }

    #[test]
    fn prepare_writes_nothing_outside_a_git_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (dir.path().join("r"), dir.path().join("elsewhere"));
        for folder in [&root, &elsewhere] {
            fs::create_dir(folder).unwrap();
        }
        for target in [&elsewhere, &dir.path().join("nowhere")] {
            fs::write(root.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
            assert_eq!(prepare(&root).unwrap(), Vec::<String>::new());
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        assert!(!dir.path().join("nowhere").exists());
    }

    #[test]
    fn worktree_excludes_in_the_shared_git_folder() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("main/.git/worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(dir.path().join("main/.git/objects")).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let tree = dir.path().join("w");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        prepare(&tree).unwrap();
        let shared = dir.path().join("main/.git/info/exclude");
        assert!(fs::read_to_string(shared).unwrap().contains("/.tasks/"));
    }
}

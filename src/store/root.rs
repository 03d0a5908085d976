//! The root: where it is, its state folders, and keeping them out of `git status`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{StoreError, atomic};

/// The state folders.
const FOLDERS: &[&str] = &[
    ".tasks",
    ".team",
    ".team/inbox",
    ".team/requests",
    ".worktrees",
    ".transcripts",
    ".crewdeck",
    ".crewdeck/sessions",
    ".crewdeck/logs",
];

/// The lines that keep them out of `git status`.
const EXCLUDED: &[&str] = &[
    "/.tasks/",
    "/.team/",
    "/.worktrees/",
    "/.transcripts/",
    "/.crewdeck/",
    // What a file tool that was killed has left beside the file that it wrote.
    ".crewdeck-*.tmp",
];

/// The root for work in `dir`: the git top level at or above it, else `dir` itself. A task's worktree
/// (`ROOT/.worktrees/NAME`) belongs to the root above it: there is one board for all of them.
pub fn root_of(dir: &Path) -> PathBuf {
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

/// Makes the state folders (before anything watches them: a folder made later loses its first event) and
/// excludes them in git. Does nothing where all is there.
///
/// # Errors
/// When a folder can not be made.
pub fn prepare(root: &Path) -> Result<(), StoreError> {
    for folder in FOLDERS {
        let path = root.join(folder);
        fs::create_dir_all(&path).map_err(StoreError::at(path))?;
    }
    match git_dir(root) {
        Some(git) => exclude(&git.join("info").join("exclude")),
        None => Ok(()),
    }
}

/// The git folder that all worktrees share. In a worktree `.git` is a file that names its own folder,
/// and `commondir` in there names the shared one.
fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let text = fs::read_to_string(&dot).ok()?;
    let own = root.join(text.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

fn exclude(path: &Path) -> Result<(), StoreError> {
    let before = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(StoreError::at(path)(e)),
    };
    let missing: Vec<&str> = EXCLUDED
        .iter()
        .copied()
        .filter(|line| !before.lines().any(|l| l.trim() == *line))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut text = before;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for line in missing {
        text.push_str(line);
        text.push('\n');
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
    }
    atomic::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_git_top_level_or_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(root_of(&deep), deep);
        fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(root_of(&deep), dir.path());
        let tree = dir.path().join(".worktrees/task-1");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(root_of(&tree.join("src")), dir.path());
    }

    #[test]
    fn the_folders_are_excluded_once_and_other_lines_stay() {
        let dir = tempfile::tempdir().unwrap();
        let info = dir.path().join(".git/info");
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("exclude"), "*.log").unwrap();
        prepare(dir.path()).unwrap();
        prepare(dir.path()).unwrap();
        let text = fs::read_to_string(info.join("exclude")).unwrap();
        assert_eq!(
            text,
            "*.log\n/.tasks/\n/.team/\n/.worktrees/\n/.transcripts/\n/.crewdeck/\n.crewdeck-*.tmp\n"
        );
    }

    #[test]
    fn a_worktree_excludes_in_the_shared_folder() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("main/.git/worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let tree = dir.path().join("w");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        prepare(&tree).unwrap();
        let shared = dir.path().join("main/.git/info/exclude");
        assert!(fs::read_to_string(shared).unwrap().contains("/.tasks/"));
    }
}

//! Finds leftover files in the state folders: damaged files that were renamed and temporary files of killed writers.
//! Also measures the size of folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::atomic;
use crate::domain::worktree::DiskUse;

/// Folders, relative to the project's root, in which files are written through temporary files. A killed writer leaves
/// its temporary file behind.
const FOLDERS: &[&str] = &[
    ".tasks",
    ".team",
    ".team/inbox",
    ".team/requests",
    ".worktrees",
    ".crewdeck",
];
/// Maximum number of files in each list of [`Leftovers`]. Further files are omitted.
const FILES_MAX: usize = 200;

/// Files in the state folders that damage or killed writers have left behind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// Damaged files that crewdeck has renamed, sorted by path, at most `FILES_MAX`.
    pub damaged: Vec<DamagedFile>,
    /// Paths of the temporary files that were not written for a minute, sorted, at most `FILES_MAX`. Unlike the paths
    /// in [`DamagedFile`], these paths begin with the project's root.
    pub temporary: Vec<PathBuf>,
}

/// A damaged file that crewdeck has renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// Current path, relative to the project's root.
    pub path: PathBuf,
    /// Original path, relative to the project's root.
    pub original: PathBuf,
    pub bytes: u64,
}

/// Lists the damaged and temporary files in the state folders below `root`. Unreadable folders count as empty.
pub fn leftovers(root: &Path) -> Leftovers {
    let mut found = Leftovers::default();
    for folder in FOLDERS {
        let Ok(entries) = fs::read_dir(root.join(folder)) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(meta) = entry.metadata() else { continue };
            if !meta.is_file() {
                continue;
            }
            if atomic::is_temporary(&name)
                && atomic::is_stale(&meta, SystemTime::now())
                && found.temporary.len() < FILES_MAX
            {
                found.temporary.push(entry.path());
            }
            if let Some((was, number)) = name.rsplit_once(".damaged")
                && is_number(number)
                && found.damaged.len() < FILES_MAX
            {
                found.damaged.push(DamagedFile {
                    path: Path::new(folder).join(&name),
                    original: Path::new(folder).join(was),
                    bytes: meta.len(),
                });
            }
        }
    }
    found.damaged.sort_by(|a, b| a.path.cmp(&b.path));
    found.temporary.sort();
    found
}

/// Returns whether `end`, the text after `.damaged` in a file name, can come from [`atomic::set_aside`]: a number such
/// as `-3`, or nothing if all numbers were used.
fn is_number(end: &str) -> bool {
    let digits = end.strip_prefix('-').unwrap_or(end);
    digits.bytes().all(|b| b.is_ascii_digit()) && (end.is_empty() || !digits.is_empty())
}

/// Returns the disk usage of `folder`, a path relative to `root`. Counts at most 50,000 files and folders.
pub fn size_below(root: &Path, folder: &str) -> DiskUse {
    super::worktrees::size_of(&root.join(folder))
}

/// Returns whether `root` contains one of the state folders `.tasks`, `.team` and `.crewdeck`. This is the case if a crew
/// has run in `root`, or if the project has settings in `.crewdeck`.
pub fn has_state(root: &Path) -> bool {
    [".tasks", ".team", ".crewdeck"]
        .iter()
        .any(|folder| root.join(folder).is_dir())
}

/// Returns whether a crew may have run in `root`: a crew of crewdeck leaves the file `.crewdeck/.lock`, and a crew of
/// another program leaves the folder `.team`.
pub fn may_have_run(root: &Path) -> bool {
    root.join(".crewdeck/.lock").exists() || root.join(".team").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn only_damaged_and_temporary_files_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(leftovers(root), Leftovers::default());
        assert!(!has_state(root));
        fs::create_dir_all(root.join(".team/inbox")).unwrap();
        fs::create_dir(root.join(".tasks")).unwrap();
        let old = SystemTime::now() - Duration::from_secs(600);
        for (name, time) in [
            (".tasks/task_1.json", old),
            (".tasks/task_2.json.damaged-1", old),
            (".tasks/task_2.json.damaged-x", old),
            (".tasks/.tmp-Ab12", old),
            (".tasks/.tmp-young1", SystemTime::now()),
            (".team/inbox/bob.jsonl.damaged-12", old),
            (".team/config.json.damaged", old),
        ] {
            let mut file = File::create(root.join(name)).unwrap();
            std::io::Write::write_all(&mut file, b"12345").unwrap();
            file.set_modified(time).unwrap();
        }
        let aside = |path: &str, was: &str| DamagedFile {
            path: path.into(),
            original: was.into(),
            bytes: 5,
        };
        assert_eq!(
            leftovers(root),
            Leftovers {
                damaged: vec![
                    aside(".tasks/task_2.json.damaged-1", ".tasks/task_2.json"),
                    aside(".team/config.json.damaged", ".team/config.json"),
                    aside(".team/inbox/bob.jsonl.damaged-12", ".team/inbox/bob.jsonl"),
                ],
                temporary: vec![root.join(".tasks/.tmp-Ab12")],
            }
        );
        assert!(has_state(root));
    }
}

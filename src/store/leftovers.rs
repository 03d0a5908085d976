//! What lies in the state folders beside the state: damaged files that were set aside, temporary files of killed
//! writers, and how much the records take.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::atomic;
use crate::domain::worktree::DiskUse;

/// Folders in which files are written whole, so that something can be left over.
const FOLDERS: &[&str] = &[
    ".tasks",
    ".team",
    ".team/inbox",
    ".team/requests",
    ".worktrees",
    ".crewdeck",
];
/// Most files of each kind that are listed.
const FILES_MAX: usize = 200;

/// What lies beside the state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// Files that were set aside because they were damaged, at most `FILES_MAX`.
    pub damaged: Vec<Aside>,
    /// Temporary files that no writer has touched for a minute, at most `FILES_MAX`.
    pub temporary: Vec<PathBuf>,
}

/// A file that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// Where it is, below the root.
    pub path: PathBuf,
    /// What it was, below the root.
    pub was: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Looks what lies beside the state of `root`. Folders that can not be read have nothing.
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
                && atomic::is_left_behind(&meta, SystemTime::now())
                && found.temporary.len() < FILES_MAX
            {
                found.temporary.push(entry.path());
            }
            if let Some((was, number)) = name.rsplit_once(".damaged")
                && is_number(number)
                && found.damaged.len() < FILES_MAX
            {
                found.damaged.push(Aside {
                    path: Path::new(folder).join(&name),
                    was: Path::new(folder).join(was),
                    bytes: meta.len(),
                });
            }
        }
    }
    found.damaged.sort_by(|a, b| a.path.cmp(&b.path));
    found.temporary.sort();
    found
}

/// Whether this is the end of a name that [`atomic::set_aside`] gives: `-3`, or nothing.
fn is_number(end: &str) -> bool {
    let digits = end.strip_prefix('-').unwrap_or(end);
    digits.bytes().all(|b| b.is_ascii_digit()) && (end.is_empty() || !digits.is_empty())
}

/// How much a folder below the root takes on disk; counts at most 50 000 files.
pub fn size_below(root: &Path, folder: &str) -> DiskUse {
    super::worktrees::size_of(&root.join(folder))
}

/// Whether anything of a crew lies below `root`.
pub fn is_used(root: &Path) -> bool {
    [".tasks", ".team", ".crewdeck"]
        .iter()
        .any(|folder| root.join(folder).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn only_what_was_set_aside_or_left_behind_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(leftovers(root), Leftovers::default());
        assert!(!is_used(root));
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
        let aside = |path: &str, was: &str| Aside {
            path: path.into(),
            was: was.into(),
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
        assert!(is_used(root));
    }
}

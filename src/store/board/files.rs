//! File names in `.tasks`: task files, used numbers and temporary files of killed writers.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::super::{StoreError, atomic};
use crate::domain::ids::TaskId;

/// File with the highest task number ever used. Numbers are not reused.
pub(super) const LAST_ID: &str = ".last_id";
pub(super) const LOCK: &str = ".lock";
/// File with all tasks of an import while their task files are written (`store/board/import.rs`).
pub(super) const IMPORT: &str = ".import";

/// The task files and temporary files in the folder of a board.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FolderListing {
    /// The tasks, in ascending order.
    pub tasks: Vec<TaskId>,
    /// The highest task number in a file name, including damaged files; 0 if there is none.
    pub last: u64,
    /// Temporary files of running or killed writers.
    pub temps: Vec<PathBuf>,
    /// Files named `task_*.json` without a valid number: the name of the first one, and how many there are.
    pub unrecognized: Option<(String, usize)>,
    /// Whether an import is being written, or was interrupted.
    pub has_import: bool,
}

/// Lists the task files and temporary files in the folder `dir` of a board. A missing folder counts as empty.
pub(super) fn list(dir: &Path) -> Result<FolderListing, StoreError> {
    let mut names = FolderListing::default();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(names),
        Err(e) => return Err(StoreError::at(dir)(e)),
    };
    for entry in entries {
        let entry = entry.map_err(StoreError::at(dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match id_and_suffix(&name) {
            Some((id, CURRENT)) => {
                names.tasks.push(id);
                names.last = names.last.max(id.0);
            }
            Some((id, _)) => names.last = names.last.max(id.0),
            None if name == IMPORT => names.has_import = true,
            None if atomic::is_temporary(&name) => names.temps.push(entry.path()),
            None if name.starts_with("task_") && name.ends_with(".json") => {
                let (first, count) = names.unrecognized.take().unwrap_or((name.to_string(), 0));
                names.unrecognized = Some((first.min(name.into_owned()), count + 1));
            }
            None => {}
        }
    }
    names.tasks.sort_unstable();
    Ok(names)
}

pub(super) fn path(dir: &Path, id: TaskId) -> PathBuf {
    dir.join(name(id))
}

pub(super) fn name(id: TaskId) -> String {
    format!("task_{}.json", id.0)
}

/// The suffix of a task file that is in use. A damaged file that was renamed has a longer suffix, such as
/// `json.damaged-1`.
pub(super) const CURRENT: &str = "json";

/// Splits the name of a task file into the task number and the suffix. For example, `task_3.json` has the suffix `json`
/// ([`CURRENT`]), and `task_3.json.damaged-1` has the suffix `json.damaged-1`. Returns `None` for other names.
pub(super) fn id_and_suffix(name: &str) -> Option<(TaskId, &str)> {
    let (number, suffix) = name.strip_prefix("task_")?.split_once('.')?;
    if suffix != CURRENT && !suffix.starts_with("json.damaged") {
        return None;
    }
    let is_canonical = number == "0" || !number.starts_with('0');
    if !is_canonical || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let id = number.parse().ok().map(TaskId)?;
    (id <= TaskId::MAX).then_some((id, suffix))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn id_and_suffix_accepts_only_task_file_names() {
        for (name, expected) in [
            ("task_1.json", Some((TaskId(1), CURRENT))),
            ("task_0.json", Some((TaskId(0), CURRENT))),
            (
                "task_12.json.damaged-1",
                Some((TaskId(12), "json.damaged-1")),
            ),
            ("task_9007199254740991.json", Some((TaskId::MAX, CURRENT))),
            ("task_9007199254740992.json", None),
            ("task_99999999999999999999.json", None),
            ("task_-1.json", None),
            ("task_01.json", None),
            ("task_.json", None),
            ("task_foo.json", None),
            ("task_1a2b3c4d.json", None),
            ("task_1.json.bak", None),
            (".tmp-abc", None),
        ] {
            assert_eq!(id_and_suffix(name), expected, "{name}");
        }
    }

    #[test]
    fn list_classifies_all_files_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "task_10.json",
            "task_2.json",
            "task_12.json.damaged-1",
            "task_foo.json",
            "task_bar.json",
            ".tmp-Ab12Cd",
            ".lock",
            ".import",
            "notes.txt",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(
            list(dir.path()).unwrap(),
            FolderListing {
                tasks: vec![TaskId(2), TaskId(10)],
                last: 12,
                temps: vec![dir.path().join(".tmp-Ab12Cd")],
                unrecognized: Some(("task_bar.json".into(), 2)),
                has_import: true,
            }
        );
        assert_eq!(
            list(&dir.path().join("none")).unwrap(),
            FolderListing::default()
        );
    }
}

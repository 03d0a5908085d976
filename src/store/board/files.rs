//! The names in `.tasks`: which are tasks, which numbers are taken, what a killed writer left behind.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::super::{StoreError, atomic};
use crate::domain::ids::TaskId;

/// The names of a board's folder.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Names {
    /// The tasks, in the order of their numbers.
    pub tasks: Vec<TaskId>,
    /// The highest number that a file has, damaged ones too; 0: none.
    pub last: u64,
    /// Temporary files of writers.
    pub temps: Vec<PathBuf>,
    /// JSON files that are no tasks of ours: the first of them and how many.
    pub strange: Option<(String, usize)>,
}

/// Lists the folder; one that is not there is empty.
pub(super) fn list(dir: &Path) -> Result<Names, StoreError> {
    let mut names = Names::default();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(names),
        Err(e) => return Err(StoreError::at(dir)(e)),
    };
    for entry in entries {
        let entry = entry.map_err(StoreError::at(dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match id_of(&name) {
            Some((id, Form::Whole)) => {
                names.tasks.push(id);
                names.last = names.last.max(id.0);
            }
            Some((id, Form::Damaged)) => names.last = names.last.max(id.0),
            None if atomic::is_temporary(&name) => names.temps.push(entry.path()),
            None if name.starts_with("task_") && name.ends_with(".json") => {
                let (first, count) = names.strange.take().unwrap_or((name.to_string(), 0));
                names.strange = Some((first.min(name.into_owned()), count + 1));
            }
            None => {}
        }
    }
    names.tasks.sort_unstable();
    Ok(names)
}

/// The file of a task.
pub(super) fn path(dir: &Path, id: TaskId) -> PathBuf {
    dir.join(name(id))
}

/// Its name.
pub(super) fn name(id: TaskId) -> String {
    format!("task_{}.json", id.0)
}

/// Whether a name is that of a task file or of one that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `task_N.json`.
    Whole,
    /// `task_N.json.damaged-M`.
    Damaged,
}

/// The number in a name.
pub(super) fn id_of(name: &str) -> Option<(TaskId, Form)> {
    let (number, end) = name.strip_prefix("task_")?.split_once('.')?;
    let form = match end {
        "json" => Form::Whole,
        _ if end.starts_with("json.damaged") => Form::Damaged,
        _ => return None,
    };
    let is_plain = number == "0" || !number.starts_with('0');
    if !is_plain || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let id = number.parse().ok().map(TaskId)?;
    (id <= TaskId::MAX).then_some((id, form))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_say_what_a_file_is() {
        for (name, what) in [
            ("task_1.json", Some((TaskId(1), Form::Whole))),
            ("task_0.json", Some((TaskId(0), Form::Whole))),
            ("task_12.json.damaged-1", Some((TaskId(12), Form::Damaged))),
            (
                "task_9007199254740991.json",
                Some((TaskId::MAX, Form::Whole)),
            ),
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
            assert_eq!(id_of(name), what, "{name}");
        }
    }

    #[test]
    fn a_folder_is_listed_once_for_everything() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "task_10.json",
            "task_2.json",
            "task_12.json.damaged-1",
            "task_foo.json",
            "task_bar.json",
            ".tmp-Ab12Cd",
            ".lock",
            "notes.txt",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(
            list(dir.path()).unwrap(),
            Names {
                tasks: vec![TaskId(2), TaskId(10)],
                last: 12,
                temps: vec![dir.path().join(".tmp-Ab12Cd")],
                strange: Some(("task_bar.json".into(), 2)),
            }
        );
        assert_eq!(list(&dir.path().join("none")).unwrap(), Names::default());
    }
}

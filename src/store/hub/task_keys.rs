//! The keys of the records of tasks on a hub.

use crate::domain::ids::TaskId;

/// Begins the key of an import.
const IMPORT: &str = "import-";

pub(super) fn task_key(id: TaskId) -> String {
    id.0.to_string()
}

/// Returns whether a key is the one of an import, or of a part of it.
pub(super) fn is_import(key: &str) -> bool {
    key.starts_with(IMPORT) && !key.contains('.')
}

/// Returns the task of a key. Other spellings of the number, such as `+5` and `05`, are no keys of the task.
pub(super) fn task_of(key: &str) -> Option<TaskId> {
    let id = key.parse().ok().map(TaskId)?;
    (task_key(id) == key).then_some(id)
}

pub(super) fn import_key(unique: &str) -> String {
    format!("{IMPORT}{unique}")
}

/// Returns the key of a part of the import whose key is `import`. The first part has the number 0.
pub(super) fn part_key(import: &str, number: usize) -> String {
    format!("{import}-{number}")
}

/// Splits the key of a part into the key of the import and the number.
pub(super) fn import_of_part(key: &str) -> Option<(&str, usize)> {
    let (import, number) = key.rsplit_once('-')?;
    let part = (import, number.parse().ok()?);
    let is_part = is_import(import) && part_key(import, part.1) == key;
    is_part.then_some(part)
}

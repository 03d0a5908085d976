//! Paths as text, without looking at the disk.

use std::path::{Component, Path, PathBuf};

/// Returns the path without `.` and `..`: each `..` also removes the component before it. Symbolic links are not
/// resolved. A `..` at the root or at the start of a relative path is dropped.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

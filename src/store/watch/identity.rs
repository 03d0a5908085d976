//! Distinguishes a recreated folder from the deleted folder at the same path.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// Identifies a folder: its inode, and its creation time, because an inode can be reused. The time is `None` if the file
/// system does not record it; a recreated folder can then have the same identity as the deleted one.
pub type FolderId = (u64, Option<SystemTime>);

/// Returns the identity of the folder at `path`, or `None` if it does not exist. A recreated folder has another identity.
pub fn identity(path: &Path) -> Option<FolderId> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.created().ok()))
}

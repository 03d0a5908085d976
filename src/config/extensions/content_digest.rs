//! The digest of the content that a user approves: of the file that declares a server or hook, and of the files that its
//! command names.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use ring::digest::{Context, SHA256};

use super::dependencies::{Dependencies, content_hash, is_project_file};
use super::json;
use super::trust_item::ItemKind;
use crate::config::approvals;
use crate::store::FileFingerprint;

/// The first field of each digest. It must be changed whenever the other fields or their order change.
const VERSION: &str = "crewdeck extension 2";

/// Returns a hash of the metadata of all files on which the digest depends. Returns `None` if a file changed so
/// recently that another change could leave its metadata as it is, or if the files cannot be determined.
pub fn stamp(root: &Path, file: &str, files: &Dependencies) -> Option<u64> {
    let now = SystemTime::now();
    let mut hash = DefaultHasher::new();
    for path in std::iter::once(root.join(file)).chain(files.existing_files(root).ok()?) {
        path.hash(&mut hash);
        match fs::metadata(&path) {
            Ok(meta) => {
                FileFingerprint::of(&meta, now)?.hash(&mut hash);
                fs::canonicalize(&path).ok().hash(&mut hash);
            }
            Err(e) => e.raw_os_error().hash(&mut hash),
        }
    }
    Some(hash.finish())
}

/// The files that count for a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    All,
    /// All files except those that agents change in normal work (see [`is_project_file`]). If a file of this group
    /// changes, a hook blocks; if only other files change, the hook is skipped.
    Guards,
}

/// Returns the digest of a server or hook: a SHA-256 in hexadecimal. `kind`, `file` and `index` are its kind, the
/// declaring file and its position in that file; `bytes` is the content of the file.
///
/// # Errors
/// Returns the reason if the files that `counted` selects cannot be determined or read.
pub fn digest(
    root: &Path,
    (kind, file, index): (ItemKind, &str, usize),
    bytes: &[u8],
    files: &Dependencies,
    counted: Counted,
) -> Result<String, String> {
    let real = root.canonicalize();
    let real = real.as_deref().unwrap_or(root);
    let mut hash = Context::new(&SHA256);
    let mut field = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    field(VERSION.as_bytes());
    field(root.as_os_str().as_bytes());
    field(match kind {
        ItemKind::Server => b"server",
        ItemKind::Hook => b"hook",
    });
    field(file.as_bytes());
    field(&(index as u64).to_be_bytes());
    field(files.own.as_deref().unwrap_or(bytes));
    let paths = files.existing_files(root)?;
    let paths = paths
        .into_iter()
        .filter(|path| counted == Counted::All || !is_project_file(real, path));
    for path in paths {
        let content = fs::metadata(&path)
            .map_err(|e| format!("cannot be read: {e}"))
            .and_then(|meta| content_hash(&path, &meta))
            .map_err(|why| {
                let below = path.strip_prefix(root).unwrap_or(&path);
                format!(
                    "names {}, which {why}",
                    json::format_line(&below.to_string_lossy())
                )
            })?;
        let real = fs::canonicalize(&path).unwrap_or_default();
        field(path.as_os_str().as_bytes());
        field(real.as_os_str().as_bytes());
        field(content.as_bytes());
    }
    Ok(approvals::hex(hash))
}

//! Lists the files below a directory, without those that git ignores.

use std::path::Path;

use super::content::{Content, explain};
use crate::store::walk::project_files;

/// Maximum number of files whose paths the attached text lists.
const LISTED_MAX: usize = 500;
/// Maximum number of files that are counted. If a directory has more, the attached text says "at least" and this
/// number.
const COUNTED_MAX: usize = 100_000;
/// Maximum size, in bytes, of the list of files in the attached text.
const TEXT_MAX: usize = 50_000;

/// Lists the paths of the files below the directory `at`, relative to `at`, one per line, after a line that states
/// their number. Lists at most [`LISTED_MAX`] files in at most [`TEXT_MAX`] bytes. Leaves out files that git ignores.
///
/// # Errors
/// Returns the reason if the directory cannot be read.
pub fn list(at: &Path) -> Result<Content, String> {
    std::fs::read_dir(at).map_err(|e| explain(&e))?;
    let walk = project_files(at).build();
    let mut list = String::new();
    let (mut listed, mut counted) = (0, 0);
    for entry in walk.flatten() {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        if counted == COUNTED_MAX {
            break;
        }
        let path = entry.path().strip_prefix(at).unwrap_or(entry.path());
        let path = path.to_string_lossy();
        if listed == counted && listed < LISTED_MAX && list.len() + path.len() < TEXT_MAX {
            list.push_str(&path);
            list.push('\n');
            listed += 1;
        }
        counted += 1;
    }
    let at_least = if counted == COUNTED_MAX {
        "at least "
    } else {
        ""
    };
    let size = match (listed == counted, counted) {
        (true, 1) => "1 file".into(),
        (true, n) => format!("{n} files"),
        (false, n) => format!("first {listed} of {at_least}{n} files"),
    };
    let text = format!("Files below this directory ({size}):\n{}", list.trim_end());
    Ok(Content {
        bytes: text.into_bytes(),
        size,
        image: None,
    })
}

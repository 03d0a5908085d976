//! Writes an exported conversation to a file.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::assemble::format_path;
use super::secrets;
use crate::store::{StoreError, atomic};

/// Highest number that is added to the name of a new file if all lower numbers are taken. The first number is 2.
const NAMES_MAX: u32 = 1000;

/// Redacts secrets in `text` and writes it to a new file at `path`, which may be relative to `root` or begin with `~/`.
/// If a file exists at `path`, adds a number to the name of the new file. Returns the path of the new file for display:
/// relative to `root` if it is below `root`.
///
/// # Errors
/// Fails if the file cannot be written, or if a file exists for each number up to `NAMES_MAX`.
pub fn write(root: &Path, path: &str, text: &str) -> Result<String> {
    let wanted = match (path.strip_prefix("~/"), etcetera::home_dir()) {
        (Some(below), Ok(home)) => home.join(below),
        _ => root.join(path),
    };
    let text = secrets::redactor().text(text).into_owned();
    for number in 1..=NAMES_MAX {
        let path = insert_number(&wanted, number);
        match atomic::write_new(&path, text.as_bytes()) {
            Ok(()) => {
                let below = path
                    .strip_prefix(root)
                    .map(|below| below.display().to_string());
                return Ok(below.unwrap_or_else(|_| format_path(&path)));
            }
            Err(StoreError::File { why, .. })
                if why.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!(
        "{} exists, and so does each numbered name from 2 to {NAMES_MAX}: choose another name",
        wanted.display()
    )
}

pub fn success_message(path: &str) -> String {
    format!("Conversation exported to {path}.")
}

pub fn not_written(why: &anyhow::Error) -> String {
    format!("Not exported: {}.", super::describe_error(why))
}

/// Returns `path` with `number` before the extension; unchanged if `number` is 1.
fn insert_number(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn export_never_replaces_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::write(root.join("a.md"), "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("a-2.md")).unwrap();
        assert_eq!(write(root, "a.md", "text").unwrap(), "a-3.md");
        assert_eq!(write(root, "b.html", "text").unwrap(), "b.html");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
        std::fs::write(root.join("notes"), "mine").unwrap();
        assert_eq!(write(root, "notes", "text").unwrap(), "notes-2");
        assert_eq!([read("a.md"), read("a-3.md")], ["mine", "text"]);
        assert!(!root.join("nowhere").exists());
        let why = write(root, "no/such/folder.md", "text").unwrap_err();
        assert!(why.to_string().contains("no/such/folder.md"), "{why}");
        let absolute = root.join("c.md").display().to_string();
        assert_eq!(write(root, &absolute, "text").unwrap(), "c.md");
    }
}

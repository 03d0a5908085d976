//! The messages that the user has sent in all sessions of a project, stored for the history of the composer. Secrets in
//! the messages are redacted.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::secrets;
use crate::store::{os_errors, regular_file};

/// The path of the file with the messages that the user has sent, relative to the project directory. Each line is a
/// JSON string; the oldest message is first.
const FILE: &str = ".crewdeck/history.jsonl";
/// Maximum number of messages that are loaded. If the file has more, the newest ones are loaded.
const MESSAGES_MAX: usize = 200;
/// Maximum length of a message, in bytes. A longer one is not saved.
const MESSAGE_MAX: usize = 16 * 1024;
/// Maximum size of the file, in bytes. A larger file is rewritten with its newest messages: at most [`MESSAGES_MAX`], and
/// at most half this size.
const FILE_MAX: usize = 512 * 1024;

/// Loads the newest [`MESSAGES_MAX`] messages, oldest first. Skips invalid lines. Returns an empty list if the file is
/// missing or cannot be read.
pub fn load(root: &Path) -> Vec<String> {
    let max = (FILE_MAX * 2) as u64;
    let text = regular_file::read_text(&root.join(FILE), max).unwrap_or_default();
    let all = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut all: Vec<String> = all.collect();
    all.drain(..all.len().saturating_sub(MESSAGES_MAX));
    all
}

/// Redacts secrets in a sent message and adds it to the history file, which only the user can read. Skips messages that
/// are blank or longer than `MESSAGE_MAX`. Returns a warning if the file cannot be written, else `None`.
pub fn add(root: &Path, text: &str) -> Option<String> {
    let text = secrets::redactor().text(text).into_owned();
    if text.trim().is_empty() || text.len() > MESSAGE_MAX {
        return None;
    }
    let error = append(root, &text).err()?;
    let why = os_errors::explain(&error);
    Some(format!(
        "The message was not saved in the input history: {why}."
    ))
}

fn append(root: &Path, text: &str) -> std::io::Result<()> {
    let path = root.join(FILE);
    let options = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .clone();
    let mut file = regular_file::open_with(&options, &path)?;
    file.write_all(line(text)?.as_bytes())?;
    if file.metadata()?.len() > FILE_MAX as u64 {
        shorten(root, &path)?;
    }
    Ok(())
}

fn line(text: &str) -> std::io::Result<String> {
    Ok(serde_json::to_string(text)? + "\n")
}

/// Rewrites the file with the newest messages, at most [`MESSAGES_MAX`] and at most half of [`FILE_MAX`].
fn shorten(root: &Path, path: &Path) -> std::io::Result<()> {
    let all = load(root).into_iter().map(|text| line(&text));
    let lines: Vec<String> = all.collect::<Result<_, _>>()?;
    let mut room = FILE_MAX / 2;
    let fitting = lines.iter().rev().take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    });
    let count = fitting.count();
    let folder = path.parent().unwrap_or(root);
    // Only the user can read a temporary file.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(lines[lines.len() - count..].concat().as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use pretty_assertions::assert_eq;

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        dir
    }

    fn mode(root: &Path) -> u32 {
        let meta = std::fs::metadata(root.join(FILE)).unwrap();
        meta.permissions().mode() & 0o777
    }

    #[test]
    fn messages_are_private_and_bad_lines_are_skipped() {
        let dir = project();
        let root = dir.path();
        assert_eq!(load(root), Vec::<String>::new());
        for text in ["first\nwith a second line", " ", "second"] {
            assert_eq!(add(root, text), None);
        }
        assert_eq!(mode(root), 0o600);
        let path = root.join(FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{{broken\n{text}7\n")).unwrap();
        assert_eq!(load(root), ["first\nwith a second line", "second"]);
        let none = tempfile::tempdir().unwrap();
        let warning = add(none.path(), "x").unwrap();
        assert!(
            warning.starts_with("The message was not saved"),
            "{warning}"
        );
    }

    #[test]
    fn file_stays_bounded_private_and_newest() {
        let dir = project();
        let root = dir.path();
        assert_eq!(add(root, &"x".repeat(MESSAGE_MAX + 1)), None);
        assert!(!root.join(FILE).exists());
        for number in 0..80 {
            let text = format!("{number} {}", "y".repeat(MESSAGE_MAX - 10));
            assert_eq!(add(root, &text), None);
            let size = std::fs::metadata(root.join(FILE)).unwrap().len();
            assert!(size <= FILE_MAX as u64, "{size}");
        }
        assert_eq!(mode(root), 0o600);
        let all = load(root);
        assert!(all.last().unwrap().starts_with("79 "));
        assert!(all.len() > 10, "{}", all.len());
    }
}

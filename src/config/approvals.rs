//! What the user decided about settings of projects, by the hash of their content, in the user's own directory.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::store::atomic::{self, Lock};
use crate::store::plain;

/// Largest file of approvals, in bytes.
const FILE_MAX: u64 = 1024 * 1024;
/// Most decisions that are kept; the oldest go first.
const DECISIONS_MAX: usize = 1000;
/// How long another session may take that writes it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the user decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The settings apply.
    Approved,
    /// They do not, and nothing asks again.
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The hash of the directory and of the file's bytes.
    sha256: String,
    /// Where it is, for those who read this file.
    directory: String,
    decision: Decision,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Entries {
    #[serde(default)]
    decisions: Vec<Entry>,
}

/// The file of approvals: `$XDG_STATE_HOME/crewdeck/approved.json`; `None` where there is no home.
pub fn file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let dirs = etcetera::choose_base_strategy().ok()?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_dir());
    Some(state.join("crewdeck").join("approved.json"))
}

/// The hash of a settings file's bytes in the project `root`.
pub fn digest(root: &Path, bytes: &[u8]) -> String {
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    let root = root.as_os_str().as_bytes();
    // The length keeps a directory's end from being a file's beginning.
    hash.update(&(root.len() as u64).to_be_bytes());
    hash.update(root);
    hash.update(bytes);
    let hex = hash.finish();
    hex.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What the user decided about that content; a file that others could have written decides nothing.
pub fn decision(digest: &str) -> Option<Decision> {
    let entries = read(&file()?);
    let found = entries.decisions.iter().rev();
    let mut found = found.filter(|entry| entry.sha256 == digest);
    found.next().map(|entry| entry.decision)
}

/// Remembers a decision about that content in place of the one before; `None` forgets it. Returns what a file of
/// approvals that cannot be used is called now.
///
/// # Errors
/// The file cannot be written.
pub fn record(root: &Path, digest: &str, decision: Option<Decision>) -> Result<Option<PathBuf>> {
    let path = file().context("there is no home directory for approvals")?;
    write(&path, root, digest, decision)
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn write(
    path: &Path,
    root: &Path,
    digest: &str,
    decision: Option<Decision>,
) -> Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // Two sessions that decide at once must not lose a decision: each reads what the other wrote.
    let _lock = Lock::take_within(&path.with_extension("lock"), PATIENCE)?
        .context("another crewdeck is writing it: try again")?;
    let (mut entries, aside) = match usable(path) {
        Some(entries) => (entries, None),
        None => (Entries::default(), Some(atomic::set_aside(path)?)),
    };
    entries.decisions.retain(|entry| entry.sha256 != digest);
    entries.decisions.extend(decision.map(|decision| Entry {
        sha256: digest.to_string(),
        directory: root.display().to_string(),
        decision,
    }));
    let beyond = entries.decisions.len().saturating_sub(DECISIONS_MAX);
    entries.decisions.drain(..beyond);
    // It is made with mode 600, and a reader sees the old text or the new one.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(serde_json::to_string_pretty(&entries)?.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(aside)
}

fn read(path: &Path) -> Entries {
    usable(path).unwrap_or_default()
}

/// The decisions; none where there is no file. `None`: the file is damaged, too large, or others can write it.
fn usable(path: &Path) -> Option<Entries> {
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Some(Entries::default()),
        Err(_) => return None,
    };
    let own = rustix::process::geteuid().as_raw();
    if !file.is_file() || file.uid() != own || file.mode() & 0o022 != 0 {
        return None;
    }
    let bytes = plain::read(path, FILE_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_hash_covers_the_directory_and_every_byte() {
        let base = digest(Path::new("/a"), b"x");
        assert_eq!(base.len(), 64);
        assert_eq!(base, digest(Path::new("/a"), b"x"));
        for other in [
            digest(Path::new("/b"), b"x"),
            digest(Path::new("/a"), b"x\n"),
            digest(Path::new("/ax"), b""),
            digest(Path::new("/"), b"ax"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn decisions_are_kept_for_the_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/crewdeck/approved.json");
        let found = |digest: &str| {
            let all = read(&path).decisions;
            all.into_iter()
                .find(|e| e.sha256 == digest)
                .map(|e| e.decision)
        };
        let root = Path::new("/p");
        write(&path, root, "a", Some(Decision::Approved)).unwrap();
        write(&path, root, "b", Some(Decision::Ignored)).unwrap();
        assert_eq!(found("a"), Some(Decision::Approved));
        assert_eq!(found("b"), Some(Decision::Ignored));
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        write(&path, root, "a", None).unwrap();
        assert_eq!((found("a"), found("b")), (None, Some(Decision::Ignored)));
        // What others may write decides nothing.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(found("b"), None);
    }

    #[test]
    fn decisions_of_many_sessions_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approved.json");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for round in 0..5 {
                        let digest = format!("{n}-{round}");
                        write(path, Path::new("/p"), &digest, Some(Decision::Approved)).unwrap();
                    }
                });
            }
        });
        assert_eq!(read(&path).decisions.len(), 40);
    }

    #[test]
    fn an_unusable_file_is_set_aside_before_a_decision() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approved.json");
        let too_large = vec![b' '; usize::try_from(FILE_MAX).unwrap() + 1];
        for (n, bytes) in [b"{\"decisions\": [half".to_vec(), too_large]
            .into_iter()
            .enumerate()
        {
            fs::write(&path, &bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let aside = write(&path, Path::new("/p"), "a", Some(Decision::Approved)).unwrap();
            let expected = dir.path().join(format!("approved.json.damaged-{}", n + 1));
            assert_eq!(aside.as_deref(), Some(expected.as_path()));
            assert!(fs::read(expected).unwrap() == bytes);
            assert_eq!(read(&path).decisions.len(), 1);
        }
        let again = write(&path, Path::new("/p"), "b", Some(Decision::Approved)).unwrap();
        assert_eq!(again, None);
    }
}

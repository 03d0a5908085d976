//! The user's decisions about the sensitive settings, MCP servers and hooks of projects, stored in the user's state
//! directory. A decision applies only to the exact content that the user has reviewed, which is identified by a hash.

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
use crate::store::regular_file;

/// Maximum size of the file that stores the decisions, in bytes.
const FILE_MAX: u64 = 1024 * 1024;
/// Maximum number of stored decisions. Beyond it, the oldest are dropped.
const DECISIONS_MAX: usize = 1000;
/// Maximum time to wait while another crewdeck process writes the file with the decisions.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The user's decision about settings, a server or a hook of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsDecision {
    Approved,
    /// The settings do not apply; the server or hook does not run. The user is asked again only after the content has
    /// changed.
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredDecision {
    /// The hash that identifies the settings file (see [`digest`]), the server or the hook.
    sha256: String,
    /// The project directory. Only informs users who read the file; crewdeck does not use it.
    directory: String,
    decision: SettingsDecision,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct DecisionFile {
    #[serde(default)]
    decisions: Vec<StoredDecision>,
}

/// Returns the path of the decisions file, `$XDG_STATE_HOME/crewdeck/approved.json`; `None` without a home directory.
pub fn file() -> Option<PathBuf> {
    Some(super::state_folder()?.join("approved.json"))
}

/// Returns the SHA-256 of the project directory's path `root` and the content `bytes` of its settings file, in hex.
pub fn digest(root: &Path, bytes: &[u8]) -> String {
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    let root = root.as_os_str().as_bytes();
    // The length prevents that another split between path and content has the same hash.
    hash.update(&(root.len() as u64).to_be_bytes());
    hash.update(root);
    hash.update(bytes);
    hex(hash)
}

/// Finishes the hash and returns it in hexadecimal digits.
pub fn hex(hash: ring::digest::Context) -> String {
    let sum = hash.finish();
    sum.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The user's decisions, as read from the file.
#[derive(Debug, Default)]
pub struct Decisions(DecisionFile);

impl Decisions {
    /// Reads the decisions. Returns no decisions if the file is damaged, too large, owned by another user or writable
    /// by others.
    pub fn load() -> Decisions {
        Decisions(file().map(|file| read(&file)).unwrap_or_default())
    }

    /// Returns the decision about the content with this digest; `None` if there is none.
    pub fn about(&self, digest: &str) -> Option<SettingsDecision> {
        let mut entries = self.0.decisions.iter().rev();
        let entry = entries.find(|entry| entry.sha256 == digest)?;
        Some(entry.decision)
    }

    /// Returns decisions that approve the contents with these digests.
    #[cfg(test)]
    pub fn approved(digests: &[String]) -> Decisions {
        let decisions = digests.iter().map(|digest| StoredDecision {
            sha256: digest.clone(),
            directory: String::new(),
            decision: SettingsDecision::Approved,
        });
        Decisions(DecisionFile {
            decisions: decisions.collect(),
        })
    }
}

/// Stores the decision about the contents with these digests. It replaces earlier decisions about them; `None` only
/// deletes the earlier decisions. If the existing file cannot be used, renames it and returns a notice about this for
/// the user.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn record(
    root: &Path,
    digests: &[&str],
    decision: Option<SettingsDecision>,
) -> Result<Option<String>> {
    let path = file().context("no home directory found to store approvals in: set HOME")?;
    let damaged = write(&path, root, digests, decision)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(damaged.map(|path| {
        format!(
            "The file of earlier decisions was damaged, too large or writable by others, and is now {}. crewdeck asks again about projects that you approved.",
            path.display()
        )
    }))
}

fn write(
    path: &Path,
    root: &Path,
    digests: &[&str],
    decision: Option<SettingsDecision>,
) -> Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // The lock covers reading and writing, so that concurrent sessions do not overwrite each other's decisions.
    let _lock = Lock::take_within(&path.with_extension("lock"), LOCK_TIMEOUT)?
        .context("another crewdeck process is writing it: try again")?;
    let (mut file, damaged) = match read_trusted(path) {
        Some(file) => (file, None),
        None => (DecisionFile::default(), Some(atomic::set_aside(path)?)),
    };
    file.decisions
        .retain(|entry| !digests.contains(&entry.sha256.as_str()));
    for digest in digests {
        file.decisions
            .extend(decision.map(|decision| StoredDecision {
                sha256: (*digest).to_string(),
                directory: root.display().to_string(),
                decision,
            }));
    }
    let excess = file.decisions.len().saturating_sub(DECISIONS_MAX);
    file.decisions.drain(..excess);
    // The temporary file has mode 600, and the rename is atomic.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(serde_json::to_string_pretty(&file)?.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(damaged)
}

fn read(path: &Path) -> DecisionFile {
    read_trusted(path).unwrap_or_default()
}

/// Reads the decisions file. If it does not exist, the result has no decisions. Returns `None` if the file is damaged,
/// too large, owned by another user or writable by others.
fn read_trusted(path: &Path) -> Option<DecisionFile> {
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            return Some(DecisionFile::default());
        }
        Err(_) => return None,
    };
    let own = rustix::process::geteuid().as_raw();
    if !file.is_file() || file.uid() != own || file.mode() & 0o022 != 0 {
        return None;
    }
    let bytes = regular_file::read(path, FILE_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn digest_covers_directory_and_every_byte() {
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
    fn decisions_are_private_to_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/crewdeck/approved.json");
        let found = |digest: &str| {
            let all = read(&path).decisions;
            all.into_iter()
                .find(|e| e.sha256 == digest)
                .map(|e| e.decision)
        };
        let root = Path::new("/p");
        write(&path, root, &["a"], Some(SettingsDecision::Approved)).unwrap();
        write(&path, root, &["b"], Some(SettingsDecision::Ignored)).unwrap();
        assert_eq!(found("a"), Some(SettingsDecision::Approved));
        assert_eq!(found("b"), Some(SettingsDecision::Ignored));
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        write(&path, root, &["a"], None).unwrap();
        assert_eq!(
            (found("a"), found("b")),
            (None, Some(SettingsDecision::Ignored))
        );
        // A file that others can write is ignored.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(found("b"), None);
    }

    #[test]
    fn concurrent_sessions_lose_no_decision() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approved.json");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for round in 0..5 {
                        let digest = format!("{n}-{round}");
                        write(
                            path,
                            Path::new("/p"),
                            &[&digest],
                            Some(SettingsDecision::Approved),
                        )
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(read(&path).decisions.len(), 40);
    }

    #[test]
    fn unusable_file_is_renamed_before_writing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approved.json");
        let too_large = vec![b' '; usize::try_from(FILE_MAX).unwrap() + 1];
        for (n, bytes) in [b"{\"decisions\": [half".to_vec(), too_large]
            .into_iter()
            .enumerate()
        {
            fs::write(&path, &bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let damaged = write(
                &path,
                Path::new("/p"),
                &["a"],
                Some(SettingsDecision::Approved),
            )
            .unwrap();
            let expected = dir.path().join(format!("approved.json.damaged-{}", n + 1));
            assert_eq!(damaged.as_deref(), Some(expected.as_path()));
            assert!(fs::read(expected).unwrap() == bytes);
            assert_eq!(read(&path).decisions.len(), 1);
        }
        let again = write(
            &path,
            Path::new("/p"),
            &["b"],
            Some(SettingsDecision::Approved),
        )
        .unwrap();
        assert_eq!(again, None);
    }
}

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
use crate::store::{FileFingerprint, regular_file};

/// Maximum size of the file that stores the decisions, in bytes. If a new file would be larger, the oldest decisions are
/// dropped; an existing file that is larger is not used.
const FILE_MAX: u64 = 4 * 1024 * 1024;
/// Maximum number of stored decisions. If there are more, the oldest are dropped.
const DECISIONS_MAX: usize = 2000;
/// Maximum length of the stored declaration of a hook, in bytes. A hook with a longer declaration cannot be approved. If one
/// is stored nevertheless, an empty text takes the place of its declaration; the hash in the same entry still identifies
/// the hook.
pub const DECLARATION_MAX: usize = 16 * 1024;
/// The version of [`ApprovedHook::identity`], which is the first field of that hash.
const HOOK_VERSION: &str = "crewdeck approved hook 1";
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
    /// The hash to which the decision applies, in hexadecimal: [`digest`] of a settings file, `TrustItem::digest` of a
    /// server or hook, or [`ApprovedHook::identity`] of a hook's declaration.
    sha256: String,
    /// The project directory. Only informs users who read the file; crewdeck does not use it.
    directory: String,
    decision: SettingsDecision,
    /// The hook, if this entry identifies a hook by its declaration; `None` if it identifies settings, a server or a hook
    /// by the whole content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hook: Option<ApprovedHook>,
}

/// An approved hook, as it was declared. It is stored in addition to the decision about the hook's exact content. With
/// it, a later start can distinguish three cases: the approved hook has changed, it is missing, or the user has never
/// approved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedHook {
    /// The declaring file, relative to the project directory.
    pub file: String,
    /// The position of the hook among all hooks of the file, counted from 0. Invalid hooks are counted too.
    pub index: usize,
    /// The JSON text of a file that would declare only this hook; empty if the text is longer than
    /// [`DECLARATION_MAX`].
    pub declaration: String,
    /// The hash of the hook's exact content that the user has approved.
    pub digest: String,
    /// The hash of the same content without the files that agents change in normal work (see `is_project_file`).
    pub guards: String,
}

impl ApprovedHook {
    /// Returns the SHA-256, in hexadecimal, of the project directory `root`, the declaring `file` and the `declaration`
    /// of a hook. The hash does not depend on the rest of the file or on the files that the hook runs.
    pub fn identity(root: &Path, file: &str, declaration: &str) -> String {
        let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
        for field in [
            HOOK_VERSION.as_bytes(),
            root.as_os_str().as_bytes(),
            file.as_bytes(),
            declaration.as_bytes(),
        ] {
            hash.update(&(field.len() as u64).to_be_bytes());
            hash.update(field);
        }
        hex(hash)
    }

    /// Returns the hash that identifies this hook in the project `root`.
    pub fn identity_in(&self, root: &Path) -> String {
        ApprovedHook::identity(root, &self.file, &self.declaration)
    }
}

/// A change of the stored decision about the content that `digest` identifies.
#[derive(Debug)]
pub struct DecisionChange {
    pub digest: String,
    /// The new decision; `None` deletes the earlier one.
    pub decision: Option<SettingsDecision>,
    /// The hook to store with the decision; `None` if `digest` is not an [`ApprovedHook::identity`].
    pub hook: Option<ApprovedHook>,
}

impl DecisionChange {
    pub fn new(digest: &str, decision: Option<SettingsDecision>) -> DecisionChange {
        DecisionChange {
            digest: digest.to_string(),
            decision,
            hook: None,
        }
    }
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

/// Returns the fingerprint of the decisions file, which changes with each new decision; `None` if there is no file. Reads
/// only metadata.
pub fn fingerprint() -> Option<FileFingerprint> {
    let meta = fs::symlink_metadata(file()?).ok()?;
    Some(FileFingerprint::of_replaced(&meta))
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

/// The user's decisions, as read from the decisions file.
#[derive(Debug, Default)]
pub struct Decisions(DecisionFile);

impl Decisions {
    /// Reads the user's decisions about projects from the decisions file ([`file()`]). Returns no decisions if there is
    /// no file or home directory, or if the file is damaged, too large, owned by another user or writable by others.
    pub fn load() -> Decisions {
        Decisions::try_load().unwrap_or_default()
    }

    /// Like [`Decisions::load`], but returns `None` if there is a file that cannot be used.
    pub fn try_load() -> Option<Decisions> {
        match file() {
            Some(file) => read_trusted(&file).map(Decisions),
            None => Some(Decisions::default()),
        }
    }

    /// Returns the decision about the content with this digest; `None` if there is none.
    pub fn about(&self, digest: &str) -> Option<SettingsDecision> {
        let mut entries = self.0.decisions.iter().rev();
        let entry = entries.find(|entry| entry.sha256 == digest)?;
        Some(entry.decision)
    }

    /// Returns the approved hook with this [`ApprovedHook::identity`]; `None` if no such hook is stored.
    pub fn hook(&self, identity: &str) -> Option<&ApprovedHook> {
        let mut entries = self.0.decisions.iter().rev();
        let entry = entries.find(|entry| entry.sha256 == identity)?;
        entry.hook.as_ref()
    }

    /// Returns the approved hooks that `file` of the project `root` declared when they were approved, as pairs of the
    /// [`ApprovedHook::identity`] and the hook. Leaves out hooks whose declaration is longer than [`DECLARATION_MAX`].
    pub fn hooks_of(&self, root: &Path, file: &str) -> Vec<(String, ApprovedHook)> {
        let entries = self.0.decisions.iter();
        let hooks = entries.filter_map(|entry| Some((&entry.sha256, entry.hook.as_ref()?)));
        let own = hooks.filter(|(identity, hook)| {
            hook.file == file
                && !hook.declaration.is_empty()
                && ApprovedHook::identity(root, file, &hook.declaration) == **identity
        });
        own.map(|(identity, hook)| (identity.clone(), hook.clone()))
            .collect()
    }

    /// Returns decisions that approve the contents with these digests.
    #[cfg(test)]
    pub fn approved(digests: &[String]) -> Decisions {
        let approved = Some(SettingsDecision::Approved);
        let changes = digests
            .iter()
            .map(|digest| DecisionChange::new(digest, approved));
        Decisions::of(changes.collect())
    }

    /// Returns the decisions in a file to which only `changes` were applied.
    #[cfg(test)]
    pub fn of(changes: Vec<DecisionChange>) -> Decisions {
        let mut file = DecisionFile::default();
        file.apply(Path::new(""), changes);
        Decisions(file)
    }
}

impl DecisionFile {
    /// Replaces the decisions about the digests of `changes`, and deletes those for which the new decision is `None`.
    fn apply(&mut self, root: &Path, changes: Vec<DecisionChange>) {
        self.decisions
            .retain(|entry| changes.iter().all(|change| change.digest != entry.sha256));
        for change in changes {
            let Some(decision) = change.decision else {
                continue;
            };
            let mut hook = change.hook;
            if let Some(hook) = &mut hook
                && hook.declaration.len() > DECLARATION_MAX
            {
                hook.declaration.clear();
            }
            self.decisions.push(StoredDecision {
                sha256: change.digest,
                directory: root.display().to_string(),
                decision,
                hook,
            });
        }
    }

    /// Returns the content of the file as JSON. Drops the oldest decisions until there are at most [`DECISIONS_MAX`]
    /// and the content has at most [`FILE_MAX`] bytes.
    fn bounded_text(&mut self) -> Result<String> {
        let excess = self.decisions.len().saturating_sub(DECISIONS_MAX);
        self.decisions.drain(..excess);
        loop {
            let text = serde_json::to_string_pretty(self)?;
            if text.len() as u64 <= FILE_MAX || self.decisions.is_empty() {
                return Ok(text);
            }
            let oldest = self.decisions.len().div_ceil(10);
            self.decisions.drain(..oldest);
        }
    }
}

/// Stores decisions about the project `root`. They replace earlier ones about the same digests. If the existing file
/// is damaged, too large, owned by another user or writable by others, renames it and returns a notice for the user;
/// otherwise returns `None`.
///
/// # Errors
/// Fails if there is no home directory, if another process locks the file for [`LOCK_TIMEOUT`], or if the file cannot
/// be written.
pub fn record(root: &Path, changes: Vec<DecisionChange>) -> Result<Option<String>> {
    let path = file().context("no home directory found to store approvals in: set HOME")?;
    let damaged = write(&path, root, changes)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(damaged.map(|path| {
        format!(
            "The file with your earlier decisions cannot be used: it is damaged, too large, or owned or writable by others. It was renamed to {}, and crewdeck asks again about each project.",
            path.display()
        )
    }))
}

fn write(path: &Path, root: &Path, changes: Vec<DecisionChange>) -> Result<Option<PathBuf>> {
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
    file.apply(root, changes);
    let text = file.bounded_text()?;
    // The temporary file has mode 600, and the rename is atomic.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(damaged)
}

/// Reads the decisions file. If it does not exist, the result has no decisions. Returns `None` if it is not a regular
/// file, cannot be read, or is damaged, too large, owned by another user or writable by others.
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

    fn read(path: &Path) -> DecisionFile {
        read_trusted(path).unwrap_or_default()
    }

    fn write(
        path: &Path,
        root: &Path,
        digests: &[&str],
        decision: Option<SettingsDecision>,
    ) -> Result<Option<PathBuf>> {
        let changes = digests
            .iter()
            .map(|digest| DecisionChange::new(digest, decision));
        super::write(path, root, changes.collect())
    }

    #[test]
    fn approved_hooks_are_found_by_their_declaration_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approved.json");
        let root = Path::new("/p");
        let store = |declaration: &str, digest: &str| {
            let identity = ApprovedHook::identity(root, "h.json", declaration);
            let hook = ApprovedHook {
                file: "h.json".into(),
                index: 0,
                declaration: declaration.into(),
                digest: digest.into(),
                guards: String::new(),
            };
            let change = DecisionChange {
                digest: identity.clone(),
                decision: Some(SettingsDecision::Approved),
                hook: Some(hook),
            };
            super::write(&path, root, vec![change]).unwrap();
            identity
        };
        let load = || Decisions(read(&path));
        let identity = store("{}", "one");
        store("{}", "two");
        assert_eq!(load().hook(&identity).unwrap().digest, "two");
        assert_eq!(load().hooks_of(root, "h.json").len(), 1);
        assert_eq!(load().hooks_of(root, "other.json"), []);
        assert_eq!(load().hooks_of(Path::new("/q"), "h.json"), []);
        // Of a long declaration, only the hash is stored.
        let long = store(&" ".repeat(DECLARATION_MAX + 1), "long");
        assert_eq!(load().hook(&long).unwrap().digest, "long");
        assert_eq!(load().hooks_of(root, "h.json").len(), 1);
        // The file stays readable, and the newest decisions stay.
        for n in 0..20 {
            let digest = "x".repeat(usize::try_from(FILE_MAX).unwrap() / 10);
            store(&n.to_string(), &digest);
        }
        assert!(fs::metadata(&path).unwrap().len() <= FILE_MAX);
        let newest = ApprovedHook::identity(root, "h.json", "19");
        assert!(load().hook(&newest).is_some() && load().hook(&identity).is_none());
    }

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

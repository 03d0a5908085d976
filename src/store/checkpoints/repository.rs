//! The repository of checkpoints: a bare git repository below `.crewdeck`, apart from the project's own. It borrows the
//! objects of the project's repository, so it stores only what the project's commits do not have. Nothing of it is
//! listed, pushed or collected by git commands in the project.
//!
//! Each checkpoint is a commit without parents under `refs/checkpoints/N`. Its message is a JSON object
//! ([`CheckpointMessage`]), its tree has the files of the work directory in `files` and a [`CheckpointMeta`] in `meta`.

use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::CheckpointError;
use super::meta::{CheckpointMeta, META_MAX};
use crate::domain::checkpoint::{Checkpoint, CheckpointId, NewCheckpoint};
use crate::store::git::{Git, Repo, is_hash};
use crate::store::{StoreError, atomic};

/// The folder of the store in the project's root.
const STORE: &str = ".crewdeck/checkpoints";
const REFS: &str = "refs/checkpoints/";
/// Maximum size of the list of all checkpoints, in bytes.
const LIST_MAX: u64 = 16 * 1024 * 1024;
/// Options of git commands that write packs. A checkpoint must be on the disk before files are overwritten: its objects, its
/// ref, and the index without which git does not find the objects of a pack.
pub const DURABLE: [&str; 2] = ["-c", "core.fsync=committed,pack-metadata"];
/// Makes an import keep its objects in one pack, which is several times faster than a file for each object.
const PACKED: [&str; 2] = ["-c", "fastimport.unpackLimit=0"];
/// Maximum time for which a checkpoint waits until another one is stored or old ones are removed.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(30);

/// The paths of the store. Opening it accesses no file.
#[derive(Debug, Clone)]
pub struct CheckpointRepository {
    /// The folder of the store.
    folder: PathBuf,
    git: Git,
}

/// The message of a checkpoint's commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CheckpointMessage {
    #[serde(flatten)]
    pub content: NewCheckpoint,
    /// The commit that was checked out in the work directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// A checkpoint as it is stored.
#[derive(Debug, Clone)]
pub struct StoredCheckpoint {
    pub id: CheckpointId,
    pub message: CheckpointMessage,
}

/// The changes of a tree, written as input of `git fast-import`.
pub struct TreeChanges {
    out: BufWriter<File>,
}

impl CheckpointRepository {
    pub fn of(root: &Path) -> CheckpointRepository {
        let folder = root.join(STORE);
        let git = Git::bare(&folder.join("git"));
        CheckpointRepository { folder, git }
    }

    pub fn dir(&self) -> PathBuf {
        self.folder.join("git")
    }

    pub fn exists(&self) -> bool {
        self.dir().join("HEAD").is_file()
    }

    /// Creates the repository if it is missing, and makes it borrow the objects of `project`.
    pub fn prepare(&self, project: &Repo) -> Result<(), CheckpointError> {
        let dir = self.dir();
        if !self.exists() {
            fs::create_dir_all(&self.folder).map_err(StoreError::at(&self.folder))?;
            // The objects contain what is in private files, so other users must not read them.
            fs::set_permissions(&self.folder, Permissions::from_mode(0o700))
                .map_err(StoreError::at(&self.folder))?;
            let _lock = self.lock()?;
            if !self.exists() {
                self.create(project)?;
            }
        }
        let objects = fs::canonicalize(project.common().join("objects"))
            .map_err(StoreError::at(project.common()))?;
        let mut wanted = objects.as_os_str().as_bytes().to_vec();
        wanted.push(b'\n');
        let alternates = dir.join("objects/info/alternates");
        if fs::read(&alternates).ok().as_ref() != Some(&wanted) {
            atomic::write(&alternates, &wanted)?;
        }
        Ok(())
    }

    fn create(&self, project: &Repo) -> Result<(), CheckpointError> {
        let dir = self.dir();
        // A folder without HEAD is left over from a process that was killed here.
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(StoreError::at(&dir))?;
        }
        let new = self.folder.join("new");
        if new.exists() {
            fs::remove_dir_all(&new).map_err(StoreError::at(&new))?;
        }
        let format = project.git.ok(&["rev-parse", "--show-object-format"])?;
        let format = format!("--object-format={format}");
        let git = Git::at(&self.folder).with_refs_as_files();
        git.ok(&[
            "-c",
            "init.defaultRefFormat=files",
            "init",
            "--quiet",
            "--bare",
            "--template=",
            &format,
            "--",
            "new",
        ])?;
        let made = Git::bare(&new);
        for (key, value) in [
            // Checkpoints are written often and read rarely.
            ("core.looseCompression", "1"),
            ("pack.compression", "1"),
            ("core.logAllRefUpdates", "false"),
        ] {
            made.ok(&["config", key, value])?;
        }
        let info = new.join("objects/info");
        fs::create_dir_all(&info).map_err(StoreError::at(&info))?;
        fs::create_dir_all(new.join(REFS)).map_err(StoreError::at(&new))?;
        fs::rename(&new, &dir).map_err(StoreError::at(&dir))?;
        Ok(())
    }

    /// Acquires the lock that every change of the repository needs.
    pub fn lock(&self) -> Result<atomic::Lock, CheckpointError> {
        let path = self.folder.join("lock");
        let lock = atomic::Lock::take_within(&path, LOCK_WAIT_MAX)?;
        lock.ok_or(CheckpointError::Busy)
    }

    /// Returns the path of a file beside the repository.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns all checkpoints, newest first. Leaves out those whose commit is missing or has an unknown message.
    pub fn list(&self) -> Result<Vec<StoredCheckpoint>, CheckpointError> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let mut ids = self.ids();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        let names: Vec<String> = ids.iter().map(|id| format!("{REFS}{id}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let read = self.cat_file("--batch", &names, LIST_MAX)?;
        let mut read = read.as_slice();
        let mut all = Vec::new();
        for id in ids {
            let Some(commit) = next_object(&mut read) else {
                continue;
            };
            // The message follows the first empty line.
            let start = commit.windows(2).position(|pair| pair == b"\n\n");
            let message = start.and_then(|at| commit.get(at + 2..));
            if let Some(message) = message.and_then(|text| serde_json::from_slice(text).ok()) {
                let id = CheckpointId(id);
                all.push(StoredCheckpoint { id, message });
            }
        }
        Ok(all)
    }

    /// Returns the numbers of all checkpoints, in no particular order.
    pub fn ids(&self) -> Vec<u64> {
        // The refs of checkpoints are never packed, and numbers are added only under the lock.
        let entries = fs::read_dir(self.dir().join(REFS));
        let names = entries.into_iter().flatten().flatten();
        names
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect()
    }

    /// Returns the tree of the files of a commit, the empty tree if it has no files.
    ///
    /// # Errors
    /// [`CheckpointError::Damaged`] with `id` if the commit cannot be read.
    pub fn files_of(
        &self,
        reference: SnapshotRef,
        id: CheckpointId,
    ) -> Result<String, CheckpointError> {
        let name = reference.name();
        let args = ["ls-tree", "-z", "--full-tree", &name, "files"];
        let listed = self.git.run(&args)?;
        if listed.code != 0 {
            return Err(CheckpointError::Damaged(id));
        }
        let hash = listed
            .out
            .split_whitespace()
            .nth(2)
            .filter(|hash| is_hash(hash));
        match hash {
            Some(hash) => Ok(hash.to_string()),
            None => Ok(self
                .git
                .ok(&["hash-object", "-t", "tree", "-w", "/dev/null"])?),
        }
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    pub fn ref_file(&self, id: CheckpointId) -> PathBuf {
        self.dir().join(format!("{REFS}{id}"))
    }

    /// Runs `git cat-file` with the mode `how` for the objects `names`. Keeps at most `keep` bytes of its output.
    pub fn cat_file(
        &self,
        how: &str,
        names: &[&str],
        keep: u64,
    ) -> Result<Vec<u8>, CheckpointError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let at = || StoreError::at(&self.folder);
        let mut input = tempfile::tempfile_in(&self.folder).map_err(at())?;
        let mut lines = names.join("\n");
        lines.push('\n');
        input.write_all(lines.as_bytes()).map_err(at())?;
        input.rewind().map_err(at())?;
        let args = ["cat-file", how];
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let answer = self.git.with_input(input).run_bytes(&args, keep)?;
        match answer.code {
            0 => Ok(answer.out),
            _ => Err(answer.to_error(&args).into()),
        }
    }

    /// Reads the [`CheckpointMeta`] of a checkpoint.
    pub fn meta(&self, id: CheckpointId) -> Result<CheckpointMeta, CheckpointError> {
        let name = format!("{REFS}{id}:meta");
        let read = self.git.run_bytes(&["cat-file", "blob", &name], META_MAX)?;
        match read.code {
            0 => Ok(CheckpointMeta::parse(&read.out)),
            _ => Err(CheckpointError::Damaged(id)),
        }
    }

    /// Begins the input for a new commit. `base` is the tree with which the files begin.
    pub fn begin(
        &self,
        reference: SnapshotRef,
        message: &CheckpointMessage,
        base: Option<&str>,
    ) -> Result<TreeChanges, CheckpointError> {
        let file = tempfile::tempfile_in(&self.folder).map_err(StoreError::at(&self.folder))?;
        let mut changes = TreeChanges {
            out: BufWriter::new(file),
        };
        let name = reference.name();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // seconds since 1970
        let seconds = message.content.at.0 as u64;
        let text = serde_json::to_string(message).map_err(StoreError::from)?;
        let header = format!(
            "commit {name}\nmark :1\ncommitter crewdeck <crewdeck@localhost> {seconds} +0000\n"
        );
        changes.put(header.as_bytes())?;
        changes.data(text.as_bytes())?;
        if let Some(base) = base {
            changes.put(format!("M 040000 {base} \"files\"\n").as_bytes())?;
        }
        Ok(changes)
    }

    /// Stores a commit. Returns the name of the tree of its files; `None` if it has no files.
    pub fn commit(
        &self,
        reference: SnapshotRef,
        mut changes: TreeChanges,
        meta: &CheckpointMeta,
    ) -> Result<Option<String>, CheckpointError> {
        changes.put(b"M 100644 inline \"meta\"\n")?;
        changes.data(&meta.format())?;
        // The empty line ends the commit.
        changes.put(b"\nls :1 \"files\"\ndone\n")?;
        let flush = |error: std::io::Error| StoreError::at(&self.folder)(error);
        let mut file = changes
            .out
            .into_inner()
            .map_err(|e| flush(e.into_error()))?;
        file.rewind().map_err(flush)?;
        // Only a preview replaces the one before. An import that outlives its process must not replace a checkpoint.
        let import: &[&str] = match reference {
            SnapshotRef::Checkpoint(_) => &["fast-import", "--quiet", "--done"],
            SnapshotRef::Preview => &["fast-import", "--quiet", "--done", "--force"],
        };
        let args = [&DURABLE[..], &PACKED, import].concat();
        let done = self.git.with_input(file).run(&args)?;
        if done.code != 0 {
            return Err(done.to_error(import).into());
        }
        let words = done.out.split_whitespace().collect::<Vec<_>>();
        Ok(match words.get(2) {
            Some(hash) if is_hash(hash) => Some((*hash).to_string()),
            Some(_) | None => None,
        })
    }
}

/// The ref of a commit.
#[derive(Debug, Clone, Copy)]
pub enum SnapshotRef {
    Checkpoint(CheckpointId),
    /// The state of the files for a preview. The next preview replaces it.
    Preview,
}

impl SnapshotRef {
    fn name(self) -> String {
        match self {
            SnapshotRef::Checkpoint(id) => format!("{REFS}{id}"),
            SnapshotRef::Preview => "refs/preview".into(),
        }
    }
}

/// Takes the next object from the output of `git cat-file --batch`: a line, the content, and a line break. Returns `None`
/// if git does not have the object, or the output ends.
pub fn next_object<'a>(read: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = read.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = read.split_at(end);
    *read = rest.get(1..)?;
    let line = std::str::from_utf8(line).ok()?;
    let size = line.rsplit(' ').next()?.parse::<usize>().ok()?;
    let content = read.get(..size)?;
    *read = read.get(size + 1..)?;
    Some(content)
}

impl TreeChanges {
    pub fn delete(&mut self, path: &[u8]) -> Result<(), CheckpointError> {
        self.put(b"D ")?;
        self.path(path)
    }

    /// Adds or replaces a file. `mode` is git's: see [`super::known::DiskFileState::git_mode`].
    pub fn write(&mut self, path: &[u8], mode: &str, bytes: &[u8]) -> Result<(), CheckpointError> {
        self.put(format!("M {mode} inline ").as_bytes())?;
        self.path(path)?;
        self.data(bytes)
    }

    fn path(&mut self, path: &[u8]) -> Result<(), CheckpointError> {
        let mut quoted = b"\"files/".to_vec();
        for byte in path {
            match byte {
                b'\n' => quoted.extend(b"\\n"),
                b'"' | b'\\' => quoted.extend([b'\\', *byte]),
                _ => quoted.push(*byte),
            }
        }
        quoted.extend(b"\"\n");
        self.put(&quoted)
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        self.put(format!("data {}\n", bytes.len()).as_bytes())?;
        self.put(bytes)?;
        self.put(b"\n")
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let written = self.out.write_all(bytes);
        written.map_err(|error| CheckpointError::Store(error.into()))
    }
}

impl StoredCheckpoint {
    pub fn into_checkpoint(self) -> Checkpoint {
        Checkpoint {
            id: self.id,
            content: self.message.content,
        }
    }
}

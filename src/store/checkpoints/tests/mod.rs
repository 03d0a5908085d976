//! Tests of checkpoints in real repositories.

mod files;
mod random;
#[cfg(target_os = "linux")]
mod rescan;
mod scan;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub use scan::assert_equal_scans;

use super::Checkpoints;
use crate::domain::checkpoint::{CheckpointId, CheckpointReason, NewCheckpoint, RestoredFiles};
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;
use crate::store::git::Git;

/// The content of a directory, without the folders of git and crewdeck: path to kind and content.
type Content = BTreeMap<Vec<u8>, (char, Vec<u8>)>;

struct Project {
    dir: tempfile::TempDir,
    root: PathBuf,
    checkpoints: Checkpoints,
    now: std::cell::Cell<f64>,
}

impl Project {
    fn new() -> Project {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = Project {
            checkpoints: Checkpoints::open(&root),
            dir,
            root,
            now: 1_800_000_000.0.into(),
        };
        project.git(&["init", "--quiet", "-b", "main"]);
        project.git(&["config", "user.name", "n"]);
        project.git(&["config", "user.email", "n@example.com"]);
        crate::store::prepare(&project.root).unwrap();
        project
    }

    fn with_commit(files: &[(&str, &str)]) -> Project {
        let project = Project::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project.git(&["add", "-A"]);
        project.git(&["commit", "--quiet", "--allow-empty", "-m", "base"]);
        project
    }

    fn git(&self, args: &[&str]) -> String {
        Git::at(&self.root).ok(args).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn new_checkpoint(&self, reason: CheckpointReason) -> NewCheckpoint {
        self.now.set(self.now.get() + 1.0);
        NewCheckpoint {
            agent: Name::lead(),
            session: "s1".into(),
            folder: ".".into(),
            at: Timestamp(self.now.get()),
            reason,
            label: "do \"it\"\tnow".into(),
            place: None,
            starts_conversation: false,
        }
    }

    fn record(&self) -> CheckpointId {
        let new = self.new_checkpoint(CheckpointReason::Turn);
        self.checkpoints.record(&new).unwrap().unwrap()
    }

    fn restore(&self, id: CheckpointId) -> RestoredFiles {
        self.checkpoints
            .restore(id, Timestamp(self.now.get()))
            .unwrap()
    }

    fn content(&self) -> Content {
        let mut all = Content::new();
        add_content(&self.root, &self.root, &mut all);
        all
    }
}

fn add_content(root: &Path, dir: &Path, all: &mut Content) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if dir == root
            && name
                .to_str()
                .is_some_and(crate::domain::folders::is_reserved)
        {
            continue;
        }
        let path = entry.path();
        let meta = path.symlink_metadata().unwrap();
        let key = path
            .strip_prefix(root)
            .unwrap()
            .as_os_str()
            .as_bytes()
            .to_vec();
        if meta.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_vec();
            all.insert(key, ('l', target));
        } else if meta.is_dir() {
            add_content(root, &path, all);
        } else {
            let kind = if meta.permissions().mode() & 0o100 != 0 {
                'x'
            } else {
                'f'
            };
            all.insert(key, (kind, fs::read(&path).unwrap()));
        }
    }
}

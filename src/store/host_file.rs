//! Remembers as which host of which crew a project directory has last joined a hub, so that a process that was killed can
//! continue as the same host.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StoreError, atomic, regular_file};
use crate::domain::host::HostName;

/// The file below the project directory.
const FILE: &str = ".crewdeck/host.json";
/// Maximum size of the file, in bytes.
const SIZE_MAX: u64 = 16 * 1024;
/// Maximum number of sessions in the file.
const SESSIONS_MAX: usize = 8;
/// A file with the id of this machine; missing on some systems and in containers.
const MACHINE_ID: &str = "/etc/machine-id";

/// The host of a crew on a hub that a project directory is, and its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryHost {
    /// The address of the crew on the hub.
    pub hub: String,
    pub name: HostName,
    /// The sessions for which tasks may be claimed, oldest first. More than one if a process was killed before it had taken
    /// over the tasks of an earlier one.
    pub sessions: Vec<String>,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct HostFile {
    #[serde(flatten)]
    host: DirectoryHost,
    directory: DirectoryIdentity,
}

/// Tells a project directory from its copies, whose processes are other hosts.
#[derive(PartialEq, Serialize, Deserialize)]
struct DirectoryIdentity {
    path: String,
    device: u64,
    inode: u64,
    /// The id of the machine; empty if it is unknown.
    machine: String,
}

impl DirectoryIdentity {
    fn of(root: &Path) -> std::io::Result<DirectoryIdentity> {
        let path = root.canonicalize()?;
        let facts = path.metadata()?;
        let machine = std::fs::read_to_string(MACHINE_ID).unwrap_or_default();
        Ok(DirectoryIdentity {
            path: path.to_string_lossy().into_owned(),
            device: facts.dev(),
            inode: facts.ino(),
            machine: machine.trim().into(),
        })
    }
}

impl DirectoryHost {
    /// Reads the file of the project in `root`. Returns `None` if there is none, it cannot be used, or it was copied from
    /// another directory: the process that has written it there may still run.
    pub fn read(root: &Path) -> Option<DirectoryHost> {
        let bytes = regular_file::read(&path(root), SIZE_MAX).ok()?;
        let file: HostFile = serde_json::from_slice(&bytes).ok()?;
        let directory = DirectoryIdentity::of(root).ok()?;
        (file.directory == directory).then_some(file.host)
    }

    /// Replaces the file of the project in `root`. Of many sessions, keeps the newest.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, root: &Path) -> Result<(), StoreError> {
        let mut host = self.clone();
        let excess = host.sessions.len().saturating_sub(SESSIONS_MAX);
        host.sessions.drain(..excess);
        let directory = DirectoryIdentity::of(root).map_err(StoreError::at(root))?;
        let text = serde_json::to_vec(&HostFile { host, directory })?;
        atomic::write(&path(root), &text)
    }
}

fn path(root: &Path) -> PathBuf {
    root.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn project() -> (tempfile::TempDir, DirectoryHost) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        let host = DirectoryHost {
            hub: "nats://a:4222/web".into(),
            name: HostName::parse("gpu-box").unwrap(),
            sessions: vec!["a".into(), "b".into()],
        };
        (dir, host)
    }

    #[test]
    fn recorded_host_is_read_back_and_damage_counts_as_none() {
        let (dir, mut host) = project();
        assert_eq!(DirectoryHost::read(dir.path()), None);
        host.write(dir.path()).unwrap();
        assert_eq!(DirectoryHost::read(dir.path()), Some(host.clone()));
        host.sessions = (0..20).map(|n| n.to_string()).collect();
        host.write(dir.path()).unwrap();
        let sessions = DirectoryHost::read(dir.path()).unwrap().sessions;
        assert_eq!(sessions, host.sessions[20 - SESSIONS_MAX..].to_vec());
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert_eq!(DirectoryHost::read(dir.path()), None);
    }

    #[test]
    fn copied_directory_is_another_host() {
        let ((dir, host), (copy, _)) = (project(), project());
        host.write(dir.path()).unwrap();
        std::fs::copy(dir.path().join(FILE), copy.path().join(FILE)).unwrap();
        assert_eq!(DirectoryHost::read(copy.path()), None);
        // Another directory under the same name.
        let moved = dir.path().with_extension("moved");
        std::fs::rename(dir.path(), &moved).unwrap();
        assert_eq!(DirectoryHost::read(&moved), None);
        std::fs::rename(&moved, dir.path()).unwrap();
        assert_eq!(DirectoryHost::read(dir.path()), Some(host));
    }
}

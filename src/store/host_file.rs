//! Remembers as which host of which crew a project directory has last joined a hub, so that a process that was killed can
//! continue as the same host.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StoreError, atomic, regular_file};
use crate::domain::host::HostName;

/// The file below the project directory.
const FILE: &str = ".crewdeck/host.json";
/// Maximum size of the file, in bytes.
const SIZE_MAX: u64 = 16 * 1024;

/// The last session of a project directory as a host of a crew on a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHost {
    /// The address of the crew on the hub.
    pub hub: String,
    pub name: HostName,
    /// The session of the host.
    pub session: String,
}

impl KeptHost {
    /// Reads the file of the project in `root`; `None` if there is none or it cannot be used.
    pub fn read(root: &Path) -> Option<KeptHost> {
        let bytes = regular_file::read(&path(root), SIZE_MAX).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Replaces the file of the project in `root`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, root: &Path) -> Result<(), StoreError> {
        let text = serde_json::to_vec(self)?;
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

    #[test]
    fn kept_host_is_read_back_and_damage_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        assert_eq!(KeptHost::read(dir.path()), None);
        let kept = KeptHost {
            hub: "nats://a:4222/web".into(),
            name: HostName::parse("gpu-box").unwrap(),
            session: "s".into(),
        };
        kept.write(dir.path()).unwrap();
        assert_eq!(KeptHost::read(dir.path()), Some(kept));
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert_eq!(KeptHost::read(dir.path()), None);
    }
}

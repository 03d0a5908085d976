//! Whole files: written to a temporary one, synced, renamed. And the locks that order the writers.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::StoreError;

/// Writes a file so that every reader, and the disk after a crash, has the old one or the new one, whole.
///
/// # Errors
/// When the folder can not be written; the old file is untouched then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let at = || StoreError::at(path);
    // A leading dot: watchers and the reference's patterns pass over it.
    let mut file = tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(permissions())
        .tempfile_in(folder)
        .map_err(at())?;
    file.write_all(bytes).map_err(at())?;
    file.as_file().sync_all().map_err(at())?;
    file.persist(path)
        .map_err(|e| StoreError::at(path)(e.error))?;
    sync_folder(folder).map_err(at())
}

#[cfg(unix)]
fn permissions() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    // Narrowed by the umask, as any new file.
    fs::Permissions::from_mode(0o666)
}

/// Makes a rename or a new name in `folder` survive a crash.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A lock between processes. The kernel frees it when its holder ends, however it ends; the file stays,
/// because a lock belongs to the file and not to its name.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// When the lock file can not be opened.
    pub fn take(path: &Path) -> Result<Lock, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(StoreError::at(path))?;
        file.lock().map_err(StoreError::at(path))?;
        Ok(Lock { file })
    }

    /// A second hold on the lock, for a child that goes on when this process is killed: the lock is free when
    /// all holds are gone.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub fn share(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }
}

/// Moves a damaged file out of the way, to the first free `NAME.damaged-N`; nothing in it is lost.
///
/// # Errors
/// When it can not be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let free = (1..10_000)
        .map(|n| path.with_file_name(format!("{name}.damaged-{n}")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_file_name(format!("{name}.damaged")));
    fs::rename(path, &free).map_err(StoreError::at(path))?;
    Ok(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write(&path, b"a long first version").unwrap();
        write(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn damaged_files_are_numbered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for n in 1..=3 {
            fs::write(&path, format!("{n}")).unwrap();
            let aside = set_aside(&path).unwrap();
            assert_eq!(aside, dir.path().join(format!("a.json.damaged-{n}")));
            assert_eq!(fs::read_to_string(aside).unwrap(), n.to_string());
        }
    }
}

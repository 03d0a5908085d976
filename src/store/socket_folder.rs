//! Creates and removes the private folder of the agent socket. The folder is in a system folder for runtime or
//! temporary files: the path of a project can be too long for the address of a socket, and its file system may not
//! support sockets.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::{env, fs};

use rustix::process::geteuid;

/// The start of the names of all folders of agent sockets.
const PREFIX: &str = "crewdeck-agents-";
/// The start of the name of a folder until its socket listens.
const NEW_PREFIX: &str = ".crewdeck-new-";
/// The name of the socket in its folder.
const SOCKET: &str = "socket";
/// Maximum length, in bytes, of a socket address that every supported system accepts.
const ADDRESS_MAX: usize = 103;
/// Maximum number of entries of a system folder that are searched for folders of dead crews.
const ENTRIES_MAX: usize = 10_000;

/// A folder with a listening socket, accessible only to the user. Dropping it removes both.
#[derive(Debug)]
pub struct SocketFolder {
    folder: PathBuf,
}

impl SocketFolder {
    /// Creates the folder in a system folder for runtime or temporary files, the first one in which this is possible,
    /// and starts to listen on its socket. Removes the folders that dead crews of the user left in the system folder.
    ///
    /// # Errors
    /// Fails if no folder can be created or the socket cannot be bound.
    pub fn create() -> Result<(SocketFolder, UnixListener)> {
        let mut last = Error::new(ErrorKind::NotFound, "no folder for temporary files");
        for base in bases() {
            match SocketFolder::create_in(&base) {
                Ok(created) => return Ok(created),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Creates the folder in `base`, and starts to listen on its socket. Removes the folders that dead crews of the
    /// user left in `base`.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, the address of the socket would be too long, or the socket cannot be
    /// bound.
    pub fn create_in(base: &Path) -> Result<(SocketFolder, UnixListener)> {
        remove_dead_folders(base);
        let new = tempfile::Builder::new()
            .prefix(NEW_PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        let name = new.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy().replace(NEW_PREFIX, PREFIX);
        let folder = base.join(name);
        if folder.join(SOCKET).as_os_str().len() > ADDRESS_MAX {
            let why = format!("the path {} is too long for a socket", folder.display());
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        let listener = UnixListener::bind(new.path().join(SOCKET))?;
        // Other crews remove every folder with the final name whose socket does not listen.
        fs::rename(new.path(), &folder)?;
        // The folder no longer has the name that would be removed.
        let _ = new.keep();
        Ok((SocketFolder { folder }, listener))
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        remove_folder(&self.folder);
    }
}

/// Removes the agent socket at `path` and its folder if no process listens on the socket, because its crew is dead.
/// Does nothing if `path` is not the path of an agent socket.
pub fn remove_dead_socket(path: &Path) {
    if let Some(folder) = path.parent().filter(|_| path.ends_with(SOCKET))
        && is_dead(folder)
    {
        remove_folder(folder);
    }
}

/// Returns the folders in which the folder of the socket can be created, the preferred one first. The runtime folder is
/// preferred: sandboxed commands cannot see it.
fn bases() -> impl Iterator<Item = PathBuf> {
    let is_private = |dir: &PathBuf| {
        fs::metadata(dir).is_ok_and(|m| {
            m.is_dir() && m.uid() == geteuid().as_raw() && m.permissions().mode() & 0o777 == 0o700
        })
    };
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|dir| dir.is_absolute() && is_private(dir));
    runtime.into_iter().chain([env::temp_dir(), "/tmp".into()])
}

fn remove_dead_folders(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().take(ENTRIES_MAX);
    for folder in entries.flatten().map(|entry| entry.path()) {
        if is_dead(&folder) {
            remove_folder(&folder);
        }
    }
}

/// Returns whether `folder` is the folder of an agent socket of this user, but has no socket or one on which no process
/// listens.
fn is_dead(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_own = |m: fs::Metadata| m.is_dir() && m.uid() == geteuid().as_raw();
    if !name.starts_with(PREFIX) || !fs::symlink_metadata(folder).is_ok_and(is_own) {
        return false;
    }
    match fs::symlink_metadata(folder.join(SOCKET)) {
        Ok(meta) if meta.file_type().is_socket() => {
            let connected = UnixStream::connect(folder.join(SOCKET));
            connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        }
        Ok(_) => false,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Removes the socket and its folder. Other files are not removed, and then the folder stays. Errors are ignored,
/// because another process may remove the same folder.
fn remove_folder(folder: &Path) {
    let _ = fs::remove_file(folder.join(SOCKET));
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(base: &Path) -> Vec<String> {
        let entries = fs::read_dir(base).unwrap();
        let name = |e: fs::DirEntry| e.file_name().to_string_lossy().into_owned();
        entries.flatten().map(name).collect()
    }

    #[test]
    fn folder_is_private_and_removed_with_its_owner() {
        let base = tempfile::tempdir().unwrap();
        let (folder, _listener) = SocketFolder::create_in(base.path()).unwrap();
        let mode = fs::metadata(&folder.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        UnixStream::connect(folder.socket()).unwrap();
        assert_eq!(names(base.path()).len(), 1);
        drop(folder);
        assert_eq!(names(base.path()), [""; 0]);
    }

    #[test]
    fn only_folders_of_dead_crews_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let (alive, _listener) = SocketFolder::create_in(base.path()).unwrap();
        let (dead, listener) = SocketFolder::create_in(base.path()).unwrap();
        let dead = std::mem::ManuallyDrop::new(dead);
        drop(listener);
        let (other, empty) = ("crewdeck-agents-file", "crewdeck-agents-empty");
        fs::write(base.path().join(other), "").unwrap();
        fs::create_dir(base.path().join(empty)).unwrap();
        let (new, _new_listener) = SocketFolder::create_in(base.path()).unwrap();
        assert!(!dead.folder.exists() && !base.path().join(empty).exists());
        assert!(alive.socket().exists() && new.socket().exists());
        assert!(base.path().join(other).exists());
    }

    #[test]
    fn dead_socket_is_removed_and_any_other_path_is_not() {
        let base = tempfile::tempdir().unwrap();
        let (folder, listener) = SocketFolder::create_in(base.path()).unwrap();
        let folder = std::mem::ManuallyDrop::new(folder);
        remove_dead_socket(&folder.socket());
        assert!(folder.socket().exists());
        drop(listener);
        let foreign = base.path().join("socket");
        drop(UnixListener::bind(&foreign).unwrap());
        remove_dead_socket(&foreign);
        // A child that another test forks has a copy of the listener until it executes its program.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while folder.folder.exists() && std::time::Instant::now() < end {
            remove_dead_socket(&folder.socket());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(foreign.exists() && !folder.folder.exists());
    }

    #[test]
    fn path_that_is_too_long_for_a_socket_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        let long = base.path().join("x".repeat(100));
        fs::create_dir(&long).unwrap();
        let error = SocketFolder::create_in(&long).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
        assert_eq!(names(&long), [""; 0]);
    }
}

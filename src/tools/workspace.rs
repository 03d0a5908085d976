//! File access limited to the agent's work directory. No path leads out of the directory, even if another process
//! changes the path between check and use.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags};

use crate::domain::folders;
use crate::process::environment;
use crate::store::os_errors;

/// Maximum number of symbolic links that the path of a file to write may lead through, one after the other. More are an
/// error.
const LINKS_MAX: usize = 16;
/// Maximum number of parent directories that are visited to find out whether a directory lies in a protected one. A
/// directory with more parents counts as protected.
const DEPTH_MAX: usize = 256;
/// Maximum size of a file that can be edited, in bytes. A larger file is an error.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// A work directory, kept open so that file access stays in it even if the directory is renamed.
pub struct Workspace {
    dir: Dir,
    root: PathBuf,
}

impl Workspace {
    /// Opens the work directory `root`, and resolves symbolic links in its path.
    ///
    /// # Errors
    /// Returns text for the model if `root` cannot be opened as a directory.
    pub fn open(root: &Path) -> Result<Workspace, String> {
        let dir = Dir::open_ambient_dir(root, ambient_authority()).map_err(|e| {
            format!(
                "Error: cannot open the work directory: {}",
                os_errors::explain(&e)
            )
        })?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        Ok(Workspace { dir, root })
    }

    /// Returns `path` as a path relative to the work directory; empty for the work directory itself. An absolute `path`
    /// must begin with the path of the work directory as it is after its symbolic links are resolved. Resolves `.` and
    /// `..`, but not symbolic links.
    ///
    /// # Errors
    /// Fails with `Path escapes workspace`, for the model, if the path leads out of the work directory.
    pub fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let given = Path::new(path);
        let relative = if given.is_absolute() {
            given.strip_prefix(&self.root).map_err(|_| escapes(path))?
        } else {
            given
        };
        let mut out = PathBuf::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => out.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !out.pop() {
                        return Err(escapes(path));
                    }
                }
                Component::RootDir | Component::Prefix(_) => return Err(escapes(path)),
            }
        }
        Ok(out)
    }

    /// Returns the absolute path under which [`FileSnapshots`](super::file_snapshots::FileSnapshots) records a file.
    /// Symbolic links are not resolved.
    ///
    /// # Errors
    /// Fails with `Path escapes workspace`, for the model, if the path leads out of the work directory.
    pub fn key(&self, path: &str) -> Result<PathBuf, String> {
        Ok(self.root.join(self.inside(path)?))
    }

    /// Reads at most `most` bytes from the start of a file. Returns these bytes and the size of the whole file in
    /// bytes. Follows symbolic links that stay in the work directory.
    ///
    /// # Errors
    /// Returns text for the model, also for a directory, for a pipe or device, and for the file with the user's MCP
    /// server logins.
    pub fn read(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), String> {
        let inside = self.inside(path)?;
        let real = self.real(&inside).map(|real| self.root.join(real));
        if real.is_ok_and(|real| environment::is_login(&real)) {
            return Err(format!(
                "Error: {path} stores the user's MCP server logins: agents cannot read it"
            ));
        }
        let mut options = OpenOptions::new();
        // Otherwise opening a named pipe would block until a writer opens it.
        options.read(true).custom_flags(no_waiting());
        let opened = self.dir.open_with(&inside, &options);
        let file = opened.map_err(|e| error_text(path, &e))?;
        let meta = file.metadata().map_err(|e| error_text(path, &e))?;
        if meta.is_dir() {
            return Err(format!(
                "Error: {path} is a directory: list its files with glob"
            ));
        }
        if !meta.is_file() {
            return Err(format!("Error: {path} is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(most)
            .read_to_end(&mut bytes)
            .map_err(|e| error_text(path, &e))?;
        Ok((bytes, meta.len()))
    }

    /// Reads a whole text file for editing. Returns `None` if the file does not exist.
    ///
    /// # Errors
    /// Returns text for the model, also if the file is larger than 16 MiB or is not UTF-8.
    pub fn text(&self, path: &str) -> Result<Option<String>, String> {
        let inside = self.inside(path)?;
        match self.dir.metadata(&inside) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(error_text(path, &e)),
        }
        let (bytes, size) = self.read(path, FILE_MAX)?;
        if size > FILE_MAX {
            let mib = FILE_MAX / 1024 / 1024;
            return Err(format!(
                "Error: {path} is larger than {mib} MiB, the limit for editing: change it with bash"
            ));
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| format!("Error: {path} is not UTF-8 text: change it with bash"))
    }

    /// Checks that `path` does not lead to a file that the user has approved to run, directly or through a symbolic
    /// link. `approved` contains the absolute paths of these files, with symbolic links resolved.
    ///
    /// # Errors
    /// Returns text for the model if `path` leads to one of these files.
    pub fn check_approved(&self, path: &str, approved: &[PathBuf]) -> Result<(), String> {
        if approved.is_empty() {
            return Ok(());
        }
        let inside = self.inside(path)?;
        // A file that does not exist yet is none of them.
        let real = self.real(&inside).unwrap_or(inside);
        if approved.contains(&self.root.join(real)) {
            return Err(format!(
                "Error: the user approved {path} for hooks or MCP servers, so only the user can change it"
            ));
        }
        Ok(())
    }

    /// Writes a file atomically: writes a temporary file and renames it. Creates missing parent directories. Keeps the
    /// permissions of an existing file, and follows symbolic links that stay in the work directory.
    ///
    /// # Errors
    /// Returns text for the model, also if the file is in a protected directory (see `is_protected`). An existing file
    /// is then unchanged.
    pub fn write(&self, path: &str, content: &str) -> Result<(), String> {
        self.write_if(path, content, || Ok(()))
    }

    /// Replaces the text `before` of a file by `after`. Compares the file with `before` again as the last step before
    /// the rename, because the check of an edit, the edit itself and the flush to the disk take time.
    ///
    /// # Errors
    /// Returns text for the model, also if the file no longer contains `before`. The file is then unchanged.
    pub fn replace(&self, path: &str, before: &str, after: &str) -> Result<(), String> {
        self.write_if(path, after, || match self.text(path)? {
            Some(now) if now == before => Ok(()),
            Some(_) | None => Err(format!(
                "Error: {path} changed while it was being edited, so nothing was written. Read it again with read_file."
            )),
        })
    }

    /// Like [`Workspace::write`], but writes only if `check` succeeds immediately before the rename.
    fn write_if(
        &self,
        path: &str,
        content: &str,
        check: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let (folder, name) = self.open_parent(path)?;
        let old = folder.symlink_metadata(&name).ok();
        if old.as_ref().is_some_and(cap_std::fs::Metadata::is_dir) {
            return Err(format!(
                "Error: {path} is a directory: pass the path of a file"
            ));
        }
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Err(format!("Error: {path} is not a regular file"));
        }
        // git ignores files with such a name, so a file that is left behind by a crash is never committed.
        let temp = format!(".crewdeck-{}.tmp", uuid::Uuid::now_v7().simple());
        let written = (|| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            let mut file = folder.open_with(&temp, &options)?;
            file.write_all(content.as_bytes())?;
            if let Some(old) = old.as_ref().filter(|o| o.is_file()) {
                file.set_permissions(old.permissions())?;
            }
            file.sync_all()
        })();
        let error = |e| error_text(path, &e);
        let renamed = written.map_err(error).and_then(|()| {
            check()?;
            folder.rename(&temp, &folder, &name).map_err(error)
        });
        renamed.inspect_err(|_| {
            // Ignore this error: the temporary file may not exist, and only the first error matters.
            let _ = folder.remove_file(&temp);
        })
    }

    /// Opens the directory that contains the file `path`, and returns the directory and the name of the file. Follows
    /// symbolic links, and creates missing directories. Fails if the path leads out of the work directory, into a
    /// protected directory, or through more than [`LINKS_MAX`] links.
    fn open_parent(&self, path: &str) -> Result<(Dir, OsString), String> {
        let mut inside = self.inside(path)?;
        for _ in 0..=LINKS_MAX {
            let mut parts = inside.components().map(Component::as_os_str);
            let is_reserved = parts
                .next()
                .is_some_and(|f| folders::reserved_names().any(|k| f == k));
            let whole = self.root.join(&inside);
            let is_users = environment::user_folders()
                .iter()
                .any(|folder| whole.starts_with(folder));
            if is_reserved || is_users {
                return Err(protected_path_error(path));
            }
            let name = inside
                .file_name()
                .ok_or_else(|| format!("Error: {path} is the work directory, not a file"))?
                .to_owned();
            let above = inside.parent().unwrap_or(Path::new(""));
            let folder = self.folder(above, path)?;
            if !folder.symlink_metadata(&name).is_ok_and(|m| m.is_symlink()) {
                return Ok((folder, name));
            }
            // A relative link is resolved from the real directory of the link, which matters if it contains `..`.
            let above = self.real(above).map_err(|e| error_text(path, &e))?;
            let leads = folder
                .read_link_contents(&name)
                .map_err(|e| error_text(path, &e))?;
            let leads = above.join(leads);
            inside = self
                .inside(&leads.to_string_lossy())
                .map_err(|_| escapes(path))?;
        }
        Err(format!(
            "Error: {path} leads through more than {LINKS_MAX} symbolic links"
        ))
    }

    /// Opens the directory `inside`, and creates missing directories on the way. `path` is the path for error texts.
    /// Fails if a directory is protected (see `is_protected`). This check is made on the opened directory and not on
    /// its path, because another process may change what the path refers to.
    fn folder(&self, inside: &Path, path: &str) -> Result<Dir, String> {
        let describe = |e: std::io::Error| error_text(path, &e);
        let mut open = self.dir.try_clone().map_err(describe)?;
        let mut so_far = PathBuf::new();
        for part in inside.components() {
            so_far.push(part);
            open = match self.dir.open_dir(&so_far) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    self.dir.create_dir(&so_far).map_err(describe)?;
                    self.dir.open_dir(&so_far).map_err(describe)?
                }
                open => open.map_err(describe)?,
            };
            if self.is_protected(&open).map_err(describe)? {
                return Err(protected_path_error(path));
            }
        }
        Ok(open)
    }

    /// Returns whether a directory is protected: it is, or lies below, a directory of crewdeck or git in the work
    /// directory, or one of the user's crewdeck folders. A directory that is not below the work directory, or more than
    /// [`DEPTH_MAX`] levels below it, also counts as protected.
    fn is_protected(&self, folder: &Dir) -> std::io::Result<bool> {
        let id = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let root = id(rustix::fs::fstat(&self.dir)?);
        let kept: Vec<_> = folders::reserved_names()
            .filter_map(|name| self.dir.open_dir(name).ok())
            .filter_map(|dir| rustix::fs::fstat(&dir).ok().map(id))
            .chain(
                environment::user_folders()
                    .iter()
                    .filter_map(|folder| rustix::fs::stat(folder).ok().map(id)),
            )
            .collect();
        let mut open: OwnedFd = folder.try_clone()?.into();
        for _ in 0..DEPTH_MAX {
            let here = id(rustix::fs::fstat(&open)?);
            if here == root {
                return Ok(false);
            }
            if kept.contains(&here) {
                return Ok(true);
            }
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
            open = rustix::fs::openat(&open, "..", flags, Mode::empty())?;
        }
        // There are too many parents, or the directory was moved out of the work directory after it was opened.
        Ok(true)
    }

    /// Returns the path `inside`, relative to the work directory, with all symbolic links resolved. Fails if the file
    /// does not exist or is outside of the work directory.
    fn real(&self, inside: &Path) -> std::io::Result<PathBuf> {
        if inside.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        self.dir.canonicalize(inside)
    }
}

fn protected_path_error(path: &str) -> String {
    format!("Error: {path} belongs to crewdeck or git: file tools cannot write it")
}

/// Returns the error for a path outside the work directory, in the wording of learn-claude-code.
pub fn escapes(path: &str) -> String {
    format!("Error: Path escapes workspace: {path}")
}

fn error_text(path: &str, error: &std::io::Error) -> String {
    // The library `cap-std` returns this message for a link that leads out of the directory.
    if error.to_string().contains("outside of the filesystem") {
        return escapes(path);
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("Error: {path} does not exist: find the right path with glob")
        }
        std::io::ErrorKind::PermissionDenied => format!("Error: {path}: permission denied"),
        _ => format!("Error: {path}: {}", os_errors::explain(error)),
    }
}

fn no_waiting() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_or_link_leads_outside() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(dir.path().join("work-sibling")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), root.join("link")).unwrap();
        let space = Workspace::open(&root).unwrap();
        let absolute = outside.path().join("secret").display().to_string();
        let sibling = dir.path().join("work-sibling/x").display().to_string();
        for path in [
            "../work-sibling/x",
            "a/../../x",
            "/etc/passwd",
            "out/secret",
            "link",
            &absolute,
            &sibling,
        ] {
            let read = space.read(path, 10).unwrap_err();
            assert!(read.contains("escapes workspace"), "{path}: {read}");
            assert!(space.write(path, "x").is_err(), "{path}");
        }
        assert_eq!(
            std::fs::read_to_string(outside.path().join("secret")).unwrap(),
            "s"
        );
        let inside = root.join("a/b.txt").display().to_string();
        space.write(&inside, "absolute and inside").unwrap();
        assert_eq!(
            space.text("a/./b.txt").unwrap().unwrap(),
            "absolute and inside"
        );
    }

    #[test]
    fn state_directories_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let space = Workspace::open(dir.path()).unwrap();
        for path in [
            ".tasks/task_1.json",
            ".team/config.json",
            ".git/config",
            "x/../.git/hooks/pre-commit",
            ".git",
            "x/../.tasks",
        ] {
            assert!(space.write(path, "x").is_err(), "{path}");
        }
        space.write(".gitignore", "x").unwrap();
    }

    #[test]
    fn links_into_state_directories_cannot_be_written() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in [".git/hooks", ".tasks", "a/b"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join(".git/config"), "mine").unwrap();
        symlink(".git", root.join("g")).unwrap();
        symlink("../../.git/hooks", root.join("a/b/h")).unwrap();
        symlink(".git/config", root.join("config")).unwrap();
        symlink(root.join(".tasks/task_1.json"), root.join("task")).unwrap();
        symlink("b/../../config", root.join("a/twice")).unwrap();
        symlink("b/h", root.join("a/chain")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let space = Workspace::open(root).unwrap();
        for path in [
            "g/hooks/pre-commit",
            "g/new/file",
            "g/config",
            "a/b/h/pre-commit",
            "config",
            "task",
            "a/twice",
            "a/chain/x",
            "round",
        ] {
            assert!(space.write(path, "evil").is_err(), "{path}");
        }
        assert_eq!(
            std::fs::read_to_string(root.join(".git/config")).unwrap(),
            "mine"
        );
        for folder in [".git/hooks", ".tasks"] {
            assert_eq!(std::fs::read_dir(root.join(folder)).unwrap().count(), 0);
        }
        assert!(!root.join(".git/new").exists());
        // A link to another place inside the work directory stays a link; the file that it leads to is written.
        symlink("b", root.join("a/short")).unwrap();
        symlink("../target", root.join("a/b/link")).unwrap();
        space.write("a/short/link", "through").unwrap();
        space.write("a/short/new/file", "made").unwrap();
        assert_eq!(
            std::fs::read_to_string(root.join("a/target")).unwrap(),
            "through"
        );
        assert_eq!(
            std::fs::read_to_string(root.join("a/b/new/file")).unwrap(),
            "made"
        );
        assert!(root.join("a/b/link").is_symlink());
    }

    #[test]
    fn file_that_changes_during_an_edit_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.txt");
        let space = Workspace::open(dir.path()).unwrap();
        std::fs::write(&file, "by another program").unwrap();
        let why = space.replace("a.txt", "as read", "edited").unwrap_err();
        assert!(why.contains("a.txt changed while"), "{why}");
        let text = || std::fs::read_to_string(&file).unwrap();
        assert_eq!(text(), "by another program");
        space
            .replace("a.txt", "by another program", "edited")
            .unwrap();
        assert_eq!(text(), "edited");
        // The file was deleted in the meantime.
        std::fs::remove_file(&file).unwrap();
        space.replace("a.txt", "edited", "again").unwrap_err();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn file_mode_is_preserved() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("run.sh");
        std::fs::write(&file, "a").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        Workspace::open(dir.path())
            .unwrap()
            .write("run.sh", "b")
            .unwrap();
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o755
        );
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }
}

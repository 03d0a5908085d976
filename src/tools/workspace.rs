//! The agent's work directory as a capability: no path leaves it, with no gap between check and use.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags};

use crate::domain::folders;
use crate::store::words;

/// Most symbolic links that are followed from one to the next.
const LINKS_MAX: usize = 16;
/// Most folders above a file.
const DEPTH_MAX: usize = 256;
/// Largest file that is read for editing, in bytes.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// A work directory that is open.
pub struct Workspace {
    dir: Dir,
    root: PathBuf,
}

impl Workspace {
    /// Opens `root`.
    ///
    /// # Errors
    /// Text for the model.
    pub fn open(root: &Path) -> Result<Workspace, String> {
        let dir = Dir::open_ambient_dir(root, ambient_authority()).map_err(|e| {
            format!(
                "Error: the work directory can not be opened: {}",
                words::why(&e)
            )
        })?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        Ok(Workspace { dir, root })
    }

    /// The path within the directory that `path` names: relative, or absolute below the directory.
    ///
    /// # Errors
    /// `Path escapes workspace`, for the model.
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

    /// What `path` is remembered by: where it leads from the work directory, as far as the words tell.
    ///
    /// # Errors
    /// `Path escapes workspace`, for the model.
    pub fn key(&self, path: &str) -> Result<PathBuf, String> {
        Ok(self.root.join(self.inside(path)?))
    }

    /// Reads a file: at most `most` bytes of it, and its whole size.
    ///
    /// # Errors
    /// Text for the model.
    pub fn read(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), String> {
        let inside = self.inside(path)?;
        let mut options = OpenOptions::new();
        // To open a pipe must not wait for somebody at its other end.
        options.read(true).custom_flags(no_waiting());
        let opened = self.dir.open_with(&inside, &options);
        let file = opened.map_err(|e| trouble(path, &e))?;
        let meta = file.metadata().map_err(|e| trouble(path, &e))?;
        if meta.is_dir() {
            return Err(format!(
                "Error: {path} is a directory: use glob to see what is in it"
            ));
        }
        if !meta.is_file() {
            return Err(format!("Error: {path} is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(most)
            .read_to_end(&mut bytes)
            .map_err(|e| trouble(path, &e))?;
        Ok((bytes, meta.len()))
    }

    /// Reads a whole text file for editing; `None`: there is none.
    ///
    /// # Errors
    /// Text for the model.
    pub fn text(&self, path: &str) -> Result<Option<String>, String> {
        let inside = self.inside(path)?;
        match self.dir.metadata(&inside) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(trouble(path, &e)),
        }
        let (bytes, size) = self.read(path, FILE_MAX)?;
        if size > FILE_MAX {
            let mib = FILE_MAX / 1024 / 1024;
            return Err(format!(
                "Error: {path} is larger than {mib} MiB: change it with bash"
            ));
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| format!("Error: {path} is not text (UTF-8): change it with bash"))
    }

    /// Writes a file whole: a temporary one beside it is renamed. Folders above it are made.
    ///
    /// # Errors
    /// Text for the model; the old file is untouched then.
    pub fn write(&self, path: &str, content: &str) -> Result<(), String> {
        let (folder, name) = self.place(path)?;
        let old = folder.symlink_metadata(&name).ok();
        if old.as_ref().is_some_and(cap_std::fs::Metadata::is_dir) {
            return Err(format!("Error: {path} is a directory"));
        }
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Err(format!("Error: {path} is not a regular file"));
        }
        // A name that git passes over: one that is left by a kill is never committed.
        let temp = format!(".crewdeck-{}.tmp", uuid::Uuid::now_v7().simple());
        let written = (|| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            let mut file = folder.open_with(&temp, &options)?;
            file.write_all(content.as_bytes())?;
            if let Some(old) = old.as_ref().filter(|o| o.is_file()) {
                file.set_permissions(old.permissions())?;
            }
            file.sync_all()?;
            folder.rename(&temp, &folder, &name)
        })();
        written.map_err(|e| {
            // The temporary file may not even be there; what matters is the first error.
            let _ = folder.remove_file(&temp);
            trouble(path, &e)
        })
    }

    /// The folder that `path` leads to, open, and the name in it. A symbolic link is followed to where it leads,
    /// which must be inside as well.
    fn place(&self, path: &str) -> Result<(Dir, OsString), String> {
        let mut inside = self.inside(path)?;
        for _ in 0..LINKS_MAX {
            let mut parts = inside.components().map(Component::as_os_str);
            if parts
                .next()
                .is_some_and(|f| folders::kept().any(|k| f == k))
            {
                return Err(kept(path));
            }
            let name = inside
                .file_name()
                .ok_or_else(|| format!("Error: {path} names no file"))?
                .to_owned();
            let above = inside.parent().unwrap_or(Path::new(""));
            let folder = self.folder(above, path)?;
            if !folder.symlink_metadata(&name).is_ok_and(|m| m.is_symlink()) {
                return Ok((folder, name));
            }
            // Where `..` leads depends on where the link really lies.
            let above = self.real(above).map_err(|e| trouble(path, &e))?;
            let leads = folder
                .read_link_contents(&name)
                .map_err(|e| trouble(path, &e))?;
            let leads = above.join(leads);
            inside = self
                .inside(&leads.to_string_lossy())
                .map_err(|_| escapes(path))?;
        }
        Err(format!("Error: {path}: too many symbolic links"))
    }

    /// Opens the folder `inside`; it and those above it are made where they are missing. The folder that is
    /// open then is looked at, and not its name: that may lead elsewhere a moment later.
    fn folder(&self, inside: &Path, path: &str) -> Result<Dir, String> {
        let told = |e: std::io::Error| trouble(path, &e);
        let mut open = self.dir.try_clone().map_err(told)?;
        let mut so_far = PathBuf::new();
        for part in inside.components() {
            so_far.push(part);
            open = match self.dir.open_dir(&so_far) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    self.dir.create_dir(&so_far).map_err(told)?;
                    self.dir.open_dir(&so_far).map_err(told)?
                }
                open => open.map_err(told)?,
            };
            if self.is_kept(&open).map_err(told)? {
                return Err(kept(path));
            }
        }
        Ok(open)
    }

    /// Whether a folder is one of those that are kept, or lies below one.
    fn is_kept(&self, folder: &Dir) -> std::io::Result<bool> {
        let id = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let root = id(rustix::fs::fstat(&self.dir)?);
        let kept: Vec<_> = folders::kept()
            .filter_map(|name| self.dir.open_dir(name).ok())
            .filter_map(|dir| rustix::fs::fstat(&dir).ok().map(id))
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
        // It was moved away since it was opened.
        Ok(true)
    }

    /// The path without symbolic links.
    fn real(&self, inside: &Path) -> std::io::Result<PathBuf> {
        if inside.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        self.dir.canonicalize(inside)
    }
}

fn kept(path: &str) -> String {
    format!("Error: {path} belongs to crewdeck or git and is not written by hand")
}

/// The refusal of a path outside, in the reference's words.
pub fn escapes(path: &str) -> String {
    format!("Error: Path escapes workspace: {path}")
}

fn trouble(path: &str, error: &std::io::Error) -> String {
    // What cap-std says of a link that leads outside.
    if error.to_string().contains("outside of the filesystem") {
        return escapes(path);
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("Error: {path} does not exist: use glob to find the right path")
        }
        std::io::ErrorKind::PermissionDenied => format!("Error: {path}: permission denied"),
        _ => format!("Error: {path}: {}", words::why(error)),
    }
}

fn no_waiting() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_outside() {
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
    fn state_folders_are_not_written_by_hand() {
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
    fn no_link_leads_into_the_state_folders() {
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
        // Links to where may be written are written through, and stay.
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
    fn the_mode_of_a_file_is_kept() {
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

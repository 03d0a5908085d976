//! The agent's work directory as a capability: no path leaves it, with no gap between check and use.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

/// Folders that belong to crewdeck and git: tools of their own change them, files are not written there.
const KEPT: &[&str] = &[
    ".tasks",
    ".team",
    ".worktrees",
    ".transcripts",
    ".crewdeck",
    ".git",
];
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
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|e| format!("Error: the work directory can not be opened: {e}"))?;
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

    /// Reads a file: at most `most` bytes of it, and its whole size.
    ///
    /// # Errors
    /// Text for the model.
    pub fn read(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), String> {
        let inside = self.inside(path)?;
        let file = self.dir.open(&inside).map_err(|e| trouble(path, &e))?;
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
        let inside = self.inside(path)?;
        let first = inside
            .components()
            .next()
            .map(|c| c.as_os_str().to_string_lossy().into_owned());
        if first.as_deref().is_some_and(|f| KEPT.contains(&f)) {
            return Err(format!(
                "Error: {path} belongs to crewdeck or git and is not written by hand"
            ));
        }
        inside
            .file_name()
            .ok_or_else(|| format!("Error: {path} names no file"))?;
        let folder = inside.parent().unwrap_or(Path::new(""));
        if !folder.as_os_str().is_empty() {
            self.dir
                .create_dir_all(folder)
                .map_err(|e| trouble(path, &e))?;
        }
        // A symbolic link is written through, to where it leads, which must be inside as well.
        let is_link = self
            .dir
            .symlink_metadata(&inside)
            .is_ok_and(|m| m.is_symlink());
        if is_link {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            let mut file = self
                .dir
                .open_with(&inside, &options)
                .map_err(|e| trouble(path, &e))?;
            return file
                .write_all(content.as_bytes())
                .map_err(|e| trouble(path, &e));
        }
        let old = self.dir.metadata(&inside).ok();
        if old.as_ref().is_some_and(cap_std::fs::Metadata::is_dir) {
            return Err(format!("Error: {path} is a directory"));
        }
        // A name that git passes over: one that is left by a kill is never committed.
        let temp = folder.join(format!(".crewdeck-{}.tmp", uuid::Uuid::now_v7().simple()));
        let written = (|| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            let mut file = self.dir.open_with(&temp, &options)?;
            file.write_all(content.as_bytes())?;
            if let Some(old) = &old {
                file.set_permissions(old.permissions())?;
            }
            file.sync_all()?;
            self.dir.rename(&temp, &self.dir, &inside)
        })();
        written.map_err(|e| {
            // The temporary file may not even be there; what matters is the first error.
            let _ = self.dir.remove_file(&temp);
            trouble(path, &e)
        })
    }
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
        _ => format!("Error: {path}: {error}"),
    }
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
        ] {
            assert!(space.write(path, "x").is_err(), "{path}");
        }
        space.write(".gitignore", "x").unwrap();
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

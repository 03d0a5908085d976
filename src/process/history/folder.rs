//! Safe access to a folder that commands can write. Paths are resolved one name at a time, without following symbolic
//! links and without blocking on pipes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

/// Maximum depth of nested folders that [`Folder::remove`] removes. If folders are nested deeper, it fails.
const DEPTH_MAX: usize = 64;

/// An open folder. Its methods take the name of one entry, not a path, and do not follow symbolic links.
pub struct Folder(OwnedFd);

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

impl Folder {
    /// Opens a folder by its path. Commands must not be able to change the path, because symbolic links in it are
    /// followed.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder(rustix::fs::open(
            path,
            folder_flags(),
            Mode::empty(),
        )?))
    }

    pub fn sub(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        let flags = folder_flags() | OFlags::NOFOLLOW;
        Ok(Folder(openat(
            &self.0,
            name.as_ref(),
            flags,
            Mode::empty(),
        )?))
    }

    /// Opens a subfolder and creates it if it is missing. Replaces a symbolic link or special file of that name.
    ///
    /// # Errors
    /// Also fails if there is a regular file of that name.
    pub fn make(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        let name = name.as_ref();
        match self.kind(name)? {
            Some(FileType::Directory) => return self.sub(name),
            Some(FileType::RegularFile) => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(_) => self.remove_file(name)?,
            None => {}
        }
        match mkdirat(&self.0, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.sub(name),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns the type of an entry; `None` if there is no entry of that name.
    pub fn kind(&self, name: impl AsRef<OsStr>) -> io::Result<Option<FileType>> {
        match statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns the name and type of each entry except `.` and `..`, in no particular order.
    pub fn entries(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let mut out = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            // Skips entries that were removed in the meantime.
            if let Some(kind) = self.kind(name)? {
                out.push((name.to_os_string(), kind));
            }
        }
        Ok(out)
    }

    /// Reads a text file; `None` if there is no entry of that name.
    ///
    /// # Errors
    /// Also fails if the entry is not a regular file, is longer than `max` bytes ([`io::ErrorKind::FileTooLarge`]) or
    /// is not UTF-8.
    pub fn read(&self, name: impl AsRef<OsStr>, max: u64) -> io::Result<Option<String>> {
        let Some(bytes) = self.read_bytes(name, max)? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes);
        text.map(Some)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    }

    /// Like [`Folder::read`], but for files that need not be UTF-8.
    pub fn read_bytes(&self, name: impl AsRef<OsStr>, max: u64) -> io::Result<Option<Vec<u8>>> {
        // Without NONBLOCK, opening a pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.0, name.as_ref(), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let wrong = |kind, why: &str| Err(io::Error::new(kind, why));
        if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
            return wrong(io::ErrorKind::InvalidData, "it is not a regular file");
        }
        let mut bytes = Vec::new();
        File::from(file).take(max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max {
            let why = format!("it is longer than {max} bytes");
            return wrong(io::ErrorKind::FileTooLarge, &why);
        }
        Ok(Some(bytes))
    }

    /// Returns a text that changes when the file is written or replaced. It includes the ctime, which commands cannot
    /// set.
    pub fn fingerprint(&self, name: &str) -> io::Result<String> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(format!(
            "{} {} {} {} {}",
            stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec
        ))
    }

    /// Creates a new file with this content. Fails if an entry of that name exists.
    pub fn create(&self, name: impl AsRef<OsStr>, text: &str) -> io::Result<()> {
        self.create_bytes(name, text.as_bytes())
    }

    fn create_bytes(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate(0o666);
        let file = openat(&self.0, name.as_ref(), flags, mode)?;
        File::from(file).write_all(bytes)
    }

    /// Replaces an entry of any type by a file with this content. Readers see the old or the new file, never a part.
    /// First writes a file with the suffix `.new`, which is replaced if it exists.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Like [`Folder::write`], but for content that need not be UTF-8.
    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        self.remove(&new)?;
        self.create_bytes(&new, bytes)?;
        if self.kind(name)? == Some(FileType::Directory) {
            self.remove(name)?;
        }
        self.rename(&new, self, name)
    }

    /// Opens the file for locking. Creates it if it is missing.
    pub fn lock_file(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate(0o666);
        Ok(File::from(openat(&self.0, name, flags, mode)?))
    }

    /// Moves the entry `name` to the folder `to` under the name `other`. Replaces a file in `to` that already has this
    /// name.
    pub fn rename(
        &self,
        name: impl AsRef<OsStr>,
        to: &Folder,
        other: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            &self.0,
            name.as_ref(),
            &to.0,
            other.as_ref(),
        )?)
    }

    /// Removes an entry that is not a folder. Does not follow symbolic links.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.0, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.0, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Removes an entry of any type, recursively. Succeeds if there is no entry of that name.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_to(name.as_ref(), DEPTH_MAX)
    }

    fn remove_to(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        match self.kind(name)? {
            None => Ok(()),
            Some(FileType::Directory) => {
                if depth == 0 {
                    return Err(io::Error::other("its folders are nested too deeply"));
                }
                let folder = self.sub(name)?;
                for (name, _) in folder.entries()? {
                    folder.remove_to(&name, depth - 1)?;
                }
                self.remove_folder(name)
            }
            Some(_) => self.remove_file(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn links_are_not_followed_and_pipes_do_not_block() {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(out.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(out.path(), dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("zero")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(dir.path().join("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        fs::write(dir.path().join("long"), "12345").unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        assert!(folder.sub("link").is_err());
        for name in ["zero", "pipe", "long", "link"] {
            assert!(folder.read(name, 4).is_err(), "{name}");
        }
        assert_eq!(folder.read("long", 5).unwrap().as_deref(), Some("12345"));
        assert_eq!(folder.read("none", 5).unwrap(), None);
        folder.make("link").unwrap().create("own", "").unwrap();
        assert!(!out.path().join("own").exists());
        std::os::unix::fs::symlink(out.path(), dir.path().join("link/in")).unwrap();
        folder.remove("link").unwrap();
        assert!(!dir.path().join("link").exists());
        assert_eq!(fs::read_to_string(out.path().join("kept")).unwrap(), "kept");
    }
}

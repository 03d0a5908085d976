//! Opens state files and accepts only regular files, so that a pipe or a device at the path of a state file cannot
//! block crewdeck.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the file at `path` with `options`, if it is a regular file or a symbolic link to one. Never waits for the other
/// end of a pipe.
///
/// # Errors
/// When the file cannot be opened or is not a regular file. `NotFound` means that nothing exists at `path`, or only a
/// symbolic link to a missing file.
pub fn open_with(options: &OpenOptions, path: &Path) -> Result<File> {
    let mut options = options.clone();
    // Without NONBLOCK, opening a pipe would wait for the other end. NONBLOCK has no effect on regular files.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = match options.custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) => return Err(error_for_irregular_file(path).unwrap_or(error)),
    };
    match irregular_kind(&file.metadata()?) {
        Some(what) => Err(irregular_file_error(what)),
        None => Ok(file),
    }
}

/// Opens the file at `path` for reading, if it is a regular file.
///
/// # Errors
/// As [`open_with`].
pub fn open(path: &Path) -> Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Returns the content of the file at `path`, which may have at most `max_bytes` bytes.
///
/// # Errors
/// As [`open`], and `InvalidData` if the file is larger.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let room = file.metadata().map_or(0, |meta| meta.len()).min(max_bytes);
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default() + 1);
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let text = format!("it is larger than {}: move it away", size(max_bytes));
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    Ok(bytes)
}

/// Returns the content of the file at `path` as text. Invalid UTF-8 becomes `�`.
///
/// # Errors
/// As [`read`].
pub fn read_text(path: &Path, max_bytes: u64) -> Result<String> {
    Ok(String::from_utf8_lossy(&read(path, max_bytes)?).into_owned())
}

/// Returns whether an error of [`open`] means that something other than a regular file is at the path, for example a
/// folder or a pipe. The caller can then rename it, as it renames a damaged file.
pub fn is_not_regular_file(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidFilename
}

/// Returns the error for a path that could not be opened because it is not a regular file. Returns `None` if the reason
/// was another one.
fn error_for_irregular_file(path: &Path) -> Option<Error> {
    match std::fs::metadata(path) {
        Ok(meta) => irregular_kind(&meta).map(irregular_file_error),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Some(irregular_file_error("a loop of symbolic links"))
        }
        Err(_) => None,
    }
}

fn irregular_kind(meta: &Metadata) -> Option<&'static str> {
    let kind = meta.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

fn irregular_file_error(what: &str) -> Error {
    let text = format!("it is {what} instead of a file: move it away");
    Error::new(ErrorKind::InvalidFilename, text)
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_text(&at(name), 4).unwrap(), "text");
        }
        let append = OpenOptions::new().create(true).append(true).clone();
        for (name, what) in [
            ("folder", "a folder"),
            ("loop", "a loop of symbolic links"),
            ("device", "a device"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
        ] {
            let text = format!("it is {what} instead of a file: move it away");
            for error in [
                open(&at(name)).unwrap_err(),
                open_with(&append, &at(name)).unwrap_err(),
            ] {
                assert_eq!(error.to_string(), text);
                assert!(is_not_regular_file(&error), "{name}");
            }
        }
        assert_eq!(open(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn read_rejects_a_file_above_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let error = read(&path, 2 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 2 MiB: move it away");
        assert!(!is_not_regular_file(&error));
    }
}

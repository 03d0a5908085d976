//! Opens state files: plain files only, so that a pipe or a device in the place of one holds nobody up.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the file at `path` as `options` say.
///
/// # Errors
/// Also when it is no plain file. `NotFound` only when nothing is there.
pub fn open_as(options: &OpenOptions, path: &Path) -> Result<File> {
    let mut options = options.clone();
    // Without it, to open a pipe would wait for somebody at its other end. Plain files know no waiting.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = match options.custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) => return Err(no_file(path).unwrap_or(error)),
    };
    match strange(&file.metadata()?) {
        Some(what) => Err(belongs(what)),
        None => Ok(file),
    }
}

/// Opens the file at `path` to be read.
///
/// # Errors
/// As [`open_as`].
pub fn open(path: &Path) -> Result<File> {
    open_as(OpenOptions::new().read(true), path)
}

/// The whole file, which must not have more than `most` bytes.
///
/// # Errors
/// As [`open`], and `FileTooLarge`.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let room = file.metadata().map_or(0, |meta| meta.len()).min(most);
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default() + 1);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("it is larger than {}: move it away", size(most));
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    Ok(bytes)
}

/// The same as text; what is no UTF-8 became `�`.
///
/// # Errors
/// As [`read`].
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    Ok(String::from_utf8_lossy(&read(path, most)?).into_owned())
}

/// Whether an error says that what stands there is no plain file, whoever looks at it: it can be set aside like
/// a damaged one.
pub fn is_strange(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidFilename
}

/// What opening could not say: what stands at `path` is no file.
fn no_file(path: &Path) -> Option<Error> {
    match std::fs::metadata(path) {
        Ok(meta) => strange(&meta).map(belongs),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Some(belongs("a circle of symbolic links"))
        }
        Err(_) => None,
    }
}

fn strange(meta: &Metadata) -> Option<&'static str> {
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

fn belongs(what: &str) -> Error {
    let text = format!("it is {what}, and a file belongs there: move it away");
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
    fn only_plain_files_are_opened_and_nothing_else_holds_anybody_up() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("circle", at("circle")).unwrap();
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
            ("circle", "a circle of symbolic links"),
            ("device", "a device"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
        ] {
            let told = format!("it is {what}, and a file belongs there: move it away");
            for error in [
                open(&at(name)).unwrap_err(),
                open_as(&append, &at(name)).unwrap_err(),
            ] {
                assert_eq!(error.to_string(), told);
                assert!(is_strange(&error), "{name}");
            }
        }
        assert_eq!(open(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let error = read(&path, 2 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 2 MiB: move it away");
        assert!(!is_strange(&error));
    }
}

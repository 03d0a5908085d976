//! Errors of the operating system in words that say what to do.

use std::io::{Error, ErrorKind};

use rustix::io::Errno;

/// Whether this process may open no more files.
pub fn is_too_many(error: &Error) -> bool {
    error.raw_os_error() == Some(Errno::MFILE.raw_os_error())
}

/// What happened and what to do about it, without a full stop; the system's own words where nothing better is known.
pub fn why(error: &Error) -> String {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    // Also where a program reports what the system said without its number.
    let text = match error.kind() {
        _ if is_too_many(error) => {
            "too many files are open: raise the limit (ulimit -n 1024) and start crewdeck again"
        }
        _ if is(Errno::NFILE) => "too many files are open on this machine: close some programs",
        ErrorKind::StorageFull => "the disk is full: make room there",
        ErrorKind::QuotaExceeded => "your disk quota is used up: make room there",
        ErrorKind::FileTooLarge => "the file can not grow (limit: ulimit -f): raise the limit",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only: make it writable",
        ErrorKind::PermissionDenied => "no permission for that: ls -l shows whose it is",
        ErrorKind::NotFound => "there is no such file or folder",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists if error.raw_os_error().is_some() => {
            "something else stands where a folder belongs: move it away"
        }
        _ => return error.to_string(),
    };
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_a_person_can_mend_is_said_with_the_remedy() {
        let said = |errno: Errno| why(&Error::from_raw_os_error(errno.raw_os_error()));
        for (errno, words) in [
            (Errno::NOSPC, "the disk is full"),
            (Errno::DQUOT, "quota is used up"),
            (Errno::FBIG, "ulimit -f"),
            (Errno::ROFS, "read-only"),
            (Errno::ACCESS, "no permission"),
            (Errno::PERM, "no permission"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NFILE, "on this machine"),
            (Errno::NOTDIR, "where a folder belongs"),
        ] {
            let text = said(errno);
            assert!(text.contains(words) && !text.contains("os error"), "{text}");
        }
        assert_eq!(said(Errno::IO), "Input/output error (os error 5)");
        assert_eq!(why(&Error::other("as it is")), "as it is");
    }
}

//! Explains errors of the operating system, and what the user can do about them.

use std::io::{Error, ErrorKind};

use rustix::io::Errno;

/// Returns whether this process has reached its limit of open files.
pub fn is_too_many(error: &Error) -> bool {
    error.raw_os_error() == Some(Errno::MFILE.raw_os_error())
}

/// Returns a text with the cause of an error and a remedy, without a full stop. For an unknown error, returns the text
/// of the operating system.
pub fn explain(error: &Error) -> String {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    // Errors are also matched by their kind, because some errors have a kind but no error number.
    let text = match error.kind() {
        _ if is_too_many(error) => {
            "too many files are open: raise the limit (ulimit -n 1024) and start crewdeck again"
        }
        _ if is(Errno::NFILE) => "too many files are open on this machine: close some programs",
        ErrorKind::StorageFull => "the disk is full: free some space",
        ErrorKind::QuotaExceeded => "your disk quota is used up: free some space",
        ErrorKind::FileTooLarge => "the file size limit is reached: raise it (ulimit -f)",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only: make it writable",
        ErrorKind::PermissionDenied => "permission denied: check the owner with ls -l",
        ErrorKind::NotFound => "no such file or folder",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists if error.raw_os_error().is_some() => {
            "a file exists where a folder is needed: move the file away"
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
    fn fixable_errors_name_the_remedy() {
        let text_of = |errno: Errno| explain(&Error::from_raw_os_error(errno.raw_os_error()));
        for (errno, words) in [
            (Errno::NOSPC, "the disk is full"),
            (Errno::DQUOT, "quota is used up"),
            (Errno::FBIG, "ulimit -f"),
            (Errno::ROFS, "read-only"),
            (Errno::ACCESS, "permission denied"),
            (Errno::PERM, "permission denied"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NFILE, "on this machine"),
            (Errno::NOTDIR, "where a folder is needed"),
        ] {
            let text = text_of(errno);
            assert!(text.contains(words) && !text.contains("os error"), "{text}");
        }
        assert_eq!(text_of(Errno::IO), "Input/output error (os error 5)");
        assert_eq!(explain(&Error::other("as it is")), "as it is");
    }
}

//! Checks whether an append-only file ends with a newline. Another program may truncate the file at the same time.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Maximum number of attempts to read the last byte. An attempt fails if the file is truncated at the same time.
const ATTEMPTS_MAX: usize = 100;

/// Returns whether `file` is empty or ends with a newline. Returns false if another program truncates the file during each
/// of [`ATTEMPTS_MAX`] attempts.
///
/// # Errors
/// When the file cannot be read.
pub fn ends_with_newline(file: &File) -> std::io::Result<bool> {
    ends_line(
        || Ok(file.metadata()?.len()),
        |at| {
            let mut last = [0];
            let read = file.read_at(&mut last, at)?;
            Ok((read == 1).then_some(last[0]))
        },
    )
}

/// Implements [`ends_with_newline`] with two functions: `length` returns the size in bytes, and `byte` the byte at an
/// offset, or `None` past the end. Tries again if the file was truncated between the two calls.
fn ends_line(
    length: impl Fn() -> std::io::Result<u64>,
    byte: impl Fn(u64) -> std::io::Result<Option<u8>>,
) -> std::io::Result<bool> {
    for _ in 0..ATTEMPTS_MAX {
        let Some(last) = length()?.checked_sub(1) else {
            return Ok(true);
        };
        if let Some(byte) = byte(last)? {
            return Ok(byte == b'\n');
        }
    }
    // If this is wrong, the caller writes an extra empty line, which all readers skip.
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::mail::MailMessage;
    use crate::domain::timestamp::Timestamp;
    use crate::store::Mailbox;
    use std::cell::Cell;
    use std::fs::{self, OpenOptions};

    #[test]
    fn truncated_inbox_is_checked_again() {
        for (lengths, ends) in [
            (&[0][..], true),
            (&[5, 0], true),
            (&[5, 3], false),
            (&[9, 7, 2], true),
        ] {
            // The inbox has each of these lengths in turn. It is always truncated after its length and before its last
            // byte is read, except at the last length.
            let checks = Cell::new(0);
            let length = || {
                checks.set(checks.get() + 1);
                Ok(lengths[checks.get() - 1])
            };
            let byte = |at: u64| {
                let is_last = checks.get() == lengths.len();
                Ok(is_last.then_some(if at == 1 { b'\n' } else { b'}' }))
            };
            assert_eq!(ends_line(length, byte).unwrap(), ends, "{lengths:?}");
        }
        assert!(!ends_line(|| Ok(9), |_| Ok(None)).unwrap());
    }

    #[test]
    fn send_succeeds_while_the_inbox_is_truncated() {
        use crate::domain::ids::MessageId;
        use crate::domain::mail::MailKind;
        use std::sync::atomic::{AtomicBool, Ordering};
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".team/inbox")).unwrap();
        let mailbox = Mailbox::open(dir.path());
        let (lead, over) = (Name::lead(), AtomicBool::new(false));
        let path = crate::store::file_mail::FileMail::open(dir.path()).path(&lead);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    if let Ok(file) = OpenOptions::new().write(true).open(&path) {
                        let _ = file.set_len(0);
                    }
                }
            });
            for n in 0..300 {
                let id = MessageId(format!("l{n}"));
                let kind: MailKind = serde_json::from_value("message".into()).unwrap();
                let message =
                    MailMessage::new(id, kind, &Name::user(), &lead, "well", Timestamp(1.0));
                let sent = mailbox.send(&message);
                if sent.is_err() {
                    over.store(true, Ordering::SeqCst);
                }
                sent.unwrap();
            }
            over.store(true, Ordering::SeqCst);
        });
    }
}

//! Read positions of inboxes. Another program may truncate an inbox, so a position also identifies the content before it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{StoreError, regular_file};

/// Maximum number of bytes before a read position that are hashed for `Cursor::mark`. These bytes are the end of a
/// message and contain its timestamp.
const MARK_BYTES: u64 = 96;

/// A read position in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// The position, in bytes from the start of the inbox.
    pub offset: u64,
    /// Hash of up to 96 bytes before the position; `None` if unknown. If the inbox was truncated and has grown again,
    /// the hash no longer matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<u64>,
}

impl Cursor {
    /// Returns the position `offset` in `file`. Its `mark` is `None` if the file is shorter than `offset`.
    pub(super) fn at(file: &mut File, offset: u64) -> std::io::Result<Cursor> {
        let before = offset.min(MARK_BYTES);
        file.seek(SeekFrom::Start(offset - before))?;
        let mut bytes = Vec::new();
        file.take(before).read_to_end(&mut bytes)?;
        let is_whole = bytes.len() as u64 == before;
        let mark = is_whole.then(|| fnv1a(&bytes));
        Ok(Cursor { offset, mark })
    }

    /// Returns whether `file` still has the content that was read up to this position: the file is not shorter than
    /// [`Self::offset`], and the bytes before this offset have the hash [`Self::mark`]. Without a `mark`, only the
    /// length is compared.
    pub(super) fn matches(&self, file: &mut File) -> std::io::Result<bool> {
        let is_within = self.offset <= file.metadata()?.len();
        Ok(is_within && (self.mark.is_none() || Cursor::at(file, self.offset)?.mark == self.mark))
    }

    /// Returns whether the inbox at `path` still has the content that was read up to this position. A missing inbox matches
    /// only offset 0.
    pub(super) fn matches_file(&self, path: &Path) -> Result<bool, StoreError> {
        match regular_file::open(path) {
            Ok(mut file) => self.matches(&mut file).map_err(StoreError::at(path)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(self.offset == 0),
            Err(e) => Err(StoreError::at(path)(e)),
        }
    }
}

/// Returns the FNV-1a hash of `bytes`. Hashes are stored in files, so the algorithm must never change.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |number, byte| {
        (number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn cursor_matches_only_the_content_before_it() {
        let mut file = tempfile::tempfile().unwrap();
        let write = |file: &mut File, text: &str| {
            use std::io::Write;
            file.set_len(0).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let old = "one".repeat(100);
        write(&mut file, &old);
        let cursor = Cursor::at(&mut file, 300).unwrap();
        let unmarked = Cursor {
            offset: 300,
            mark: None,
        };
        let cases = [
            (format!("{old}more"), (true, true)),
            ("two".repeat(200), (false, true)),
            ("two".into(), (false, false)),
        ];
        for (text, expected) in cases {
            write(&mut file, &text);
            let found = (
                cursor.matches(&mut file).unwrap(),
                unmarked.matches(&mut file).unwrap(),
            );
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(Cursor::at(&mut file, 9).unwrap().mark, None);
        assert!(Cursor::default().matches(&mut file).unwrap());
    }
}

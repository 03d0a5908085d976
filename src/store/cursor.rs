//! How far an inbox was read, and whether it still is that inbox: a foreign reader empties it, and it grows again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{StoreError, plain};

/// How many bytes before a place tell it from the same place of another inbox: the end of a letter, with its time.
const MARK_BYTES: u64 = 96;

/// How far an inbox was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// Bytes from the start of the inbox.
    pub offset: u64,
    /// What stands before it, as one number. `None`: that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<u64>,
}

impl Cursor {
    /// The place at `offset` of `file`, if it is that long.
    pub(super) fn at(file: &mut File, offset: u64) -> std::io::Result<Cursor> {
        let before = offset.min(MARK_BYTES);
        file.seek(SeekFrom::Start(offset - before))?;
        let mut bytes = Vec::new();
        file.take(before).read_to_end(&mut bytes)?;
        let is_whole = bytes.len() as u64 == before;
        let mark = is_whole.then(|| number_of(&bytes));
        Ok(Cursor { offset, mark })
    }

    /// Whether what was read up to here still stands there.
    pub(super) fn fits(&self, file: &mut File) -> std::io::Result<bool> {
        let is_within = self.offset <= file.metadata()?.len();
        Ok(is_within && (self.mark.is_none() || Cursor::at(file, self.offset)?.mark == self.mark))
    }

    /// The same of the inbox at `path`; none is one that nothing was read of.
    pub(super) fn fits_in(&self, path: &Path) -> Result<bool, StoreError> {
        match plain::open(path) {
            Ok(mut file) => self.fits(&mut file).map_err(StoreError::at(path)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(self.offset == 0),
            Err(e) => Err(StoreError::at(path)(e)),
        }
    }
}

/// FNV-1a: it stands in files, so it must be the same in every version.
fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |number, byte| {
        (number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_place_is_known_again_by_what_stands_before_it() {
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
                cursor.fits(&mut file).unwrap(),
                unmarked.fits(&mut file).unwrap(),
            );
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(Cursor::at(&mut file, 9).unwrap().mark, None);
        assert!(Cursor::default().fits(&mut file).unwrap());
    }
}

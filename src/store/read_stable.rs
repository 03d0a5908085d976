//! Reads JSON files that other programs may be writing at the same time.
//!
//! learn-claude-code truncates a file and then writes it, so a reader can see an empty or incomplete file for a moment.
//! Such a file is read again until it is complete, or until it has not changed for 300 ms.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::StoreError;
use super::file_fingerprint::FileFingerprint;
use super::regular_file;

/// Minimum time that an incomplete file must be unchanged to count as damaged.
const STABLE_AGE: Duration = Duration::from_millis(300);
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum size of a state file, in bytes. A larger file is [`StableRead::Unsupported`].
pub const FILE_MAX: u64 = 4 * 1024 * 1024;

#[derive(Debug, PartialEq)]
pub enum StableRead<T> {
    Valid(T),
    Missing,
    /// The file is not a regular file, or its content is not a JSON object and has not changed for 300 ms. The string says
    /// why. The caller may rename the file.
    Damaged(String),
    /// The file is complete, but too large or with values that this version does not know. The string says why. The
    /// caller must leave the file in place.
    Unsupported(String),
}

/// Reads the JSON file at `path`. While the content is not a JSON object and changed less than [`STABLE_AGE`] ago, blocks
/// the thread and reads the file again, because a writer may be busy.
///
/// # Errors
/// When the file cannot be read, for example without permission.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<StableRead<T>, StoreError> {
    Ok(read_with_fingerprint(path)?.0)
}

/// As [`read`], and returns the fingerprint of the file too. While the fingerprint matches, the content is unchanged.
/// The fingerprint is `None` if the file does not exist, is not a regular file or has changed too recently.
///
/// # Errors
/// As [`read`].
pub fn read_with_fingerprint<T: DeserializeOwned>(
    path: &Path,
) -> Result<(StableRead<T>, Option<FileFingerprint>), StoreError> {
    let began = Instant::now();
    loop {
        let mut file = match regular_file::open(path) {
            Ok(file) => file,
            Err(e) if regular_file::is_not_regular_file(&e) => {
                return Ok((StableRead::Damaged(e.to_string()), None));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((StableRead::Missing, None)),
            Err(e) => return Err(StoreError::at(path)(e)),
        };
        // Metadata is read before the content, so that the next check detects a change in between by its different
        // fingerprint.
        let meta = file.metadata().map_err(StoreError::at(path))?;
        let fingerprint = FileFingerprint::of(&meta, SystemTime::now());
        if meta.len() > FILE_MAX {
            let mib = FILE_MAX / 1024 / 1024;
            let why = format!("it is larger than {mib} MiB");
            return Ok((StableRead::Unsupported(why), fingerprint));
        }
        // With room for the whole file and one more byte, two reads are enough. A growing vector would need many.
        let room = usize::try_from(meta.len()).unwrap_or_default() + 1;
        let mut bytes = Vec::with_capacity(room);
        (&mut file)
            .take(FILE_MAX)
            .read_to_end(&mut bytes)
            .map_err(StoreError::at(path))?;
        let why = match parse(&bytes) {
            Ok(found) => return Ok((found, fingerprint)),
            Err(why) => why,
        };
        let age = meta
            .modified()
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        // If the mtime is in the future (the clock was set back), the wait is measured from the first attempt.
        if age.unwrap_or_else(|| began.elapsed()) >= STABLE_AGE {
            return Ok((StableRead::Damaged(why), fingerprint));
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// Parses the content of a state file, which must be a JSON object. Returns [`StableRead::Unsupported`] if the object
/// is not a valid `T`. If the content is not a JSON object, fails with the reason as a text.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<StableRead<T>, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice::<Value>(text) {
        Ok(value) if value.is_object() => Ok(match serde_json::from_value(value) {
            Ok(value) => StableRead::Valid(value),
            Err(e) => StableRead::Unsupported(e.to_string()),
        }),
        Ok(_) => Err("it is not a JSON object".into()),
        Err(_) if text.is_empty() => Err("it is empty".into()),
        Err(e) => Err(format!("it is not valid JSON ({e})")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::task::Task;

    fn read_bytes(text: &[u8]) -> StableRead<Task> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.json");
        fs::write(&path, text).unwrap();
        read(&path).unwrap()
    }

    #[test]
    fn files_are_whole_damaged_or_foreign() {
        for whole in [
            &b"{\"id\":1,\"subject\":\"s\"}"[..],
            b"\xef\xbb\xbf{\"id\":1,\r\n\"subject\":\"s\"}\r\n",
        ] {
            assert!(
                matches!(read_bytes(whole), StableRead::Valid(_)),
                "{whole:?}"
            );
        }
        // The reads run in parallel, because each of them waits for a possible writer.
        std::thread::scope(|scope| {
            for damaged in [&b""[..], b"{\"id\":1,\"subj", b"[1]", b"\xff\xfe"] {
                scope.spawn(move || {
                    assert!(
                        matches!(read_bytes(damaged), StableRead::Damaged(_)),
                        "{damaged:?}"
                    );
                });
            }
        });
        for foreign in [
            &b"{\"id\":1,\"subject\":\"s\",\"status\":\"banana\"}"[..],
            b"{\"id\":1}",
        ] {
            assert!(
                matches!(read_bytes(foreign), StableRead::Unsupported(_)),
                "{foreign:?}"
            );
        }
        assert!(matches!(
            read_bytes(&vec![b' '; 5 * 1024 * 1024]),
            StableRead::Unsupported(_)
        ));
    }

    #[test]
    fn incomplete_file_with_future_mtime_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.json");
        fs::write(&path, b"{").unwrap();
        let ahead = SystemTime::now() + Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(ahead).unwrap();
        let writer_path = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(RETRY_INTERVAL * 3);
            fs::write(&writer_path, b"{\"id\":1,\"subject\":\"s\"}").unwrap();
        });
        assert!(matches!(read::<Task>(&path).unwrap(), StableRead::Valid(_)));
        writer.join().unwrap();
        fs::write(&path, b"{").unwrap();
        file.set_modified(ahead).unwrap();
        assert!(matches!(
            read::<Task>(&path).unwrap(),
            StableRead::Damaged(_)
        ));
    }

    #[test]
    fn file_that_is_being_written_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.json");
        fs::write(&path, b"").unwrap();
        let writer_path = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(RETRY_INTERVAL * 3);
            fs::write(writer_path, b"{\"id\":1,\"subject\":\"s\"}").unwrap();
        });
        assert!(matches!(read::<Task>(&path).unwrap(), StableRead::Valid(_)));
        writer.join().unwrap();
    }
}

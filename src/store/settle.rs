//! Reads a JSON file that other programs may be writing at this very moment.
//!
//! The reference truncates a file and writes it again, so a reader can see it empty or half. Such a file is
//! whole again within a moment: it is read anew until it is, or until it has been left alone for a while.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::StoreError;
use super::plain;
use super::print::Print;

/// How long a file must have been left alone to count as damaged.
const SETTLED: Duration = Duration::from_millis(300);
/// How often it is looked at meanwhile.
const AGAIN: Duration = Duration::from_millis(10);
/// Largest file that is read, in bytes.
pub const FILE_MAX: u64 = 4 * 1024 * 1024;

/// What was found at a path.
#[derive(Debug, PartialEq)]
pub enum Found<T> {
    /// A whole file that fits.
    Whole(T),
    /// Nothing.
    Gone,
    /// No plain file, or not JSON and left alone for a while: to be set aside.
    Damaged(String),
    /// Whole, but of another make: too large, or with values that this program does not know. To be left
    /// where it is.
    Foreign(String),
}

/// Reads the file at `path` as a `T`.
///
/// # Errors
/// When it can not be read at all, for lack of permission or a broken disk.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Found<T>, StoreError> {
    Ok(read_with_print(path)?.0)
}

/// The same, and the fingerprint of what was read: while it fits, reading again would find the same.
///
/// # Errors
/// As [`read`].
pub fn read_with_print<T: DeserializeOwned>(
    path: &Path,
) -> Result<(Found<T>, Option<Print>), StoreError> {
    let began = Instant::now();
    loop {
        let mut file = match plain::open(path) {
            Ok(file) => file,
            Err(e) if plain::is_strange(&e) => return Ok((Found::Damaged(e.to_string()), None)),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((Found::Gone, None)),
            Err(e) => return Err(StoreError::at(path)(e)),
        };
        // Before the content: a change in between shows as another fingerprint at the next look.
        let meta = file.metadata().map_err(StoreError::at(path))?;
        let print = Print::of(&meta, SystemTime::now());
        if meta.len() > FILE_MAX {
            let mib = FILE_MAX / 1024 / 1024;
            let why = format!("it is larger than {mib} MiB");
            return Ok((Found::Foreign(why), print));
        }
        // Room for all of it and the end: two reads, where a vector that grows takes many.
        let room = usize::try_from(meta.len()).unwrap_or_default() + 1;
        let mut bytes = Vec::with_capacity(room);
        (&mut file)
            .take(FILE_MAX)
            .read_to_end(&mut bytes)
            .map_err(StoreError::at(path))?;
        let why = match parsed(&bytes) {
            Ok(found) => return Ok((found, print)),
            Err(why) => why,
        };
        let age = meta
            .modified()
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        // Where its time lies ahead (a clock was set back), it is watched for as long.
        if age.unwrap_or_else(|| began.elapsed()) >= SETTLED {
            return Ok((Found::Damaged(why), print));
        }
        std::thread::sleep(AGAIN);
    }
}

/// What the bytes say; the error is why they are damaged.
pub(crate) fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<Found<T>, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice::<Value>(text) {
        Ok(value) if value.is_object() => Ok(match serde_json::from_value(value) {
            Ok(fits) => Found::Whole(fits),
            Err(e) => Found::Foreign(e.to_string()),
        }),
        Ok(_) => Err("it is not a JSON object".into()),
        Err(_) if text.is_empty() => Err("it is empty".into()),
        Err(e) => Err(format!("it is not complete JSON ({e})")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::task::Task;

    fn found(text: &[u8]) -> Found<Task> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.json");
        fs::write(&path, text).unwrap();
        read(&path).unwrap()
    }

    #[test]
    fn what_is_whole_what_is_damaged_and_what_is_of_another_make() {
        for whole in [
            &b"{\"id\":1,\"subject\":\"s\"}"[..],
            b"\xef\xbb\xbf{\"id\":1,\r\n\"subject\":\"s\"}\r\n",
        ] {
            assert!(matches!(found(whole), Found::Whole(_)), "{whole:?}");
        }
        // Each is waited for, in case somebody still writes it.
        std::thread::scope(|scope| {
            for damaged in [&b""[..], b"{\"id\":1,\"subj", b"[1]", b"\xff\xfe"] {
                scope.spawn(move || {
                    assert!(matches!(found(damaged), Found::Damaged(_)), "{damaged:?}");
                });
            }
        });
        for foreign in [
            &b"{\"id\":1,\"subject\":\"s\",\"status\":\"banana\"}"[..],
            b"{\"id\":1}",
        ] {
            assert!(matches!(found(foreign), Found::Foreign(_)), "{foreign:?}");
        }
        assert!(matches!(
            found(&vec![b' '; 5 * 1024 * 1024]),
            Found::Foreign(_)
        ));
    }

    #[test]
    fn a_file_from_the_future_is_waited_for_as_long_and_no_longer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.json");
        fs::write(&path, b"{").unwrap();
        let ahead = SystemTime::now() + Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(ahead).unwrap();
        let late = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(AGAIN * 3);
            fs::write(&late, b"{\"id\":1,\"subject\":\"s\"}").unwrap();
        });
        assert!(matches!(read::<Task>(&path).unwrap(), Found::Whole(_)));
        writer.join().unwrap();
        fs::write(&path, b"{").unwrap();
        file.set_modified(ahead).unwrap();
        assert!(matches!(read::<Task>(&path).unwrap(), Found::Damaged(_)));
    }

    #[test]
    fn a_file_that_is_just_being_written_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.json");
        fs::write(&path, b"").unwrap();
        let late = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(AGAIN * 3);
            fs::write(late, b"{\"id\":1,\"subject\":\"s\"}").unwrap();
        });
        assert!(matches!(read::<Task>(&path).unwrap(), Found::Whole(_)));
        writer.join().unwrap();
    }
}

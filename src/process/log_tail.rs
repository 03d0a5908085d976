//! The end of a program's log, such as its standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::domain::text::{clip, one_line};

/// Maximum size of the log, in bytes. Older bytes are dropped.
const KEPT_MAX: usize = 64 * 1024;
/// Maximum number of bytes of one read.
const CHUNK: usize = 4096;
/// Maximum length, in characters, of the log's last line in an error message. A longer line is cut.
const LINE_SHOWN_MAX: usize = 300;

/// The end of a program's log, of limited size. Cheap to clone; all clones share the same log.
#[derive(Clone, Default)]
pub struct LogTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl LogTail {
    /// Appends bytes to the log. If it exceeds 64 KiB, drops the oldest bytes.
    pub fn push(&self, bytes: &[u8]) {
        let mut kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(KEPT_MAX)..];
        let surplus = (kept.len() + bytes.len()).saturating_sub(KEPT_MAX);
        kept.drain(..surplus);
        kept.extend(bytes);
    }

    /// Starts a task that appends everything from `stream` to the log until the stream ends. Returns the task.
    pub fn follow(
        &self,
        mut stream: impl AsyncRead + Unpin + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        let log = self.clone();
        tokio::spawn(async move {
            let mut chunk = vec![0; CHUNK];
            while let Ok(n @ 1..) = stream.read(&mut chunk).await {
                log.push(&chunk[..n]);
            }
        })
    }

    /// Returns the stored end of the log as text. Invalid UTF-8 becomes `�`. The text may contain control characters.
    pub fn text(&self) -> String {
        let mut kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }

    /// Returns the last line that is not blank, without control characters, at most 300 characters. Returns `None` if
    /// there is no such line.
    pub fn last_line(&self) -> Option<String> {
        let text = self.text();
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(clip(&one_line(line.trim()), LINE_SHOWN_MAX))
    }

    /// Returns a text with the last line of the log, to be appended to an error message. Empty if the log is empty.
    pub fn error_suffix(&self) -> String {
        self.last_line()
            .map(|line| format!("; its last output: {line}"))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_bytes_are_kept() {
        let log = LogTail::default();
        assert_eq!(log.last_line(), None);
        log.push(b"first\n");
        for _ in 0..100 {
            log.push(&[b'x'; 1000]);
        }
        log.push(b"\nlast \x1b[31m line\n\n");
        assert!(log.text().len() <= KEPT_MAX);
        assert!(!log.text().contains("first"));
        let line = log.last_line().unwrap();
        assert!(line.contains("line") && !line.contains('\x1b'), "{line}");
        log.push(&vec![b'y'; 3 * KEPT_MAX]);
        assert_eq!(log.text().len(), KEPT_MAX);
    }
}

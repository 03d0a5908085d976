//! Bounds the length of the lines that a server writes. A line is one message.
//!
//! The SDK drops a line that is too long, and the call that waits for it would wait until its time-out. This reader is
//! between the server and the SDK: it replaces such a line by an error response with the same id. If no id is found,
//! the stream ends, and [`EndReason`] says why.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// Maximum length of a message of a server, in bytes.
pub const MESSAGE_MAX: usize = 32 * 1024 * 1024;
/// The id of a long line is searched in this number of bytes at its start and at its end.
const EDGE: usize = 128;

/// Why crewdeck has ended a stream; empty if it has not.
pub type EndReason = Arc<Mutex<Option<String>>>;

/// A reader that bounds the length of lines.
pub struct LineLimit<R> {
    inner: BufReader<R>,
    max: usize,
    /// Number of bytes of the current line that have been read.
    length: usize,
    /// The first bytes of the current line.
    head: Vec<u8>,
    /// The last bytes of a line that is too long; `None` while the current line is short enough.
    tail: Option<Vec<u8>>,
    /// What is left to return of the error response for a line that was too long.
    replacement: Vec<u8>,
    has_ended: bool,
    reason: EndReason,
}

impl<R: AsyncRead + Unpin> LineLimit<R> {
    /// `max` is the maximum length of a line, in bytes with the line feed. `reason` is set if the stream is ended.
    pub fn new(inner: R, max: usize, reason: EndReason) -> LineLimit<R> {
        LineLimit {
            inner: BufReader::new(inner),
            max,
            length: 0,
            head: Vec::new(),
            tail: None,
            replacement: Vec::new(),
            has_ended: false,
            reason,
        }
    }

    /// Takes the next bytes of the current line. They may end with a line feed, but contain no other.
    fn count(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let room = EDGE.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        if self.length > self.max {
            let tail = self.tail.get_or_insert_default();
            tail.extend_from_slice(bytes);
            tail.drain(..tail.len().saturating_sub(EDGE));
        }
        if bytes.ends_with(b"\n") {
            if let Some(tail) = self.tail.take() {
                self.replace(&tail);
            }
            self.length = 0;
            self.head.clear();
        }
    }

    /// Replaces the line that just ended. Its first bytes have already been returned to the reader, so the replacement
    /// begins with a line feed that ends them.
    fn replace(&mut self, tail: &[u8]) {
        let why = format!(
            "a message is larger than {} MiB, the limit",
            self.max / 1024 / 1024
        );
        match response_id(&self.head, tail) {
            Some(id) => {
                self.replacement = format!(
                    "\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32603,\"message\":\"the result is not \
                     available: {why}\"}}}}\n"
                )
                .into_bytes();
            }
            None => {
                let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
                *reason = Some(why);
                self.has_ended = true;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineLimit<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.replacement.is_empty() {
                let n = this.replacement.len().min(out.remaining());
                out.put_slice(&this.replacement[..n]);
                this.replacement.drain(..n);
                return Poll::Ready(Ok(()));
            }
            if this.has_ended {
                return Poll::Ready(Ok(()));
            }
            let there = ready!(Pin::new(&mut this.inner).poll_fill_buf(cx))?;
            if there.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let end = there.iter().position(|b| *b == b'\n');
            let line = end.map_or(there.len(), |at| at + 1);
            let take = line.min(out.remaining());
            let bytes = there[..take].to_vec();
            Pin::new(&mut this.inner).consume(take);
            let was_too_long = this.tail.is_some();
            this.count(&bytes);
            let is_too_long = was_too_long || this.tail.is_some() || !this.replacement.is_empty();
            if !is_too_long && !this.has_ended {
                out.put_slice(&bytes);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// Returns the id of a response as JSON (a number or a string), searched in its first and its last bytes: some servers
/// write it before the result, others after it. `None` for a request or a notification of the server: its id is the
/// server's own, and may be that of one of our calls too.
fn response_id(head: &[u8], tail: &[u8]) -> Option<String> {
    const ID: &str = r#""id"\s*:\s*(\d{1,18}|"[\w-]{1,64}")\s*"#;
    const VERSION: &str = r#""jsonrpc"\s*:\s*"2\.0"\s*"#;
    const CONTENT: &str = r#""(?:result|error)"\s*:"#;
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let find = |pattern: String, text: &str| {
        let pattern = regex::Regex::new(&pattern).ok()?;
        let id = pattern.captures(text)?.get(1);
        Some(id.map_or(String::new(), |id| id.as_str().to_string()))
    };
    let version = format!(r"(?:{VERSION},\s*)?");
    let start = format!(r"^\s*\{{\s*{version}");
    let before = find(format!("{start}{ID},\\s*{version}{CONTENT}"), &head);
    before.or_else(|| {
        find(format!("{start}{CONTENT}"), &head)?;
        find(format!(r"{ID}(?:,\s*{VERSION})?\}}\s*$"), &tail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use tokio::io::AsyncReadExt;

    async fn read(bytes: &[u8]) -> (String, Option<String>) {
        let reason = EndReason::default();
        let mut limit = LineLimit::new(bytes, 300, reason.clone());
        let mut out = Vec::new();
        limit.read_to_end(&mut out).await.unwrap();
        let reason = reason.lock().unwrap().clone();
        (String::from_utf8(out).unwrap(), reason)
    }

    #[tokio::test]
    async fn short_lines_are_unchanged() {
        let lines = format!("{{}}\n\n{}\nrest", "x".repeat(299));
        assert_eq!(read(lines.as_bytes()).await, (lines, None));
    }

    #[tokio::test]
    async fn long_response_becomes_an_error_with_its_id() {
        let body = "e".repeat(4000);
        for (line, id) in [
            (
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":"{body}"}}}}"#),
                "7",
            ),
            (
                format!(r#"{{ "id" : "a-1" , "result":"{body}"}}"#),
                "\"a-1\"",
            ),
            (
                format!(r#"{{"result":{{"a":"{body}","id":3}},"jsonrpc":"2.0","id":12}}"#),
                "12",
            ),
            (
                format!(r#"{{"result":["{body}"],"id":5,"jsonrpc":"2.0"}}"#),
                "5",
            ),
            (
                format!(r#"{{"id":8,"jsonrpc":"2.0","error":{{"message":"{body}"}}}}"#),
                "8",
            ),
        ] {
            let (out, reason) = read(format!("{line}\n{{\"id\":1}}\n").as_bytes()).await;
            assert_eq!(reason, None);
            let mut lines = out.lines();
            // The start of the line was passed on before its length was known.
            assert!(serde_json::from_str::<serde_json::Value>(lines.next().unwrap()).is_err());
            let error: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
            assert_eq!(error["id"].to_string(), id);
            assert!(
                error["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("larger than")
            );
            assert_eq!(lines.collect::<Vec<_>>(), ["{\"id\":1}"]);
        }
    }

    #[tokio::test]
    async fn long_line_without_an_id_ends_the_stream() {
        for line in [
            "x".repeat(5000),
            format!(
                r#"{{"method":"m","params":{{"id":4,"x":"{}"}}}}"#,
                "y".repeat(900)
            ),
            // Requests of the server, whose ids may be those of our calls.
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"x":"{}"}}}}"#,
                "y".repeat(900)
            ),
            format!(
                r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":"{}"}},"id":1}}"#,
                "y".repeat(900)
            ),
        ] {
            let (out, reason) = read(format!("{line}\nmore\n").as_bytes()).await;
            assert!(!out.contains("more"));
            assert!(reason.unwrap().contains("larger than"));
        }
    }
}

//! Bounds the length of the lines that a server writes. A line is one message.
//!
//! The SDK drops a line that is too long. The call that waits for this line would then wait until its time-out. To
//! prevent this, a reader between the server and the SDK replaces the line by an error response with the same id. If no
//! id is found, the stream ends, and [`EndReason`] says why.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// Maximum length, in bytes, of a message from a server. [`LineLimit`] replaces a longer one or ends the connection.
pub const MESSAGE_MAX: usize = 32 * 1024 * 1024;
/// Number of bytes at each end of a line in which the message id is searched if the line is too long.
const EDGE: usize = 128;

/// Why crewdeck stopped reading a stream; empty while it reads.
pub type EndReason = Arc<Mutex<Option<String>>>;

/// A reader of a server's output that replaces each line longer than `max` bytes by an error response with the same id.
/// If no id is found, the reader ends the stream.
///
/// When the reader finds that a line is too long, it may already have returned the start of this line. In this case, it
/// first returns a line feed, so that the error response is a line of its own.
pub struct LineLimit<R> {
    inner: BufReader<R>,
    max: usize,
    /// Number of bytes of the current line that have been read.
    length: usize,
    /// The first bytes of the current line, at most `EDGE`.
    head: Vec<u8>,
    /// The last bytes of the current line, at most `EDGE`, if the line is too long; `None` if it is not.
    tail: Option<Vec<u8>>,
    /// The bytes of an error response that the reader has not returned yet. The response replaces a line that was too
    /// long.
    replacement: Vec<u8>,
    has_ended: bool,
    reason: EndReason,
}

impl<R: AsyncRead + Unpin> LineLimit<R> {
    /// Creates a reader of `inner`. `max` is the maximum length of a line in bytes, including the line feed. If the
    /// reader ends the stream, it stores the cause in `reason`.
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

    /// Processes the next bytes of the current line. They contain no line feed except perhaps at their end.
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

    /// Replaces the line that has just ended by an error response, or ends the stream if the line contains no id. The
    /// replacement begins with a line feed, because the reader may already have returned the start of the line.
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

/// Returns the id of a response as JSON (a number or a string). Searches the first and the last bytes of the response,
/// because some servers write the id before the result and others after it. Returns `None` if no id is found.
///
/// Also returns `None` for a request or a notification of the server, because the id of a server's request may by
/// chance equal the id of one of crewdeck's calls.
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
            // The reader returned the start of the line before it knew the line's length.
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
            // Requests of the server. Their ids may be equal to those of calls of crewdeck.
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

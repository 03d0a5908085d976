//! Reads and writes the messages of a program. A message is one line. Limits the memory that the messages of the
//! program can use.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{Sink, Stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::process::LogTail;

/// Maximum length, in bytes, of a message. A longer one ends the connection.
pub const MESSAGE_MAX: usize = 16 * 1024 * 1024;
/// Maximum number of lines in a row that are not messages, such as a banner. If there are more, the connection ends.
const FOREIGN_LINES_MAX: usize = 1000;
/// Maximum size, in bytes, of all lines in a row that are not messages. If they are larger, the connection ends.
const FOREIGN_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of unanswered requests of the program. At this number, crewdeck reads nothing more from the program,
/// because it must store each answer until the program reads it.
const OPEN_REQUESTS_MAX: usize = 256;
/// Maximum time until the program reads another answer after `OPEN_REQUESTS_MAX` was reached. Then the connection ends.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The state that the reader and the writer of a connection share: why reading ended, and how many requests are
/// unanswered.
#[derive(Default)]
pub struct LineWatch {
    /// Why crewdeck stopped reading. `None` while it reads, and if the output ended after a complete line.
    end_reason: Mutex<Option<String>>,
    /// Number of requests of the program that are not answered yet.
    open_requests: AtomicUsize,
    /// Notified when an answer was written to the program.
    answered: Notify,
}

impl LineWatch {
    /// Returns why crewdeck stopped reading. `None` while it reads, and if the output ended after a complete line.
    pub fn end_reason(&self) -> Option<String> {
        let reason = self.end_reason.lock();
        reason.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end(&self, why: String) {
        let mut reason = self
            .end_reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(why);
    }
}

/// The kind of a JSON-RPC message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Request,
    Notification,
    Response,
}

/// Returns the kind of the message in `line`; `None` if the line is no message.
fn kind_of(line: &[u8]) -> Option<MessageKind> {
    #[derive(Deserialize)]
    struct Envelope {
        method: Option<IgnoredAny>,
        id: Option<IgnoredAny>,
        result: Option<IgnoredAny>,
        error: Option<IgnoredAny>,
    }
    // Checked first, because a sequence would be taken for the fields of the struct.
    let start = line.iter().find(|b| !b.is_ascii_whitespace())?;
    if *start != b'{' {
        return None;
    }
    let envelope: Envelope = serde_json::from_slice(line).ok()?;
    match (envelope.method, envelope.id) {
        (Some(_), Some(_)) => Some(MessageKind::Request),
        (Some(_), None) => Some(MessageKind::Notification),
        // `"result": null` is a valid answer, and serde cannot tell it from a missing one.
        (None, Some(_)) => Some(MessageKind::Response),
        (None, None) => {
            (envelope.result.is_some() || envelope.error.is_some()).then_some(MessageKind::Response)
        }
    }
}

struct LineReader<R> {
    inner: BufReader<R>,
    max: usize,
    log: LogTail,
    watch: Arc<LineWatch>,
    /// Number and total size, in bytes, of the lines since the last message that are not messages. Blank lines are not
    /// counted.
    foreign: (usize, usize),
}

/// Returns the messages that arrive from `inner`. Lines that are not messages are skipped and added to `log`. The
/// stream ends with the input. It ends earlier, with the reason in `watch`, if a line has more than `max` bytes, if too
/// many lines in a row are not messages, or if the program does not read the answers to its requests.
pub fn read_messages<R: AsyncRead + Unpin + Send + 'static>(
    inner: R,
    max: usize,
    log: LogTail,
    watch: Arc<LineWatch>,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let reader = LineReader {
        inner: BufReader::new(inner),
        max,
        log,
        watch,
        foreign: (0, 0),
    };
    futures::stream::unfold(reader, |mut reader| async move {
        let line = reader.next_message().await?;
        Some((Ok(line), reader))
    })
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    async fn next_message(&mut self) -> Option<String> {
        loop {
            while self.watch.open_requests.load(Ordering::Relaxed) >= OPEN_REQUESTS_MAX {
                let answered = self.watch.answered.notified();
                if timeout(ANSWER_TIMEOUT, answered).await.is_err() {
                    self.watch.end(format!(
                        "it has sent {OPEN_REQUESTS_MAX} requests without reading the answers"
                    ));
                    return None;
                }
            }
            let line = self.next_line().await?;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let text = String::from_utf8(line);
            let kind = text.as_ref().ok().and_then(|text| kind_of(text.as_bytes()));
            match (text, kind) {
                (Ok(text), Some(kind)) => {
                    self.foreign = (0, 0);
                    if kind == MessageKind::Request {
                        self.watch.open_requests.fetch_add(1, Ordering::Relaxed);
                    }
                    return Some(text);
                }
                (Ok(text), None) => self.skip(text.as_bytes())?,
                (Err(error), _) => self.skip(error.as_bytes())?,
            }
        }
    }

    /// Adds a line that is not a message to the log. Returns `None` if there were too many such lines in a row.
    fn skip(&mut self, line: &[u8]) -> Option<()> {
        self.log.push(line);
        self.log.push(b"\n");
        self.foreign.0 += 1;
        self.foreign.1 += line.len();
        if self.foreign.0 > FOREIGN_LINES_MAX || self.foreign.1 > FOREIGN_BYTES_MAX {
            self.watch
                .end("its output is not the Agent Client Protocol".into());
            return None;
        }
        Some(())
    }

    /// Returns the next line without its end; `None` at the end of the input and at a line that is too long.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            // A read fails only if the pipe is broken, which is the end of the input.
            let available = self.inner.fill_buf().await.unwrap_or_default();
            if available.is_empty() {
                if !line.is_empty() {
                    self.log.push(&line);
                    self.log.push(b"\n");
                    self.watch
                        .end("its output ended in the middle of a message".into());
                }
                return None;
            }
            let end = available.iter().position(|b| *b == b'\n');
            let take = end.map_or(available.len(), |at| at + 1);
            if line.len() + take > self.max {
                self.watch.end(format!(
                    "it has sent a message of more than {} MiB, the limit",
                    self.max.div_ceil(1024 * 1024)
                ));
                return None;
            }
            line.extend_from_slice(&available[..take]);
            self.inner.consume(take);
            if end.is_some() {
                while line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
                    line.pop();
                }
                return Some(line);
            }
        }
    }
}

/// Returns a sink that writes messages to `writer`, one line each.
pub fn write_messages<W: AsyncWrite + Unpin + Send + 'static>(
    writer: W,
    watch: Arc<LineWatch>,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    futures::sink::unfold(
        (writer, watch),
        |(mut writer, watch), mut line: String| async move {
            let is_answer = kind_of(line.as_bytes()) == Some(MessageKind::Response);
            line.push('\n');
            writer.write_all(line.as_bytes()).await?;
            writer.flush().await?;
            if is_answer {
                let open = &watch.open_requests;
                // Some answers belong to no counted request, so the number does not fall below 0.
                let _ =
                    open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
                watch.answered.notify_one();
            }
            Ok((writer, watch))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{SinkExt, StreamExt};
    use pretty_assertions::assert_eq;

    const UPDATE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#;

    async fn read(bytes: Vec<u8>, max: usize) -> (Vec<String>, Option<String>, LogTail) {
        let (watch, log) = (Arc::new(LineWatch::default()), LogTail::default());
        let input = std::io::Cursor::new(bytes);
        let messages = read_messages(input, max, log.clone(), Arc::clone(&watch));
        let lines: Vec<String> = messages.map(Result::unwrap).collect().await;
        (lines, watch.end_reason(), log)
    }

    #[tokio::test]
    async fn lines_that_are_no_messages_are_skipped() {
        let input = format!(
            "Welcome!\n\n17\n[]\n\"{{\"\n{{}}\n\u{fe}\n{UPDATE}\r\n{{\"x\":1}}\n{UPDATE}\n"
        );
        let mut input = input.into_bytes();
        input.splice(0..0, *b"\xff\xfe broken\n");
        let (lines, reason, log) = read(input, 1000).await;
        assert_eq!((lines, reason), (vec![UPDATE.to_string(); 2], None));
        assert!(log.text().contains("Welcome!"));
    }

    #[tokio::test]
    async fn long_line_ends_the_stream() {
        let input = format!("{UPDATE}\n{}\n{UPDATE}\n", "x".repeat(5000));
        let (lines, reason, _) = read(input.into_bytes(), 1000).await;
        assert_eq!(lines.len(), 1);
        assert!(reason.unwrap().contains("more than 1 MiB"));
    }

    #[tokio::test]
    async fn endless_output_that_is_no_message_ends_the_stream() {
        for input in [
            "y\n".repeat(FOREIGN_LINES_MAX + 1),
            format!("{}\n", "y".repeat(999)).repeat(1100),
        ] {
            let (lines, reason, _) = read(format!("{input}{UPDATE}\n").into_bytes(), 1000).await;
            assert!(lines.is_empty());
            assert!(reason.unwrap().contains("not the Agent Client Protocol"));
        }
    }

    #[tokio::test]
    async fn incomplete_last_line_is_reported() {
        let (lines, reason, _) = read(format!("{UPDATE}\n{{\"json").into_bytes(), 1000).await;
        assert_eq!(lines, [UPDATE]);
        assert!(reason.unwrap().contains("in the middle of a message"));
    }

    #[tokio::test(start_paused = true)]
    async fn unanswered_requests_are_bounded() {
        let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n";
        let input = request.repeat(OPEN_REQUESTS_MAX + 1).into_bytes();
        let (lines, reason, _) = read(input, 1000).await;
        assert_eq!(lines.len(), OPEN_REQUESTS_MAX);
        assert!(reason.unwrap().contains("without reading the answers"));
    }

    #[tokio::test]
    async fn answers_are_counted_when_they_are_written() {
        let watch = Arc::new(LineWatch::default());
        watch.open_requests.store(1, Ordering::Relaxed);
        let (writer, mut reader) = tokio::io::duplex(1000);
        let mut sink = Box::pin(write_messages(writer, Arc::clone(&watch)));
        for line in [
            UPDATE,
            r#"{"id":1,"result":null}"#,
            r#"{"id":2,"result":null}"#,
        ] {
            sink.send(line.to_string()).await.unwrap();
        }
        drop(sink);
        let mut out = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut reader, &mut out)
            .await
            .unwrap();
        assert_eq!(out.lines().count(), 3);
        assert_eq!(watch.open_requests.load(Ordering::Relaxed), 0);
    }
}

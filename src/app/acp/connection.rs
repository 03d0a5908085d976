//! The connection to the editor: one JSON-RPC message per line, on standard input and standard output.
//!
//! The connection of the crate `agent-client-protocol` has a queue without a limit, so only its message types are used
//! here.

use std::io::{self, BufRead, Write};

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage, TransportFrame};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

/// Maximum length of a line from the editor, in bytes. Large enough for the largest image that can be attached. A longer
/// line is skipped and answered with an error.
const LINE_MAX: usize = 48 * 1024 * 1024;
/// Maximum number of messages to the editor that wait to be written. If this many wait because the editor does not
/// read, the crew waits until the editor reads again.
const LINES_QUEUED: usize = 256;

/// A line that the editor sent: a JSON-RPC message, or a line that is no message.
#[derive(Debug)]
pub enum EditorInput {
    Message(RawJsonRpcMessage),
    /// A line that is no message. `id` is the id of the request that the line seems to be; `Null` if it is unknown.
    Malformed {
        id: RawJsonRpcId,
        error: Error,
    },
}

/// Reads messages until the end of `input`. Ends early if the receiver is gone. A last line without a line break is
/// dropped. Blocks, so it needs a thread of its own.
pub fn read_messages(mut input: impl BufRead, messages: &mpsc::Sender<EditorInput>) {
    let mut line = Vec::new();
    loop {
        let message = match read_line(&mut input, &mut line, LINE_MAX) {
            Ok(LineRead::Whole) => parse(&line),
            Ok(LineRead::TooLong) => Some(too_long()),
            Ok(LineRead::End) | Err(_) => return,
        };
        if let Some(message) = message
            && messages.blocking_send(message).is_err()
        {
            return;
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum LineRead {
    /// The buffer contains a line without its line break.
    Whole,
    /// The line was longer than the limit and was skipped. The buffer is empty.
    TooLong,
    End,
}

/// Reads one line into `line`. If the line is longer than `max` bytes, skips it and leaves `line` empty. Returns
/// [`LineRead::End`] at the end of the input, also after a line without a line break.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, max: usize) -> io::Result<LineRead> {
    line.clear();
    // A large line must not keep its memory while the editor is silent.
    line.shrink_to(64 * 1024);
    let mut is_too_long = false;
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() {
            return Ok(LineRead::End);
        }
        let end = available.iter().position(|b| *b == b'\n');
        let taken = &available[..end.unwrap_or(available.len())];
        if line.len() + taken.len() > max {
            is_too_long = true;
            *line = Vec::new();
        }
        if !is_too_long {
            line.extend_from_slice(taken);
        }
        let used = taken.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(if is_too_long {
                LineRead::TooLong
            } else {
                LineRead::Whole
            });
        }
    }
}

fn too_long() -> EditorInput {
    let text = format!(
        "the message was longer than {} MB and was ignored",
        LINE_MAX / 1024 / 1024
    );
    EditorInput::Malformed {
        id: RawJsonRpcId::Null,
        error: Error::invalid_request().data(Value::from(text)),
    }
}

/// Parses a line. Returns `None` for a line that crewdeck must not answer: a blank line, or a malformed answer of the
/// editor.
fn parse(line: &[u8]) -> Option<EditorInput> {
    let malformed = |id, error| Some(EditorInput::Malformed { id, error });
    let Ok(text) = std::str::from_utf8(line) else {
        return malformed(RawJsonRpcId::Null, Error::parse_error());
    };
    if text.trim().is_empty() {
        return None;
    }
    match TransportFrame::parse_json(text) {
        TransportFrame::Single(message) => Some(EditorInput::Message(message)),
        // The error of the crate quotes the whole line, which can be large and private.
        _ => match serde_json::from_str::<Value>(text) {
            Err(_) => malformed(RawJsonRpcId::Null, Error::parse_error()),
            Ok(value) if is_answer(&value) => None,
            Ok(value) => {
                let id = value.get("id").cloned();
                let id = id.and_then(|id| serde_json::from_value(id).ok());
                malformed(id.unwrap_or(RawJsonRpcId::Null), Error::invalid_request())
            }
        },
    }
}

fn is_answer(value: &Value) -> bool {
    value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some())
}

/// Writes lines until all senders are gone. Blocks, so it needs a thread of its own.
///
/// # Errors
/// Fails if a line cannot be written, for example because the editor has closed the pipe.
pub fn write_lines(mut out: impl Write, mut lines: mpsc::Receiver<String>) -> io::Result<()> {
    while let Some(line) = lines.blocking_recv() {
        out.write_all(line.as_bytes())?;
        if lines.is_empty() {
            out.flush()?;
        }
    }
    out.flush()
}

/// The editor has closed its end of the connection, or is gone.
#[derive(Debug)]
pub struct EditorGone;

/// Sends messages to the editor.
#[derive(Debug)]
pub struct EditorOutput {
    lines: mpsc::Sender<String>,
    /// The id of the last JSON-RPC request that was sent to the editor; 0 before the first one.
    last_id: i64,
}

impl EditorOutput {
    /// Creates an output. Also returns the receiver of the lines, which must be given to [`write_lines`].
    pub fn new() -> (EditorOutput, mpsc::Receiver<String>) {
        let (lines, receiver) = mpsc::channel(LINES_QUEUED);
        (EditorOutput { lines, last_id: 0 }, receiver)
    }

    /// Sends the editor the answer to its request `id`.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn respond(
        &mut self,
        id: RawJsonRpcId,
        result: Result<Value, Error>,
    ) -> Result<(), EditorGone> {
        let result = result.map_err(Into::into);
        self.send(&RawJsonRpcMessage::response(id, result)).await
    }

    /// Sends a JSON-RPC notification to the editor.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn notify(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<(), EditorGone> {
        let params = serde_json::to_value(params).unwrap_or_default();
        match RawJsonRpcMessage::notification(method.into(), params) {
            Ok(message) => self.send(&message).await,
            Err(_) => Ok(()),
        }
    }

    /// Sends a JSON-RPC request to the editor. Returns the id of the request, which the editor's answer contains.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn request(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RawJsonRpcId, EditorGone> {
        self.last_id += 1;
        let id = RawJsonRpcId::Number(self.last_id);
        let params = serde_json::to_value(params).unwrap_or_default();
        if let Ok(message) = RawJsonRpcMessage::request(method.into(), params, id.clone()) {
            self.send(&message).await?;
        }
        Ok(id)
    }

    async fn send(&mut self, message: &RawJsonRpcMessage) -> Result<(), EditorGone> {
        let Ok(mut line) = serde_json::to_string(message) else {
            return Ok(());
        };
        line.push('\n');
        self.lines.send(line).await.map_err(|_| EditorGone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn long_line_is_skipped_and_a_half_line_is_dropped() {
        let input = b"short\n0123456789\n\nlast one\nhalf".as_slice();
        // A small buffer, so that lines arrive in pieces.
        let mut input = io::BufReader::with_capacity(3, input);
        let mut line = Vec::new();
        let mut all = Vec::new();
        loop {
            let read = read_line(&mut input, &mut line, 8).unwrap();
            if read == LineRead::End {
                break;
            }
            all.push((read, String::from_utf8(line.clone()).unwrap()));
        }
        let whole = |text: &str| (LineRead::Whole, text.to_string());
        let skipped = (LineRead::TooLong, String::new());
        assert_eq!(all, [whole("short"), skipped, whole(""), whole("last one")]);
    }

    #[test]
    fn malformed_lines_are_answered_with_the_id_that_they_have() {
        let answered = |line: &str| match parse(line.as_bytes()) {
            Some(EditorInput::Malformed { id, error }) => Some((id.to_string(), error.code.into())),
            Some(EditorInput::Message(_)) | None => None,
        };
        for (line, expected) in [
            ("", None),
            ("{", Some(("null", -32700))),
            ("17", Some(("null", -32600))),
            ("[]", Some(("null", -32600))),
            (r#"{"id":3,"method":7}"#, Some(("3", -32600))),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"x","params":5}"#,
                Some(("a", -32600)),
            ),
            (r#"{"id":3,"result":1,"error":2}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, None),
        ] {
            let expected = expected.map(|(id, code): (&str, i32)| (id.to_string(), code));
            assert_eq!(answered(line), expected, "{line}");
        }
        assert!(parse(b"\xff{}").is_some());
    }
}

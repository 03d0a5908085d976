//! Decodes server-sent events from chunks of bytes. Uses no library, because the size of an event must be bounded.
//!
//! The format: <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>.

use super::{ErrorKind, ModelError};

/// Maximum size of an event, in bytes. A larger event is an error, because the server is faulty or hostile.
pub const EVENT_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The value of the field `event`; empty if the event has no such field.
    pub name: String,
    /// The values of the fields `data`, joined by newlines.
    pub data: String,
}

/// Extracts the events from a stream of bytes that arrives in arbitrary chunks.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// Whether the last byte was a carriage return. A newline directly after it belongs to the same line ending.
    was_return: bool,
}

impl SseDecoder {
    /// Consumes the next bytes and returns the events that they complete. A blank line completes an event. An event
    /// without data is dropped.
    ///
    /// # Errors
    /// Fails if an event is larger than [`EVENT_MAX`].
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, ModelError> {
        let mut events = Vec::new();
        for byte in bytes {
            let follows_return = std::mem::replace(&mut self.was_return, *byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                other => {
                    if self.line.len() + self.event.data.len() >= EVENT_MAX {
                        return Err(too_large());
                    }
                    self.line.push(*other);
                }
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            let has_data = std::mem::take(&mut self.has_data);
            return has_data.then_some(event);
        }
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field.trim_start_matches('\u{feff}') {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments, ids and reconnect times have no meaning for a single response.
            _ => {}
        }
        None
    }
}

fn too_large() -> ModelError {
    ModelError::new(
        ErrorKind::InvalidResponse,
        format!(
            "the server sent an event larger than {} MiB",
            EVENT_MAX / 1024 / 1024
        ),
        "Check that --base-url is the address of a model server.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const STREAM: &str = "\u{feff}: hello\r\nevent: a\r\ndata: {\"x\": \"é😀\"}\r\n\r\ndata: one\ndata:two\n\n\
                          event: lonely\n\ndata\n\n\rdata: cr\r\rdata: [DONE]\n\n";

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent {
            name: name.into(),
            data: data.into(),
        }
    }

    fn expected_events() -> Vec<SseEvent> {
        vec![
            event("a", "{\"x\": \"é😀\"}"),
            event("", "one\ntwo"),
            event("", ""),
            event("", "cr"),
            event("", "[DONE]"),
        ]
    }

    #[test]
    fn events_do_not_depend_on_where_bytes_are_split() {
        let bytes = STREAM.as_bytes();
        for at in 0..=bytes.len() {
            let mut decoder = SseDecoder::default();
            let mut events = decoder.feed(&bytes[..at]).unwrap();
            events.extend(decoder.feed(&bytes[at..]).unwrap());
            assert_eq!(events, expected_events(), "split at {at}");
        }
        let mut decoder = SseDecoder::default();
        let single: Vec<_> = bytes
            .iter()
            .flat_map(|b| decoder.feed(&[*b]).unwrap())
            .collect();
        assert_eq!(single, expected_events());
    }

    #[test]
    fn endless_line_is_rejected() {
        let mut decoder = SseDecoder::default();
        let chunk = vec![b'x'; 1024 * 1024];
        let error = (0..9).find_map(|_| decoder.feed(&chunk).err()).unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidResponse);
    }
}

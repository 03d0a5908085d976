//! Redaction of input that arrives in pieces. Bytes that may be the start of a secret are held back until more input
//! decides.

use super::rules::{InputState, Match, PENDING_MAX, SecretBody};
use super::{PLACEHOLDER_START, Redactor};

/// Redacts input that arrives in pieces. A secret that is split between two pieces is redacted too.
#[derive(Debug)]
pub struct RedactingStream {
    redactor: Redactor,
    /// The end of the input so far. It is not output yet, because it may be the start of a secret.
    pending: Vec<u8>,
    /// The byte that was output last; `None` at the start of the input.
    before: Option<u8>,
    /// The kind of characters with which the last redacted secret may continue in the next input. Such characters are
    /// redacted too. `None` if no secret can continue.
    open_secret: Option<SecretBody>,
}

impl RedactingStream {
    pub(super) fn new(redactor: Redactor) -> RedactingStream {
        RedactingStream {
            redactor,
            pending: Vec::new(),
            before: None,
            open_secret: None,
        }
    }

    /// Adds a piece of input and returns the redacted output. Bytes at the end that may be the start of a secret, at
    /// most `PENDING_MAX`, are held back until a later call decides. The output can therefore be empty.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(piece);
        self.process(InputState::Partial)
    }

    /// Returns the number of bytes at the end of the input that were not output yet.
    pub(super) fn held_back(&self) -> usize {
        self.pending.len()
    }

    /// Like [`RedactingStream::push`], for text. Each output consists of whole characters: a secret begins and ends at
    /// a character boundary.
    pub fn push_text(&mut self, piece: &str) -> String {
        String::from_utf8_lossy(&self.push(piece.as_bytes())).into_owned()
    }

    /// Like [`RedactingStream::end`], for text.
    pub fn end_text(&mut self) -> String {
        String::from_utf8_lossy(&self.end()).into_owned()
    }

    /// Ends the input. Returns the bytes that were held back, redacted. The stream can then be used for another input.
    pub fn end(&mut self) -> Vec<u8> {
        let rest = self.process(InputState::Complete);
        (self.before, self.open_secret) = (None, None);
        rest
    }

    fn process(&mut self, end: InputState) -> Vec<u8> {
        let secrets = self.redactor.secrets();
        let pending = std::mem::take(&mut self.pending);
        let mut out = Vec::with_capacity(pending.len());
        let mut at = 0;
        while let Some(rest) = pending.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some(body) = self.open_secret {
                let more = body.length(rest);
                at += more;
                if more < rest.len() {
                    self.open_secret = None;
                }
                continue;
            }
            let byte = rest[0];
            let matched = if secrets.can_begin(byte) {
                secrets.match_at(self.before, rest, end)
            } else {
                Match::Nothing
            };
            match matched {
                Match::Incomplete if rest.len() <= PENDING_MAX => break,
                Match::Nothing | Match::Incomplete => {
                    out.push(byte);
                    self.before = Some(byte);
                    at += 1;
                }
                Match::Secret {
                    prefix,
                    length,
                    label,
                } => {
                    push_placeholder(&mut out, &rest[..prefix], label);
                    self.before = Some(b']');
                    at += length.max(1);
                }
                Match::OpenSecret {
                    prefix,
                    length,
                    label,
                    body,
                } => {
                    push_placeholder(&mut out, &rest[..prefix], label);
                    self.before = Some(b']');
                    self.open_secret = Some(body);
                    at += length.max(1);
                }
            }
        }
        self.pending = pending[at..].to_vec();
        out
    }
}

fn push_placeholder(out: &mut Vec<u8>, prefix: &[u8], label: &str) {
    out.extend_from_slice(prefix);
    out.extend_from_slice(PLACEHOLDER_START.as_bytes());
    out.extend_from_slice(label.as_bytes());
    out.push(b']');
}

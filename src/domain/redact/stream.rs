//! A text that comes in pieces, wherever they are cut: what could be the start of a secret is held back until it is
//! known what it is.

use super::{End, Here, MARK, Redactor, shapes};

/// Most bytes that are held back because a secret may begin with them: more than any of them has.
pub const HELD_MAX: usize = 20 * 1024;

/// The state between two pieces.
#[derive(Debug)]
pub struct Stream {
    redactor: Redactor,
    /// What is not decided yet.
    held: Vec<u8>,
    /// The last byte before it.
    before: Option<u8>,
    /// Whether a secret goes on that was named already.
    inside: Option<shapes::Body>,
}

impl Stream {
    pub(super) fn new(redactor: Redactor) -> Stream {
        Stream {
            redactor,
            held: Vec::new(),
            before: None,
            inside: None,
        }
    }

    /// Takes the next piece; what is decided comes back.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        self.decide(End::Open)
    }

    /// The same for a piece of text, which comes back as text: nothing is cut within a character.
    pub fn push_text(&mut self, piece: &str) -> String {
        String::from_utf8_lossy(&self.push(piece.as_bytes())).into_owned()
    }

    /// The same for the rest.
    pub fn end_text(&mut self) -> String {
        String::from_utf8_lossy(&self.end()).into_owned()
    }

    /// No more comes: the rest.
    pub fn end(&mut self) -> Vec<u8> {
        let rest = self.decide(End::Whole);
        (self.before, self.inside) = (None, None);
        rest
    }

    fn decide(&mut self, end: End) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(held.len());
        let mut at = 0;
        while let Some(rest) = held.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some(body) = self.inside {
                let more = body.length(rest);
                at += more;
                if more < rest.len() {
                    self.inside = None;
                }
                continue;
            }
            let byte = rest[0];
            let here = if self.redactor.can_begin(byte) {
                self.redactor.look(self.before, rest, end)
            } else {
                Here::Nothing
            };
            match here {
                Here::Perhaps if rest.len() <= HELD_MAX => break,
                Here::Nothing | Here::Perhaps => {
                    out.push(byte);
                    self.before = Some(byte);
                    at += 1;
                }
                Here::Secret { kept, length, what } => {
                    mark(&mut out, &rest[..kept], what);
                    self.before = Some(b']');
                    at += length.max(1);
                }
                Here::Begun {
                    kept,
                    length,
                    what,
                    body,
                } => {
                    mark(&mut out, &rest[..kept], what);
                    self.before = Some(b']');
                    self.inside = Some(body);
                    at += length.max(1);
                }
            }
        }
        self.held = held[at..].to_vec();
        out
    }
}

fn mark(out: &mut Vec<u8>, kept: &[u8], what: &str) {
    out.extend_from_slice(kept);
    out.extend_from_slice(MARK.as_bytes());
    out.extend_from_slice(what.as_bytes());
    out.push(b']');
}

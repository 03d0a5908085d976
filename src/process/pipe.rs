//! One output pipe of a child: its bytes in pieces that never cut a character in two.

use tokio::io::{AsyncRead, AsyncReadExt};

use super::Keep;

/// Bytes that are read at once.
const CHUNK: usize = 16 * 1024;

/// A pipe, and the start of a character whose other bytes have not come yet.
pub struct Pipe<P> {
    open: Option<P>,
    bytes: Vec<u8>,
    /// How many bytes of a begun character stand at the start of `bytes`; at most 3.
    begun: usize,
}

impl<P: AsyncRead + Unpin> Pipe<P> {
    /// A pipe that is open, if it is there.
    pub fn of(pipe: Option<P>) -> Pipe<P> {
        Pipe {
            open: pipe,
            bytes: vec![0; CHUNK],
            begun: 0,
        }
    }

    /// Whether more may come.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads on and gives the number of bytes; never ends for a pipe that is closed.
    pub async fn read(&mut self) -> usize {
        match &mut self.open {
            Some(pipe) => pipe.read(&mut self.bytes[self.begun..]).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// Hands on the `n` bytes that were read, but for a character that is cut at their end. None: the pipe
    /// is closed.
    pub fn take(&mut self, n: usize, keep: &mut Keep, live: &mut impl FnMut(&[u8])) {
        if n == 0 {
            self.open = None;
            self.rest(keep, live);
            return;
        }
        let there = self.begun + n;
        let whole = there - begun(&self.bytes[..there]);
        if whole > 0 {
            keep.push(&self.bytes[..whole]);
            live(&self.bytes[..whole]);
        }
        self.bytes.copy_within(whole..there, 0);
        self.begun = there - whole;
    }

    /// Hands on what was held back: no more comes.
    pub fn rest(&mut self, keep: &mut Keep, live: &mut impl FnMut(&[u8])) {
        let begun = std::mem::take(&mut self.begun);
        if begun > 0 {
            keep.push(&self.bytes[..begun]);
            live(&self.bytes[..begun]);
        }
    }
}

/// How many bytes at the end of `bytes` begin a character whose other bytes are missing.
fn begun(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    for (at, byte) in bytes.iter().enumerate().skip(from).rev() {
        let length = match byte {
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x00..=0x7F | 0xF8..=0xFF => 1,
        };
        let there = bytes.len() - at;
        return if there < length { there } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the bytes are cut: text comes in pieces of text, and nothing is lost.
        #[test]
        fn no_character_is_cut(text in "[a-zäö€漢😀]{0,40}", cuts in prop::collection::vec(1usize..9, 1..40)) {
            let mut pipe = Pipe::of(Some(tokio::io::empty()));
            let mut keep = Keep::new(1000);
            let mut heard = Vec::new();
            let mut live = |piece: &[u8]| heard.push(String::from_utf8(piece.to_vec()).unwrap());
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let n = (*cut).min(rest.len());
                if n == 0 {
                    break;
                }
                let at = pipe.begun;
                pipe.bytes[at..at + n].copy_from_slice(&rest[..n]);
                pipe.take(n, &mut keep, &mut live);
                rest = &rest[n..];
            }
            pipe.take(0, &mut keep, &mut live);
            prop_assert_eq!(heard.concat(), text.clone());
            prop_assert_eq!(keep.text(), text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_handed_on_too() {
        for bytes in [
            &b"\xff\xfe"[..],
            b"a\xe2\x82",
            b"\x80\x80\x80\x80\x80",
            b"\xf0",
        ] {
            let mut pipe = Pipe::of(Some(tokio::io::empty()));
            let mut keep = Keep::new(1000);
            let mut heard = Vec::new();
            let mut live = |piece: &[u8]| heard.extend_from_slice(piece);
            pipe.bytes[..bytes.len()].copy_from_slice(bytes);
            pipe.take(bytes.len(), &mut keep, &mut live);
            pipe.rest(&mut keep, &mut live);
            assert_eq!(heard, bytes);
        }
    }
}

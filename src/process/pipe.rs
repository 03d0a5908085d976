//! Reads an output pipe of a child in chunks that never split a UTF-8 character.

use tokio::io::{AsyncRead, AsyncReadExt};

use super::HeadTailBuffer;

/// Size of the read buffer in bytes, and so the maximum number of bytes of one read.
const CHUNK: usize = 16 * 1024;

/// An output pipe of a child, and its read buffer. Each [`OutputPipe::read`] must be followed by
/// [`OutputPipe::forward`] with the number of bytes that were read. If the bytes end within a UTF-8 character, its
/// first bytes stay in the buffer until the others arrive or the pipe closes.
pub struct OutputPipe<P> {
    open: Option<P>,
    bytes: Vec<u8>,
    /// Number of bytes of the incomplete character at the start of `bytes`, at most 3.
    partial: usize,
}

impl<P: AsyncRead + Unpin> OutputPipe<P> {
    /// Wraps a pipe. `None` is treated as a closed pipe.
    pub fn of(pipe: Option<P>) -> OutputPipe<P> {
        OutputPipe {
            open: pipe,
            bytes: vec![0; CHUNK],
            partial: 0,
        }
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads more bytes into the buffer and returns their number; 0 at the end of the pipe or after a read error. Never
    /// completes for a closed pipe. Cancel-safe.
    pub async fn read(&mut self) -> usize {
        match &mut self.open {
            Some(pipe) => pipe
                .read(&mut self.bytes[self.partial..])
                .await
                .unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// Passes the `n` bytes that [`Self::read`] has just read to `buffer` and `live`. Holds back an incomplete
    /// character at the end. If `n` is 0, marks the pipe as closed and passes on the bytes that were held back.
    pub fn forward(&mut self, n: usize, buffer: &mut HeadTailBuffer, live: &mut impl FnMut(&[u8])) {
        if n == 0 {
            self.open = None;
            self.flush(buffer, live);
            return;
        }
        let there = self.partial + n;
        let whole = there - partial_char_len(&self.bytes[..there]);
        if whole > 0 {
            buffer.push(&self.bytes[..whole]);
            live(&self.bytes[..whole]);
        }
        self.bytes.copy_within(whole..there, 0);
        self.partial = there - whole;
    }

    /// Passes on an incomplete character that [`Self::forward`] held back. Must be called when no more bytes will
    /// arrive.
    pub fn flush(&mut self, buffer: &mut HeadTailBuffer, live: &mut impl FnMut(&[u8])) {
        let partial = std::mem::take(&mut self.partial);
        if partial > 0 {
            buffer.push(&self.bytes[..partial]);
            live(&self.bytes[..partial]);
        }
    }
}

/// Returns the number of bytes of the incomplete character at the end of `bytes`: 0 to 3. Bytes that begin no valid
/// character count as complete.
fn partial_char_len(bytes: &[u8]) -> usize {
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
        #[test]
        fn characters_are_never_split(text in "[a-zäö€漢😀]{0,40}", cuts in prop::collection::vec(1usize..9, 1..40)) {
            let mut pipe = OutputPipe::of(Some(tokio::io::empty()));
            let mut buffer = HeadTailBuffer::new(1000);
            let mut heard = Vec::new();
            let mut live = |piece: &[u8]| heard.push(String::from_utf8(piece.to_vec()).unwrap());
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let n = (*cut).min(rest.len());
                if n == 0 {
                    break;
                }
                let at = pipe.partial;
                pipe.bytes[at..at + n].copy_from_slice(&rest[..n]);
                pipe.forward(n, &mut buffer, &mut live);
                rest = &rest[n..];
            }
            pipe.forward(0, &mut buffer, &mut live);
            prop_assert_eq!(heard.concat(), text.clone());
            prop_assert_eq!(buffer.text(), text);
        }
    }

    #[test]
    fn invalid_utf8_is_forwarded() {
        for bytes in [
            &b"\xff\xfe"[..],
            b"a\xe2\x82",
            b"\x80\x80\x80\x80\x80",
            b"\xf0",
        ] {
            let mut pipe = OutputPipe::of(Some(tokio::io::empty()));
            let mut buffer = HeadTailBuffer::new(1000);
            let mut heard = Vec::new();
            let mut live = |piece: &[u8]| heard.extend_from_slice(piece);
            pipe.bytes[..bytes.len()].copy_from_slice(bytes);
            pipe.forward(bytes.len(), &mut buffer, &mut live);
            pipe.flush(&mut buffer, &mut live);
            assert_eq!(heard, bytes);
        }
    }
}

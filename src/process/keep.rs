//! Keeps the head and the tail of a stream of bytes within a bound, and says what is missing between.

use std::collections::VecDeque;

/// A bounded memory of a stream.
#[derive(Debug, Clone)]
pub struct Keep {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    lost: u64,
}

impl Keep {
    /// Keeps at most `most` bytes: half from the start, half from the end.
    pub fn new(most: usize) -> Keep {
        Keep {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: most.max(2) / 2,
            lost: 0,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        // Of a chunk larger than the tail only its own end can stay.
        let skip = rest.len().saturating_sub(self.half);
        self.lost += skip as u64;
        let rest = &rest[skip..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.lost += surplus as u64;
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// What was kept, as text. Bytes that are no text become `�`.
    pub fn text(mut self) -> String {
        let tail = self.tail.make_contiguous();
        if self.lost == 0 {
            self.head.extend_from_slice(tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        format!(
            "{}\n[… {} bytes cut here …]\n{}",
            String::from_utf8_lossy(&self.head),
            self.lost,
            String::from_utf8_lossy(tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// In whatever chunks the bytes come: head and tail are right, and nothing is lost unsaid.
        #[test]
        fn head_and_tail_are_kept(chunks in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..40), 0..12)) {
            let whole: Vec<u8> = chunks.concat();
            let mut keep = Keep::new(32);
            for chunk in &chunks {
                keep.push(chunk);
            }
            let text = keep.text();
            if whole.len() <= 32 {
                prop_assert_eq!(text.as_bytes(), &whole[..]);
            } else {
                let head = String::from_utf8_lossy(&whole[..16]).into_owned();
                let tail = String::from_utf8_lossy(&whole[whole.len() - 16..]).into_owned();
                let lost = whole.len() - 32;
                prop_assert_eq!(text, format!("{head}\n[… {lost} bytes cut here …]\n{tail}"));
            }
        }
    }
}

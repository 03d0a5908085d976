//! Keeps the head and the tail of a byte stream and counts the bytes dropped in between.

use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub struct HeadTailBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    lost: u64,
}

impl HeadTailBuffer {
    /// Creates a buffer of `max` bytes: half for the head, half for the tail. An odd `max` is rounded down, and the
    /// minimum is 2.
    pub fn new(max: usize) -> HeadTailBuffer {
        HeadTailBuffer {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: max.max(2) / 2,
            lost: 0,
        }
    }

    /// Appends bytes. When the buffer is full, the oldest bytes of the tail are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        // A chunk larger than the tail fills the whole tail.
        let skip = rest.len().saturating_sub(self.half);
        self.lost += skip as u64;
        let rest = &rest[skip..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.lost += surplus as u64;
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// Returns the content as text. Where bytes were dropped, a marker line states their number. Invalid UTF-8 becomes
    /// `�`.
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
        #[test]
        fn head_and_tail_are_kept(chunks in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..40), 0..12)) {
            let whole: Vec<u8> = chunks.concat();
            let mut keep = HeadTailBuffer::new(32);
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

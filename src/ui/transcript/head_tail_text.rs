//! A growing text of bounded size. Its beginning and its end are kept. Between them, a marker says how many bytes were
//! cut out.

/// Number of bytes that are kept from the beginning of the text.
const HEAD: usize = 128 * 1024;
/// Minimum number of bytes that are kept from the end of the text, once a part was cut out.
const TAIL: usize = 96 * 1024;
/// Number of bytes that one cut removes. Between two cuts, the kept end does not move within the stored text, so that
/// its layout stays valid.
const STEP: usize = 32 * 1024;

/// A text of at most 256 KiB, plus a marker such as `[… 4096 bytes cut here …]` in place of the part that was cut out
/// of the middle. The stored text depends only on the whole text, not on the chunks in which it was appended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadTailText {
    text: String,
    /// Byte offset of the kept end, directly after the marker. Unused as long as nothing was cut.
    tail: usize,
    /// Number of bytes that were cut out so far.
    cut: usize,
    /// Number of cuts so far. A byte offset into the stored text is valid until this number changes.
    epoch: u32,
}

impl HeadTailText {
    /// Returns the stored text, with the marker if a part was cut out.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the number of cuts so far. A byte offset into the stored text is valid until this number changes.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Appends text. Each time the text reaches its limit, cuts about [`STEP`] bytes out of the middle, rounded to
    /// whole characters.
    pub fn push(&mut self, mut more: &str) {
        loop {
            let tail = if self.cut == 0 { HEAD } else { self.tail };
            let room = (tail + TAIL + STEP).saturating_sub(self.text.len());
            if more.len() < room {
                self.text.push_str(more);
                return;
            }
            let (fits, rest) = more.split_at(more.ceil_char_boundary(room));
            self.text.push_str(fits);
            self.cut_step();
            more = rest;
        }
    }

    fn cut_step(&mut self) {
        let head = self.text.floor_char_boundary(HEAD);
        let start = if self.cut == 0 { head } else { self.tail };
        let end = self.text.ceil_char_boundary(start + STEP);
        self.cut += end - start;
        let mark = format!("\n\n[… {} bytes cut here …]\n\n", self.cut);
        self.text.replace_range(head..end, &mark);
        self.tail = head + mark.len();
        self.epoch += 1;
    }
}

impl From<&str> for HeadTailText {
    fn from(text: &str) -> HeadTailText {
        let mut out = HeadTailText::default();
        out.push(text);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_does_not_depend_on_chunks() {
        for sign in ["x", "é", "中", "👍"] {
            let whole = sign.repeat(1024 * 1024 / sign.len());
            let expected = HeadTailText::from(whole.as_str());
            for size in [7, 4096, 300_000] {
                let mut grown = HeadTailText::default();
                let mut rest = whole.as_str();
                while !rest.is_empty() {
                    let (some, more) = rest.split_at(rest.ceil_char_boundary(size));
                    grown.push(some);
                    rest = more;
                }
                assert!(grown == expected, "{sign} in portions of {size}");
            }
        }
    }

    #[test]
    fn long_text_keeps_both_ends_and_counts_cut_bytes() {
        let whole = "first".to_string() + &"x".repeat(5_000_000) + "last";
        let shortened = HeadTailText::from(whole.as_str());
        assert!(shortened.text.len() <= 256 * 1024 + 64);
        assert!(shortened.text.starts_with("first") && shortened.text.ends_with("last"));
        let mark = format!("\n\n[… {} bytes cut here …]\n\n", shortened.cut);
        assert!(shortened.text.contains(&mark));
        assert_eq!(
            shortened.text.len() - mark.len() + shortened.cut,
            whole.len()
        );
        assert_eq!(shortened.text.matches("cut here").count(), 1);
    }

    #[test]
    fn short_text_is_kept_whole() {
        let shortened = HeadTailText::from("short");
        assert_eq!((shortened.as_str(), shortened.epoch()), ("short", 0));
    }
}

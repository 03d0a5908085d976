//! Redaction of texts that are cut afterwards. Only the parts that stay are searched for secrets, with enough text around
//! them that no part of a secret at a cut stays.

use super::Redactor;
use super::rules::{PENDING_MAX, SecretBody};
use crate::domain::text::{clip, cut_marker, head_and_tail};

/// Number of bytes before the tail that are searched too, because a secret can begin there and end in the tail: the
/// longest secret of a limited length, and the longest text that introduces a secret.
const LOOKBACK: usize = PENDING_MAX + 1024;
/// Number of bytes of the head that are searched at once.
const STEP: usize = 16 * 1024;

impl Redactor {
    /// Redacts `text` and cuts it as [`head_and_tail`] does, without searching the part in the middle. If the tail would
    /// begin in a word that is as long as a secret of unlimited length can be, the tail begins after that word.
    pub fn head_and_tail(&self, text: &str, max: usize) -> String {
        if text.len() <= max.saturating_add(2 * LOOKBACK) {
            return head_and_tail(&self.text(text), max);
        }
        let head = self.start(text, max / 2, |out| out.len() >= max / 2);
        let head = &head[..head.floor_char_boundary(max / 2)];
        let kept = max - max / 2;
        let begin = text.ceil_char_boundary(after_open_secrets(text, text.len() - kept));
        let search = text.floor_char_boundary(begin - LOOKBACK.min(begin));
        let mut stream = self.stream();
        // Secrets that begin before the tail are dropped here, or held back and then replaced as a whole.
        let _before = stream.push_text(&text[search..begin]);
        let held_back = &text.as_bytes()[begin - stream.held_back()..begin];
        let mut tail = stream.push_text(&text[begin..]);
        tail.push_str(&stream.end_text());
        // What was held back and is no secret does not belong to the tail.
        let both = tail.bytes().zip(held_back);
        let before = both.take_while(|(a, b)| a == *b).count();
        // Placeholders can be longer than what they replace.
        let from = before.max(tail.len().saturating_sub(kept));
        let tail = &tail[tail.ceil_char_boundary(from)..];
        let missing = text.len().saturating_sub(head.len() + tail.len()).max(1);
        format!("{head}\n{}\n{tail}", cut_marker(missing))
    }

    /// Redacts `text` and cuts it to `max` characters as [`clip`] does, without searching the rest.
    pub fn clip(&self, text: &str, max: usize) -> String {
        // A character has at most 4 bytes.
        let start = self.start(text, 4 * max, |out| out.chars().count() > max);
        clip(&start, max)
    }

    /// Returns the start of the redacted `text`: at least the part for which `is_enough` returns true, or the whole text.
    /// `first` is the number of bytes that are searched at first.
    fn start(&self, text: &str, first: usize, is_enough: impl Fn(&str) -> bool) -> String {
        let mut stream = self.stream();
        let mut out = String::new();
        let (mut at, mut step) = (0, first);
        while at < text.len() {
            let end = text.ceil_char_boundary(at.saturating_add(step.max(1)).min(text.len()));
            // The stream holds back what it cannot decide yet.
            out.push_str(&stream.push_text(&text[at..end]));
            if is_enough(&out) {
                return out;
            }
            (at, step) = (end, STEP);
        }
        out.push_str(&stream.end_text());
        out
    }
}

/// Returns the first position from `begin` on at which no secret of unlimited length can continue that began more than
/// [`LOOKBACK`] bytes before.
fn after_open_secrets(text: &str, begin: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = begin;
    loop {
        let long = [SecretBody::Token, SecretBody::Header, SecretBody::Block]
            .into_iter()
            .filter(|body| {
                let before = &bytes[at.saturating_sub(PENDING_MAX)..at];
                before.len() == PENDING_MAX && before.iter().all(|byte| body.has(*byte))
            })
            .map(|body| body.length(&bytes[at..]))
            .max();
        match long {
            Some(length) if length > 0 => at += length,
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text;

    const SECRET: &str = "hunter2-hunter2-hunter2";
    const MAX: usize = 4000;

    fn redactor() -> Redactor {
        Redactor::new([("MY_KEY".to_string(), SECRET.to_string())])
    }

    /// Returns a text of many short words.
    fn words(bytes: usize) -> String {
        "some (short) \"words\" here. ".repeat(bytes / 27 + 1)[..bytes].to_string()
    }

    #[test]
    fn text_without_secrets_is_cut_like_any_other() {
        for length in [10, MAX, MAX + 1, 50_000, 200_000] {
            let long = words(length);
            let cut = redactor().head_and_tail(&long, MAX);
            assert_eq!(cut, text::head_and_tail(&long, MAX), "{length}");
            assert_eq!(
                redactor().clip(&long, 20),
                text::clip(&long, 20),
                "{length}"
            );
        }
        let umlauts = "ä ö (ü) ".repeat(20_000);
        let cut = redactor().head_and_tail(&umlauts, MAX);
        assert!(
            cut.len() < MAX + 100 && text::bytes_cut(&cut) > 0,
            "{}",
            cut.len()
        );
    }

    #[test]
    fn secret_at_a_cut_leaves_no_readable_part() {
        let length = 200_000;
        let cuts = [MAX / 2, length - MAX / 2];
        for cut in cuts {
            for begin in (cut - SECRET.len() - 2)..(cut + 3) {
                let mut long = words(length);
                long.replace_range(begin..begin + SECRET.len(), SECRET);
                let shown = redactor().head_and_tail(&long, MAX);
                for part in ["hunter2", "unter2", "hunter"] {
                    assert!(!shown.contains(part), "{part} at {begin}: {cut}");
                }
            }
        }
        for begin in 0..40 {
            let clipped =
                redactor().clip(&format!("{}{SECRET} {}", " ".repeat(begin), words(500)), 30);
            assert!(!clipped.contains("hunter"), "{begin}: {clipped}");
        }
    }

    #[test]
    fn private_key_of_any_length_at_a_cut_leaves_no_readable_part() {
        for lines in [10, 100, 3000] {
            let line = "MIIEpAIBAAKCAQEA7x9f0aB3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u2V3\n";
            let key = format!(
                "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----",
                line.repeat(lines)
            );
            let after = words(1000);
            let long = format!("{}\n{key}\n{after}", words(100_000));
            let shown = redactor().head_and_tail(&long, MAX);
            assert!(!shown.contains("AKCAQEA7x9f"), "{lines}");
            assert!(shown.ends_with(&after[after.len() - 100..]), "{lines}");
        }
    }

    #[test]
    fn many_secrets_before_the_cut_are_all_redacted() {
        let long = format!("{}{}", format!("{SECRET} ").repeat(5000), words(200_000));
        let shown = redactor().head_and_tail(&long, MAX);
        assert!(!shown.contains("hunter2"));
        assert!(shown.starts_with("[redacted: MY_KEY] [redacted: MY_KEY]"));
    }
}

//! Parses inbox lines into messages, invalid lines and an incomplete last line. Does no I/O.

use serde_json::Value;

use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::MailMessage;

/// Maximum number of messages that one read returns. The next read continues after the last of them.
pub const MESSAGES_MAX: usize = 200;
/// When the lines that one read has parsed reach this size in bytes, the read stops. The next read continues after
/// these lines.
pub const BYTES_MAX: usize = 256 * 1024;

#[derive(Debug, PartialEq, Default)]
pub struct ParsedLines {
    /// The messages, in file order.
    pub messages: Vec<MailMessage>,
    /// For each message, the byte offset in the inbox at which the message ends, without its newline.
    pub ends: Vec<u64>,
    /// The lines that are not messages, in file order. An inbox reader copies them to `NAME.jsonl.damaged-1`.
    pub bad: Vec<String>,
    /// Number of bytes at the start of the input that were parsed. The next read starts after them.
    pub used: usize,
    /// Whether [`parse`] stopped before a message for which `is_ready` returned false.
    pub has_stopped: bool,
}

/// Parses `bytes`, which begin at `offset` in the inbox of `owner`.
///
/// A line ends with a newline. A last line without a newline is parsed too if it is a complete message. If it is not, a
/// writer may still be writing it, so it is left for the next read. If a killed writer left half a line, the next
/// writer appends its message to the same line: that message is returned, and the half line is added to
/// [`ParsedLines::bad`].
///
/// Stops before the first message for which `is_ready` returns false, so that the order of the messages is kept. Also
/// stops after [`MESSAGES_MAX`] messages or [`BYTES_MAX`] bytes.
pub fn parse(
    bytes: &[u8],
    offset: u64,
    owner: &Name,
    is_ready: &dyn Fn(&MailMessage) -> bool,
) -> ParsedLines {
    let mut out = ParsedLines::default();
    let mut taken = 0;
    while out.used < bytes.len() && out.messages.len() < MESSAGES_MAX && taken < BYTES_MAX {
        let rest = &bytes[out.used..];
        let (line, ended) = match rest.iter().position(|b| *b == b'\n') {
            Some(at) => (&rest[..at], 1),
            None => (rest, 0),
        };
        let at = offset + out.used as u64;
        let text = String::from_utf8_lossy(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
        let text = text.trim();
        match parse_message(text, at, owner) {
            Some(message) if !is_ready(&message) => {
                out.has_stopped = true;
                return out;
            }
            Some(message) => {
                out.messages.push(message);
                out.ends.push(at + line.len() as u64);
            }
            None if text.is_empty() => {}
            None if ended == 0 => return out,
            None => {
                // A killed writer left half a line, and the next writer appended its message to it.
                let appended = text.match_indices('{').skip(1).find_map(|(start, _)| {
                    Some((start, parse_message(&text[start..], at, owner)?))
                });
                match appended {
                    Some((_, message)) if !is_ready(&message) => {
                        out.has_stopped = true;
                        return out;
                    }
                    Some((start, message)) => {
                        out.bad.push(text[..start].to_string());
                        out.messages.push(message);
                        out.ends.push(at + line.len() as u64);
                    }
                    None => out.bad.push(text.to_string()),
                }
            }
        }
        taken += line.len();
        out.used += line.len() + ended;
    }
    out
}

fn parse_message(text: &str, at: u64, owner: &Name) -> Option<MailMessage> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut message: MailMessage = serde_json::from_value(value).ok()?;
    if message.id.0.is_empty() {
        message.id = MessageId(format!("{owner}-{at}"));
    }
    if message.to.is_empty() {
        message.to = owner.to_string();
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(bytes: &[u8], offset: u64, owner: &Name) -> ParsedLines {
        super::parse(bytes, offset, owner, &|_| true)
    }

    fn bob() -> Name {
        Name::member("bob").unwrap()
    }

    fn line(n: usize) -> String {
        format!("{{\"type\":\"message\",\"from\":\"a\",\"content\":\"{n}\",\"timestamp\":1.0}}\n")
    }

    #[test]
    fn incomplete_last_line_waits_and_a_complete_one_counts() {
        let whole = line(1);
        let torn = format!("{whole}{}", &line(2)[..20]);
        let lines = parse(torn.as_bytes(), 0, &bob());
        assert_eq!(
            (lines.messages.len(), lines.bad.len(), lines.used),
            (1, 0, whole.len())
        );
        let unended = format!("{whole}{}", line(2).trim_end());
        let lines = parse(unended.as_bytes(), 0, &bob());
        assert_eq!((lines.messages.len(), lines.used), (2, unended.len()));
    }

    #[test]
    fn bad_line_blocks_nothing_and_an_appended_message_is_kept() {
        let text = format!("{}not json\n{}{}", line(1), &line(2)[..20], line(3));
        let lines = parse(text.as_bytes(), 0, &bob());
        let texts: Vec<&str> = lines.messages.iter().map(|l| l.content.as_str()).collect();
        assert_eq!(texts, ["1", "3"]);
        assert_eq!(
            lines.bad,
            ["not json".to_string(), line(2)[..20].to_string()]
        );
        assert_eq!(lines.used, text.len());
    }

    #[test]
    fn message_without_id_or_recipient_gets_defaults() {
        let text = format!("{}{}", line(1), line(2));
        let lines = parse(text.as_bytes(), 100, &bob());
        assert_eq!(lines.messages[0].id.0, "bob-100");
        assert_eq!(
            lines.messages[1].id.0,
            format!("bob-{}", 100 + line(1).len())
        );
        assert_eq!(lines.messages[1].to, "bob");
    }

    #[test]
    fn parsing_stops_before_a_message_that_is_not_ready() {
        let is_ready = |m: &MailMessage| m.content != "3";
        let begin = format!("{}bad\n{}", line(1), line(2));
        let text = format!("{begin}{}{}", line(3), line(4));
        let lines = super::parse(text.as_bytes(), 0, &bob(), &is_ready);
        assert_eq!((lines.messages.len(), lines.bad.len()), (2, 1));
        assert!(lines.has_stopped && lines.used == begin.len());
        // The damaged start of its line is left for the same read as the message.
        let text = format!("{}{}", &line(2)[..20], line(3));
        let lines = super::parse(text.as_bytes(), 0, &bob(), &is_ready);
        assert!(lines.has_stopped && lines.used == 0 && lines.bad.is_empty());
        assert!(!parse(text.as_bytes(), 0, &bob()).has_stopped);
    }

    #[test]
    fn read_is_bounded() {
        let text: String = (0..500).map(line).collect();
        let lines = parse(text.as_bytes(), 0, &bob());
        assert_eq!(lines.messages.len(), MESSAGES_MAX);
        assert!(lines.used < text.len());
    }

    proptest! {
        #[test]
        fn growing_inbox_returns_each_message_once(cuts in prop::collection::vec(0usize..1400, 0..30)) {
            let text: String = (0..20).map(line).collect();
            let mut ends: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
            ends.sort_unstable();
            ends.push(text.len());
            let (mut at, mut texts) = (0, Vec::new());
            for end in ends {
                let lines = parse(&text.as_bytes()[at..end.max(at)], at as u64, &bob());
                prop_assert!(lines.bad.is_empty());
                at += lines.used;
                texts.extend(lines.messages.into_iter().map(|l| l.content));
            }
            prop_assert_eq!(texts, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
        }
    }
}

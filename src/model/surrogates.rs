//! Characters that a server splits over two events as lone surrogates (`\ud83d` in one, `\ude00` in the next): JSON that
//! no reader of UTF-8 takes. The halves are joined; what stays alone becomes `�`. Pure.
//!
//! Rust's texts cannot hold a half, so it stands as a character of the last private plane until its text is joined:
//! there are exactly as many of them as there are surrogates. Only texts of an event in which a half was found are
//! searched for them.

use std::borrow::Cow;

use serde_json::Value;

/// The character that stands for U+D800.
const FIRST: u32 = 0x10_F800;
/// The surrogates: U+D800 to U+DFFF, the first half of them leads.
const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;
const TRAILS: std::ops::RangeInclusive<u32> = 0xDC00..=0xDFFF;

/// A JSON value of an event.
#[derive(Debug)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// Whether halves of characters stand in its texts.
    pub halves: Halves,
}

/// Whether halves of characters stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Halves {
    /// It is a text as any other.
    #[default]
    None,
    /// It has characters that stand for halves.
    Some,
}

/// Reads JSON, also such that has lone surrogates in it.
///
/// # Errors
/// When it is no JSON for another reason.
pub fn parse(text: &str) -> serde_json::Result<Parsed> {
    let error = match serde_json::from_str(text) {
        Ok(value) => {
            return Ok(Parsed {
                value,
                halves: Halves::None,
            });
        }
        Err(error) => error,
    };
    match marked(text) {
        Some(text) => Ok(Parsed {
            value: serde_json::from_str(&text)?,
            halves: Halves::Some,
        }),
        None => Err(error),
    }
}

/// Reads JSON that is whole: each half that it has stays alone.
///
/// # Errors
/// When it is no JSON.
pub fn parse_whole(text: &str) -> serde_json::Result<Value> {
    let parsed = parse(text)?;
    Ok(match parsed.halves {
        Halves::None => parsed.value,
        Halves::Some => without_halves(parsed.value),
    })
}

fn without_halves(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(replaced(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(without_halves).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(key, value)| (replaced(&key), without_halves(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// A text of an event in which halves were found, with `�` for each of them.
pub fn replaced(text: &str) -> String {
    let mut joiner = Joiner::default();
    let mut out = joiner.push(text, Halves::Some).into_owned();
    out.push_str(joiner.end());
    out
}

/// The JSON text with a stand-in for each lone surrogate; `None`: there is none.
fn marked(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at, mut found) = (0, 0, false);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = escaped_unit(bytes, at).filter(|unit| SURROGATES.contains(unit)) else {
            // Also over an escaped backslash: what follows it is no escape.
            at += 2;
            continue;
        };
        let next = escaped_unit(bytes, at + 6);
        if !TRAILS.contains(&unit) && next.is_some_and(|unit| TRAILS.contains(&unit)) {
            at += 12;
            continue;
        }
        found = true;
        out.push_str(&text[from..at]);
        out.extend(char::from_u32(FIRST + unit - SURROGATES.start()));
        at += 6;
        from = at;
    }
    out.push_str(&text[from..]);
    found.then_some(out)
}

/// The number of the escape `\uXXXX` at `at`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Joins the halves of characters in a text that comes in parts.
#[derive(Debug, Default)]
pub struct Joiner {
    /// The half that came last and waits for the other one.
    lead: Option<u32>,
}

impl Joiner {
    /// The next part of the text, with its halves joined. A half at its end is kept for the next part.
    pub fn push<'a>(&mut self, part: &'a str, halves: Halves) -> Cow<'a, str> {
        if part.is_empty() || (self.lead.is_none() && halves == Halves::None) {
            return part.into();
        }
        let mut out = String::with_capacity(part.len());
        for c in part.chars() {
            let half = u32::from(c)
                .checked_sub(FIRST)
                .filter(|_| halves == Halves::Some)
                .map(|number| SURROGATES.start() + number);
            match (self.lead.take(), half) {
                (Some(lead), Some(trail)) if TRAILS.contains(&trail) => {
                    let (high, low) = (lead - SURROGATES.start(), trail - TRAILS.start());
                    out.extend(char::from_u32(0x1_0000 + (high << 10) + low));
                }
                (lead, half) => {
                    if lead.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match half {
                        Some(half) if TRAILS.contains(&half) => {
                            out.push(char::REPLACEMENT_CHARACTER);
                        }
                        Some(half) => self.lead = Some(half),
                        None => out.push(c),
                    }
                }
            }
        }
        out.into()
    }

    /// What is left at the end of the text: `�` for a half that stayed alone.
    pub fn end(&mut self) -> &'static str {
        match self.lead.take() {
            Some(_) => "\u{fffd}",
            None => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    /// The text that these JSON texts, one an event, add up to.
    fn joined(parts: &[&str]) -> String {
        let mut joiner = Joiner::default();
        let mut out = String::new();
        for part in parts {
            let parsed = parse(part).unwrap();
            out.push_str(&joiner.push(parsed.value.as_str().unwrap(), parsed.halves));
        }
        out.push_str(joiner.end());
        out
    }

    #[test]
    fn halves_of_a_character_are_joined_across_parts() {
        for (parts, text) in [
            (&[r#""a \ud83d""#, r#""\ude00 b""#][..], "a 😀 b"),
            (&[r#""\uD83D""#, r#""""#, r#""\uDE00""#], "😀"),
            (&[r#""\ud83d\ude00""#], "😀"),
            (&[r#""\ud83d\ude00\ud83d""#, r#""\ude00""#], "😀😀"),
            (&[r#""\ud83d""#, r#""x""#], "\u{fffd}x"),
            (&[r#""\ude00""#, r#""\ud83d""#], "\u{fffd}\u{fffd}"),
            (&[r#""\ud83d""#, r#""\ud83d""#, r#""\ude00""#], "\u{fffd}😀"),
            (&[r#""\\ud83d""#], "\\ud83d"),
            (&[r#""\\\ud83d""#], "\\\u{fffd}"),
            // A character of the private plane is not taken for a half.
            (
                &["\"\u{10f83d}\"", "\"\u{10fe00}\""],
                "\u{10f83d}\u{10fe00}",
            ),
        ] {
            assert_eq!(joined(parts), text, "{parts:?}");
        }
    }

    #[test]
    fn a_whole_value_keeps_no_halves() {
        let text = r#"{"\ud83d": ["x\ude00", 1, {"a": "\ud83d\ude00"}]}"#;
        let value = json!({"\u{fffd}": ["x\u{fffd}", 1, {"a": "😀"}]});
        assert_eq!(parse_whole(text).unwrap(), value);
        for broken in [r#"{"a": "\ud83d""#, r#""\ud8""#, r#""\ud83d" x"#, "{"] {
            assert!(parse_whole(broken).is_err(), "{broken}");
        }
    }
}

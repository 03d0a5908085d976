//! Joins surrogate pairs that a server splits over two events (`\ud83d` in one, `\ude00` in the next). Does no I/O.
//!
//! JSON parsers for UTF-8 reject such lone surrogates, and a Rust string cannot hold them. So each lone surrogate is
//! replaced by a placeholder. The placeholders are the last 2048 characters of the last private-use plane, one for each
//! surrogate. [`Joiner`] then replaces two matching placeholders by the character; a surrogate that stays alone becomes
//! `�`. Only the texts of events in which a lone surrogate was found are searched for placeholders.

use std::borrow::Cow;

use serde_json::Value;

/// The placeholder for the surrogate U+D800. The placeholders for the other surrogates follow in order.
const FIRST_PLACEHOLDER: u32 = 0x10_F800;
const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;
/// The surrogates that come second in a pair.
const LOW_SURROGATES: std::ops::RangeInclusive<u32> = 0xDC00..=0xDFFF;

/// A parsed JSON text in which each lone surrogate is replaced by a placeholder, a private-use character.
#[derive(Debug)]
pub struct Parsed {
    pub value: Value,
    /// Whether `value` contains placeholders. If `false`, private-use characters in `value` come from the server and
    /// must not be replaced.
    pub has_placeholders: bool,
}

/// Parses JSON, and replaces lone surrogates by placeholders.
///
/// # Errors
/// Fails if the text is invalid JSON for a reason other than lone surrogates.
pub fn parse(text: &str) -> serde_json::Result<Parsed> {
    let error = match serde_json::from_str(text) {
        Ok(value) => {
            return Ok(Parsed {
                value,
                has_placeholders: false,
            });
        }
        Err(error) => error,
    };
    match insert_placeholders(text) {
        Some(text) => Ok(Parsed {
            value: serde_json::from_str(&text)?,
            has_placeholders: true,
        }),
        None => Err(error),
    }
}

/// Parses a complete JSON text. A lone surrogate becomes `�`, because no later text can complete the pair.
///
/// # Errors
/// Fails if the text is invalid JSON for a reason other than lone surrogates.
pub fn parse_whole(text: &str) -> serde_json::Result<Value> {
    let parsed = parse(text)?;
    Ok(if parsed.has_placeholders {
        without_placeholders(parsed.value)
    } else {
        parsed.value
    })
}

fn without_placeholders(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(replace_placeholders(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(without_placeholders).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(key, value)| (replace_placeholders(&key), without_placeholders(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// Replaces the placeholders in a text: a surrogate pair becomes its character, a lone surrogate becomes `�`. `text`
/// must come from a [`Parsed`] with `has_placeholders`.
pub fn replace_placeholders(text: &str) -> String {
    let mut joiner = Joiner::default();
    let mut out = joiner.push(text, true).into_owned();
    out.push_str(joiner.end());
    out
}

/// Replaces each lone surrogate in a JSON text by its placeholder. Returns `None` if there are none.
fn insert_placeholders(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at, mut found) = (0, 0, false);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = escaped_unit(bytes, at).filter(|unit| SURROGATES.contains(unit)) else {
            // Skips two bytes, so that an escaped backslash does not start another escape.
            at += 2;
            continue;
        };
        let next = escaped_unit(bytes, at + 6);
        if !LOW_SURROGATES.contains(&unit)
            && next.is_some_and(|unit| LOW_SURROGATES.contains(&unit))
        {
            at += 12;
            continue;
        }
        found = true;
        out.push_str(&text[from..at]);
        out.extend(char::from_u32(
            FIRST_PLACEHOLDER + unit - SURROGATES.start(),
        ));
        at += 6;
        from = at;
    }
    out.push_str(&text[from..]);
    found.then_some(out)
}

/// Returns the code unit that the six bytes from `at` encode as `\uXXXX`; `None` if they do not have this form.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Joins surrogate pairs in a text that arrives in parts.
#[derive(Debug, Default)]
pub struct Joiner {
    /// The high surrogate at the end of the previous part of the text, if there is one. The next part may start with
    /// the matching low surrogate.
    lead: Option<u32>,
}

impl Joiner {
    /// Returns `part`, the next part of the text, with surrogate pairs joined. A high surrogate at the end of `part` is
    /// held back until the next call. `has_halves` says whether the event with `part` contains placeholders for lone
    /// surrogates ([`Parsed::has_placeholders`]).
    pub fn push<'a>(&mut self, part: &'a str, has_halves: bool) -> Cow<'a, str> {
        if part.is_empty() || (self.lead.is_none() && !has_halves) {
            return part.into();
        }
        let mut out = String::with_capacity(part.len());
        for c in part.chars() {
            let half = u32::from(c)
                .checked_sub(FIRST_PLACEHOLDER)
                .filter(|_| has_halves)
                .map(|number| SURROGATES.start() + number);
            match (self.lead.take(), half) {
                (Some(lead), Some(trail)) if LOW_SURROGATES.contains(&trail) => {
                    let (high, low) = (lead - SURROGATES.start(), trail - LOW_SURROGATES.start());
                    out.extend(char::from_u32(0x1_0000 + (high << 10) + low));
                }
                (lead, half) => {
                    if lead.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match half {
                        Some(half) if LOW_SURROGATES.contains(&half) => {
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

    /// Returns `�` if the last part ended with a high surrogate that never got its pair, else an empty string.
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

    /// Parses each part as the JSON string of one event, and joins the results with a [`Joiner`].
    fn join_parts(parts: &[&str]) -> String {
        let mut joiner = Joiner::default();
        let mut out = String::new();
        for part in parts {
            let parsed = parse(part).unwrap();
            out.push_str(&joiner.push(parsed.value.as_str().unwrap(), parsed.has_placeholders));
        }
        out.push_str(joiner.end());
        out
    }

    #[test]
    fn surrogate_pairs_are_joined_across_parts() {
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
            // A placeholder character that the server really sent stays as it is.
            (
                &["\"\u{10f83d}\"", "\"\u{10fe00}\""],
                "\u{10f83d}\u{10fe00}",
            ),
        ] {
            assert_eq!(join_parts(parts), text, "{parts:?}");
        }
    }

    #[test]
    fn parse_whole_replaces_lone_surrogates() {
        let text = r#"{"\ud83d": ["x\ude00", 1, {"a": "\ud83d\ude00"}]}"#;
        let value = json!({"\u{fffd}": ["x\u{fffd}", 1, {"a": "😀"}]});
        assert_eq!(parse_whole(text).unwrap(), value);
        for broken in [r#"{"a": "\ud83d""#, r#""\ud8""#, r#""\ud83d" x"#, "{"] {
            assert!(parse_whole(broken).is_err(), "{broken}");
        }
    }
}

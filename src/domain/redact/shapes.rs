//! Keys recognized by their format. Each rule requires enough random-looking characters that ordinary words, class
//! names and placeholders do not match.
//!
//! The crate `regex` is not used: if the input ends in the middle of a possible secret, it cannot report that more
//! input is needed.

use super::rules::{
    InputState, Match, PENDING_MAX, Requirement, SecretBody, is_random, is_word, no_match_yet,
    strip_start,
};
use super::tokens::{JWT_START, TOKENS, TokenFormat, jwt};

/// Texts in HTTP headers that are followed by a secret. Each entry contains the text in lowercase (compared regardless
/// of case), the label for the placeholder, and the minimum length of the secret in bytes.
const HEADERS: &[(&str, &str, usize)] = &[
    ("authorization: basic ", "password", 8),
    ("bearer ", "bearer token", 20),
    ("x-api-key: ", "API key", 16),
];

/// Prefixes of AWS access key ids. Exactly 16 characters follow, each an uppercase letter or digit.
const AWS: &[&str] = &["AKIA", "ASIA"];
const AWS_REST: usize = 16;

const BLOCK_START: &str = "-----BEGIN ";
const BLOCK_END: &str = "-----END ";
const DASHES: &str = "-----";
/// Upper bound, in bytes, of the length of the key type in a PEM block, such as `RSA PRIVATE KEY`. A block is not
/// redacted if the key type in its first line has this length or more. If only the key type in the last line is too
/// long, the block is redacted without that key type.
const BLOCK_NAME_MAX: usize = 40;
/// Minimum length of the text between the first and last line of a PEM block, in bytes. A block with less text is not a
/// real key and is not redacted.
const BLOCK_MIN: usize = 40;

/// A password in a URL is redacted only if the user name before it has fewer bytes than this.
const USER_MAX: usize = 128;
/// A password in a URL is redacted only if it has fewer bytes than this.
const PASSWORD_MAX: usize = 512;
/// Passwords that examples use, in lowercase. In a URL, they are not redacted, regardless of case.
const EXAMPLE_PASSWORDS: &[&str] = &["password", "pass", "passwd", "pw", "pwd", "secret", "token"];
/// First bytes of texts that are written in place of a password in a URL, such as `$PASSWORD` or `<password>`. A text
/// that begins with one of these bytes is not redacted.
const PLACEHOLDER_STARTS: &[u8] = b"$<{*%[";

/// Returns for each byte value whether [`match_at`] can match anything that begins with that byte: a secret, or the
/// text that introduces one, such as `Bearer ` or `://`.
pub fn first_bytes() -> [bool; 256] {
    let starts = TOKENS.iter().map(|format| format.start);
    let starts = starts.chain(AWS.iter().copied());
    let starts = starts.chain([BLOCK_START, "://", JWT_START]);
    let mut table = [false; 256];
    for first in starts.filter_map(|start| start.bytes().next()) {
        table[usize::from(first)] = true;
    }
    for first in HEADERS
        .iter()
        .filter_map(|(start, ..)| start.bytes().next())
    {
        table[usize::from(first)] = true;
        table[usize::from(first.to_ascii_uppercase())] = true;
    }
    table
}

/// Checks whether a secret with one of the known formats begins at the start of `rest`, which is not empty. `before` is
/// the byte in front of `rest`; `None` at the start of the input. Returns the result of the first format that does not
/// return [`Match::Nothing`].
pub fn match_at(before: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
    let can_match = |format: &&TokenFormat| format.start.as_bytes().first() == rest.first();
    let found = TOKENS
        .iter()
        .filter(can_match)
        .map(|format| format.match_at(before, rest, end))
        .find(|matched| *matched != Match::Nothing);
    let rules = [header, aws_key, private_key, url_password, jwt];
    found.unwrap_or_else(|| {
        rules
            .iter()
            .map(|rule| rule(before, rest, end))
            .find(|matched| *matched != Match::Nothing)
            .unwrap_or(Match::Nothing)
    })
}

impl TokenFormat {
    fn match_at(&self, before: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
        if self.begins_word && is_word(before) {
            return Match::Nothing;
        }
        let after = match strip_start(self.start, rest, end) {
            Ok(after) => after,
            Err(matched) => return matched,
        };
        let length = self.body.length(after);
        if is_random(&after[..length], self.min, self.requirement) {
            return Match::OpenSecret {
                prefix: 0,
                length: self.start.len() + length,
                label: self.label,
                body: self.body,
            };
        }
        no_match_yet(after.len(), length + 1, end)
    }
}

fn header(_: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
    let mut incomplete = false;
    for (start, label, min) in HEADERS {
        let available = rest.len().min(start.len());
        if !rest[..available].eq_ignore_ascii_case(&start.as_bytes()[..available]) {
            continue;
        }
        if available < start.len() {
            incomplete = incomplete || end == InputState::Partial;
            continue;
        }
        let after = &rest[start.len()..];
        let length = SecretBody::Header.length(after);
        if is_random(&after[..length], *min, Requirement::Digit) {
            return Match::OpenSecret {
                prefix: start.len(),
                length: start.len() + length,
                label,
                body: SecretBody::Header,
            };
        }
        incomplete = incomplete || (end == InputState::Partial && length == after.len());
    }
    if incomplete {
        Match::Incomplete
    } else {
        Match::Nothing
    }
}

fn aws_key(before: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
    if is_word(before) {
        return Match::Nothing;
    }
    let mut incomplete = Match::Nothing;
    for start in AWS {
        let after = match strip_start(start, rest, end) {
            Ok(after) => after,
            Err(Match::Incomplete) => {
                incomplete = Match::Incomplete;
                continue;
            }
            Err(_) => continue,
        };
        let is_part = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit();
        let length = after
            .iter()
            .position(|b| !is_part(b))
            .unwrap_or(after.len());
        if length == after.len() && end == InputState::Partial && length <= AWS_REST {
            return Match::Incomplete;
        }
        let is_whole = length == AWS_REST && !is_word(after.get(length).copied());
        if is_whole {
            return Match::Secret {
                prefix: 0,
                length: start.len() + length,
                label: "AWS key",
            };
        }
    }
    incomplete
}

fn private_key(_: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
    let after = match strip_start(BLOCK_START, rest, end) {
        Ok(after) => after,
        Err(matched) => return matched,
    };
    let name = after.iter().take(BLOCK_NAME_MAX).position(|b| *b == b'-');
    let Some(name) = name else {
        return no_match_yet(after.len(), BLOCK_NAME_MAX, end);
    };
    let is_key =
        after[..name].ends_with(b"PRIVATE KEY") || after[..name].ends_with(b"PRIVATE KEY BLOCK");
    if !is_key {
        return Match::Nothing;
    }
    let from = BLOCK_START.len() + name;
    let Ok(after) = strip_start(DASHES, &rest[from..], end) else {
        return no_match_yet(rest.len(), from + DASHES.len(), end);
    };
    let from = from + DASHES.len();
    let length = key_body_length(after);
    let (remainder, label) = (&after[length..], "private key");
    let is_open = end == InputState::Partial && rest.len() <= PENDING_MAX;
    if is_open && (remainder.is_empty() || BLOCK_END.as_bytes().starts_with(remainder)) {
        return Match::Incomplete;
    }
    if length < BLOCK_MIN {
        return Match::Nothing;
    }
    if remainder.is_empty() && end == InputState::Partial {
        // The body is longer than that of any real key. Redact it now, with all key characters that follow, instead of
        // waiting for its end.
        return Match::OpenSecret {
            prefix: 0,
            length: from + length,
            label,
            body: SecretBody::Block,
        };
    }
    let last = remainder.strip_prefix(BLOCK_END.as_bytes());
    let last_line = match last {
        None => 0,
        Some(name) => {
            let until = name.windows(DASHES.len()).take(BLOCK_NAME_MAX);
            match until.clone().position(|w| w == DASHES.as_bytes()) {
                Some(at) => BLOCK_END.len() + at + DASHES.len(),
                None if is_open && name.len() < BLOCK_NAME_MAX => return Match::Incomplete,
                None => BLOCK_END.len(),
            }
        }
    };
    Match::Secret {
        prefix: 0,
        length: from + length + last_line,
        label,
    }
}

/// Returns the length of the text at the start of `bytes` that can be the content of a PEM block. The text may contain
/// single dashes, as in the header `Proc-Type`, but ends before two dashes in a row, and before a dash at the end of
/// `bytes`.
fn key_body_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_dash = *byte == b'-' && bytes.get(at + 1).is_some_and(|next| *next != b'-');
        if !is_dash && !SecretBody::Block.has(*byte) {
            break;
        }
        at += 1;
    }
    at
}

/// Matches the password in `://user:password@` at the start of `rest`. `before` is the byte in front of `rest`. It must
/// be a letter or digit, as at the end of a URL scheme.
fn url_password(before: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
    if !before.is_some_and(|b| b.is_ascii_alphanumeric()) {
        return Match::Nothing;
    }
    let after = match strip_start("://", rest, end) {
        Ok(after) => after,
        Err(matched) => return matched,
    };
    let is_part =
        |b: u8| !b.is_ascii_whitespace() && !b.is_ascii_control() && !b"/@\"'<>`\\".contains(&b);
    let user = after
        .iter()
        .take(USER_MAX)
        .position(|b| *b == b':' || !is_part(*b));
    let Some(user) = user else {
        return no_match_yet(after.len(), USER_MAX, end);
    };
    if after[user] != b':' {
        return Match::Nothing;
    }
    let secret = &after[user + 1..];
    let length = secret.iter().take(PASSWORD_MAX).position(|b| !is_part(*b));
    let Some(length) = length else {
        return no_match_yet(secret.len(), PASSWORD_MAX, end);
    };
    let password = &secret[..length];
    let is_word = EXAMPLE_PASSWORDS
        .iter()
        .any(|word| password.eq_ignore_ascii_case(word.as_bytes()));
    let is_placeholder = password
        .first()
        .is_none_or(|b| PLACEHOLDER_STARTS.contains(b));
    if secret[length] != b'@' || is_word || is_placeholder {
        return Match::Nothing;
    }
    let prefix = "://".len() + user + 1;
    Match::Secret {
        prefix,
        length: prefix + length,
        label: "password",
    }
}

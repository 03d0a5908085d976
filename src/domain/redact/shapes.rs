//! Keys that are known by their shape. Each rule demands so much of what follows its beginning that words, class names
//! and placeholders are left alone.

use super::stream::HELD_MAX;
use super::tokens::{JWT_START, Shape, TOKENS, jwt};
use super::{End, Here};

/// What a secret may go on with, once it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Letters, digits, `-` and `_`.
    Token,
    /// That and what base64 and dotted tokens have.
    Header,
    /// The lines of a private key.
    Block,
}

impl Body {
    fn has(self, byte: u8) -> bool {
        let is_token = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match self {
            Body::Token => is_token,
            Body::Header => is_token || b".~+/=".contains(&byte),
            // `\n` may stand there as two characters, and the oldest keys have headers.
            Body::Block => {
                byte.is_ascii_alphanumeric()
                    || byte.is_ascii_whitespace()
                    || b"+/=\\:,".contains(&byte)
            }
        }
    }

    /// How many bytes at the start of `rest` belong to it.
    pub fn length(self, rest: &[u8]) -> usize {
        let other = rest.iter().position(|byte| !self.has(*byte));
        other.unwrap_or(rest.len())
    }
}

/// What must be in a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// A digit.
    Digit,
    /// A digit, and so many letters and digits in one go: what random text has and names that people write have not.
    Run(usize),
}

/// What may stand before a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Anything.
    Any,
    /// Nothing of a word: `task-…` is no key.
    NoWord,
}

/// Words of a header, in small letters, whose value is a secret.
const HEADERS: &[(&str, &str, usize)] = &[
    ("authorization: basic ", "password", 8),
    ("bearer ", "bearer token", 20),
    ("x-api-key: ", "API key", 16),
];

/// Letters with which keys of AWS begin; 16 capital letters and digits follow.
const AWS: &[&str] = &["AKIA", "ASIA"];
const AWS_REST: usize = 16;

const BLOCK_START: &str = "-----BEGIN ";
const BLOCK_END: &str = "-----END ";
const DASHES: &str = "-----";
/// Most bytes of the name in the first line of a key.
const BLOCK_NAME_MAX: usize = 40;
/// Fewest bytes of a key: less is code that mentions one.
const BLOCK_MIN: usize = 40;

/// Longest user and password in an address.
const USER_MAX: usize = 128;
const PASSWORD_MAX: usize = 512;
/// Passwords that are none, and with which those begin that are put in later.
const NO_PASSWORDS: &[&str] = &["password", "pass", "passwd", "pw", "pwd", "secret", "token"];
const PUT_IN_LATER: &[u8] = b"$<{*%[";

/// The bytes with which one of the shapes can begin: a table by byte.
pub fn begins() -> [bool; 256] {
    let starts = TOKENS.iter().map(|shape| shape.start);
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

/// What stands at the start of `rest`, behind the byte `before`.
pub fn look(before: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
    let found = TOKENS
        .iter()
        .map(|shape| shape.look(before, rest, end))
        .find(|here| *here != Here::Nothing);
    let rules = [header, aws, block, address, jwt];
    found.unwrap_or_else(|| {
        rules
            .iter()
            .map(|rule| rule(before, rest, end))
            .find(|here| *here != Here::Nothing)
            .unwrap_or(Here::Nothing)
    })
}

/// What is behind `start` at the start of `rest`; else whether it may come.
pub fn behind<'a>(start: &str, rest: &'a [u8], end: End) -> Result<&'a [u8], Here<'static>> {
    let start = start.as_bytes();
    match rest.strip_prefix(start) {
        Some(behind) => Ok(behind),
        None if end == End::Open && start.starts_with(rest) => Err(Here::Perhaps),
        None => Err(Here::Nothing),
    }
}

pub fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl Shape {
    fn look(&self, before: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
        if self.edge == Edge::NoWord && is_word(before) {
            return Here::Nothing;
        }
        let behind = match behind(self.start, rest, end) {
            Ok(behind) => behind,
            Err(here) => return here,
        };
        let length = self.body.length(behind);
        if is_random(&behind[..length], self.min, self.demand) {
            return Here::Begun {
                kept: 0,
                length: self.start.len() + length,
                what: self.what,
                body: self.body,
            };
        }
        unless_more(behind.len(), length + 1, end)
    }
}

/// Nothing, unless what would decide may still come: there are fewer bytes than it takes.
pub fn unless_more(bytes: usize, decided_by: usize, end: End) -> Here<'static> {
    match end {
        End::Open if bytes < decided_by => Here::Perhaps,
        End::Open | End::Whole => Here::Nothing,
    }
}

fn is_random(bytes: &[u8], min: usize, demand: Demand) -> bool {
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let is_dense = match demand {
        Demand::Digit => true,
        Demand::Run(length) => bytes
            .split(|b| !b.is_ascii_alphanumeric())
            .any(|run| run.len() >= length),
    };
    bytes.len() >= min && has_digit && is_dense
}

fn header(_: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
    let mut perhaps = false;
    for (start, what, min) in HEADERS {
        let there = rest.len().min(start.len());
        if !rest[..there].eq_ignore_ascii_case(&start.as_bytes()[..there]) {
            continue;
        }
        if there < start.len() {
            perhaps = perhaps || end == End::Open;
            continue;
        }
        let behind = &rest[start.len()..];
        let length = Body::Header.length(behind);
        if is_random(&behind[..length], *min, Demand::Digit) {
            return Here::Begun {
                kept: start.len(),
                length: start.len() + length,
                what,
                body: Body::Header,
            };
        }
        perhaps = perhaps || (end == End::Open && length == behind.len());
    }
    if perhaps {
        Here::Perhaps
    } else {
        Here::Nothing
    }
}

fn aws(before: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
    if is_word(before) {
        return Here::Nothing;
    }
    let mut perhaps = Here::Nothing;
    for start in AWS {
        let behind = match behind(start, rest, end) {
            Ok(behind) => behind,
            Err(Here::Perhaps) => {
                perhaps = Here::Perhaps;
                continue;
            }
            Err(_) => continue,
        };
        let is_part = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit();
        let length = behind
            .iter()
            .position(|b| !is_part(b))
            .unwrap_or(behind.len());
        if length == behind.len() && end == End::Open && length <= AWS_REST {
            return Here::Perhaps;
        }
        let is_whole = length == AWS_REST && !is_word(behind.get(length).copied());
        if is_whole {
            return Here::Secret {
                kept: 0,
                length: start.len() + length,
                what: "AWS key",
            };
        }
    }
    perhaps
}

fn block(_: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
    let behind = match behind(BLOCK_START, rest, end) {
        Ok(behind) => behind,
        Err(here) => return here,
    };
    let name = behind.iter().take(BLOCK_NAME_MAX).position(|b| *b == b'-');
    let Some(name) = name else {
        return unless_more(behind.len(), BLOCK_NAME_MAX, end);
    };
    let is_key =
        behind[..name].ends_with(b"PRIVATE KEY") || behind[..name].ends_with(b"PRIVATE KEY BLOCK");
    if !is_key {
        return Here::Nothing;
    }
    let from = BLOCK_START.len() + name;
    let Ok(behind) = self::behind(DASHES, &rest[from..], end) else {
        return unless_more(rest.len(), from + DASHES.len(), end);
    };
    let from = from + DASHES.len();
    let length = lines_of(behind);
    let (rest_of_it, what) = (&behind[length..], "private key");
    let is_open = end == End::Open && rest.len() <= HELD_MAX;
    if is_open && (rest_of_it.is_empty() || BLOCK_END.as_bytes().starts_with(rest_of_it)) {
        return Here::Perhaps;
    }
    if length < BLOCK_MIN {
        return Here::Nothing;
    }
    if rest_of_it.is_empty() && end == End::Open {
        // Longer than any key: it goes on as it began.
        return Here::Begun {
            kept: 0,
            length: from + length,
            what,
            body: Body::Block,
        };
    }
    let last = rest_of_it.strip_prefix(BLOCK_END.as_bytes());
    let last_line = match last {
        None => 0,
        Some(name) => {
            let until = name.windows(DASHES.len()).take(BLOCK_NAME_MAX);
            match until.clone().position(|w| w == DASHES.as_bytes()) {
                Some(at) => BLOCK_END.len() + at + DASHES.len(),
                None if is_open && name.len() < BLOCK_NAME_MAX => return Here::Perhaps,
                None => BLOCK_END.len(),
            }
        }
    };
    Here::Secret {
        kept: 0,
        length: from + length + last_line,
        what,
    }
}

/// How many bytes belong to the lines of a key; a single `-` does, as in `Proc-Type`.
fn lines_of(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_dash = *byte == b'-' && bytes.get(at + 1).is_some_and(|next| *next != b'-');
        if !is_dash && !Body::Block.has(*byte) {
            break;
        }
        at += 1;
    }
    at
}

/// `://user:password@`: the password.
fn address(before: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
    if !before.is_some_and(|b| b.is_ascii_alphanumeric()) {
        return Here::Nothing;
    }
    let behind = match behind("://", rest, end) {
        Ok(behind) => behind,
        Err(here) => return here,
    };
    let is_part =
        |b: u8| !b.is_ascii_whitespace() && !b.is_ascii_control() && !b"/@\"'<>`\\".contains(&b);
    let user = behind
        .iter()
        .take(USER_MAX)
        .position(|b| *b == b':' || !is_part(*b));
    let Some(user) = user else {
        return unless_more(behind.len(), USER_MAX, end);
    };
    if behind[user] != b':' {
        return Here::Nothing;
    }
    let secret = &behind[user + 1..];
    let length = secret.iter().take(PASSWORD_MAX).position(|b| !is_part(*b));
    let Some(length) = length else {
        return unless_more(secret.len(), PASSWORD_MAX, end);
    };
    let password = &secret[..length];
    let is_word = NO_PASSWORDS
        .iter()
        .any(|word| password.eq_ignore_ascii_case(word.as_bytes()));
    let is_put_in = password.first().is_none_or(|b| PUT_IN_LATER.contains(b));
    if secret[length] != b'@' || is_word || is_put_in {
        return Here::Nothing;
    }
    let kept = "://".len() + user + 1;
    Here::Secret {
        kept,
        length: kept + length,
        what: "password",
    }
}

//! Building blocks of the rules that recognize secrets by their format.

/// The result of searching for a secret that begins at one position of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match<'a> {
    Nothing,
    /// A secret. `length` is the number of matched bytes. The first `prefix` of them only introduce the secret, as
    /// `Bearer ` does, and are not redacted. `label` is the text for the placeholder: the kind of secret, or the name
    /// of a known value.
    Secret {
        prefix: usize,
        length: usize,
        label: &'a str,
    },
    /// A secret may begin at this position; more input is needed to decide.
    Incomplete,
    /// Like `Secret`, but the secret may continue after `length` bytes: following bytes of the input belong to the
    /// secret as long as they are characters of `body`.
    OpenSecret {
        prefix: usize,
        length: usize,
        label: &'a str,
        body: SecretBody,
    },
}

/// Whether the input is complete, or more of it may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputState {
    Complete,
    Partial,
}

/// Maximum number of bytes that a redacting stream holds back because they may be part of a secret. If more bytes than
/// this are undecided, a private key, or a JSON web token whose header is complete, is redacted without waiting for its
/// end. Other undecided text is then output without redaction. Known values are always shorter than this limit.
pub const PENDING_MAX: usize = 20 * 1024;

/// The set of characters of which a secret can consist after its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretBody {
    /// Letters, digits, `-` and `_`.
    Token,
    /// The characters of `Token` and `.`, `~`, `+`, `/`, `=`, as in base64 and dotted tokens.
    Header,
    /// The characters of a private key in PEM format, including line breaks.
    Block,
}

impl SecretBody {
    pub fn has(self, byte: u8) -> bool {
        let is_token = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match self {
            SecretBody::Token => is_token,
            SecretBody::Header => is_token || b".~+/=".contains(&byte),
            // A line break may be escaped as `\n`, and old key formats have header lines.
            SecretBody::Block => {
                byte.is_ascii_alphanumeric()
                    || byte.is_ascii_whitespace()
                    || b"+/=\\:,".contains(&byte)
            }
        }
    }

    /// Returns the number of bytes at the start of `rest` that can belong to the secret.
    pub fn length(self, rest: &[u8]) -> usize {
        let other = rest.iter().position(|byte| !self.has(*byte));
        other.unwrap_or(rest.len())
    }
}

/// What a text must contain to count as a random key and not as a word or name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    Digit,
    /// At least one digit, and at least this many letters and digits in a row without a separator such as `-`. Names
    /// that people choose have shorter runs.
    Run(usize),
}

/// Returns the part of `rest` after the prefix `start`.
///
/// # Errors
/// Fails with [`Match::Incomplete`] if `rest` is only the beginning of the prefix, or empty, and more input may follow.
/// Otherwise fails with [`Match::Nothing`].
pub fn strip_start<'a>(
    start: &str,
    rest: &'a [u8],
    end: InputState,
) -> Result<&'a [u8], Match<'static>> {
    let start = start.as_bytes();
    match rest.strip_prefix(start) {
        Some(after) => Ok(after),
        None if end == InputState::Partial && start.starts_with(rest) => Err(Match::Incomplete),
        None => Err(Match::Nothing),
    }
}

pub fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Returns the result for an input of `bytes` bytes in which no secret was found so far. After `decided_by` bytes, a
/// secret is ruled out. The result is `Incomplete` if the input has fewer bytes than that and more may follow,
/// otherwise `Nothing`.
pub fn no_match_yet(bytes: usize, decided_by: usize, end: InputState) -> Match<'static> {
    match end {
        InputState::Partial if bytes < decided_by => Match::Incomplete,
        InputState::Partial | InputState::Complete => Match::Nothing,
    }
}

pub fn is_random(bytes: &[u8], min: usize, requirement: Requirement) -> bool {
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let is_dense = match requirement {
        Requirement::Digit => true,
        Requirement::Run(length) => bytes
            .split(|b| !b.is_ascii_alphanumeric())
            .any(|run| run.len() >= length),
    };
    bytes.len() >= min && has_digit && is_dense
}

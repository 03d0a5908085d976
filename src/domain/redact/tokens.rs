//! Secrets recognized by a fixed prefix, and JSON web tokens.

use super::rules::{
    InputState, Match, PENDING_MAX, Requirement, SecretBody, is_word, no_match_yet, strip_start,
};

/// A token format with a fixed prefix.
pub struct TokenFormat {
    pub start: &'static str,
    /// The kind of secret, as named in the placeholder, such as `GitHub token`.
    pub label: &'static str,
    /// The characters that follow the prefix.
    pub body: SecretBody,
    /// Minimum number of bytes after the prefix.
    pub min: usize,
    pub requirement: Requirement,
    /// Whether the prefix is recognized only at the start of a word. Without this condition, the `sk-` in `task-…`
    /// would be taken for the prefix of a key.
    pub begins_word: bool,
}

const fn token(start: &'static str, label: &'static str, min: usize) -> TokenFormat {
    TokenFormat {
        start,
        label,
        body: SecretBody::Token,
        min,
        requirement: Requirement::Digit,
        begins_word: false,
    }
}

/// The known token formats. If a prefix begins with another prefix, as `sk-ant-` does with `sk-`, the format with the
/// longer prefix comes first.
pub const TOKENS: &[TokenFormat] = &[
    token("sk-ant-", "Anthropic key", 20),
    TokenFormat {
        requirement: Requirement::Run(16),
        begins_word: true,
        ..token("sk-", "API key", 20)
    },
    token("ghp_", "GitHub token", 30),
    token("gho_", "GitHub token", 30),
    token("ghu_", "GitHub token", 30),
    token("ghs_", "GitHub token", 30),
    token("ghr_", "GitHub token", 30),
    token("github_pat_", "GitHub token", 22),
    token("glpat-", "GitLab token", 20),
    token("xoxb-", "Slack token", 20),
    token("xoxp-", "Slack token", 20),
    token("xoxa-", "Slack token", 20),
    token("xoxr-", "Slack token", 20),
    token("xoxs-", "Slack token", 20),
    token("xapp-", "Slack token", 20),
    token("sk_live_", "Stripe key", 16),
    token("sk_test_", "Stripe key", 16),
    token("rk_live_", "Stripe key", 16),
    token("whsec_", "webhook secret", 24),
    TokenFormat {
        requirement: Requirement::Run(30),
        begins_word: true,
        ..token("npm_", "npm token", 30)
    },
    token("pypi-AgE", "PyPI token", 40),
    token("dop_v1_", "DigitalOcean token", 40),
    token("shpat_", "Shopify token", 30),
    token("glrt-", "GitLab token", 20),
    TokenFormat {
        requirement: Requirement::Run(30),
        begins_word: true,
        ..token("hf_", "Hugging Face token", 30)
    },
    TokenFormat {
        begins_word: true,
        ..token("AIza", "Google key", 35)
    },
];

/// The start of a JSON web token: `{"` in base64.
pub const JWT_START: &str = "eyJ";
/// Minimum length of each part of a JSON web token, in bytes.
const JWT_PART_MIN: usize = 10;

/// Matches a JSON web token at the start of `rest`: two JSON objects in base64 and a signature, joined by dots. A
/// single JSON object in base64, as in a source map, does not match. `before` is the byte in front of `rest`. If it is
/// a character of a word, nothing matches.
pub fn jwt(before: Option<u8>, rest: &[u8], end: InputState) -> Match<'static> {
    if is_word(before) {
        return Match::Nothing;
    }
    let header = match part(rest, end) {
        Ok(length) => length,
        Err(matched) => return matched,
    };
    let open = |length, body| Match::OpenSecret {
        prefix: 0,
        length,
        label: "JSON web token",
        body,
    };
    // More than a stream holds back. With the start of a second JSON object, this is a token: redact it without waiting
    // for its end, with all token characters that follow.
    let is_long = rest.len() > PENDING_MAX && rest[header + 1..].starts_with(JWT_START.as_bytes());
    let undecided = |matched| match matched {
        Match::Incomplete if is_long => open(rest.len(), SecretBody::Header),
        other => other,
    };
    let claims = match part(&rest[header + 1..], end) {
        Ok(length) => length,
        Err(matched) => return undecided(matched),
    };
    let from = header + claims + 2;
    let signature = SecretBody::Token.length(&rest[from..]);
    if signature >= JWT_PART_MIN {
        return open(from + signature, SecretBody::Token);
    }
    undecided(no_match_yet(rest.len(), from + signature + 1, end))
}

/// Returns the length in bytes of the header or claims of a JSON web token at the start of `rest`: a JSON object in
/// base64 that is followed by a dot. The dot is not counted.
///
/// # Errors
/// Fails with [`Match::Incomplete`] if more input is needed to decide, otherwise with [`Match::Nothing`]. The caller
/// returns this value as its result.
fn part(rest: &[u8], end: InputState) -> Result<usize, Match<'static>> {
    strip_start(JWT_START, rest, end)?;
    let length = SecretBody::Token.length(rest);
    match rest.get(length) {
        Some(b'.') if length >= JWT_PART_MIN => Ok(length),
        Some(_) => Err(Match::Nothing),
        None => Err(no_match_yet(rest.len(), length + 1, end)),
    }
}

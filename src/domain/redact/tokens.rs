//! Tokens that are known by their first characters, and JSON web tokens.

use super::shapes::{Body, Demand, Edge, behind, is_word, unless_more};
use super::{End, Here};

/// A key that begins with certain characters.
pub struct Shape {
    /// Its first characters.
    pub start: &'static str,
    /// What it is called.
    pub what: &'static str,
    /// What it goes on with.
    pub body: Body,
    /// Fewest bytes behind the start.
    /// Fewest bytes behind its first characters.
    pub min: usize,
    /// What must be in it.
    pub demand: Demand,
    /// What may stand before it.
    pub edge: Edge,
}

const fn token(start: &'static str, what: &'static str, min: usize) -> Shape {
    Shape {
        start,
        what,
        body: Body::Token,
        min,
        demand: Demand::Digit,
        edge: Edge::Any,
    }
}

/// Longer starts before those that they begin with.
pub const TOKENS: &[Shape] = &[
    token("sk-ant-", "Anthropic key", 20),
    Shape {
        demand: Demand::Run(16),
        edge: Edge::NoWord,
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
    Shape {
        demand: Demand::Run(30),
        edge: Edge::NoWord,
        ..token("npm_", "npm token", 30)
    },
    token("pypi-AgE", "PyPI token", 40),
    token("dop_v1_", "DigitalOcean token", 40),
    token("shpat_", "Shopify token", 30),
    token("glrt-", "GitLab token", 20),
    Shape {
        demand: Demand::Run(30),
        edge: Edge::NoWord,
        ..token("hf_", "Hugging Face token", 30)
    },
    Shape {
        edge: Edge::NoWord,
        ..token("AIza", "Google key", 35)
    },
];

/// The first characters of a JSON web token: `{"` in base64.
pub const JWT_START: &str = "eyJ";
/// Fewest bytes of its header and of its claims.
const JWT_PART_MIN: usize = 10;

/// Matches a JSON web token: two JSON objects in base64 and a signature, joined by dots. JSON in base64 alone, as in a
/// source map, is none.
pub fn jwt(before: Option<u8>, rest: &[u8], end: End) -> Here<'static> {
    if is_word(before) {
        return Here::Nothing;
    }
    let header = match part(rest, end) {
        Ok(length) => length,
        Err(here) => return here,
    };
    let claims = match part(&rest[header + 1..], end) {
        Ok(length) => length,
        Err(here) => return here,
    };
    let from = header + claims + 2;
    let signature = Body::Token.length(&rest[from..]);
    if signature >= JWT_PART_MIN {
        return Here::Begun {
            kept: 0,
            length: from + signature,
            what: "JSON web token",
            body: Body::Token,
        };
    }
    unless_more(rest.len(), from + signature + 1, end)
}

/// The length of one JSON object in base64 with a dot behind it.
fn part(rest: &[u8], end: End) -> Result<usize, Here<'static>> {
    behind(JWT_START, rest, end)?;
    let length = Body::Token.length(rest);
    match rest.get(length) {
        Some(b'.') if length >= JWT_PART_MIN => Ok(length),
        Some(_) => Err(Here::Nothing),
        None => Err(unless_more(rest.len(), length + 1, end)),
    }
}

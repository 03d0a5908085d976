//! Signatures of stored messages. A crew may have a secret; then each message of the crew carries a code that only a program
//! with the secret can compute (HMAC-SHA256), and messages without a valid one are ignored.
//!
//! A signature does not prevent that a message is removed, or that an old message is stored again under its key.

use std::fmt::Write as _;

use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

use super::error::HubError;

/// Minimum and maximum length of a secret, in bytes. A short secret can be found by trying all, because anyone who can read
/// the hub can check a guess.
const SECRET_MIN: usize = 16;
const SECRET_MAX: usize = 4096;
// What a code is computed for is part of the input, so that a code of one use is not valid for another.
const KEY_LABEL: &[u8] = b"crewdeck hub crew key 1";
const MESSAGE_LABEL: &[u8] = b"message";
const STREAM_LABEL: &[u8] = b"stream";

/// The secret of a crew, without whitespace around it.
#[derive(Debug, Clone)]
pub struct HubSecret(SecretString);

impl HubSecret {
    /// Checks the length of a secret.
    ///
    /// # Errors
    /// When it is too short or too long.
    pub fn new(text: &str) -> Result<HubSecret, HubError> {
        let text = text.trim();
        if !(SECRET_MIN..=SECRET_MAX).contains(&text.len()) {
            return Err(HubError::SecretLength {
                min: SECRET_MIN,
                max: SECRET_MAX,
            });
        }
        Ok(HubSecret(SecretString::from(text)))
    }
}

/// The key of a crew, derived from its secret.
#[derive(Debug)]
pub(super) struct CrewKey(hmac::Key);

impl CrewKey {
    pub fn new(secret: &HubSecret, crew: &str) -> CrewKey {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.0.expose_secret().as_bytes());
        let derived = hmac::sign(&secret, &input(&[KEY_LABEL, crew.as_bytes()]));
        CrewKey(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// Returns the signature of a message in hexadecimal. The subject contains the crew, the stream and the key.
    pub fn sign(&self, subject: &str, id: &str, payload: &[u8]) -> String {
        let message = input(&[MESSAGE_LABEL, subject.as_bytes(), id.as_bytes(), payload]);
        hex(hmac::sign(&self.0, &message).as_ref())
    }

    /// Returns whether `signature` is that of the message.
    pub fn is_signed(&self, subject: &str, id: &str, payload: &[u8], signature: &str) -> bool {
        let message = input(&[MESSAGE_LABEL, subject.as_bytes(), id.as_bytes(), payload]);
        self.is_code(&message, signature)
    }

    /// Returns what the metadata of a stream contains so that other programs can check their secret.
    pub fn mark(&self, stream: &str) -> String {
        hex(hmac::sign(&self.0, &input(&[STREAM_LABEL, stream.as_bytes()])).as_ref())
    }

    pub fn is_mark(&self, stream: &str, mark: &str) -> bool {
        self.is_code(&input(&[STREAM_LABEL, stream.as_bytes()]), mark)
    }

    fn is_code(&self, message: &[u8], code: &str) -> bool {
        let code = bytes(code);
        code.is_some_and(|code| hmac::verify(&self.0, message, &code).is_ok())
    }
}

/// Returns the parts, each after its length, so that no two lists of parts have the same result.
fn input(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        all.extend_from_slice(&(part.len() as u64).to_be_bytes());
        all.extend_from_slice(part);
    }
    all
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the bytes that `hex` has written.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";
    const SUBJECT: &str = "crewdeck.web.state.team";

    fn key(secret: &str, crew: &str) -> CrewKey {
        CrewKey::new(&HubSecret::new(secret).unwrap(), crew)
    }

    #[test]
    fn signature_covers_every_part_of_a_message() {
        let signature = key(SECRET, "web").sign(SUBJECT, "id", b"{}");
        assert_eq!(signature.len(), 64);
        let is_signed = |key: &CrewKey, subject: &str, id: &str, payload: &[u8]| {
            key.is_signed(subject, id, payload, &signature)
        };
        let own = key(SECRET, "web");
        assert!(is_signed(&own, SUBJECT, "id", b"{}"));
        for (what, is_valid) in [
            ("payload", is_signed(&own, SUBJECT, "id", b"[]")),
            ("id", is_signed(&own, SUBJECT, "other", b"{}")),
            ("border", is_signed(&own, SUBJECT, "id{", b"}")),
            ("key", is_signed(&own, "crewdeck.web.state.t", "id", b"{}")),
            ("crew", is_signed(&key(SECRET, "api"), SUBJECT, "id", b"{}")),
            (
                "secret",
                is_signed(&key("0123456789abcdeF", "web"), SUBJECT, "id", b"{}"),
            ),
        ] {
            assert!(!is_valid, "{what}");
        }
    }

    #[test]
    fn damaged_signature_is_not_valid() {
        let own = key(SECRET, "web");
        let signature = own.sign(SUBJECT, "id", b"{}");
        let other_digit = if signature.starts_with('0') { "1" } else { "0" };
        for damaged in [
            String::new(),
            signature[..62].to_string(),
            format!("{signature}00"),
            format!("{}ü", &signature[..62]),
            format!("+{}", &signature[1..]),
            format!("{other_digit}{}", &signature[1..]),
        ] {
            assert!(!own.is_signed(SUBJECT, "id", b"{}", &damaged), "{damaged}");
        }
    }

    #[test]
    fn mark_of_a_stream_is_no_signature_and_belongs_to_one_stream() {
        let own = key(SECRET, "web");
        let mark = own.mark("crewdeck_web_state");
        assert!(own.is_mark("crewdeck_web_state", &mark));
        assert!(!own.is_mark("crewdeck_web_mail", &mark));
        assert!(!key("another secret 123", "web").is_mark("crewdeck_web_state", &mark));
        assert!(!own.is_signed("crewdeck_web_state", "", b"", &mark));
    }

    #[test]
    fn secret_is_trimmed_hidden_and_has_a_minimum_length() {
        let error = HubSecret::new("  too short  ").unwrap_err().to_string();
        assert!(error.contains("16"), "{error}");
        assert!(HubSecret::new(&"x".repeat(SECRET_MAX + 1)).is_err());
        let secret = HubSecret::new(&format!(" {SECRET}\n")).unwrap();
        assert!(!format!("{secret:?}").contains("0123"));
        let (a, b) = (CrewKey::new(&secret, "web"), key(SECRET, "web"));
        assert_eq!(a.sign(SUBJECT, "", b""), b.sign(SUBJECT, "", b""));
    }
}

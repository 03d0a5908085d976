//! Recognizes that a server has refused the effort that a role sets. Not every model and server accepts an effort.

use super::{ErrorKind, ModelError};

/// Returns whether `error` says that the server does not accept a reasoning effort. Call this only for errors of
/// requests with an effort. The error message is searched for certain words, because servers use different fields and
/// messages.
pub fn is_refused(error: &ModelError) -> bool {
    let may_be = matches!(
        error.kind,
        ErrorKind::BadRequest | ErrorKind::UnknownModel | ErrorKind::Server
    );
    let lower = error.message.to_lowercase();
    may_be
        && ["effort", "output_config", "reasoning"]
            .iter()
            .any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_of_the_effort_are_recognised() {
        for (kind, text, expected) in [
            (
                ErrorKind::BadRequest,
                "the server rejected the request (400): This model does not support the effort parameter.",
                true,
            ),
            (
                ErrorKind::BadRequest,
                "the server rejected the request (400): output_config: Extra inputs are not permitted",
                true,
            ),
            (
                ErrorKind::BadRequest,
                "the server rejected the request (400): Unrecognized request argument supplied: reasoning_effort",
                true,
            ),
            (ErrorKind::BadRequest, "max_tokens is too large", false),
            (ErrorKind::RateLimited, "too much reasoning", false),
        ] {
            assert_eq!(
                is_refused(&ModelError::new(kind, text, "")),
                expected,
                "{text}"
            );
        }
    }
}

//! How servers with the Chat Completions API differ. Does no I/O.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The name of the request field that limits the tokens of a response, on most servers. Newer `OpenAI` models accept
/// only [`MAX_COMPLETION_TOKENS`].
pub const MAX_TOKENS: &str = "max_tokens";
pub const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// What a server expects beyond or against the documented API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The name of the request field that limits the tokens of a response.
    pub max_tokens: &'static str,
    pub deviation: Deviation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deviation {
    None,
    /// Mistral's server: it refuses unknown fields such as `stream_options` (it reports the usage anyway), ids of calls
    /// that are not [`CALL_ID_LENGTH`] ASCII alphanumeric characters, and a user message directly after tool results.
    Mistral,
    /// DeepSeek's server: a model that thinks must get back its `reasoning_content` with its tool calls.
    DeepSeek,
}

/// The length of the id of a call at Mistral.
const CALL_ID_LENGTH: usize = 9;

impl Dialect {
    pub const STANDARD: Dialect = Dialect {
        max_tokens: MAX_TOKENS,
        deviation: Deviation::None,
    };

    /// Returns the dialect of a vendor whose only differences are those of `deviation`.
    pub const fn of(deviation: Deviation) -> Dialect {
        Dialect {
            deviation,
            ..Dialect::STANDARD
        }
    }

    /// Returns the id of a call as the server accepts it. The same id always gives the same result.
    pub fn call_id(self, id: &str) -> Cow<'_, str> {
        let is_valid = id.len() == CALL_ID_LENGTH && id.bytes().all(|b| b.is_ascii_alphanumeric());
        if self.deviation != Deviation::Mistral || is_valid {
            return id.into();
        }
        let mut hash = DefaultHasher::new();
        id.hash(&mut hash);
        // Nine hexadecimal digits are 36 bits: enough to tell the calls of a conversation apart.
        format!("{:016x}", hash.finish())[..CALL_ID_LENGTH]
            .to_string()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistral_call_ids_have_nine_alphanumeric_characters() {
        let mistral = Dialect::of(Deviation::Mistral);
        assert_eq!(mistral.call_id("aB3dE6gH9"), "aB3dE6gH9");
        let ids = ["call_0fypS1hVX", "toolu_1", "call_0fypS1hVY"].map(|id| mistral.call_id(id));
        for id in &ids {
            assert!(
                id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
                "{id}"
            );
        }
        assert!(ids[0] != ids[2] && ids[0] == mistral.call_id("call_0fypS1hVX"));
        assert_eq!(
            Dialect::STANDARD.call_id("call_0fypS1hVX"),
            "call_0fypS1hVX"
        );
    }
}

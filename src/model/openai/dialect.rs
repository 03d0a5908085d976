//! How servers with the Chat Completions API differ. Does no I/O.

use crate::model::call_ids::IdForm;

/// The name of the request field that limits the tokens of a response, on most servers. Newer `OpenAI` models accept
/// only [`MAX_COMPLETION_TOKENS`].
pub const MAX_TOKENS: &str = "max_tokens";
pub const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// How a server differs from the documented Chat Completions API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The name of the request field that limits the tokens of a response.
    pub max_tokens: &'static str,
    pub deviation: Deviation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deviation {
    None,
    /// Mistral's server. It refuses a user message directly after tool results, ids of tool calls that do not have the
    /// form [`IdForm::Mistral`], and unknown fields. `stream_options` is such a field: the server reports the usage
    /// without it.
    Mistral,
    /// DeepSeek's server. Each answer of a thinking model must be sent back with the `reasoning_content` that came with
    /// the answer. For answers of other models, the server accepts an empty `reasoning_content`.
    DeepSeek,
    /// Google's server for Gemini: from Gemini 3 on, the first tool call of each answer must have a signature of the
    /// model's thoughts.
    Gemini,
}

impl Dialect {
    pub const STANDARD: Dialect = Dialect {
        max_tokens: MAX_TOKENS,
        deviation: Deviation::None,
    };

    /// Returns [`Dialect::STANDARD`] with the given `deviation`.
    pub const fn of(deviation: Deviation) -> Dialect {
        Dialect {
            deviation,
            ..Dialect::STANDARD
        }
    }

    /// Returns the form in which the server accepts the ids of tool calls.
    pub fn id_form(self) -> IdForm {
        match self.deviation {
            Deviation::Mistral => IdForm::Mistral,
            Deviation::None | Deviation::DeepSeek | Deviation::Gemini => IdForm::Chat,
        }
    }
}

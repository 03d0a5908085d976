//! The OpenAI Chat Completions API, which many servers offer:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

pub(crate) mod decode;
mod request;

#[cfg(test)]
pub(super) use decode::Decoder;

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use secrecy::{ExposeSecret, SecretString};

use super::http::{Http, READ_TIMEOUT, response_deltas};
use super::refusal::Vendor;
use super::{Delta, Model, ModelError, ModelRequest, Window};

/// The address of `OpenAI` itself.
const OFFICIAL: &str = "https://api.openai.com/v1";

/// The settings of a server with the Chat Completions API.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// The address, including `/v1` if the server uses it.
    pub base_url: String,
    /// The API key; a local server may need none.
    pub key: Option<SecretString>,
    /// The request field with the token limit.
    pub max_tokens_field: MaxTokensField,
    /// Maximum time without data from the server.
    pub read_timeout: Duration,
}

/// The request field with the token limit of the response. Newer `OpenAI` models accept only `max_completion_tokens`,
/// most other servers only `max_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxTokensField {
    /// `max_completion_tokens` for `OpenAI` itself, `max_tokens` for all other servers.
    #[default]
    Auto,
    /// `max_tokens`
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}

impl Default for OpenAiConfig {
    fn default() -> OpenAiConfig {
        OpenAiConfig {
            base_url: OFFICIAL.into(),
            key: None,
            max_tokens_field: MaxTokensField::default(),
            read_timeout: READ_TIMEOUT,
        }
    }
}

/// A model behind the Chat Completions API.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    max_tokens: &'static str,
}

impl OpenAi {
    /// Creates a model from the settings. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(config: &OpenAiConfig) -> Result<OpenAi, ModelError> {
        let mut headers = Vec::new();
        if let Some(key) = &config.key {
            headers.push(("authorization", format!("Bearer {}", key.expose_secret())));
        }
        let is_official = config.base_url.trim_end_matches('/') == OFFICIAL;
        let max_tokens = match config.max_tokens_field {
            MaxTokensField::Auto if is_official => "max_completion_tokens",
            MaxTokensField::Auto | MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        Ok(OpenAi {
            http: Http::new(
                &config.base_url,
                headers,
                Vendor::OpenAi,
                config.read_timeout,
            )?,
            max_tokens,
        })
    }
}

impl Model for OpenAi {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let (http, field) = (self.http.clone(), self.max_tokens);
        async move {
            let body = request::body(&request, field);
            let body = http.post("/chat/completions", body).await?;
            response_deltas(body, decode::Decoder::default(), decode::parse_completion)
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        let http = self.http.clone();
        async move { http.models("/models").await }.boxed()
    }

    fn listed_window(&self, name: &str) -> Option<Window> {
        self.http.windows.get(name)
    }
}

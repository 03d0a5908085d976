//! The wire of OpenAI Chat Completions, spoken by many servers:
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

use super::http::{Http, SILENCE, answered};
use super::refusal::Vendor;
use super::{Delta, Model, ModelError, ModelRequest, Window};

/// The address of `OpenAI` itself.
const OFFICIAL: &str = "https://api.openai.com/v1";

/// What varies between servers.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// The address, up to and with `/v1` where the server has that.
    pub base_url: String,
    /// The key; a server on this machine may need none.
    pub key: Option<SecretString>,
    /// The field that bounds an answer.
    pub max_tokens_field: MaxTokensField,
    /// How long the server may say nothing.
    pub silence: Duration,
}

/// The field that bounds an answer. `OpenAI`'s newer models know only the longer one, most other servers
/// only the shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxTokensField {
    /// The longer one for `OpenAI` itself, the shorter for all others.
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
            silence: SILENCE,
        }
    }
}

/// A server that speaks Chat Completions.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    max_tokens: &'static str,
}

impl OpenAi {
    /// The server as configured. Nothing is asked yet.
    ///
    /// # Errors
    /// When the address or a header can not be one.
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
            http: Http::new(&config.base_url, headers, Vendor::OpenAi, config.silence)?,
            max_tokens,
        })
    }
}

impl Model for OpenAi {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let (http, field) = (self.http.clone(), self.max_tokens);
        async move {
            let body = request::body(&request, field);
            let answer = http.post("/chat/completions", body).await?;
            answered(answer, decode::Decoder::default(), decode::whole)
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

//! The Anthropic Messages API: <https://docs.anthropic.com/en/api/messages-streaming>.

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

/// The settings of a server with the Messages API.
#[derive(Debug, Clone)]
pub struct AnthropicConfig {
    /// The address, with or without `/v1`.
    pub base_url: String,
    /// The API key; a local server may need none.
    pub key: Option<SecretString>,
    /// How the key is sent.
    pub key_header: KeyHeader,
    /// The value of the `anthropic-version` header.
    pub version: String,
    /// Maximum time without data from the server.
    pub read_timeout: Duration,
}

/// How the key is sent. The official SDK uses `X-Api-Key` up to version 1.x and a bearer token since 2.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyHeader {
    /// `x-api-key: KEY`
    #[default]
    XApiKey,
    /// `authorization: Bearer KEY`
    Bearer,
}

impl Default for AnthropicConfig {
    fn default() -> AnthropicConfig {
        AnthropicConfig {
            base_url: "https://api.anthropic.com".into(),
            key: None,
            key_header: KeyHeader::default(),
            version: "2023-06-01".into(),
            read_timeout: READ_TIMEOUT,
        }
    }
}

/// A model behind the Messages API.
#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Http,
}

impl Anthropic {
    /// Creates a model from the settings. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(config: &AnthropicConfig) -> Result<Anthropic, ModelError> {
        let mut headers = vec![("anthropic-version", config.version.clone())];
        if let Some(key) = &config.key {
            headers.push(match config.key_header {
                KeyHeader::XApiKey => ("x-api-key", key.expose_secret().to_string()),
                KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.expose_secret())),
            });
        }
        let base = config.base_url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        Ok(Anthropic {
            http: Http::new(base, headers, Vendor::Anthropic, config.read_timeout)?,
        })
    }
}

impl Model for Anthropic {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let http = self.http.clone();
        async move {
            let body = http.post("/v1/messages", request::body(&request)).await?;
            response_deltas(body, decode::Decoder::default(), decode::parse_message)
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        let http = self.http.clone();
        async move { http.models("/v1/models?limit=100").await }.boxed()
    }

    fn listed_window(&self, name: &str) -> Option<Window> {
        self.http.windows.get(name)
    }
}

//! The OpenAI Chat Completions API, which many servers offer:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod decode;
mod dialect;
mod request;

pub(super) use dialect::{Deviation, Dialect, MAX_COMPLETION_TOKENS};

#[cfg(test)]
pub(super) use decode::Decoder;

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use secrecy::ExposeSecret;

use super::http::{Http, response_deltas};
use super::provider::{
    AutoSelect, LocalServer, ModelServerConfig, ProviderOption, ProviderSpec, RefusalHints,
};
use super::{ContextWindow, Delta, Model, ModelError, ModelRequest};
use crate::domain::chat::AnswerOrigin;
use dialect::MAX_TOKENS;

/// The provider `openai`. Its address must include `/v1` if the server's paths start with `/v1`.
pub static SPEC: ProviderSpec = ProviderSpec {
    name: "openai",
    api: "Chat Completions",
    auto_select: AutoSelect::KeyOrAddress,
    key_var: "OPENAI_API_KEY",
    url_var: "OPENAI_BASE_URL",
    vendor_url: "https://api.openai.com/v1",
    vendor_hosts: &[],
    options: &[ProviderOption {
        name: "max_tokens_field",
        values: &[MAX_TOKENS, MAX_COMPLETION_TOKENS],
    }],
    local_servers: &[
        LocalServer {
            name: "Ollama",
            base_url: "http://127.0.0.1:11434/v1",
        },
        LocalServer {
            name: "llama.cpp",
            base_url: "http://127.0.0.1:8080/v1",
        },
        LocalServer {
            name: "LM Studio",
            base_url: "http://127.0.0.1:1234/v1",
        },
    ],
    has_thinking_budget: false,
    refusal_hints,
    decoder: || Box::new(decode::Decoder::default()),
    connect: |config| Ok(Arc::new(OpenAi::new(config)?)),
};

fn refusal_hints(_code: u16, lower: &str) -> RefusalHints {
    let names_field = lower.contains(MAX_COMPLETION_TOKENS) || lower.contains(MAX_TOKENS);
    RefusalHints {
        request: if names_field {
            "Set [openai] max_tokens_field to max_tokens or max_completion_tokens, or set a smaller max_tokens at the top of the settings."
        } else {
            ""
        },
        ..RefusalHints::default()
    }
}

/// Returns the name and the value of the `authorization` header with the API key; `None` without a key.
pub(super) fn bearer(config: &ModelServerConfig) -> Option<(&'static str, String)> {
    let key = config.key.as_ref()?.expose_secret();
    Some(("authorization", format!("Bearer {key}")))
}

/// A model on a server that offers the Chat Completions API.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    dialect: Dialect,
    /// The provider and the origin of the server as one text. Together with the model's name, it identifies the answers
    /// whose [`ProviderItem`](crate::domain::chat::ProviderItem)s may be sent back to this server.
    server: Arc<str>,
}

impl OpenAi {
    /// Creates the client. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(config: &ModelServerConfig) -> Result<OpenAi, ModelError> {
        let is_official = config.base_url.trim_end_matches('/') == SPEC.vendor_url;
        let max_tokens = match config.option("max_tokens_field") {
            Some(MAX_COMPLETION_TOKENS) => MAX_COMPLETION_TOKENS,
            None if is_official => MAX_COMPLETION_TOKENS,
            _ => MAX_TOKENS,
        };
        let dialect = Dialect {
            max_tokens,
            ..Dialect::STANDARD
        };
        OpenAi::with(config, bearer(config), dialect)
    }

    /// Like [`OpenAi::new`], but with the given dialect and key header. `key_header` is the name and the value of the
    /// header with the API key; `None` sends no key.
    pub(super) fn with(
        config: &ModelServerConfig,
        key_header: Option<(&'static str, String)>,
        dialect: Dialect,
    ) -> Result<OpenAi, ModelError> {
        let headers = key_header.into_iter().collect();
        Ok(OpenAi {
            http: Http::new(&config.base_url, headers, config.spec, config.read_timeout)?
                .with_headers(&config.headers)?
                .with_key_var(&config.key_var),
            dialect,
            server: config.server_name(),
        })
    }
}

impl Model for OpenAi {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let OpenAi {
            http,
            dialect,
            server,
        } = self.clone();
        async move {
            let origin = AnswerOrigin {
                server: server.to_string(),
                model: request.model.clone(),
            };
            let body = request::body(&request, &origin, dialect);
            let body = http.post("/chat/completions", body).await?;
            let decoder = || decode::Decoder::of(&origin, dialect);
            response_deltas(body, decoder(), |value| {
                decode::parse_completion(decoder(), value)
            })
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        let http = self.http.clone();
        async move { http.models("/models").await }.boxed()
    }

    fn listed_window(&self, name: &str) -> Option<ContextWindow> {
        self.http.windows.get(name)
    }

    fn is_remote(&self) -> bool {
        self.http.is_remote()
    }
}

//! The OpenAI Chat Completions API, which many servers offer:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod decode;
mod request;

#[cfg(test)]
pub(super) use decode::Decoder;

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use secrecy::ExposeSecret;

use super::http::{Http, response_deltas};
use super::provider::{LocalServer, ModelServerConfig, ProviderOption, ProviderSpec, RefusalHints};
use super::{ContextWindow, Delta, Model, ModelError, ModelRequest};

/// The name of the request field that limits the tokens of a response, on most servers. Newer `OpenAI` models accept
/// only [`MAX_COMPLETION_TOKENS`].
const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// The provider `openai`. Its address must include `/v1` if the server's paths start with `/v1`.
pub static SPEC: ProviderSpec = ProviderSpec {
    name: "openai",
    api: "Chat Completions",
    key_var: "OPENAI_API_KEY",
    url_var: "OPENAI_BASE_URL",
    vendor_url: "https://api.openai.com/v1",
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

/// A model on a server that offers the Chat Completions API.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    max_tokens: &'static str,
}

impl OpenAi {
    /// Creates the client. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(config: &ModelServerConfig) -> Result<OpenAi, ModelError> {
        let mut headers = Vec::new();
        if let Some(key) = &config.key {
            headers.push(("authorization", format!("Bearer {}", key.expose_secret())));
        }
        let is_official = config.base_url.trim_end_matches('/') == SPEC.vendor_url;
        let max_tokens = match config.option("max_tokens_field") {
            Some(MAX_COMPLETION_TOKENS) => MAX_COMPLETION_TOKENS,
            None if is_official => MAX_COMPLETION_TOKENS,
            _ => MAX_TOKENS,
        };
        Ok(OpenAi {
            http: Http::new(&config.base_url, headers, config.spec, config.read_timeout)?,
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

    fn listed_window(&self, name: &str) -> Option<ContextWindow> {
        self.http.windows.get(name)
    }

    fn is_remote(&self) -> bool {
        self.http.is_remote()
    }
}

//! The OpenAI Responses API: <https://platform.openai.com/docs/api-reference/responses-streaming>.

mod decode;
mod items;
mod request;

#[cfg(test)]
use decode::Decoder;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::http::{Http, response_deltas};
use super::provider::{AutoSelect, ModelServerConfig, ProviderSpec, RefusalHints};
use super::{ContextWindow, Delta, Model, ModelError, ModelRequest, openai};
use crate::domain::chat::AnswerOrigin;
use request::ReasoningParts;

/// The provider `responses`. Its address must include `/v1` if the server's paths start with `/v1`. It has the key
/// variable, the address variable and the vendor address of `openai`, the provider for the Chat Completions API of the
/// same vendor.
pub static SPEC: ProviderSpec = ProviderSpec {
    name: "responses",
    api: "OpenAI Responses",
    auto_select: AutoSelect::VendorAddress,
    options: &[],
    local_servers: &[],
    has_thinking_budget: false,
    refusal_hints: |_, lower| RefusalHints {
        request: if lower.contains("max_output_tokens") {
            "Set another max_tokens at the top of the settings."
        } else {
            ""
        },
        ..RefusalHints::default()
    },
    decoder: || Box::new(decode::Decoder::default()),
    connect: |config| Ok(Arc::new(Responses::new(config)?)),
    ..openai::SPEC
};

/// Maximum number of models for which accepted [`ReasoningParts`] are remembered.
const REFUSALS_MAX: usize = 64;

/// A model on a server that offers the Responses API.
#[derive(Debug, Clone)]
pub struct Responses {
    http: Http,
    /// The provider and the origin of the server as one text. Together with the model's name, it identifies the answers
    /// whose [`ProviderItem`](crate::domain::chat::ProviderItem)s may be sent back to this server.
    server: Arc<str>,
    /// The parts about reasoning that the server accepts in a request. Key: the name of the model. Contains only models
    /// for which the server has refused a part.
    refused: Arc<Mutex<BTreeMap<String, ReasoningParts>>>,
}

impl Responses {
    /// Creates the client. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(config: &ModelServerConfig) -> Result<Responses, ModelError> {
        let headers = openai::bearer(config).into_iter().collect();
        Ok(Responses {
            http: Http::new(&config.base_url, headers, config.spec, config.read_timeout)?
                .with_headers(&config.headers)?
                .with_key_var(&config.key_var),
            server: config.server_name(),
            refused: Arc::default(),
        })
    }

    fn parts(&self, model: &str) -> ReasoningParts {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(model).copied().unwrap_or(ReasoningParts::ALL)
    }

    /// Remembers the parts that the server has accepted for `model`, unless it has accepted all. A refusal of
    /// [`ReasoningParts::items`] alone is not remembered, because it depends on the conversation.
    fn remember(&self, model: &str, parts: ReasoningParts) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = ReasoningParts {
            items: parts.encrypted,
            ..parts
        };
        let is_known = refused.contains_key(model);
        if parts != ReasoningParts::ALL && (is_known || refused.len() < REFUSALS_MAX) {
            refused.insert(model.into(), parts);
        }
    }
}

impl Model for Responses {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let this = self.clone();
        async move {
            let mut parts = this.parts(&request.model);
            let origin = AnswerOrigin {
                server: this.server.to_string(),
                model: request.model.clone(),
            };
            let body = loop {
                let body = request::body(&request, &origin, parts);
                match this.http.post("/responses", body).await {
                    Ok(body) => break body,
                    Err(error) => match parts.without_refused(&error) {
                        Some(rest) => parts = rest,
                        None => return Err(error),
                    },
                }
            };
            this.remember(&request.model, parts);
            response_deltas(body, decode::Decoder::of(&origin), |value| {
                decode::parse_response(&origin, value)
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

//! The Anthropic Messages API: <https://docs.anthropic.com/en/api/messages-streaming>.

mod decode;
mod request;

#[cfg(test)]
pub(super) use decode::Decoder;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use secrecy::ExposeSecret;

use super::http::{Http, ResponseBody, response_deltas};
use super::provider::{AutoSelect, ModelServerConfig, ProviderOption, ProviderSpec, RefusalHints};
use super::{ContextWindow, Delta, Model, ModelError, ModelRequest};
use crate::domain::chat::AnswerOrigin;
use request::ThinkingForm;

/// The value of the `anthropic-version` header, unless the option `version` is set.
const VERSION: &str = "2023-06-01";

/// The provider `anthropic`. Its address is accepted with and without `/v1`.
pub static SPEC: ProviderSpec = ProviderSpec {
    name: "anthropic",
    api: "Anthropic Messages",
    auto_select: AutoSelect::KeyOrAddress,
    key_var: "ANTHROPIC_API_KEY",
    url_var: "ANTHROPIC_BASE_URL",
    vendor_url: "https://api.anthropic.com",
    vendor_hosts: &[],
    options: &[
        // The official SDK uses `X-Api-Key` up to version 1.x and a bearer token since 2.0.
        ProviderOption {
            name: "key_header",
            values: &["x-api-key", "bearer"],
        },
        ProviderOption {
            name: "version",
            values: &[],
        },
    ],
    local_servers: &[],
    has_thinking_budget: true,
    refusal_hints,
    decoder: || Box::new(decode::Decoder::default()),
    connect: |config| Ok(Arc::new(Anthropic::new(config)?)),
};

/// Error texts that say that the key itself is invalid. They contain the name of the header with the key, but do not
/// mean that the server expects another header.
const WRONG_KEY: &[&str] = &["invalid x-api-key", "invalid bearer token"];

fn refusal_hints(code: u16, lower: &str) -> RefusalHints {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let is_the_key = has(WRONG_KEY);
    let setting = if !matches!(code, 400 | 401) || is_the_key {
        None
    } else if has(&["anthropic-version"]) {
        Some(
            "Set the version that the server expects: [anthropic] version = \"…\" in the settings.",
        )
    } else if has(&["x-api-key", "authorization header", "bearer"]) {
        Some(
            "Set the other key header: [anthropic] key_header = \"bearer\" (or \"x-api-key\") in the settings.",
        )
    } else {
        None
    };
    RefusalHints {
        setting,
        key: if is_the_key {
            " If the key is right, the server may expect the other header: set [anthropic] key_header in the settings."
        } else {
            ""
        },
        request: if has(&["max_tokens", "max_completion_tokens"]) {
            "Set a smaller max_tokens at the top of the settings."
        } else {
            ""
        },
    }
}

/// Maximum number of models whose [`ThinkingForm`] is remembered. For further models, each call begins with the form of
/// the built-in table.
const FORMS_MAX: usize = 64;

/// A model on a server that offers the Messages API.
#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Http,
    /// The provider and the origin of the server as one text. Together with the model's name, it identifies the answers
    /// whose thinking may be sent back to this server.
    server: Arc<str>,
    /// For each model name, the form that the server accepted after it had refused another form.
    forms: Arc<Mutex<BTreeMap<String, ThinkingForm>>>,
}

impl Anthropic {
    /// Creates the client. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(config: &ModelServerConfig) -> Result<Anthropic, ModelError> {
        let version = config.option("version").unwrap_or(VERSION);
        let mut headers = vec![("anthropic-version", version.to_string())];
        if let Some(key) = &config.key {
            let key = key.expose_secret();
            headers.push(match config.option("key_header") {
                Some("bearer") => ("authorization", format!("Bearer {key}")),
                _ => ("x-api-key", key.to_string()),
            });
        }
        let base = config.base_url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        Ok(Anthropic {
            http: Http::new(base, headers, config.spec, config.read_timeout)?
                .with_headers(&config.headers)?
                .with_key_var(&config.key_var),
            server: config.server_name(),
            forms: Arc::default(),
        })
    }

    /// Posts the request. If the server refuses its [`ThinkingForm`], repeats the request in another form, and finally
    /// without thinking, so that a conversation with thinking can always continue.
    async fn post(
        &self,
        request: &ModelRequest,
        origin: &AnswerOrigin,
    ) -> Result<ResponseBody, ModelError> {
        let first = self.form(&request.model);
        let (mut form, mut may_switch) = (first, true);
        loop {
            let body = request::body(request, origin, form);
            let error = match self.http.post("/v1/messages", body).await {
                Ok(response) => {
                    // Whether a server accepts the thinking of earlier answers depends on the conversation.
                    let is_of_model = form != ThinkingForm::LeftOut
                        || !request::has_own_thinking(request, origin);
                    if form != first && is_of_model {
                        self.remember(&request.model, form);
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            let Some(next) = form.after_refusal(&error, request, may_switch) else {
                return Err(error);
            };
            may_switch &= next == ThinkingForm::LeftOut;
            if request::body(request, origin, next) == request::body(request, origin, form) {
                return Err(error);
            }
            form = next;
        }
    }

    fn form(&self, model: &str) -> ThinkingForm {
        let forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = forms.get(model).copied();
        remembered.unwrap_or_else(|| ThinkingForm::of_model(model))
    }

    fn remember(&self, model: &str, form: ThinkingForm) {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        if forms.len() < FORMS_MAX || forms.contains_key(model) {
            forms.insert(model.into(), form);
        }
    }
}

impl Model for Anthropic {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let this = self.clone();
        async move {
            let origin = AnswerOrigin {
                server: this.server.to_string(),
                model: request.model.clone(),
            };
            let response = this.post(&request, &origin).await?;
            let decoder = || decode::Decoder::of(&origin);
            response_deltas(response, decoder(), |value| {
                decode::parse_message(decoder(), value)
            })
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        let http = self.http.clone();
        async move { http.models("/v1/models?limit=100").await }.boxed()
    }

    fn listed_window(&self, name: &str) -> Option<ContextWindow> {
        self.http.windows.get(name)
    }

    fn is_remote(&self) -> bool {
        self.http.is_remote()
    }
}

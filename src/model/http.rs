//! The HTTP client of all providers: requests, streamed responses and error messages.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::provider::{Decode, ProviderSpec};
use super::refusal::{body_text, error_chain, retry_after, root_cause, status_error};
use super::retry::SERVER_WAIT_MAX;
use super::sse::{SseDecoder, SseEvent};
use super::surrogates;
use super::window::ListedWindows;
use super::{Delta, ErrorKind, ModelError, Reply, is_local, redirect};
use crate::domain::text::{clip, one_line};
use crate::http::client_builder;

/// Headers that only the HTTP client may set, because their values must match the request and the connection. The
/// settings cannot replace them.
const OWN_HEADERS: &[&str] = &[
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
];

/// Maximum size, in bytes, of an error response or of a response that is not streamed. If a response that is not
/// streamed is larger, the call fails. If an error response is larger, its message is ignored.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// Maximum size of the content of a streamed response, in bytes; about ten times the longest response of today's
/// models. The call fails if the response is larger.
pub const RESPONSE_MAX: usize = 8 * 1024 * 1024;

/// Counts the bytes of a streamed response and enforces [`RESPONSE_MAX`]. The limit protects against a model in a loop
/// and against a hostile server.
#[derive(Debug, Default)]
pub struct SizeLimit {
    bytes: usize,
}

impl SizeLimit {
    /// Adds the size of `part`, the next part of the response.
    ///
    /// # Errors
    /// Fails if the response exceeds [`RESPONSE_MAX`].
    pub fn add(&mut self, part: &str) -> Result<(), ModelError> {
        self.add_bytes(part.len())
    }

    /// Like [`SizeLimit::add`], for a part whose size is `bytes`.
    ///
    /// # Errors
    /// Fails if the response exceeds [`RESPONSE_MAX`].
    pub fn add_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= RESPONSE_MAX {
            return Ok(());
        }
        Err(ModelError::new(
            ErrorKind::InvalidResponse,
            format!(
                "the response is longer than {} MiB",
                RESPONSE_MAX / 1024 / 1024
            ),
            "The model may be in a loop: rephrase the message, or select another model (/model).",
        ))
    }
}

/// The HTTP client for one model server.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client,
    base: String,
    headers: HeaderMap,
    /// The provider, whose hints are added to errors.
    spec: &'static ProviderSpec,
    /// The name of the environment variable with the API key. Used only in error messages.
    key_var: String,
    /// Maximum time without data from the server, before and during a response.
    read_timeout: Duration,
    /// The context windows in the last list of models that the server sent.
    pub(super) windows: ListedWindows,
}

impl Http {
    /// Returns whether the server is on another machine. See [`super::Model::is_remote`].
    pub(super) fn is_remote(&self) -> bool {
        !super::is_local(&self.base)
    }

    /// Creates a client for the server at `base` (with or without a trailing slash). `read_timeout` is the maximum time
    /// without data, before and during a response.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn new(
        base: &str,
        headers: Vec<(&'static str, String)>,
        spec: &'static ProviderSpec,
        read_timeout: Duration,
    ) -> Result<Http, ModelError> {
        let bad = |what: String| {
            ModelError::new(
                ErrorKind::BadRequest,
                what,
                "Check --base-url, the API key and the settings.",
            )
        };
        if Url::parse(base).is_err() || !base.starts_with("http") {
            return Err(bad(format!(
                "'{base}' is not a valid address: expected one such as http://127.0.0.1:11434/v1"
            )));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                bad(format!(
                    "the value of header {name} contains invalid characters"
                ))
            })?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(name), value);
        }
        let client = client_builder(base)
            .read_timeout(read_timeout)
            .build()
            .map_err(|e| bad(format!("cannot create an HTTP client: {}", error_chain(&e))))?;
        Ok(Http {
            client,
            base: base.trim_end_matches('/').into(),
            headers: map,
            spec,
            key_var: spec.key_var.into(),
            read_timeout,
            windows: ListedWindows::default(),
        })
    }

    /// Adds headers from the settings to each request. They replace headers of the provider with the same name.
    ///
    /// # Errors
    /// Fails if a name or a value is invalid, or if a name is in `OWN_HEADERS`, such as `Host`.
    pub fn with_headers(mut self, headers: &BTreeMap<String, String>) -> Result<Http, ModelError> {
        for (name, value) in headers {
            let bad = |why: &str| {
                let name = one_line(&clip(name, 80));
                let text = format!("the header '{name}' {why}");
                ModelError::new(
                    ErrorKind::BadRequest,
                    text,
                    "Correct it in headers of the setting models.",
                )
            };
            let header =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("has an invalid name"))?;
            if OWN_HEADERS.contains(&header.as_str()) {
                return Err(bad("cannot be set"));
            }
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| bad("has a value with invalid characters"))?;
            value.set_sensitive(true);
            self.headers.insert(header, value);
        }
        Ok(self)
    }

    /// Sets the name of the environment variable with the API key. It is used only in error messages.
    #[must_use]
    pub fn with_key_var(mut self, name: &str) -> Http {
        self.key_var = name.into();
        self
    }

    /// Requests the list of models from `path`, and stores the models' context windows. Returns the names of at most
    /// 500 models in the server's order, each cut to 200 characters.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Http::post`], and if the response contains no list of models.
    pub async fn models(&self, path: &str) -> Result<Vec<String>, ModelError> {
        let request = self
            .client
            .get(format!("{}{path}", self.base))
            .headers(self.headers.clone());
        let response = request.send().await.map_err(|e| self.send_error(&e))?;
        let response = self.check_status(response, "").await?;
        let value = self.json(response).await?;
        let list = value
            .get("data")
            .or_else(|| value.get("models"))
            .and_then(Value::as_array);
        let list = list.ok_or_else(|| invalid_response("an invalid list of models"))?;
        let name = |m: &Value| {
            let name = m
                .get("id")
                .or_else(|| m.get("name"))
                .or_else(|| m.get("model"))?;
            Some(clip(name.as_str()?, 200))
        };
        let named = list.iter().filter_map(|m| Some((name(m)?, m)));
        self.windows.replace(named);
        Ok(list.iter().filter_map(name).take(500).collect())
    }

    /// Posts `body` to `path`. Returns the events of the response, or its JSON if the server did not stream.
    ///
    /// # Errors
    /// Fails if the connection fails, if the server returns an error status or redirects to another origin, or if the
    /// response is a web page or invalid JSON. A failure after the first events is an item of the stream.
    pub async fn post(&self, path: &str, body: Value) -> Result<ResponseBody, ModelError> {
        let model = body
            .get("model")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string();
        let request = self
            .client
            .post(format!("{}{path}", self.base))
            .headers(self.headers.clone())
            .json(&body);
        let response = request.send().await.map_err(|e| self.send_error(&e))?;
        let response = self.check_status(response, &model).await?;
        let kind = response
            .headers()
            .get("content-type")
            .and_then(|v| v.to_str().ok());
        let kind = kind.unwrap_or("text/event-stream").to_ascii_lowercase();
        if kind.contains("json") && !kind.contains("stream") {
            return Ok(ResponseBody::Json(self.json(response).await?));
        }
        if kind.contains("html") {
            return Err(ModelError::new(
                ErrorKind::InvalidResponse,
                format!("{} sent a web page", self.base),
                "This is not the address of a model server: check --base-url.",
            ));
        }
        let decoder = SseDecoder::default();
        let bytes = response.bytes_stream();
        let read_timeout = self.read_timeout;
        let stream = futures::stream::unfold(Some((bytes, decoder)), move |state| async move {
            let (mut bytes, mut decoder) = state?;
            match bytes.next().await? {
                Ok(chunk) => match decoder.feed(&chunk) {
                    Ok(events) => Some((Ok(events), Some((bytes, decoder)))),
                    Err(error) => Some((Err(error), None)),
                },
                Err(error) => Some((Err(read_error(&error, read_timeout)), None)),
            }
        });
        Ok(ResponseBody::Events(stream.boxed()))
    }

    fn send_error(&self, error: &reqwest::Error) -> ModelError {
        if error.is_timeout() && !error.is_connect() {
            return timeout_error(self.read_timeout);
        }
        if !error.is_connect() {
            return ModelError {
                message: "the connection was closed before the server responded".into(),
                ..truncated_error()
            };
        }
        let hint = if is_local(&self.base) {
            "Start the server, or set another address with --base-url."
        } else {
            "Check the network and the address (--base-url)."
        };
        ModelError::new(
            ErrorKind::Unreachable,
            format!(
                "nothing answers at {} ({})",
                self.base,
                clip(&one_line(&root_cause(error)), 200)
            ),
            hint,
        )
    }

    /// Returns a response with a success status unchanged.
    ///
    /// # Errors
    /// Fails if the status is an error or a redirect. The error includes the server's message and the retry headers.
    async fn check_status(&self, response: Response, model: &str) -> Result<Response, ModelError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(redirect::redirect_error(&self.base, &response));
        }
        let headers = response.headers().clone();
        let body = self.read_body(response).await.unwrap_or_default();
        let mut error = status_error(
            status.as_u16(),
            &body_text(&body),
            model,
            &self.base,
            Some((self.spec, &self.key_var)),
        );
        error.wait = retry_after(&headers);
        if let Some(wait) = error.wait.filter(|w| *w > SERVER_WAIT_MAX) {
            let minutes = wait.as_secs().div_ceil(60);
            error.message = format!("{}; the server asks to wait {minutes} min", error.message);
            error.hint =
                "Write to the agents again after that time, or use another model or key.".into();
        }
        error.retry = headers
            .get("x-should-retry")
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.trim().parse().ok());
        Err(error)
    }

    async fn json(&self, response: Response) -> Result<Value, ModelError> {
        let bytes = self.read_body(response).await?;
        surrogates::parse_whole(&String::from_utf8_lossy(&bytes))
            .map_err(|_| invalid_response("a response that is not JSON"))
    }

    /// Reads the body into memory. Fails if it is larger than [`BODY_MAX`] or the connection is lost.
    async fn read_body(&self, response: Response) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(|e| read_error(&e, self.read_timeout))?);
            if bytes.len() > BODY_MAX {
                return Err(invalid_response(&format!(
                    "a response larger than {} MiB",
                    BODY_MAX / 1024 / 1024
                )));
            }
        }
        Ok(bytes)
    }
}

pub enum ResponseBody {
    /// The events of a streamed response. Each item of the stream contains the events that one received chunk of bytes
    /// has completed; there may be none.
    Events(BoxStream<'static, Result<Vec<SseEvent>, ModelError>>),
    /// One JSON value, because the server did not stream.
    Json(Value),
}

/// Returns the deltas of a response. `decoder` decodes a streamed response, `parse` a response that is a single JSON
/// value.
///
/// # Errors
/// Fails if `parse` fails. Errors in a streamed response are items of the stream.
pub fn response_deltas(
    body: ResponseBody,
    decoder: impl Decode,
    parse: impl FnOnce(&Value) -> Result<Reply, ModelError>,
) -> Result<BoxStream<'static, Result<Delta, ModelError>>, ModelError> {
    Ok(match body {
        ResponseBody::Events(events) => event_deltas(events, decoder),
        ResponseBody::Json(value) => {
            let reply = parse(&value)?;
            futures::stream::iter([Ok(Delta::Done(reply))]).boxed()
        }
    })
}

/// Returns the deltas that `decoder` finds in `events`, up to [`Delta::Done`]. If the events end before the reply is
/// complete, the last item is an error.
fn event_deltas(
    events: BoxStream<'static, Result<Vec<SseEvent>, ModelError>>,
    decoder: impl Decode,
) -> BoxStream<'static, Result<Delta, ModelError>> {
    let state = Some((events, decoder));
    futures::stream::unfold(state, |state| async move {
        let (mut events, mut decoder) = state?;
        let mut out = Vec::new();
        match events.next().await {
            Some(Ok(batch)) => {
                for event in &batch {
                    if let Err(error) = decoder.event(event, &mut out) {
                        let items = out
                            .into_iter()
                            .map(Ok)
                            .chain([Err(error)])
                            .collect::<Vec<_>>();
                        return Some((items, None));
                    }
                    // Ignores whatever the server sends after the end of the reply.
                    if is_done(&out) {
                        break;
                    }
                }
                let next = (!is_done(&out)).then_some((events, decoder));
                Some((out.into_iter().map(Ok).collect(), next))
            }
            Some(Err(error)) => match decoder.reply() {
                // The reply was complete before the connection failed.
                Some(reply) => Some((vec![Ok(Delta::Done(reply))], None)),
                None => Some((vec![Err(error)], None)),
            },
            None => Some((
                vec![decoder.reply().map(Delta::Done).ok_or_else(truncated_error)],
                None,
            )),
        }
    })
    .map(futures::stream::iter)
    .flatten()
    .boxed()
}

fn is_done(deltas: &[Delta]) -> bool {
    matches!(deltas.last(), Some(Delta::Done(_)))
}

pub fn truncated_error() -> ModelError {
    ModelError::new(
        ErrorKind::Truncated,
        "the response ended early",
        "Send the message again; if it happens repeatedly, check the connection and the server's log.",
    )
}

/// Returns the error for a response that violates the API format. `what` completes "the server sent …".
pub fn invalid_response(what: &str) -> ModelError {
    ModelError::new(
        ErrorKind::InvalidResponse,
        format!("the server sent {what}"),
        "Check that --provider matches the server at --base-url.",
    )
}

fn timeout_error(read_timeout: Duration) -> ModelError {
    let seconds = read_timeout.as_secs();
    ModelError::new(
        ErrorKind::Timeout,
        format!("the server sent nothing for {seconds} s"),
        "The server may be overloaded. To wait longer, raise the setting model_timeout_s.",
    )
}

fn read_error(error: &reqwest::Error, read_timeout: Duration) -> ModelError {
    if error.is_timeout() {
        timeout_error(read_timeout)
    } else {
        truncated_error()
    }
}

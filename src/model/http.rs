//! HTTP for the wires: one client, errors in words that help, and the words of servers about waiting.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::refusal::{Vendor, asked_wait, chain, refused, root, said};
use super::retry::SERVER_LONGEST;
use super::sse::{SseDecoder, SseEvent};
use super::surrogates;
use super::window::ListedWindows;
use super::{Delta, Fault, ModelError, Reply, is_local, redirect};
use crate::domain::text::{clip, one_line};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may say nothing where the settings say nothing. Local models read long prompts slowly.
pub const SILENCE: Duration = Duration::from_secs(300);
/// Most bytes of an answer that is not a stream, and of an error.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// Most bytes that one answer may say; the longest that today's models give are a tenth of it.
pub const ANSWER_MAX: usize = 8 * 1024 * 1024;

/// Measures what an answer has said so far: a model can be caught in a loop, a server can be hostile.
#[derive(Debug, Default)]
pub struct Measure {
    said: usize,
}

impl Measure {
    /// Notes that the answer goes on with `more`.
    ///
    /// # Errors
    /// When it has become longer than [`ANSWER_MAX`].
    pub fn grow(&mut self, more: &str) -> Result<(), ModelError> {
        self.said = self.said.saturating_add(more.len());
        if self.said <= ANSWER_MAX {
            return Ok(());
        }
        Err(ModelError::new(
            Fault::Garbled,
            format!(
                "the answer did not end within {} MiB",
                ANSWER_MAX / 1024 / 1024
            ),
            "The model may be caught in a loop: say it in other words, or take another model (/model).",
        ))
    }
}

/// One server.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client,
    base: String,
    headers: HeaderMap,
    /// Whose wire it speaks, for hints.
    vendor: Vendor,
    /// How long the server may say nothing.
    silence: Duration,
    /// The windows that its last list of models told.
    pub(super) windows: ListedWindows,
}

impl Http {
    /// A client for the server at `base` (with or without a slash at its end), which may say nothing for
    /// `silence` before an answer and within it.
    ///
    /// # Errors
    /// When the address is none, or a header can not be one.
    pub fn new(
        base: &str,
        headers: Vec<(&'static str, String)>,
        vendor: Vendor,
        silence: Duration,
    ) -> Result<Http, ModelError> {
        let bad = |what: String| {
            ModelError::new(
                Fault::BadRequest,
                what,
                "Check --base-url, the key and the settings.",
            )
        };
        if Url::parse(base).is_err() || !base.starts_with("http") {
            return Err(bad(format!(
                "'{base}' is not an address like http://127.0.0.1:11434/v1"
            )));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                bad(format!(
                    "the header {name} has characters that headers can not have"
                ))
            })?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(name), value);
        }
        // The provider of cryptography for TLS; a second call finds it there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .connect_timeout(CONNECT)
            .read_timeout(silence)
            .redirect(redirect::same_origin())
            .user_agent(concat!("crewdeck/", env!("CARGO_PKG_VERSION")));
        if is_local(base) {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|e| bad(format!("no HTTP client can be made: {}", chain(&e))))?;
        Ok(Http {
            client,
            base: base.trim_end_matches('/').into(),
            headers: map,
            vendor,
            silence,
            windows: ListedWindows::default(),
        })
    }

    /// The names of the server's models, from `path`.
    ///
    /// # Errors
    /// As [`Http::post`].
    pub async fn models(&self, path: &str) -> Result<Vec<String>, ModelError> {
        let request = self
            .client
            .get(format!("{}{path}", self.base))
            .headers(self.headers.clone());
        let response = request.send().await.map_err(|e| self.unreachable(&e))?;
        let response = self.checked(response, "").await?;
        let value = self.json(response).await?;
        let list = value
            .get("data")
            .or_else(|| value.get("models"))
            .and_then(Value::as_array);
        let list = list.ok_or_else(|| garbled("a list of models that is none"))?;
        let name = |m: &Value| {
            let name = m
                .get("id")
                .or_else(|| m.get("name"))
                .or_else(|| m.get("model"))?;
            Some(clip(name.as_str()?, 200))
        };
        let named = list.iter().filter_map(|m| Some((name(m)?, m)));
        self.windows.learn(named);
        Ok(list.iter().filter_map(name).take(500).collect())
    }

    /// Posts `body` to `path` and gives the events of the answer, or its JSON where the server did not stream.
    ///
    /// # Errors
    /// Every way in which the server did not answer, in words.
    pub async fn post(&self, path: &str, body: Value) -> Result<Answer, ModelError> {
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
        let response = request.send().await.map_err(|e| self.unreachable(&e))?;
        let response = self.checked(response, &model).await?;
        let kind = response
            .headers()
            .get("content-type")
            .and_then(|v| v.to_str().ok());
        let kind = kind.unwrap_or("text/event-stream").to_ascii_lowercase();
        if kind.contains("json") && !kind.contains("stream") {
            return Ok(Answer::Json(self.json(response).await?));
        }
        if kind.contains("html") {
            return Err(ModelError::new(
                Fault::Garbled,
                format!("{} answered with a web page", self.base),
                "That is not the address of a model server: check --base-url.",
            ));
        }
        let decoder = SseDecoder::default();
        let bytes = response.bytes_stream();
        let silence = self.silence;
        let stream = futures::stream::unfold(Some((bytes, decoder)), move |state| async move {
            let (mut bytes, mut decoder) = state?;
            match bytes.next().await? {
                Ok(chunk) => match decoder.feed(&chunk) {
                    Ok(events) => Some((Ok(events), Some((bytes, decoder)))),
                    Err(error) => Some((Err(error), None)),
                },
                Err(error) => Some((Err(broken(&error, silence)), None)),
            }
        });
        Ok(Answer::Events(stream.boxed()))
    }

    fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        if error.is_timeout() && !error.is_connect() {
            return silent(self.silence);
        }
        if !error.is_connect() {
            return ModelError {
                message: "the connection was closed before an answer".into(),
                ..cut()
            };
        }
        let hint = if is_local(&self.base) {
            "Is the server running? --base-url names another address."
        } else {
            "Check the network, and the address (--base-url)."
        };
        ModelError::new(
            Fault::Unreachable,
            format!(
                "nothing answers at {} ({})",
                self.base,
                clip(&one_line(&root(error)), 200)
            ),
            hint,
        )
    }

    async fn checked(&self, response: Response, model: &str) -> Result<Response, ModelError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(redirect::redirect_error(&self.base, &response));
        }
        let headers = response.headers().clone();
        let body = self.bounded(response).await.unwrap_or_default();
        let mut error = refused(
            status.as_u16(),
            &said(&body),
            model,
            &self.base,
            self.vendor,
        );
        error.wait = asked_wait(&headers);
        if let Some(wait) = error.wait.filter(|w| *w > SERVER_LONGEST) {
            let minutes = wait.as_secs().div_ceil(60);
            error.message = format!("{}; it asks to wait {minutes} min", error.message);
            error.hint = "Write to the agents again then, or take another model or key.".into();
        }
        error.retry = headers
            .get("x-should-retry")
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.trim().parse().ok());
        Err(error)
    }

    async fn json(&self, response: Response) -> Result<Value, ModelError> {
        let bytes = self.bounded(response).await?;
        surrogates::parse_whole(&String::from_utf8_lossy(&bytes))
            .map_err(|_| garbled("something that is not JSON"))
    }

    async fn bounded(&self, response: Response) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(|e| broken(&e, self.silence))?);
            if bytes.len() > BODY_MAX {
                return Err(garbled("an answer that is too large"));
            }
        }
        Ok(bytes)
    }
}

/// An answer as it begins.
pub enum Answer {
    /// A stream of events.
    Events(BoxStream<'static, Result<Vec<SseEvent>, ModelError>>),
    /// A whole JSON value: the server did not stream.
    Json(Value),
}

/// What turns a wire's events into deltas. Pure.
pub trait Decode: Send + 'static {
    /// Takes one event; the deltas that it makes are added to `out`.
    ///
    /// # Errors
    /// When the event says that the call failed, or is not what the wire format says.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), ModelError>;

    /// The reply when the answer has ended by the rules of the wire, else `None`.
    fn reply(&mut self) -> Option<Reply>;
}

/// The deltas of an answer, streamed or whole; `whole` reads the latter.
///
/// # Errors
/// When a whole answer says that the call failed, or is not what the wire format says.
pub fn answered(
    answer: Answer,
    decoder: impl Decode,
    whole: fn(&Value) -> Result<Reply, ModelError>,
) -> Result<BoxStream<'static, Result<Delta, ModelError>>, ModelError> {
    Ok(match answer {
        Answer::Events(events) => deltas(events, decoder),
        Answer::Json(value) => {
            let reply = whole(&value)?;
            futures::stream::iter([Ok(Delta::Done(reply))]).boxed()
        }
    })
}

/// The deltas of an answer: those of its events, then the whole reply. An answer that ends before its
/// closing event is an error.
pub fn deltas(
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
                    // The reply is the end, whatever else the server may send.
                    if is_whole(&out) {
                        break;
                    }
                }
                let is_whole = is_whole(&out);
                let next = (!is_whole).then_some((events, decoder));
                Some((out.into_iter().map(Ok).collect(), next))
            }
            Some(Err(error)) => match decoder.reply() {
                // The closing event was there: what broke after it does not matter.
                Some(reply) => Some((vec![Ok(Delta::Done(reply))], None)),
                None => Some((vec![Err(error)], None)),
            },
            None => Some((vec![decoder.reply().map(Delta::Done).ok_or_else(cut)], None)),
        }
    })
    .map(futures::stream::iter)
    .flatten()
    .boxed()
}

fn is_whole(deltas: &[Delta]) -> bool {
    matches!(deltas.last(), Some(Delta::Done(_)))
}

/// The answer broke off.
pub fn cut() -> ModelError {
    ModelError::new(
        Fault::Cut,
        "the answer broke off before its end",
        "Send it again; if it goes on, check the connection and the server's log.",
    )
}

/// The answer is not what the wire format says.
pub fn garbled(what: &str) -> ModelError {
    ModelError::new(
        Fault::Garbled,
        format!("the server sent {what}"),
        "Check that --provider fits the server at --base-url.",
    )
}

fn silent(silence: Duration) -> ModelError {
    let seconds = silence.as_secs();
    ModelError::new(
        Fault::Timeout,
        format!("the server said nothing for {seconds} s"),
        "Is it overloaded? The setting model_timeout_s gives it more time.",
    )
}

fn broken(error: &reqwest::Error, silence: Duration) -> ModelError {
    if error.is_timeout() {
        silent(silence)
    } else {
        cut()
    }
}

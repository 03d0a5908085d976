//! Floor 2: language models. A request goes in, a stream of deltas comes out, the last is the whole reply.

pub mod anthropic;
pub mod governor;
pub mod http;
pub mod openai;
pub mod provider;
mod redirect;
mod refusal;
pub mod retry;
pub mod script;
pub mod sse;
mod surrogates;
mod tool_schema;
pub mod window;

pub use redirect::origin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::Value;

use crate::domain::chat::{Block, Message};
use crate::domain::ids::Name;
use crate::domain::usage::Usage;
pub use window::Window;

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, in the model's words.
    pub text: String,
    /// The JSON schema of its input, as all servers take it.
    schema: Value,
}

impl ToolSpec {
    /// A tool whose input has this JSON schema. The schema is brought into the strict form that all servers take.
    pub fn new(name: impl Into<String>, text: impl Into<String>, schema: &Value) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            text: text.into(),
            schema: tool_schema::strict(schema),
        }
    }

    /// The JSON schema of its input.
    pub fn schema(&self) -> &Value {
        &self.schema
    }
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// Whose turn it is; only the scripted model looks at it.
    pub agent: Name,
    /// The model's name.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation; valid by [`crate::domain::chat::check`].
    pub messages: Arc<Vec<Message>>,
    /// The tools it may call, always in the same order, so that the prompt cache holds.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Most tokens of the answer.
    pub max_tokens: u32,
}

/// What arrives while a model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// The call has not begun yet: what it waits for. Only the [`governor`] says it.
    Held(Held),
    /// More words.
    Text(String),
    /// More thoughts.
    Thinking(String),
    /// A tool call begins: its name.
    ToolCall(String),
    /// The answer is whole. Always the last.
    Done(Reply),
}

/// What a call waits for before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Too many calls are in flight.
    Queued {
        /// Its place in line; the first is 1.
        place: usize,
    },
    /// The server asked the team to wait.
    Paused {
        /// How much longer.
        left: Duration,
        /// What the server said, in one line.
        cause: String,
    },
    /// For nothing any more: it begins.
    Released,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its parts in order; may be empty.
    pub blocks: Vec<Block>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The tokens as the server counted them; zeros where it did not say.
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It is done.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// The answer reached its limit.
    MaxTokens,
    /// The server paused a long turn: send the conversation again to go on.
    PauseTurn,
    /// The model refused.
    Refusal,
    /// The conversation does not fit the model's window.
    ContextExceeded,
    /// Something newer than this program; treated as the end of the turn.
    Other(String),
}

/// What kind of failure it was; decides whether it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// There is no key.
    NoKey,
    /// The key is wrong or may not do this (401, 403).
    Auth,
    /// The server does not know the model (404).
    UnknownModel,
    /// No connection can be made to the address.
    Unreachable,
    /// Too many requests (429).
    RateLimited,
    /// The server is overloaded or broken (5xx, 529).
    Server,
    /// The conversation is too long for the model.
    ContextTooLong,
    /// The server refuses the request (other 4xx).
    BadRequest,
    /// The answer broke off: no closing event, or the connection died.
    Cut,
    /// The answer is not what the wire format says.
    Garbled,
    /// Nothing came for too long.
    Timeout,
    /// The server sends the request on to another address (3xx), where nothing is sent.
    Redirected,
    /// The script has no rule for this turn.
    Script,
}

impl Fault {
    /// Whether a server that fails so when it is asked for its models is there and has no list of them.
    pub fn means_no_list(self) -> bool {
        match self {
            Fault::UnknownModel | Fault::BadRequest | Fault::Garbled => true,
            Fault::NoKey
            | Fault::Auth
            | Fault::Unreachable
            | Fault::RateLimited
            | Fault::Server
            | Fault::ContextTooLong
            | Fault::Cut
            | Fault::Timeout
            | Fault::Redirected
            | Fault::Script => false,
        }
    }
}

/// A failure of a model call: text for the person, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind.
    pub fault: Fault,
    /// What happened, in one line.
    pub message: String,
    /// What to do, in one line; may be empty.
    pub hint: String,
    /// How long the server asked to wait.
    pub wait: Option<Duration>,
    /// Whether the server said to try again (`x-should-retry`); overrides the fault's own rule.
    pub retry: Option<bool>,
    /// What is known of the server; the [`governor`] knows.
    pub server: Server,
}

/// What is known of a server. One that has answered before is set up well: what it does wrong now will pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Server {
    /// It has never answered: the address, the key or the wire may be wrong.
    #[default]
    New,
    /// It has answered before.
    Known,
}

impl ModelError {
    /// An error without a word of the server about trying again.
    pub fn new(fault: Fault, message: impl Into<String>, hint: impl Into<String>) -> ModelError {
        ModelError {
            fault,
            message: message.into(),
            hint: hint.into(),
            wait: None,
            retry: None,
            server: Server::New,
        }
    }
}

/// A language model behind some wire.
pub trait Model: Send + Sync {
    /// Calls the model. Dropping the stream ends the call.
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>>;

    /// The names of the models that the server offers.
    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>>;

    /// The window of a model as the server told it in the last list that was asked for. Asks nothing.
    fn listed_window(&self, _name: &str) -> Option<Window> {
        None
    }
}

/// Most bytes of a tool call's input that is not JSON that are kept.
const BROKEN_MAX: usize = 4 * 1024;

/// A tool call's input from the text that a model wrote. Not a JSON object: an empty object and the text,
/// so that the conversation stays valid and the model can be told.
pub(crate) fn input_of(text: &str) -> (Value, Option<String>) {
    let empty = || Value::Object(serde_json::Map::new());
    if text.trim().is_empty() {
        return (empty(), None);
    }
    match surrogates::parse_whole(text) {
        Ok(value) if value.is_object() => (value, None),
        Ok(Value::Null) => (empty(), None),
        Ok(_) | Err(_) => (
            empty(),
            Some(crate::domain::text::head_and_tail(text, BROKEN_MAX)),
        ),
    }
}

/// Most characters of a name or an id that an answer has. The longest that mean something are a fraction of it.
const LABEL_MAX: usize = 256;

/// A name or an id from an answer, bounded.
pub(crate) fn label(text: &str) -> String {
    crate::domain::text::clip(text, LABEL_MAX)
}

/// Most tokens that one answer can have to do with; larger figures are mistakes of a server.
const TOKENS_MAX: u64 = 100_000_000;

/// A count of tokens as a server gave it. One that can not be (negative, absurdly large, no number) counts as
/// not given: it would stay in every total.
pub(crate) fn tokens_of(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|count| *count <= TOKENS_MAX)
}

/// Whether an address is on this machine: such a server needs no key and no proxy.
pub fn is_local(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod local_tests {
    use super::is_local;

    #[test]
    fn local_addresses() {
        for yes in [
            "http://127.0.0.1:8080/v1",
            "http://localhost/v1",
            "http://[::1]:80",
        ] {
            assert!(is_local(yes), "{yes}");
        }
        for no in [
            "https://api.example.com",
            "http://127.0.0.1.example.com",
            "nonsense",
        ] {
            assert!(!is_local(no), "{no}");
        }
    }
}

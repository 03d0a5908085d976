//! Calls of a model: the trait [`Model`], the request, the stream of deltas, the reply and the errors.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::Value;

use super::window::ContextWindow;
use super::{known_models, tool_schema};
use crate::domain::agent_update::AgentUpdate;
use crate::domain::chat::{Block, Message};
use crate::domain::ids::Name;
use crate::domain::role::RoleEffort;
use crate::domain::usage::Usage;

/// The definition of a tool, as it is sent to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    /// The description that the model reads.
    pub text: String,
    /// The JSON schema of the input.
    schema: Value,
    /// Whether `schema` has the strict form that all servers accept.
    is_strict: bool,
}

impl ToolSpec {
    /// Creates the definition of a tool. `schema` is converted to the strict form that all servers accept.
    pub fn new(name: impl Into<String>, text: impl Into<String>, schema: &Value) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            text: text.into(),
            schema: tool_schema::strict(schema),
            is_strict: true,
        }
    }

    /// Creates the definition of a tool of an MCP server. `schema` is sent unchanged, because the strict form cannot
    /// express objects with arbitrary keys, bounds and patterns. The caller must pass a schema that all model servers
    /// accept.
    pub fn of_server(name: impl Into<String>, text: impl Into<String>, schema: Value) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            text: text.into(),
            schema,
            is_strict: false,
        }
    }

    /// Returns whether the schema has the strict form: a server can then ensure that each input matches it.
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    pub fn schema(&self) -> &Value {
        &self.schema
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The agent that makes the call; only the scripted model uses it.
    pub agent: Name,
    pub model: String,
    pub system: String,
    /// The conversation, which satisfies [`crate::domain::chat::validate`].
    pub messages: Arc<Vec<Message>>,
    /// The tools the model may call. The order never changes, so that the prompt cache stays valid.
    pub tools: Arc<Vec<ToolSpec>>,
    pub max_tokens: u32,
    pub images: ImageInput,
    /// How much the model should think; `None` for the server's default.
    pub effort: Option<RoleEffort>,
    /// How many tokens the model may use to think, in addition to `max_tokens`; `None` for the server's default.
    /// Ignored by providers without such a limit, see [`super::provider::ProviderSpec::has_thinking_budget`].
    pub thinking_budget: Option<u32>,
    /// The agent's work directory. Only external agents use it.
    pub workdir: PathBuf,
    /// How often the agent's conversation was cleared. If the number has changed, the external agent's own copy of the
    /// conversation is outdated, and its session must be replaced.
    pub clearings: u64,
}

impl ModelRequest {
    /// Returns the maximum number of tokens in the answer: `max_tokens` plus `more`, for example for thinking. If the
    /// built-in table contains a limit for the model, returns at most that limit, because the server refuses more.
    pub fn output_max(&self, more: u32) -> u32 {
        let max = self.max_tokens.saturating_add(more);
        known_models::output_limit(&self.model).map_or(max, |limit| limit.min(max))
    }
}

/// Whether a model gets the images of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageInput {
    Sent,
    /// The model cannot read images: each is replaced by a line of text.
    LeftOut,
}

/// One item of the stream of a model call.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// The call waits for a slot or for the end of the back-off. Only the [rate limiter](super::rate_limiter) sends
    /// this.
    Waiting(CallWait),
    /// The next piece of the answer's text.
    Text(String),
    Thinking(String),
    /// The complete text of a part of the answer. An external agent sends it before a tool call. The reply contains
    /// each part as a separate text block.
    Part(String),
    /// What an external agent reports besides its answer, such as the state of its tool calls.
    External(AgentUpdate),
    /// The model has begun a tool call with this name; the input is still being received.
    ToolCall(String),
    /// The complete response; always the last item.
    Done(Reply),
}

/// Why a call has not started yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallWait {
    /// The call waits in the queue: the maximum number of calls is running, other calls are ahead, or a single call is
    /// testing whether the server has recovered from a failure.
    Queued {
        /// The position in the queue; the first is 1.
        place: usize,
    },
    /// The call waits for the end of the back-off, like all calls to this server: the server has failed, limits the
    /// rate or is unreachable.
    Paused {
        /// The time until the back-off ends.
        left: Duration,
        /// The message of the error that started the back-off, in one line.
        cause: String,
    },
    /// The wait is over; the call starts.
    Released,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The content blocks of the response, in order; may be empty.
    pub blocks: Vec<Block>,
    pub stop: StopReason,
    /// The token counts reported by the server; zero if not reported.
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model has finished its answer.
    EndTurn,
    /// The model waits for tool results.
    ToolUse,
    MaxTokens,
    /// The server paused a long turn. The turn continues when the conversation is sent again.
    PauseTurn,
    /// The model or a content filter of the server refused to answer.
    Refusal,
    /// The context window was full before the response was complete.
    ContextExceeded,
    /// A reason that crewdeck does not know. It is treated as the end of the turn.
    Other(String),
}

/// The kind of error with which a call failed. Decides whether and how often the call is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    NoKey,
    /// The API key is invalid or lacks permission (401, 403), the account has no credit, or the server expects another
    /// value of a provider's setting.
    Auth,
    /// The server does not know the model (404).
    UnknownModel,
    /// The connection to the server could not be established.
    Unreachable,
    /// Too many requests (429).
    RateLimited,
    /// The server is overloaded or failed (5xx).
    Server,
    /// The conversation exceeds the model's context window. Only a shorter conversation can succeed.
    ContextTooLong,
    /// The server rejected the request (4xx statuses without a kind of their own), or the address or a header is
    /// invalid.
    BadRequest,
    /// The response ended early: no closing event, or the connection was lost.
    Truncated,
    /// The response violates the API format: the address may be that of another kind of server.
    InvalidResponse,
    /// The server sent no data for too long, or reported a timeout (408) or a conflict (409).
    Timeout,
    /// The server redirects to another origin or too often (3xx); the redirect is not followed.
    Redirected,
    /// The script of the scripted model has no rule that matches the last message.
    Script,
}

impl ErrorKind {
    /// Returns whether the server works but offers no list of models. `self` must be the error kind of a failed
    /// [`Model::list`].
    pub fn means_no_list(self) -> bool {
        match self {
            ErrorKind::UnknownModel | ErrorKind::BadRequest | ErrorKind::InvalidResponse => true,
            ErrorKind::NoKey
            | ErrorKind::Auth
            | ErrorKind::Unreachable
            | ErrorKind::RateLimited
            | ErrorKind::Server
            | ErrorKind::ContextTooLong
            | ErrorKind::Truncated
            | ErrorKind::Timeout
            | ErrorKind::Redirected
            | ErrorKind::Script => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ErrorKind,
    /// What happened, in one line.
    pub message: String,
    /// What the user can do, in one line; may be empty.
    pub hint: String,
    /// The wait before the next try, if the server asked for one or the shared back-off of the [rate
    /// limiter](super::rate_limiter) applies.
    pub wait: Option<Duration>,
    /// Whether the server wants the call to be retried (header `x-should-retry`). Overrides the rule for `kind`. `None`
    /// if the header is missing.
    pub retry: Option<bool>,
    /// Whether any call to the server has received data so far; an error response does not count. Set by the [rate
    /// limiter](super::rate_limiter). If false, the address, the key or the provider may be wrong; if true, a failure
    /// is probably transient.
    pub server_has_answered: bool,
}

impl ModelError {
    /// Creates an error without retry instructions from the server.
    pub fn new(
        fault: ErrorKind,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ModelError {
        ModelError {
            kind: fault,
            message: message.into(),
            hint: hint.into(),
            wait: None,
            retry: None,
            server_has_answered: false,
        }
    }
}

pub trait Model: Send + Sync {
    /// Calls the model. The stream ends with [`Delta::Done`] or with an error. Dropping the stream cancels the call.
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>>;

    /// Requests the names of the models that the server offers, in the server's order. If this fails,
    /// [`ErrorKind::means_no_list`] says whether the server works nevertheless.
    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>>;

    /// Returns the context window of the model `name` from the last list of models that [`Self::list`] received.
    /// Returns `None` if that list does not report it, or if there is no list yet. Sends no request.
    fn listed_window(&self, _name: &str) -> Option<ContextWindow> {
        None
    }

    /// Returns whether the program that answers the calls stores the conversation and shortens it when it becomes too
    /// long. True for external agents. crewdeck then does not compact the conversation.
    fn keeps_conversation(&self) -> bool {
        false
    }

    /// Returns whether the model runs on a server on another machine, so that its calls probably cost what the vendor's
    /// price list says. False for a local server, a scripted model and an external agent.
    fn is_remote(&self) -> bool;
}

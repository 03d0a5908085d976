//! Sends one request to an MCP server, with time-outs, progress and cancellation.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::handler::HandlerShared;
use super::types::CallProgress;
use crate::domain::text::{clip, one_line};

/// Maximum time that a call may take without a progress report, unless the server's configuration sets another time.
/// Then the call is cancelled and fails.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time that a call with progress reports may take, as a multiple of the maximum time without a report. Then
/// the call is cancelled and fails.
const TOTAL_FACTOR: u32 = 30;
/// Maximum time for sending a server the message that a call is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of progress reports of a call that wait to be processed. Further ones are dropped.
const PROGRESS_QUEUE: usize = 16;
/// Maximum length, in characters, of the error message in a server's response. A longer message is cut.
const MESSAGE_MAX: usize = 2000;
/// Maximum length, in bytes, of a `WWW-Authenticate` header. A response with a longer header does not make crewdeck ask
/// the user to log in.
const CHALLENGE_MAX: usize = 8 * 1024;

/// Part of the SDK's error text for a response with the HTTP status 401.
const UNAUTHORIZED: &str = "401 Unauthorized";

/// A handle for requests on a connection to an MCP server. Cheap to clone.
#[derive(Clone)]
pub struct Link {
    pub peer: Peer<RoleClient>,
    pub shared: Arc<HandlerShared>,
}

/// Why a request to an MCP server has no result.
#[derive(Debug)]
pub enum LinkError {
    Cancelled,
    TimedOut(Duration),
    /// The connection ended before the response.
    Closed,
    /// The request was not delivered: the server could not be reached, or it refused the HTTP request.
    NotSent {
        why: String,
        /// Whether no connection to the server could be established.
        is_unreachable: bool,
    },
    /// The user must log in, or must log in again to get more rights.
    NeedsLogin(LoginChallenge),
    Rejected {
        message: String,
        code: i32,
    },
    /// The response is of another type than the request demands.
    Unexpected,
}

/// Sends `request` and waits for its result. Passes each progress report to `on_progress`. `idle` is the maximum time
/// without a progress report; in total, the request takes at most 30 times as long.
///
/// # Errors
/// Fails if the server rejects the request or does not answer in time, if `cancel` is cancelled, or if the connection
/// ends. After a time-out, a cancellation or a drop of the future, the server gets a message that the request is
/// cancelled.
pub async fn send(
    link: &Link,
    request: ClientRequest,
    idle: Duration,
    cancel: &CancellationToken,
    mut on_progress: impl FnMut(CallProgress) + Send,
) -> Result<ServerResult, LinkError> {
    let options = PeerRequestOptions::no_options();
    let sent = link.peer.send_cancellable_request(request, options);
    let handle = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(LinkError::Cancelled),
        () = tokio::time::sleep(idle) => return Err(LinkError::TimedOut(idle)),
        sent = sent => sent.map_err(request_error)?,
    };
    let (progress, mut received) = mpsc::channel(PROGRESS_QUEUE);
    let mut pending = UnansweredRequest::new(handle, link, progress);
    let total = idle.saturating_mul(TOTAL_FACTOR);
    let deadline = tokio::time::sleep(total);
    let quiet = tokio::time::sleep(idle);
    tokio::pin!(deadline, quiet);
    let error = loop {
        let Some(handle) = &mut pending.handle else {
            return Err(LinkError::Closed);
        };
        tokio::select! {
            biased;
            response = &mut handle.rx => {
                pending.handle = None;
                return response
                    .map_err(|_| LinkError::Closed)?
                    .map_err(request_error);
            }
            () = cancel.cancelled() => break LinkError::Cancelled,
            () = &mut deadline => break LinkError::TimedOut(total),
            Some(update) = received.recv() => {
                quiet.as_mut().reset(tokio::time::Instant::now() + idle);
                on_progress(update);
            }
            () = &mut quiet => break LinkError::TimedOut(idle),
        }
    };
    if let Some(handle) = pending.handle.take() {
        cancel_request(handle).await;
    }
    Err(error)
}

/// Tells the server that a request is cancelled. Waits at most [`CANCEL_TIMEOUT`] for the message to be sent.
async fn cancel_request(handle: RequestHandle<RoleClient>) {
    let reason = Some("the client no longer waits for the result".into());
    // A server that does not read what crewdeck sends must not delay the caller.
    let _ = tokio::time::timeout(CANCEL_TIMEOUT, handle.cancel(reason)).await;
}

/// A request that has no response yet. Dropping this value cancels the request at the server, unless `handle` was
/// taken.
struct UnansweredRequest {
    handle: Option<RequestHandle<RoleClient>>,
    token: rmcp::model::ProgressToken,
    shared: Arc<HandlerShared>,
}

impl UnansweredRequest {
    fn new(
        handle: RequestHandle<RoleClient>,
        link: &Link,
        progress: mpsc::Sender<CallProgress>,
    ) -> UnansweredRequest {
        let token = handle.progress_token.clone();
        link.shared.progress.insert(token.clone(), progress);
        UnansweredRequest {
            handle: Some(handle),
            token,
            shared: Arc::clone(&link.shared),
        }
    }
}

impl Drop for UnansweredRequest {
    fn drop(&mut self) {
        self.shared.progress.remove(&self.token);
        if let (Some(handle), Ok(runtime)) =
            (self.handle.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(cancel_request(handle));
        }
    }
}

fn request_error(error: ServiceError) -> LinkError {
    match error {
        ServiceError::McpError(error) => LinkError::Rejected {
            message: clip(&one_line(&error.message), MESSAGE_MAX),
            code: error.code.0,
        },
        ServiceError::TransportClosed => LinkError::Closed,
        ServiceError::TransportSend(error) => match login_challenge(error.error.as_ref()) {
            Some(challenge) => LinkError::NeedsLogin(challenge),
            None => LinkError::NotSent {
                why: describe(error.error.as_ref()),
                is_unreachable: is_unreachable(error.error.as_ref()),
            },
        },
        _ => LinkError::Unexpected,
    }
}

/// The `WWW-Authenticate` header with which a server demands a login; empty if it sends none.
pub type LoginChallenge = String;

/// The start of the SDK's error text when the server refuses to renew the tokens of a login.
const REFUSED: &str = "Server returned error response";

/// Returns the server's challenge if `error` says that the user must log in, else `None`.
///
/// The challenge is empty if the error contains none. A server without OAuth answers 401 without a `WWW-Authenticate`
/// header, which the SDK reports like any other error.
pub fn login_challenge(error: &(dyn std::error::Error + 'static)) -> Option<LoginChallenge> {
    let challenge = chain(error).find_map(|error| {
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
            StreamableHttpError::AuthRequired(error) => Some(&error.www_authenticate_header),
            StreamableHttpError::InsufficientScope(error) => Some(&error.www_authenticate_header),
            StreamableHttpError::Auth(error) if needs_new_login(error) => {
                return Some(LoginChallenge::new());
            }
            _ => None,
        }
        .filter(|header| header.len() <= CHALLENGE_MAX)
        .cloned()
    });
    let is_refused = || describe(error).contains(UNAUTHORIZED);
    challenge.or_else(|| is_refused().then(LoginChallenge::new))
}

/// Returns whether `error` means that the user must log in again: no tokens are stored, their file is damaged, or the
/// server has refused to renew them. Only the text of the SDK's error distinguishes a refusal from a network failure.
pub fn needs_new_login(error: &AuthError) -> bool {
    match error {
        AuthError::AuthorizationRequired
        | AuthError::TokenRefreshRejected(_)
        | AuthError::CredentialStoreError(_) => true,
        AuthError::TokenRefreshFailed(why) => {
            let is_temporary = ["temporarily_unavailable", "server_error"];
            why.starts_with(REFUSED) && !is_temporary.iter().any(|word| why.contains(word))
        }
        _ => false,
    }
}

/// Returns an error and its causes as one line of at most 500 characters, without repetitions and control characters.
/// The URL that the HTTP client adds is removed, because it may contain secrets.
pub fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in chain(error) {
        let text = without_url(&error.to_string());
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
    }
    clip(&one_line(&texts.join(": ")), MESSAGE_MAX / 4)
}

/// Returns an error and its causes, outermost first. Needed because the SDK's error for a failed HTTP request does not
/// return its cause as `source`.
fn chain<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(inner)) => Some(inner),
            _ => error.source(),
        }
    })
}

/// Removes the URL that the HTTP client appends to its error texts.
fn without_url(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" for url (") else {
        return text.into();
    };
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    format!("{before}{after}")
}

/// Returns whether an error says that no connection to the server could be established.
fn is_unreachable(error: &(dyn std::error::Error + 'static)) -> bool {
    chain(error).any(|error| {
        let error = error.downcast_ref::<reqwest::Error>();
        error.is_some_and(reqwest::Error::is_connect)
    })
}

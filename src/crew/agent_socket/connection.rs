//! One connection to the agent socket: checks the peer and its token, and carries out its calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use rustix::process::geteuid;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_util::codec::{Framed, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use super::shared::{RegisteredAgent, SocketShared};
use crate::agent::external::crew_tools::is_of_server;
use crate::crew::context::lock;
use crate::domain::chat::{Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::text::{clip, one_line};
use crate::protocol::agent_socket::{
    CALL_LINE_MAX, CALLS_MAX, FromCrew, SocketImage, SocketTool, ToCrew, VERSION,
};
use crate::tools::{ToolOutput, table};

/// Maximum time in which a peer must send its first line, which contains its token.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time in which a peer must read a line that the crew sends. The connection is closed after that time.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between a change of an agent's tools and the sending of the changed tools to the peer. All changes within this
/// time are sent together.
const COLLECT_CHANGES: Duration = Duration::from_millis(100);
/// Maximum total size of the images in one tool result, in bytes of base64. An image that would exceed this size is
/// replaced by a text.
const IMAGES_MAX: usize = 8 * 1024 * 1024;

type PeerLines = Framed<UnixStream, LinesCodec>;

/// Serves a connection until one of these events:
///
/// - The peer closes the connection or violates the protocol.
/// - The agent leaves the crew.
/// - The agent has opened so many newer connections that this one is over the limit.
/// - `stop` is cancelled.
///
/// Then cancels the unfinished calls of the connection. Sends the reason to the peer, unless the peer closed the
/// connection.
pub async fn serve(stream: UnixStream, shared: &Arc<SocketShared>, stop: &CancellationToken) {
    let is_same_user = stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == geteuid().as_raw());
    let codec = LinesCodec::new_with_max_length(CALL_LINE_MAX);
    let mut lines = Framed::new(stream, codec);
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Err("the crew has ended".to_string()),
        ended = serve_peer(&mut lines, shared, is_same_user) => ended,
    };
    if let Err(error) = ended {
        // If the peer does not read the reason, it only sees the end of the connection.
        let _ = send(&mut lines, &FromCrew::Error { error }).await;
    }
}

/// Serves a connection until the peer closes it.
///
/// # Errors
/// Returns the reason for closing the connection, as text for the peer.
async fn serve_peer(
    lines: &mut PeerLines,
    shared: &Arc<SocketShared>,
    is_same_user: bool,
) -> Result<(), String> {
    if !is_same_user {
        return Err("the agent socket is only for the user of the crew".into());
    }
    let Some(agent) = greet(lines, shared).await? else {
        return Ok(());
    };
    let connected = agent.connect();
    tokio::select! {
        biased;
        () = connected.replaced.cancelled() => {
            Err(format!("{} has opened too many newer connections", agent.name))
        }
        () = agent.left.cancelled() => Err(format!("{} has left the crew", agent.name)),
        ended = serve_agent(lines, shared, &agent) => ended,
    }
}

/// Reads the first line of the peer. Returns the agent to which its token belongs; `None` if the peer has closed the
/// connection.
///
/// # Errors
/// Returns the reason for closing the connection, as text for the peer.
async fn greet(
    lines: &mut PeerLines,
    shared: &Arc<SocketShared>,
) -> Result<Option<Arc<RegisteredAgent>>, String> {
    let strangers = Arc::clone(&shared.strangers).try_acquire_owned();
    let _stranger =
        strangers.map_err(|_| "too many connections without a token; try again later")?;
    let first = timeout(HELLO_TIMEOUT, lines.next()).await;
    let Some(line) = first.map_err(|_| "no hello was sent in time")? else {
        return Ok(None);
    };
    let (version, token) = match parse(line)? {
        ToCrew::Hello { version, token } => (version, token),
        ToCrew::Call { .. } | ToCrew::Cancel { .. } => {
            return Err("the first line must be a hello".into());
        }
    };
    if version != VERSION {
        return Err(format!(
            "the crew and mcp-serve are different versions of crewdeck (protocol {VERSION} and {version}); \
             restart the crew"
        ));
    }
    if let Some(agent) = shared.find(&token) {
        return Ok(Some(agent));
    }
    let delay = {
        let mut bad = lock(&shared.bad_tokens);
        bad.record(Instant::now())
    };
    tokio::time::sleep(delay).await;
    Err("the token is not valid: the agent has left, or the token belongs to another crew".into())
}

/// Carries out the calls of an agent until the peer closes the connection. Dropping the future cancels the calls.
///
/// # Errors
/// Returns the reason for closing the connection, as text for the peer.
async fn serve_agent(
    lines: &mut PeerLines,
    shared: &Arc<SocketShared>,
    agent: &Arc<RegisteredAgent>,
) -> Result<(), String> {
    let mut changes = agent.calls.changes();
    let mut sent = agent.calls.tools();
    let mut calls = RunningCalls {
        names: names_of(&sent),
        tools_change: changes.is_some(),
        tasks: JoinSet::new(),
        by_id: HashMap::new(),
    };
    let welcome = FromCrew::Welcome {
        agent: agent.name.to_string(),
        tools: sent.clone(),
        tools_change: changes.is_some(),
    };
    send(lines, &welcome).await?;
    // When changed tools are sent. Set by a change.
    let mut due: Option<Instant> = None;
    loop {
        let is_due = async {
            match due {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = next_change(&mut changes), if due.is_none() => due = Some(Instant::now() + COLLECT_CHANGES),
            () = is_due => {
                due = None;
                let tools = agent.calls.tools();
                if tools != sent {
                    calls.names = names_of(&tools);
                    sent.clone_from(&tools);
                    send(lines, &FromCrew::Tools { tools }).await?;
                }
            }
            line = lines.next() => {
                let Some(line) = line else { return Ok(()) };
                if let Some(answer) = calls.accept(parse(line)?, shared, agent)? {
                    send(lines, &answer).await?;
                }
            }
            Some(ended) = calls.tasks.join_next() => {
                if let Some(answer) = calls.end(ended) {
                    send(lines, &answer).await?;
                }
            }
        }
    }
}

fn names_of(tools: &[SocketTool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name.clone()).collect()
}

/// Waits until the agent's tools may have changed. Never returns if `changes` is `None` or its sender was dropped,
/// because the tools then do not change any more.
async fn next_change(changes: &mut Option<watch::Receiver<u64>>) {
    if let Some(changes) = changes
        && changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// The unfinished tool calls of a connection. Dropping this value cancels the calls.
struct RunningCalls {
    /// The names of the tools that were last sent to the peer.
    names: Vec<String>,
    /// Whether the agent has tools of MCP servers. An agent with such tools may call a server's tool that is not in
    /// `names`, because the server may not be ready yet.
    tools_change: bool,
    tasks: JoinSet<(u64, ToolOutput)>,
    by_id: HashMap<u64, AbortHandle>,
}

impl RunningCalls {
    /// Starts or cancels a tool call, as the peer requests in `line`. Returns an error result for the peer if the tool
    /// is unknown or too many calls are unfinished; otherwise `None`.
    ///
    /// # Errors
    /// Returns the reason for closing the connection, as text for the peer.
    fn accept(
        &mut self,
        line: ToCrew,
        shared: &Arc<SocketShared>,
        agent: &Arc<RegisteredAgent>,
    ) -> Result<Option<FromCrew>, String> {
        let (id, tool, input) = match line {
            ToCrew::Hello { .. } => return Err("hello was sent twice".into()),
            ToCrew::Cancel { id } => {
                if let Some(call) = self.by_id.remove(&id) {
                    call.abort();
                }
                return Ok(None);
            }
            ToCrew::Call { id, tool, input } => (id, tool, input),
        };
        if self.by_id.contains_key(&id) {
            return Err(format!("two unfinished calls have the id {id}"));
        }
        // The names are checked here too, so that no tool outside of the set runs whatever carries out the calls.
        let is_late = self.tools_change && is_of_server(&tool);
        if !self.names.contains(&tool) && !is_late {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let why = format!("Error: {}", table::unknown(&tool, &names));
            return Ok(Some(result(id, ToolOutput::error(why))));
        }
        if self.tasks.len() >= CALLS_MAX {
            let why = format!(
                "Error: {CALLS_MAX} calls are unfinished: wait for a result before the next call"
            );
            return Ok(Some(result(id, ToolOutput::error(why))));
        }
        let number = shared.next_call.fetch_add(1, Ordering::SeqCst);
        let call = ToolCall {
            id: CallId(format!("socket-{number}")),
            name: tool,
            input,
            broken: None,
        };
        let calls = Arc::clone(&agent.calls);
        let task = self
            .tasks
            .spawn(async move { (id, calls.call(call).await) });
        self.by_id.insert(id, task);
        Ok(None)
    }

    /// Removes a call that has ended. Returns its result, which is an error if the call panicked; `None` if the call
    /// was cancelled.
    fn end(&mut self, ended: Result<(u64, ToolOutput), JoinError>) -> Option<FromCrew> {
        let (id, output) = match ended {
            Ok(ended) => ended,
            // A cancelled call was removed when it was cancelled.
            Err(error) => {
                let mut calls = self.by_id.iter();
                let (id, _) = calls.find(|(_, task)| task.id() == error.id())?;
                (*id, ToolOutput::error("Error: the tool failed"))
            }
        };
        self.by_id.remove(&id);
        Some(result(id, output))
    }
}

/// Parses a line of the peer.
///
/// # Errors
/// Returns the reason for closing the connection, as text for the peer.
fn parse(line: Result<String, LinesCodecError>) -> Result<ToCrew, String> {
    let line = line.map_err(|error| match error {
        LinesCodecError::MaxLineLengthExceeded => {
            format!("a line is longer than {CALL_LINE_MAX} bytes")
        }
        LinesCodecError::Io(error) => format!("a line cannot be read: {error}"),
    })?;
    serde_json::from_str(&line).map_err(|error| {
        let error = clip(&one_line(&error.to_string()), 200);
        format!("a line is not valid: {error}")
    })
}

fn result(id: u64, output: ToolOutput) -> FromCrew {
    let mut text = output.text;
    let (mut images, mut size) = (Vec::new(), 0);
    for image in output.images {
        let data = image.data.0.clone().unwrap_or_default();
        if data.is_empty() || size + data.len() > IMAGES_MAX {
            text.push('\n');
            text.push_str(&image.placeholder("was left out"));
            continue;
        }
        size += data.len();
        images.push(SocketImage {
            media_type: image.size.media_type,
            data: data.to_string(),
        });
    }
    FromCrew::Result {
        id,
        text,
        images,
        is_error: output.outcome == Outcome::Error,
    }
}

/// Sends a line to the peer.
///
/// # Errors
/// Fails if the peer does not read the line in time or has closed the connection.
async fn send(lines: &mut PeerLines, line: &FromCrew) -> Result<(), String> {
    let text = serde_json::to_string(line).map_err(|e| e.to_string())?;
    let sent = timeout(WRITE_TIMEOUT, lines.send(text)).await;
    sent.map_err(|_| "a line was not read in time".to_string())?
        .map_err(|e| e.to_string())
}

//! The connection of `crewdeck mcp-serve` to the agent socket of the crew.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use rustix::process::geteuid;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::sync::CancellationToken;

use crate::protocol::agent_socket::{
    CALL_LINE_MAX, CALLS_MAX, FromCrew, RESULT_LINE_MAX, SocketImage, SocketTool, ToCrew, VERSION,
};

/// Maximum time for the crew to answer the first line of a connection, which contains the agent's token.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of lines that wait to be sent to the crew.
const QUEUE_MAX: usize = 256;
/// Why the connection has ended, if the crew has given no reason.
const CREW_ENDED: &str = "the crew has ended";

type CrewInput = FramedRead<OwnedReadHalf, LinesCodec>;
type CrewOutput = FramedWrite<OwnedWriteHalf, LinesCodec>;

/// What the crew sends when it accepts a connection: the agent to which the token belongs, and the tools that the agent
/// can call.
#[derive(Debug)]
pub struct Greeting {
    pub agent: String,
    /// The tools. The receiver is notified when the crew has sent a new list.
    pub tools: watch::Receiver<Vec<SocketTool>>,
    pub tools_change: bool,
}

/// The result of a tool call.
#[derive(Debug)]
pub struct CallResult {
    pub text: String,
    pub images: Vec<SocketImage>,
    pub is_error: bool,
}

impl CallResult {
    fn error(why: &str) -> CallResult {
        CallResult {
            text: format!("Error: {why}"),
            images: Vec::new(),
            is_error: true,
        }
    }
}

/// A connection whose token the crew has accepted.
pub struct CrewConnection {
    lines: mpsc::Sender<String>,
    shared: Arc<ConnectionState>,
    next: AtomicU64,
    slots: Semaphore,
}

#[derive(Default)]
struct ConnectionState {
    waiting: Mutex<HashMap<u64, oneshot::Sender<CallResult>>>,
    tools: watch::Sender<Vec<SocketTool>>,
    /// Why the connection has ended; `None` while it is open.
    reason: Mutex<Option<String>>,
    ended: CancellationToken,
}

impl CrewConnection {
    /// Connects to the crew as the agent to which `token` belongs.
    ///
    /// # Errors
    /// Returns the reason, with what to do, if no crew of the user listens on `socket` or it rejects the token.
    pub async fn open(socket: &Path, token: String) -> Result<(CrewConnection, Greeting), String> {
        let failure = |why: &str| {
            format!(
                "the crew cannot be reached ({}: {why}): it has probably ended. Start the agent from a running crew",
                socket.display()
            )
        };
        let connected = UnixStream::connect(socket).await;
        let stream = connected.map_err(|error| failure(&error.to_string()))?;
        // Another user could have created a socket with this path after the crew has ended. It must not get the token.
        let peer = stream.peer_cred();
        let peer = peer.map_err(|error| failure(&error.to_string()))?;
        if peer.uid() != geteuid().as_raw() {
            return Err(failure("another user listens on it"));
        }
        let (read, write) = stream.into_split();
        let codec = LinesCodec::new_with_max_length(RESULT_LINE_MAX);
        let mut input = FramedRead::new(read, codec);
        let mut output = FramedWrite::new(write, LinesCodec::new());
        let version = VERSION;
        let hello = to_line(&ToCrew::Hello { version, token })?;
        let answer = timeout(HELLO_TIMEOUT, async {
            // If the crew has closed the connection, its reason can still be read.
            let _ = output.send(hello).await;
            next(&mut input).await
        });
        let answer = answer.await.map_err(|_| failure("no answer"))?;
        let welcome = match answer {
            Ok(FromCrew::Welcome {
                agent,
                tools,
                tools_change,
            }) => (agent, tools, tools_change),
            Ok(FromCrew::Error { error }) => {
                return Err(format!("the crew refuses the agent: {error}"));
            }
            Ok(FromCrew::Result { .. } | FromCrew::Tools { .. }) => {
                return Err(failure("unexpected answer"));
            }
            Err(why) => return Err(failure(&why)),
        };
        let (agent, tools, tools_change) = welcome;
        let shared = Arc::new(ConnectionState {
            tools: watch::Sender::new(tools),
            ..ConnectionState::default()
        });
        let greeting = Greeting {
            agent,
            tools: shared.tools.subscribe(),
            tools_change,
        };
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(run(input, output, queue, Arc::clone(&shared)));
        let connection = CrewConnection {
            lines: sender,
            shared,
            next: AtomicU64::new(1),
            slots: Semaphore::new(CALLS_MAX),
        };
        Ok((connection, greeting))
    }

    /// Calls a tool. Dropping the future cancels the call. The result is an error if the crew has ended, if `CALLS_MAX`
    /// calls are unfinished, or if the input is too long.
    pub async fn call(&self, tool: String, input: serde_json::Value) -> CallResult {
        let Ok(_slot) = self.slots.try_acquire() else {
            return CallResult::error(&format!(
                "{CALLS_MAX} calls are unfinished: wait for a result before the next call"
            ));
        };
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        let line = match to_line(&ToCrew::Call { id, tool, input }) {
            Ok(line) if line.len() <= CALL_LINE_MAX => line,
            Ok(_) => {
                return CallResult::error(&format!(
                    "the input is longer than {CALL_LINE_MAX} bytes"
                ));
            }
            Err(why) => return CallResult::error(&why),
        };
        let (sender, receiver) = oneshot::channel();
        self.shared.waiting().insert(id, sender);
        let mut cancel = CallCancel {
            connection: self,
            id,
            is_done: false,
        };
        let is_sent = !self.shared.ended.is_cancelled() && self.lines.send(line).await.is_ok();
        let result = if is_sent { receiver.await.ok() } else { None };
        cancel.is_done = true;
        result.unwrap_or_else(|| {
            let why = self.why_ended();
            CallResult::error(&format!(
                "the tool was not called or its result is lost: {}",
                why.as_deref().unwrap_or(CREW_ENDED)
            ))
        })
    }

    /// Waits until the connection to the crew has ended.
    pub async fn ended(&self) {
        self.shared.ended.cancelled().await;
    }

    /// Returns why the connection has ended; `None` while it is open.
    pub fn why_ended(&self) -> Option<String> {
        let reason = self.shared.reason.lock();
        reason.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ConnectionState {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<CallResult>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the end of the connection. Calls that wait for a result get an error.
    fn end(&self, why: String) {
        let reason = self.reason.lock();
        *reason.unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.ended.cancel();
        self.waiting().clear();
    }
}

/// A guard for a tool call. If the guard is dropped before the call is done, the crew is asked to cancel the call.
struct CallCancel<'a> {
    connection: &'a CrewConnection,
    id: u64,
    is_done: bool,
}

impl Drop for CallCancel<'_> {
    fn drop(&mut self) {
        let shared = &self.connection.shared;
        let is_waiting = shared.waiting().remove(&self.id).is_some();
        if self.is_done || !is_waiting {
            return;
        }
        let line = to_line(&ToCrew::Cancel { id: self.id });
        let is_sent = line.is_ok_and(|line| self.connection.lines.try_send(line).is_ok());
        if !is_sent {
            // The call would continue. The end of the connection cancels it.
            shared.end("the crew does not read cancellations".into());
        }
    }
}

/// Sends the lines of `queue` to the crew and passes each result to the call that waits for it, until the connection
/// ends.
async fn run(
    mut input: CrewInput,
    mut output: CrewOutput,
    mut queue: mpsc::Receiver<String>,
    shared: Arc<ConnectionState>,
) {
    // Reading goes on while a line is written: the crew may read nothing until its own line has been read.
    let write = async {
        while let Some(line) = queue.recv().await {
            if output.send(line).await.is_err() {
                break;
            }
        }
        // Why the connection has ended follows from the next read.
        std::future::pending::<()>().await;
    };
    let why = tokio::select! {
        () = shared.ended.cancelled() => return,
        () = write => return,
        why = distribute(&mut input, &shared) => why,
    };
    shared.end(why);
}

/// Gives each result to the call that waits for it. Returns why the connection has ended.
async fn distribute(input: &mut CrewInput, shared: &ConnectionState) -> String {
    loop {
        match next(input).await {
            Ok(FromCrew::Result {
                id,
                text,
                images,
                is_error,
            }) => {
                let waiting = shared.waiting().remove(&id);
                if let Some(waiting) = waiting {
                    // The caller may have cancelled the call.
                    let _ = waiting.send(CallResult {
                        text,
                        images,
                        is_error,
                    });
                }
            }
            Ok(FromCrew::Error { error }) => return error,
            Ok(FromCrew::Tools { tools }) => {
                shared.tools.send_replace(tools);
            }
            Ok(FromCrew::Welcome { .. }) => {}
            Err(why) => return why,
        }
    }
}

async fn next(input: &mut CrewInput) -> Result<FromCrew, String> {
    match input.next().await {
        Some(Ok(line)) => serde_json::from_str(&line)
            .map_err(|error| format!("the crew has sent an invalid line: {error}")),
        Some(Err(error)) => Err(format!("{CREW_ENDED}: {error}")),
        None => Err(CREW_ENDED.into()),
    }
}

fn to_line(line: &ToCrew) -> Result<String, String> {
    serde_json::to_string(line).map_err(|error| error.to_string())
}

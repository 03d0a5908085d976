//! `crewdeck mcp-serve`: an MCP server on stdin and stdout that gives an external agent the tools of its crew. It reads no
//! settings and no files: the crew carries out the calls.

mod crew_connection;
mod handler;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{Peer, RoleServer, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio_util::sync::CancellationToken;

use crate::domain::text::{clip, one_line};
use crate::protocol::agent_socket::{CALL_LINE_MAX, SOCKET_VARIABLE, TOKEN_VARIABLE};
use crate::store::socket_folder::remove_dead_socket;
use crew_connection::CrewConnection;
use handler::{CrewTools, report_changes};

/// The verb of the command line that runs [`main`].
pub const VERB: &str = "mcp-serve";

/// Time for which calls are still answered with an error after the crew has ended. Then the process ends.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// Runs the server until stdin ends or the crew ends, and returns the exit code. The exit code is 1 if an environment
/// variable is missing, if the crew cannot be reached or rejects the token, or if the client does not speak MCP;
/// otherwise 0.
pub fn main() -> u8 {
    match run() {
        Ok(None) => 0,
        Ok(Some(why)) => {
            print_line(&why);
            0
        }
        Err(why) => {
            print_line(&why);
            1
        }
    }
}

fn print_line(text: &str) {
    // If standard error is closed, the failed write is ignored.
    let text = clip(&one_line(text), 500);
    let _ = writeln!(std::io::stderr().lock(), "crewdeck: {text}");
}

/// Runs the server. Returns why the connection to the crew has ended; `None` if stdin has ended first.
///
/// # Errors
/// Fails if an environment variable is missing, the crew cannot be reached or rejects the token, or the client is no
/// MCP client.
fn run() -> Result<Option<String>, String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(socket), Some(token)) = (variable(SOCKET_VARIABLE), variable(TOKEN_VARIABLE)) else {
        return Err(format!(
            "mcp-serve needs the variables {SOCKET_VARIABLE} and {TOKEN_VARIABLE}, which a crew sets when it starts an \
             external agent. To give agents the tools of an MCP server, use crewdeck mcp add"
        ));
    };
    let socket = PathBuf::from(socket);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| format!("mcp-serve cannot start: {error}"))?;
    let served = runtime.block_on(serve(&socket, token));
    // The thread that reads stdin may be blocked, so it is not waited for.
    runtime.shutdown_background();
    remove_dead_socket(&socket);
    served
}

/// Returns whether the client uses a protocol version that has the request `initialize`. In these versions, a server
/// reports changes without a subscription.
fn has_initialized(peer: &Peer<RoleServer>) -> bool {
    peer.peer_info()
        .is_some_and(|info| info.protocol_version < ProtocolVersion::V_2026_07_28)
}

async fn serve(socket: &Path, token: String) -> Result<Option<String>, String> {
    let (crew, welcome) = CrewConnection::open(socket, token).await?;
    let crew = Arc::new(crew);
    let changing = welcome.tools_change.then(|| welcome.tools.clone());
    let tools = CrewTools::new(Arc::clone(&crew), welcome);
    let stop = CancellationToken::new();
    let watch = async {
        crew.ended().await;
        tokio::time::sleep(ANSWER_TIME).await;
        // The service answers what it can and then ends.
        stop.cancel();
        std::future::pending::<()>().await;
    };
    let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout())
        .with_max_line_length(CALL_LINE_MAX);
    let served = async {
        match serve_server_with_ct(tools, transport, stop.clone()).await {
            Ok(service) => {
                let peer = service.peer().clone();
                let report = async {
                    // Later protocol versions have subscriptions instead, which the handler serves.
                    if let Some(changing) = changing.filter(|_| has_initialized(&peer)) {
                        report_changes(changing, || peer.notify_tool_list_changed()).await;
                    }
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    // How the service ended does not matter: stdin or the crew has ended.
                    _ = service.waiting() => {}
                    () = report => {}
                }
                Ok(())
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(format!(
                "the program that has started mcp-serve does not speak MCP: {error}"
            )),
        }
    };
    tokio::select! {
        served = served => served?,
        () = watch => {}
    }
    Ok(crew.why_ended())
}

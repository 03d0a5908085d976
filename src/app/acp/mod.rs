//! `crewdeck acp`: makes the lead an agent of the Agent Client Protocol on standard input and output, so that an editor
//! can drive a crew. It is a front end like `crewdeck run`: it exchanges only [`Command`](crate::protocol::Command) and
//! [`Event`](crate::protocol::Event) with the crew.

mod commands;
mod connection;
mod features;
mod open_prompt;
mod opening;
mod options;
mod plan;
mod prompts;
mod requests;

mod server;
mod session;
mod shown_calls;
mod start;
mod tool_calls;
mod updates;

use std::io::{BufReader, BufWriter, IsTerminal};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::headless::eprint_line;
use super::{INTERRUPTED, block_on, root};
use crate::cli::GlobalOptions;
use connection::EditorOutput;
use server::{ConnectionEnd, EditorServer};

/// Maximum time that crewdeck waits at its end until the last messages to the editor are written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);
/// Size of the buffer for standard input, in bytes.
const BUFFER: usize = 64 * 1024;

/// Serves an editor on standard input and output until it closes the connection or a signal arrives, and returns the exit
/// code.
///
/// # Errors
/// Fails if `--resume` is given or the demo is selected, if the directory of `--dir` is not accessible, if the crew
/// ends unexpectedly, or if it cannot save its state.
pub fn main(global: &GlobalOptions) -> Result<u8> {
    if global.resume.is_some() {
        bail!("acp takes no --resume: the editor chooses the session");
    }
    if global.demo || global.provider.as_deref() == Some("demo") {
        bail!("acp cannot run the demo: start it with crewdeck --demo");
    }
    let project = global.dir.as_ref().map(|_| root(global)).transpose()?;
    if std::io::stdin().is_terminal() {
        eprint_line(
            "crewdeck acp waits for messages of an editor. Add it to the editor's settings instead of starting it here; Ctrl+c ends it.",
        );
    }
    block_on(async {
        let (mut terminate, mut hangup) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        );
        let (sender, mut input) = mpsc::channel(1);
        let stdin = BufReader::with_capacity(BUFFER, std::io::stdin());
        std::thread::Builder::new()
            .name("editor in".into())
            .spawn(move || connection::read_messages(stdin, &sender))?;
        let (output, lines) = EditorOutput::new();
        let (written, all_written) = oneshot::channel();
        std::thread::Builder::new()
            .name("editor out".into())
            .spawn(move || {
                // A closed pipe ends the connection, because the lines then have no receiver.
                let _ = connection::write_lines(BufWriter::new(std::io::stdout()), lines);
                let _ = written.send(());
            })?;
        let mut server = EditorServer::new(global, output, project);
        let end = tokio::select! {
            end = server.serve(&mut input) => Some(end),
            _ = tokio::signal::ctrl_c() => None,
            _ = terminate.recv() => None,
            _ = hangup.recv() => None,
        };
        let stopped = server.stop().await;
        // An editor that does not read must not keep this process from ending.
        let _ = tokio::time::timeout(WRITTEN_WITHIN, all_written).await;
        stopped?;
        match end {
            Some(ConnectionEnd::Closed) => Ok(0),
            Some(ConnectionEnd::CrewEnded) => bail!("the crew ended unexpectedly"),
            None => Ok(INTERRUPTED),
        }
    })
}

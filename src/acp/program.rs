//! The program of a connection: waits for its end, ends it, and says why it ended.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::Error;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::lines::LineWatch;
use crate::domain::redact::Redactor;
use crate::domain::text::one_line;
use crate::process::{LogTail, ServiceProcess, ServiceSpec};

/// Time for which a program may still run after it has closed its output. Then crewdeck kills it.
const CLOSED_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for reading the rest of the output after the program has ended, and for writing the remaining messages
/// before crewdeck closes the program's input.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of lines from the end of the program's log in an error.
const LOG_LINES_SHOWN: usize = 10;
/// Maximum length, in characters, of the text from the program's log in an error. A longer text is cut at its start.
const LOG_SHOWN_MAX: usize = 600;

/// Why a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndCause {
    pub why: String,
    /// Whether crewdeck ended the program because it was no longer needed.
    pub is_wanted: bool,
    pub at: Instant,
}

/// The program of a connection, and what is needed to end it.
pub struct RunningProgram {
    pub process: ServiceProcess,
    pub log: LogTail,
    pub stderr: JoinHandle<()>,
    pub watch: Arc<LineWatch>,
    pub stop: CancellationToken,
    pub redactor: Redactor,
    pub exit_timeout: Duration,
}

impl RunningProgram {
    /// Runs `driver`, the connection, until the connection ends, the program ends, or `stop` is cancelled. Then ends
    /// the program if it still runs, and returns why it ended.
    pub async fn serve(
        mut self,
        driver: impl Future<Output = Result<(), Error>>,
        spec: &ServiceSpec,
    ) -> EndCause {
        let mut driver = Box::pin(driver);
        let mut exit = None;
        let stop = self.stop.clone();
        let stopped = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            ended = &mut driver => {
                if let Err(error) = ended {
                    tracing::debug!("connection to an external agent: {}", error.message);
                }
            }
            ended = self.process.wait() => {
                exit = Some(ended);
                let _ = timeout(DRAIN_TIMEOUT, &mut driver).await;
            }
            () = stopped => {}
        }
        let is_wanted = self.stop.is_cancelled();
        // Closes the program's input.
        drop(driver);
        let end_reason = self.watch.end_reason();
        if exit.is_none() {
            let limit = match (is_wanted, &end_reason) {
                (true, _) => self.exit_timeout,
                (false, None) => CLOSED_OUTPUT_TIMEOUT,
                // It still writes what crewdeck does not read.
                (false, Some(_)) => DRAIN_TIMEOUT,
            };
            exit = timeout(limit, self.process.wait()).await.ok();
        }
        if exit.is_none() {
            self.process.end().await;
        }
        let _ = timeout(DRAIN_TIMEOUT, self.stderr).await;
        let exit_text = match &exit {
            Some(Ok(exit)) => Some(exit.to_string()),
            Some(Err(error)) => Some(spec.start_error(error)),
            None => None,
        };
        let why = match (end_reason, exit_text) {
            _ if is_wanted => "crewdeck ended it".into(),
            (Some(reason), Some(exit)) => format!("{reason} ({exit})"),
            (Some(reason), None) => reason,
            (None, Some(exit)) => exit,
            (None, None) => "it closed its output".into(),
        };
        let shown = if is_wanted {
            String::new()
        } else {
            log_suffix(&self.log, &self.redactor)
        };
        EndCause {
            why: format!("{}{shown}", self.redactor.text(&why)),
            is_wanted,
            at: Instant::now(),
        }
    }
}

/// Returns the end of the program's log, to be appended to an error. Empty if the log is empty.
fn log_suffix(log: &LogTail, redactor: &Redactor) -> String {
    let text = log.text();
    let text = redactor.text(&text);
    let mut lines: Vec<&str> = text.lines().rev().map(str::trim_end).collect();
    lines.retain(|line| !line.is_empty());
    lines.truncate(LOG_LINES_SHOWN);
    lines.reverse();
    if lines.is_empty() {
        return String::new();
    }
    let text = one_line(&lines.join("\n"));
    let surplus = text.chars().count().saturating_sub(LOG_SHOWN_MAX);
    let mark = if surplus > 0 { "…" } else { "" };
    let text: String = text.chars().skip(surplus).collect();
    format!("; its last output: {mark}{text}")
}

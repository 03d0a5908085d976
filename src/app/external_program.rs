//! Runs programs that use the terminal instead of the dashboard: an editor, or printing a conversation to the
//! terminal's scroll-back.

use std::io::Write;

use anyhow::{Context, Result};
use crossterm::event::{Event, EventStream, KeyCode};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::editor;

/// The line that follows a printed text and says how to return to the dashboard.
const GO_BACK: &str = "-- Press Enter to return to crewdeck --";

/// A program or action that uses the terminal instead of the dashboard. While it runs, the terminal is in the mode that
/// it had before crewdeck started.
pub enum ExternalProgram {
    /// Edit the text in the user's editor.
    Edit(String),
    /// Read the text in the user's editor; changes are discarded.
    View(String),
    /// Print the text to the terminal's scroll-back.
    Print(String),
}

impl ExternalProgram {
    /// Returns whether Ctrl+c ends the program. An editor handles that key itself.
    pub fn ends_by_interrupt(&self) -> bool {
        match self {
            ExternalProgram::Print(_) => true,
            ExternalProgram::Edit(_) | ExternalProgram::View(_) => false,
        }
    }

    /// Runs the program until it ends or `stop` is cancelled. Returns the edited text for `ExternalProgram::Edit`,
    /// otherwise `None`.
    ///
    /// # Errors
    /// Fails if the editor is missing, fails or was stopped, if the edited text cannot be used, or if the terminal cannot
    /// be read or written.
    pub async fn run(self, stop: &CancellationToken) -> Result<Option<String>> {
        match self {
            ExternalProgram::Edit(text) => editor::edit(&text, stop).await.map(Some),
            ExternalProgram::View(text) => editor::read(&text, stop).await.map(|()| None),
            ExternalProgram::Print(text) => {
                tokio::select! {
                    printed = print(&text) => printed.map(|()| None),
                    () = stop.cancelled() => Ok(None),
                }
            }
        }
    }
}

/// Prints `text`, whose control characters must already be escaped, and waits for Enter. Does not change the mode of
/// the terminal.
async fn print(text: &str) -> Result<()> {
    let all = format!("\n{}\n\n{GO_BACK}", text.trim_end());
    // Write on another thread: a stalled terminal must not prevent crewdeck from exiting.
    let printed = tokio::task::spawn_blocking(move || {
        let mut out = std::io::stdout().lock();
        out.write_all(all.as_bytes()).and_then(|()| out.flush())
    });
    printed.await?.context("the terminal cannot be written")?;
    let mut keys = EventStream::new();
    while let Some(event) = keys.next().await {
        let event = event.context("the terminal cannot be read")?;
        if let Event::Key(key) = event
            && key.code == KeyCode::Enter
        {
            break;
        }
    }
    Ok(())
}

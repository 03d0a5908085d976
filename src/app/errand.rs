//! What has the terminal for a while in place of the screen: `$EDITOR`, or the conversation as the terminal's own lines.

use std::io::Write;

use anyhow::{Context, Result};
use crossterm::event::{Event, EventStream, KeyCode};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::editor;

/// The last line of what is printed.
const GO_BACK: &str = "-- Press Enter to go back to crewdeck --";

/// What has the terminal. It is as the shell had it meanwhile.
pub enum Errand {
    /// The person writes: the text is taken back.
    Write(String),
    /// The person reads the text in `$EDITOR`.
    Read(String),
    /// The text goes into the terminal's scroll-back.
    Print(String),
}

impl Errand {
    /// Whether Ctrl+c ends it; an editor knows what it wants of that key.
    pub fn ends_by_interrupt(&self) -> bool {
        match self {
            Errand::Print(_) => true,
            Errand::Write(_) | Errand::Read(_) => false,
        }
    }

    /// Does it, until it is done or `stop` comes. What the person wrote comes back.
    ///
    /// # Errors
    /// When there is no editor, it failed, or the terminal is gone.
    pub async fn run(self, stop: &CancellationToken) -> Result<Option<String>> {
        match self {
            Errand::Write(text) => editor::edit(&text, stop).await.map(Some),
            Errand::Read(text) => editor::read(&text, stop).await.map(|()| None),
            Errand::Print(text) => {
                tokio::select! {
                    printed = print(&text) => printed.map(|()| None),
                    () = stop.cancelled() => Ok(None),
                }
            }
        }
    }
}

/// Prints `text`, which holds nothing that drives a terminal, and waits for Enter. The terminal reads by lines meanwhile, so
/// there is nothing to give back whatever happens.
async fn print(text: &str) -> Result<()> {
    let all = format!("\n{}\n\n{GO_BACK}", text.trim_end());
    // A terminal that takes nothing for a while must not keep crewdeck from ending.
    let printed = tokio::task::spawn_blocking(move || {
        let mut out = std::io::stdout().lock();
        out.write_all(all.as_bytes()).and_then(|()| out.flush())
    });
    printed.await?.context("the terminal can not be written")?;
    let mut keys = EventStream::new();
    while let Some(came) = keys.next().await {
        let came = came.context("the terminal can not be read")?;
        if let Event::Key(key) = came
            && key.code == KeyCode::Enter
        {
            break;
        }
    }
    Ok(())
}

//! Lets the person write a text in the editor of their choice.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::in_words;

/// How long an editor that is asked to end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens `text` in `$VISUAL`, `$EDITOR` or vi, and reads it back. When `stop` comes, the editor is asked to end, and after
/// two seconds it is ended.
///
/// # Errors
/// When there is no editor or it failed; the text is as it was then.
pub async fn edit(text: &str, stop: &CancellationToken) -> Result<String> {
    let file = opened(text, stop).await.map_err(|why| {
        let kept = format!("{}; your text is as it was", in_words(&why));
        anyhow!(kept)
    })?;
    let edited = std::fs::read_to_string(file.path())?;
    Ok(edited.trim_end_matches('\n').to_string())
}

/// Opens a copy of `text` in the same editor, to be read: what becomes of it there does not matter.
///
/// # Errors
/// When there is no editor or it failed.
pub async fn read(text: &str, stop: &CancellationToken) -> Result<()> {
    opened(text, stop).await.map(drop)
}

/// The file with `text`, readable by the person alone and gone when it is dropped, after the editor was left.
async fn opened(text: &str, stop: &CancellationToken) -> Result<NamedTempFile> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|e| !e.trim().is_empty()))
        .unwrap_or_else(|| "vi".into());
    let file = tempfile::Builder::new()
        .prefix("crewdeck-")
        .suffix(".md")
        .tempfile()?;
    std::fs::write(file.path(), text)?;
    let mut words = editor.split_whitespace();
    let program = words.next().context("$EDITOR is empty")?;
    let mut child = Command::new(program)
        .args(words)
        .arg(file.path())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{program} can not be started: set $EDITOR"))?;
    let status = tokio::select! {
        status = child.wait() => status?,
        () = stop.cancelled() => {
            end(&mut child).await;
            bail!("{program} was ended");
        }
    };
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    Ok(file)
}

async fn end(child: &mut Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = id.and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

//! Lets the person write a text in the editor of their choice.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Opens `text` in `$VISUAL`, `$EDITOR` or vi, and reads it back.
///
/// # Errors
/// When there is no editor or it failed; the text is as it was then.
pub fn edit(text: &str) -> Result<String> {
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
    let status = Command::new(program)
        .args(words)
        .arg(file.path())
        .status()
        .with_context(|| format!("{program} can not be started: set $EDITOR"))?;
    if !status.success() {
        bail!("{program} ended with {status}; your text is as it was");
    }
    let edited = std::fs::read_to_string(file.path())?;
    Ok(edited.trim_end_matches('\n').to_string())
}

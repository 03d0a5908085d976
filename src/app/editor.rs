//! Opens a text in the user's editor, to edit or to read it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::describe_error;
use crate::domain::text::escape_control_chars;
use crate::ui::{COMPOSER_MAX, bytes};

/// Time between SIGTERM and SIGKILL when an editor is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens `text` in `$VISUAL`, `$EDITOR` or vi and returns the edited text without newlines at its end. If `stop` is
/// cancelled, the editor gets SIGTERM, and two seconds later SIGKILL.
///
/// # Errors
/// Fails if the editor is missing, fails or was stopped. Also fails if the edited text is not UTF-8, or if it has more
/// than [`COMPOSER_MAX`] bytes after its control characters are escaped. If the user has edited the text, the error
/// names the file that still contains it.
pub async fn edit(text: &str, stop: &CancellationToken) -> Result<String> {
    let file = copy_of(text)?;
    match open(file.path(), stop).await {
        Ok(()) => read_back(file),
        Err(why) => Err(editor_error(file, text, &why)),
    }
}

/// Opens a copy of `text` in `$VISUAL`, `$EDITOR` or vi and ignores all changes. Stops the editor like [`edit`].
///
/// # Errors
/// Fails if the editor is missing, fails or was stopped.
pub async fn read(text: &str, stop: &CancellationToken) -> Result<()> {
    let file = copy_of(text)?;
    open(file.path(), stop).await
}

/// Writes `text` to a temporary file that only the user can read.
fn copy_of(text: &str) -> Result<NamedTempFile> {
    let file = tempfile::Builder::new()
        .prefix("crewdeck-")
        .suffix(".md")
        .tempfile()?;
    std::fs::write(file.path(), text)?;
    Ok(file)
}

/// Returns the edited text, and deletes the file. If the text does not fit into the input field or is not UTF-8, keeps
/// the file, and returns an error that names it.
fn read_back(file: NamedTempFile) -> Result<String> {
    let limit = COMPOSER_MAX as u64;
    let why = match read_limited(file.path(), limit) {
        Err(why) => format!("cannot be read: {why}"),
        Ok((_, size)) if size > limit => too_long(size),
        Ok((bytes, _)) => match String::from_utf8(bytes) {
            Err(_) => "is not UTF-8".to_string(),
            // Escaped control characters are longer than the characters themselves.
            Ok(text) if escape_control_chars(&text).len() > COMPOSER_MAX => {
                too_long(text.len() as u64)
            }
            Ok(text) => return Ok(text.trim_end_matches('\n').to_string()),
        },
    };
    Err(match keep_file(file) {
        Some(path) => {
            anyhow!("The edited text {why}. It is kept in {path}; the input is unchanged")
        }
        None => anyhow!("The edited text {why}; the input is unchanged"),
    })
}

fn too_long(size: u64) -> String {
    let size = bytes(usize::try_from(size).unwrap_or(usize::MAX));
    let most = bytes(COMPOSER_MAX);
    format!("is too long: {size}, but the limit is {most}")
}

/// Returns the error for an editor that failed for the reason `why`. If the text in the file differs from `text`, does
/// not delete the file, and names it in the error.
fn editor_error(file: NamedTempFile, text: &str, why: &Error) -> Error {
    let size = text.len() as u64;
    let is_same = read_limited(file.path(), size)
        .is_ok_and(|(bytes, len)| len == size && bytes == text.as_bytes());
    let why = describe_error(why);
    if is_same {
        return anyhow!("{why}; the input is unchanged");
    }
    match keep_file(file) {
        Some(path) => anyhow!("{why}; the input is unchanged, and the edited text is in {path}"),
        None => anyhow!("{why}; the input is unchanged"),
    }
}

/// Reads at most `limit` + 1 bytes of a file. Returns the bytes and the size of the whole file.
fn read_limited(path: &Path, limit: u64) -> std::io::Result<(Vec<u8>, u64)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes, size.max(read as u64)))
}

/// Makes the temporary file permanent and returns its path; `None` if that fails.
fn keep_file(file: NamedTempFile) -> Option<String> {
    let (_, path) = file.keep().ok()?;
    Some(escape_control_chars(&path.display().to_string()))
}

/// Opens the file in the editor and waits for the editor to exit.
async fn open(path: &Path, stop: &CancellationToken) -> Result<()> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|e| !e.trim().is_empty()))
        .unwrap_or_else(|| "vi".into());
    let mut words = editor.split_whitespace();
    let program = words.next().context("$EDITOR is empty")?;
    let mut child = Command::new(program)
        .args(words)
        .arg(path)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| {
            format!("the editor {program} cannot be started (set $VISUAL or $EDITOR)")
        })?;
    let status = tokio::select! {
        status = child.wait() => status?,
        () = stop.cancelled() => {
            end(&mut child).await;
            bail!("{program} was stopped");
        }
    };
    if !status.success() {
        bail!("the editor {program} failed with {status}");
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Returns the path that an error message names.
    fn named_path(message: &str) -> std::path::PathBuf {
        let word = message
            .split([' ', ',', ';'])
            .find(|w| w.contains("crewdeck-"));
        word.unwrap().trim_end_matches('.').into()
    }

    #[test]
    fn edited_text_is_returned_or_kept_in_its_file() {
        let full = "x".repeat(COMPOSER_MAX);
        for (bytes, expected) in [
            (b"a\nb\n\n".to_vec(), Ok("a\nb".to_string())),
            (Vec::new(), Ok(String::new())),
            (full.clone().into_bytes(), Ok(full.clone())),
            (format!("{full}x").into_bytes(), Err("too long")),
            (vec![0x1b; COMPOSER_MAX / 2], Err("too long")),
            (vec![b'a', 0xff], Err("not UTF-8")),
        ] {
            let file = copy_of("before").unwrap();
            let path = file.path().to_path_buf();
            std::fs::write(&path, &bytes).unwrap();
            match (read_back(file), expected) {
                (Ok(text), Ok(expected)) => {
                    assert!(text == expected, "{} bytes", bytes.len());
                    assert!(!path.exists());
                }
                (Err(why), Err(part)) => {
                    let why = why.to_string();
                    assert!(why.contains(part), "{why}");
                    assert_eq!(named_path(&why), path);
                    assert!(std::fs::read(&path).unwrap() == bytes);
                    std::fs::remove_file(path).unwrap();
                }
                (got, expected) => panic!("got {got:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn failed_editor_keeps_a_changed_file() {
        for (now, stays) in [("before", false), ("before and after", true), ("", true)] {
            let file = copy_of("before").unwrap();
            let path = file.path().to_path_buf();
            std::fs::write(&path, now).unwrap();
            let why = editor_error(file, "before", &anyhow!("ed failed")).to_string();
            assert!(
                why.starts_with("ed failed; the input is unchanged"),
                "{why}"
            );
            assert_eq!(path.exists(), stays, "{now}");
            if stays {
                assert_eq!(named_path(&why), path);
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

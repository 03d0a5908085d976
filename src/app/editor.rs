//! Lets the person write a text in the editor of their choice.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::in_words;
use crate::domain::text::harmless;
use crate::ui::{COMPOSER_MAX, bytes};

/// How long an editor that is asked to end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens `text` in `$VISUAL`, `$EDITOR` or vi, and reads it back. When `stop` comes, the editor is asked to end, and after
/// two seconds it is ended.
///
/// # Errors
/// When there is no editor or it failed, or what was written there is no text or longer than a field holds; the text is as
/// it was then, and what was written stays in its file, which is named.
pub async fn edit(text: &str, stop: &CancellationToken) -> Result<String> {
    let file = copy_of(text)?;
    match open(file.path(), stop).await {
        Ok(()) => taken_back(file),
        Err(why) => Err(given_up(file, text, &why)),
    }
}

/// Opens a copy of `text` in the same editor, to be read: what becomes of it there does not matter.
///
/// # Errors
/// When there is no editor or it failed.
pub async fn read(text: &str, stop: &CancellationToken) -> Result<()> {
    let file = copy_of(text)?;
    open(file.path(), stop).await
}

/// A file with `text`, readable by the person alone and gone when it is dropped.
fn copy_of(text: &str) -> Result<NamedTempFile> {
    let file = tempfile::Builder::new()
        .prefix("crewdeck-")
        .suffix(".md")
        .tempfile()?;
    std::fs::write(file.path(), text)?;
    Ok(file)
}

/// What was written, if a field holds it; else the file stays.
fn taken_back(file: NamedTempFile) -> Result<String> {
    let most = COMPOSER_MAX as u64;
    let why = match bytes_of(file.path(), most) {
        Err(why) => format!("can not be read back: {why}"),
        Ok((_, size)) if size > most => too_long(size),
        Ok((bytes, _)) => match String::from_utf8(bytes) {
            Err(_) => "is no text (not UTF-8)".to_string(),
            // What a field shows of control characters is longer than they are.
            Ok(text) if harmless(&text).len() > COMPOSER_MAX => too_long(text.len() as u64),
            Ok(text) => return Ok(text.trim_end_matches('\n').to_string()),
        },
    };
    Err(match kept(file) {
        Some(path) => {
            anyhow!("What you wrote {why}. It stays in {path}, and your text is as it was")
        }
        None => anyhow!("What you wrote {why}; your text is as it was"),
    })
}

fn too_long(size: u64) -> String {
    let size = bytes(usize::try_from(size).unwrap_or(usize::MAX));
    let most = bytes(COMPOSER_MAX);
    format!("is too long to be taken back: {size}, {most} at most")
}

/// The editor failed: what it has written meanwhile is not thrown away.
fn given_up(file: NamedTempFile, text: &str, why: &Error) -> Error {
    let size = text.len() as u64;
    let is_same = bytes_of(file.path(), size)
        .is_ok_and(|(bytes, len)| len == size && bytes == text.as_bytes());
    let why = in_words(why);
    if is_same {
        return anyhow!("{why}; your text is as it was");
    }
    match kept(file) {
        Some(path) => anyhow!("{why}; your text is as it was, and what was written is in {path}"),
        None => anyhow!("{why}; your text is as it was"),
    }
}

/// At most so many bytes of a file and one more, and how many it has.
fn bytes_of(path: &Path, most: u64) -> std::io::Result<(Vec<u8>, u64)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes, size.max(read as u64)))
}

/// Lets the file stay; `None`: it can not.
fn kept(file: NamedTempFile) -> Option<String> {
    let (_, path) = file.keep().ok()?;
    Some(harmless(&path.display().to_string()))
}

/// Opens the file in the editor, until it is left.
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

    /// The file that the words name.
    fn named(words: &str) -> std::path::PathBuf {
        let word = words.split([' ', ',']).find(|w| w.contains("crewdeck-"));
        word.unwrap().trim_end_matches('.').into()
    }

    #[test]
    fn what_a_field_holds_comes_back_and_all_else_stays_in_its_file() {
        let full = "x".repeat(COMPOSER_MAX);
        for (bytes, expected) in [
            (b"a\nb\n\n".to_vec(), Ok("a\nb".to_string())),
            (Vec::new(), Ok(String::new())),
            (full.clone().into_bytes(), Ok(full.clone())),
            (format!("{full}x").into_bytes(), Err("too long")),
            (vec![0x1b; COMPOSER_MAX / 2], Err("too long")),
            (vec![b'a', 0xff], Err("no text")),
        ] {
            let file = copy_of("before").unwrap();
            let path = file.path().to_path_buf();
            std::fs::write(&path, &bytes).unwrap();
            match (taken_back(file), expected) {
                (Ok(text), Ok(expected)) => {
                    assert!(text == expected, "{} bytes", bytes.len());
                    assert!(!path.exists());
                }
                (Err(why), Err(part)) => {
                    let why = why.to_string();
                    assert!(why.contains(part), "{why}");
                    assert_eq!(named(&why), path);
                    assert!(std::fs::read(&path).unwrap() == bytes);
                    std::fs::remove_file(path).unwrap();
                }
                (got, expected) => panic!("{got:?} and not {expected:?}"),
            }
        }
    }

    #[test]
    fn of_an_editor_that_failed_stays_what_it_has_written() {
        for (now, stays) in [("before", false), ("before and after", true), ("", true)] {
            let file = copy_of("before").unwrap();
            let path = file.path().to_path_buf();
            std::fs::write(&path, now).unwrap();
            let why = given_up(file, "before", &anyhow!("ed ended")).to_string();
            assert!(why.starts_with("ed ended; your text is as it was"), "{why}");
            assert_eq!(path.exists(), stays, "{now}");
            if stays {
                assert_eq!(named(&why), path);
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

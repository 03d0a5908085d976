//! Reads the files that a message mentions, for the model: text, directories and images. Each has a size limit. If one
//! file cannot be attached, the whole message is rejected with a one-line reason.
//!
//! The user may attach any file that crewdeck can read, even outside of the project: only files that the user names are
//! read, and the user could paste their content as well. Secrets in text are redacted, as in the results of
//! `read_file`.

mod folder;
mod image;
mod text;

pub use image::decode as decode_image;

use std::path::{Path, PathBuf};

use crate::agent::driver::blocking;
use crate::domain::attachment::{AttachedImage, Attachment};
use crate::domain::mention::Mention;
use crate::domain::redact::Redactor;
use crate::store::{AttachmentStore, os_errors};

const ATTACHMENTS_MAX: usize = 20;
/// Maximum size of the attached text of a message, in bytes.
const TEXT_MAX: usize = 256 * 1024;
/// Maximum length of a mentioned path, in bytes.
const PATH_MAX: usize = 1024;

/// What is attached for one mention: the text of a file, the list of a directory, or an image.
struct Content {
    bytes: Vec<u8>,
    /// The size of the content for the user, such as `120 lines`.
    size: String,
    /// The kind and size of an image; `None` for text.
    image: Option<crate::domain::attachment::ImageSize>,
}

/// Reads and stores the files that `mentions` name. An optional mention that names no file is ignored.
///
/// # Errors
/// Returns one line that says which file cannot be attached and why.
pub async fn read(
    root: &Path,
    mentions: Vec<Mention>,
    redactor: &Redactor,
) -> Result<Vec<Attachment>, String> {
    if mentions.is_empty() {
        return Ok(Vec::new());
    }
    let (root, redactor) = (root.to_path_buf(), redactor.clone());
    let work = blocking(move || Ok(read_all(&root, &mentions, &redactor)));
    work.await.map_err(|error| error.to_string())?
}

fn read_all(
    root: &Path,
    mentions: &[Mention],
    redactor: &Redactor,
) -> Result<Vec<Attachment>, String> {
    let store = AttachmentStore::open(root);
    let mut all: Vec<Attachment> = Vec::new();
    let mut text = 0;
    for Mention { path, is_required } in mentions {
        let refuse = |why: &str| format!("Cannot attach {path}: {why}. The message was not sent.");
        if !is_required && (path.len() > PATH_MAX || !resolve(root, path).exists()) {
            continue;
        }
        if path.len() > PATH_MAX {
            return Err(
                "Cannot attach a file: its path is too long. The message was not sent.".into(),
            );
        }
        if all.len() == ATTACHMENTS_MAX {
            return Err(refuse(&format!(
                "a message has at most {ATTACHMENTS_MAX} attachments"
            )));
        }
        let mut content = read_one(&resolve(root, path), path).map_err(|why| refuse(&why))?;
        let extension = match &content.image {
            Some(image) => image.media_type.trim_start_matches("image/"),
            None => {
                content.bytes = redactor.bytes(&content.bytes).into_owned();
                text += content.bytes.len();
                "txt"
            }
        };
        if text > TEXT_MAX {
            return Err(refuse(&format!(
                "the attached text of a message has at most {} KB",
                TEXT_MAX / 1024
            )));
        }
        let saved = store.save(&content.bytes, extension);
        let file = saved.map_err(|error| refuse(&error.to_string()))?;
        all.push(Attachment {
            path: path.clone(),
            size: content.size,
            file,
            image: content.image,
        });
    }
    Ok(all)
}

/// Prepares and stores an image that a tool has returned.
///
/// # Errors
/// Says why the image cannot be used.
pub fn image_of(root: &Path, name: String, raw: &[u8]) -> Result<AttachedImage, String> {
    let content = image::prepare(raw)?;
    let size = content.image.ok_or("it is no image")?;
    let store = AttachmentStore::open(root);
    let extension = size.media_type.trim_start_matches("image/");
    let saved = store.save(&content.bytes, extension);
    let file = saved.map_err(|error| error.to_string())?;
    let data = store.image(&file);
    Ok(AttachedImage {
        path: name,
        file,
        size,
        data,
    })
}

/// Returns the absolute path of a mention. Paths below `~/` are in the home directory; relative paths are in the
/// project.
fn resolve(root: &Path, path: &str) -> PathBuf {
    match path.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((below, home)) => home.join(below),
        None => root.join(path),
    }
}

fn read_one(at: &Path, name: &str) -> Result<Content, String> {
    let meta = std::fs::metadata(at).map_err(|e| explain(&e))?;
    if meta.is_dir() {
        return folder::list(at);
    }
    if !meta.is_file() {
        return Err("it is neither a file nor a directory".into());
    }
    if image::has_image_name(name) {
        image::read(at, meta.len())
    } else {
        text::read(at, meta.len())
    }
}

fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        // `NotADirectory`: the path continues below a file.
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            "it does not exist".into()
        }
        std::io::ErrorKind::PermissionDenied => "no permission to read it".into(),
        _ => os_errors::explain(error),
    }
}

/// Formats a size, for example as `120 bytes`, `12 KB` or `3.4 MB`.
fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} bytes"),
        1024..1_048_576 => format!("{} KB", size / 1024),
        _ => {
            let tenths = size / (1024 * 1024 / 10);
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

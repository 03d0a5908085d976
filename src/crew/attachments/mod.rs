//! Reads what a message mentions, so that it can be sent to the model: text files, directories, images, and resources
//! of MCP servers. Each kind has a size limit. If one mention cannot be attached, the whole message is rejected with a
//! reason in one line.
//!
//! The user may attach any file that crewdeck can read, even outside of the project. This gives agents no new access:
//! crewdeck reads only the files that the user names, and the user could also paste their content. Secrets in text are
//! redacted, as in the results of `read_file`.

mod content;
mod folder;
mod image;
mod resource;
mod text;

pub use image::decode as decode_image;
pub use resource::{ResourceServers, explain as explain_call};

use std::path::{Path, PathBuf};

use futures::future::join_all;

use crate::agent::driver::run_blocking;
use crate::domain::attachment::{AttachedImage, Attachment};
use crate::domain::mention::Mention;
use crate::domain::redact::Redactor;
use crate::domain::server_offers::split_resource;
use crate::mcp::{McpImage, ResourceContent};
use crate::store::AttachmentStore;
use content::{Content, explain};
use resource::Named;

const ATTACHMENTS_MAX: usize = 20;
/// Maximum size of the attached text of a message, in bytes.
const TEXT_MAX: usize = 256 * 1024;
/// Maximum length of a mentioned path, in bytes.
const PATH_MAX: usize = 1024;

/// Reads and stores the files, directories and resources that `mentions` name. Skips a mention that is not required and
/// names nothing that exists. Returns the attachments in the order of the mentions; a resource can give several.
///
/// # Errors
/// Returns one line for the user that says what cannot be attached and why.
pub async fn read(
    root: &Path,
    mentions: Vec<Mention>,
    redactor: &Redactor,
    servers: ResourceServers<'_>,
) -> Result<Vec<Attachment>, String> {
    if mentions.is_empty() {
        return Ok(Vec::new());
    }
    let mentions = with_resources(root, mentions, servers).await?;
    let (root, redactor) = (root.to_path_buf(), redactor.clone());
    let work = run_blocking(move || Ok(read_all(&root, mentions, &redactor)));
    work.await.map_err(|error| error.to_string())?
}

/// Stores the text and the images of a prompt of an MCP server as attachments; the agent treats the text as a command.
/// `command` is the name of the prompt with a slash. `size` is the text that tells the user how large the prompt is.
///
/// # Errors
/// Returns one line for the user that says why the prompt cannot be used.
pub async fn of_prompt(
    root: &Path,
    command: String,
    size: String,
    text: String,
    images: Vec<McpImage>,
    redactor: &Redactor,
) -> Result<Vec<Attachment>, String> {
    let (root, redactor) = (root.to_path_buf(), redactor.clone());
    let store = move || {
        let mut batch = Batch::new(&root, &redactor);
        let bytes = text.into_bytes();
        let image = None;
        batch.add(&command, Content { bytes, size, image }, true)?;
        for (at, image) in images.into_iter().enumerate() {
            let name = format!("{command} {}", at + 1);
            let content = image::prepare(&image.bytes);
            let content = content.map_err(|why| refusal(&name, &why))?;
            batch.add(&name, content, false)?;
        }
        Ok(batch.all)
    };
    let work = run_blocking(move || Ok(store()));
    work.await.map_err(|error| error.to_string())?
}

/// Reads the mentioned resources of MCP servers concurrently. Returns all mentions in their order, each with its
/// resource; the resource is `None` if the mention does not name one.
///
/// # Errors
/// Returns one line for the user that says which resource cannot be attached and why.
async fn with_resources(
    root: &Path,
    mentions: Vec<Mention>,
    servers: ResourceServers<'_>,
) -> Result<Vec<(Mention, Option<ResourceContent>)>, String> {
    let could_be = |mention: &&Mention| split_resource(&mention.path).is_some();
    if mentions.iter().filter(could_be).count() > ATTACHMENTS_MAX {
        let most = format!("a message has at most {ATTACHMENTS_MAX} attachments");
        return Err(refusal("so many resources", &most));
    }
    let read = mentions.into_iter().map(async |mention| {
        let refuse = |why: &str| refusal(&mention.path, why);
        if split_resource(&mention.path).is_none() {
            return Ok((mention, None));
        }
        let at = resolve(root, &mention.path);
        let is_file = run_blocking(move || Ok(at.exists())).await;
        if is_file.unwrap_or(false) {
            return Ok((mention, None));
        }
        match (resource::classify_path(&mention.path, servers), servers) {
            (Named::Resource { server, uri }, Ok(pool)) => {
                let found = resource::read(pool, server, uri).await;
                let found = found.map_err(|why| refuse(&why))?;
                Ok((mention, Some(found)))
            }
            (Named::UnknownServer(_), Err(why)) => Err(refuse(why)),
            (Named::UnknownServer(server), Ok(_)) => {
                Err(refuse(&format!("no MCP server is named {server}")))
            }
            (Named::Resource { .. } | Named::Other, _) => Ok((mention, None)),
        }
    });
    join_all(read).await.into_iter().collect()
}

fn refusal(path: &str, why: &str) -> String {
    format!("Cannot attach {path}: {why}. The message was not sent.")
}

fn read_all(
    root: &Path,
    mentions: Vec<(Mention, Option<ResourceContent>)>,
    redactor: &Redactor,
) -> Result<Vec<Attachment>, String> {
    let mut batch = Batch::new(root, redactor);
    for (Mention { path, is_required }, found) in mentions {
        if let Some(found) = found {
            let contents = resource::contents(found).map_err(|why| refusal(&path, &why))?;
            for (at, content) in contents.into_iter().enumerate() {
                let name = match at {
                    0 => path.clone(),
                    _ => format!("{path} ({})", at + 1),
                };
                batch.add(&name, content, false)?;
            }
            continue;
        }
        if !is_required && (path.len() > PATH_MAX || !resolve(root, &path).exists()) {
            continue;
        }
        if path.len() > PATH_MAX {
            return Err(format!(
                "Cannot attach a file: its path is longer than {PATH_MAX} bytes. The message was not sent."
            ));
        }
        batch.check_room(&path)?;
        let content = read_one(&resolve(root, &path), &path);
        batch.add(&path, content.map_err(|why| refusal(&path, &why))?, false)?;
    }
    Ok(batch.all)
}

/// Collects and stores the attachments of one message, and checks the limits on their number and size.
struct Batch<'a> {
    store: AttachmentStore,
    redactor: &'a Redactor,
    all: Vec<Attachment>,
    /// Total size of the text that was added so far, in bytes.
    text: usize,
}

impl<'a> Batch<'a> {
    fn new(root: &Path, redactor: &'a Redactor) -> Batch<'a> {
        Batch {
            store: AttachmentStore::open(root),
            redactor,
            all: Vec::new(),
            text: 0,
        }
    }

    fn check_room(&self, path: &str) -> Result<(), String> {
        if self.all.len() < ATTACHMENTS_MAX {
            return Ok(());
        }
        let most = format!("a message has at most {ATTACHMENTS_MAX} attachments");
        Err(refusal(path, &most))
    }

    /// Stores `content` as an attachment, after redacting secrets in text. `path` is the name under which the user sees
    /// it. `is_command` is true for the text of an MCP server's prompt.
    ///
    /// # Errors
    /// Returns one line for the user if a limit is exceeded or the content cannot be stored.
    fn add(&mut self, path: &str, mut content: Content, is_command: bool) -> Result<(), String> {
        self.check_room(path)?;
        let extension = match &content.image {
            Some(image) => image.media_type.trim_start_matches("image/"),
            None => {
                content.bytes = self.redactor.bytes(&content.bytes).into_owned();
                self.text += content.bytes.len();
                "txt"
            }
        };
        if self.text > TEXT_MAX {
            let most = TEXT_MAX / 1024;
            let why =
                format!("all attached texts of a message together may have at most {most} KB");
            return Err(refusal(path, &why));
        }
        let saved = self.store.save(&content.bytes, extension);
        let file = saved.map_err(|error| refusal(path, &error.to_string()))?;
        self.all.push(Attachment {
            path: path.into(),
            size: content.size,
            file,
            image: content.image,
            is_command,
        });
        Ok(())
    }
}

/// Prepares and stores an image that a tool has returned. `name` is the name under which the user sees the image.
///
/// # Errors
/// Returns the reason if the image cannot be used.
pub fn image_of(root: &Path, name: String, raw: &[u8]) -> Result<AttachedImage, String> {
    let content = image::prepare(raw)?;
    let size = content.image.ok_or("it is not an image")?;
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

/// Returns the path of the file that a message mentions as `path`. A path that starts with `~/` is relative to the home
/// directory, any other relative path to the project directory. Does not resolve symbolic links or `..`.
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

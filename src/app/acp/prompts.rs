//! Converts a prompt of the editor to a prompt of the crew: text, and files to attach.

use std::io::Write;
use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tempfile::TempDir;

use crate::domain::mention::{self, Mention, format_mention};
use crate::domain::text::head_and_tail;

/// Maximum size of a text that the editor has embedded in a prompt, in bytes. A longer text is cut in the middle.
const EMBEDDED_MAX: usize = 128 * 1024;
/// Maximum size of the whole text of a prompt, in bytes. A prompt with a longer text is rejected and not cut, because
/// the user wrote it.
const TEXT_MAX: usize = 1024 * 1024;

/// A prompt of the editor, converted to the text and the attachments that are sent to the crew.
#[derive(Debug, Default, PartialEq)]
pub struct EditorPrompt {
    pub text: String,
    pub attachments: Vec<Mention>,
}

/// The folder for content that the editor sent with prompts, until the crew has read it. Created when it is first used,
/// deleted when this value is dropped.
#[derive(Debug, Default)]
pub struct SentFiles {
    folder: Option<TempDir>,
    count: usize,
}

impl SentFiles {
    /// Writes `bytes` to a new file, and returns its path.
    fn write(&mut self, bytes: &[u8], extension: &str) -> std::io::Result<PathBuf> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                let made = tempfile::Builder::new().prefix("crewdeck-").tempdir()?;
                self.folder.insert(made)
            }
        };
        self.count += 1;
        let path = folder.path().join(format!("{}.{extension}", self.count));
        std::fs::File::create(&path)?.write_all(bytes)?;
        Ok(path)
    }

    /// Deletes all files. Call this when the crew has read them.
    pub fn clear(&mut self) {
        self.folder = None;
    }
}

/// Converts the blocks of a prompt. Linked files are mentioned in the text and attached, embedded texts become part of the
/// text, and images are written to `files` and attached. Mentions in the user's own text work as in the composer.
///
/// # Errors
/// Returns one line for the user if a block cannot be used, or if the prompt is empty or too long.
pub fn convert(
    blocks: Vec<ContentBlock>,
    root: &Path,
    files: &mut SentFiles,
) -> Result<EditorPrompt, String> {
    let mut prompt = EditorPrompt::default();
    let mut images = 0;
    let mut embedded = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => {
                for mention in mention::mentions(&text.text, |_| false) {
                    prompt.attach(mention);
                }
                prompt.text.push_str(&text.text);
            }
            ContentBlock::ResourceLink(link) => match file_path(&link.uri) {
                Some(path) => {
                    let path = relative(&path, root);
                    prompt.text.push_str(&format_mention(&path));
                    prompt.attach(Mention {
                        path,
                        is_required: true,
                    });
                }
                None => prompt.text.push_str(&format!("{} ({})", link.name, link.uri)),
            },
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    let name = match file_path(&text.uri) {
                        Some(path) => relative(&path, root),
                        None => text.uri,
                    };
                    prompt.text.push_str(&name);
                    let text = head_and_tail(&text.text, EMBEDDED_MAX);
                    let name = name.replace('"', "'");
                    embedded.push(format!("<context path=\"{name}\">\n{text}\n</context>"));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let kind = blob.mime_type.unwrap_or_default();
                    images += 1;
                    prompt.attach_image(&blob.blob, &kind, images, files)?;
                }
                _ => return Err("the prompt embeds a resource of a kind that crewdeck does not know: link the file instead".into()),
            },
            ContentBlock::Image(image) => {
                images += 1;
                prompt.attach_image(&image.data, &image.mime_type, images, files)?;
            }
            ContentBlock::Audio(_) => {
                return Err("crewdeck cannot send audio to a model: write the prompt as text".into());
            }
            _ => return Err("the prompt has content of a kind that crewdeck does not know".into()),
        }
    }
    for text in embedded {
        prompt.text.push_str("\n\n");
        prompt.text.push_str(&text);
    }
    if prompt.text.len() > TEXT_MAX {
        return Err(format!(
            "the prompt has {} KB of text, and at most {} KB can be sent: link files instead",
            prompt.text.len() / 1024,
            TEXT_MAX / 1024
        ));
    }
    if prompt.text.trim().is_empty() {
        return Err("the prompt is empty".into());
    }
    Ok(prompt)
}

impl EditorPrompt {
    fn attach(&mut self, mention: Mention) {
        let same = self.attachments.iter_mut().find(|m| m.path == mention.path);
        match same {
            Some(same) => same.is_required |= mention.is_required,
            None => self.attachments.push(mention),
        }
    }

    fn attach_image(
        &mut self,
        base64: &str,
        media_type: &str,
        number: usize,
        files: &mut SentFiles,
    ) -> Result<(), String> {
        let Some(extension) = extension(media_type) else {
            return Err(format!(
                "image {number} of the prompt is of the type \"{media_type}\": crewdeck can send PNG, JPEG and WebP images"
            ));
        };
        let bytes = BASE64_STANDARD.decode(base64.trim());
        let bytes =
            bytes.map_err(|error| format!("image {number} of the prompt is damaged: {error}"))?;
        let written = files.write(&bytes, extension);
        let path = written.map_err(|error| {
            format!("image {number} of the prompt cannot be stored in the folder for temporary files: {error}")
        })?;
        self.text.push_str(&format!("[image {number}]"));
        self.attach(Mention {
            path: path.to_string_lossy().into_owned(),
            is_required: true,
        });
        Ok(())
    }
}

fn extension(media_type: &str) -> Option<&'static str> {
    match media_type {
        "image/png" => Some("png"),
        "image/jpeg" | "image/jpg" => Some("jpg"),
        "image/webp" => Some("webp"),
        _ => None,
    }
}

/// Returns the path of a `file:` URI, with the escapes decoded and without a fragment or query; `None` for other URIs.
fn file_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // The host, if there is one, is the machine itself.
    let path = &rest[rest.find('/')?..];
    let path = path.split(['#', '?']).next()?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        let escaped = match rest {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                left = &rest[2..];
            }
            None => {
                bytes.push(*first);
                left = rest;
            }
        }
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|n| u8::try_from(n).ok())
}

fn relative(path: &Path, root: &Path) -> String {
    let short = path
        .strip_prefix(root)
        .ok()
        .filter(|p| !p.as_os_str().is_empty());
    short.unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    fn converted(blocks: Value) -> Result<EditorPrompt, String> {
        let blocks = serde_json::from_value(blocks).unwrap();
        convert(blocks, Path::new("/p"), &mut SentFiles::default())
    }

    fn mentions(prompt: &EditorPrompt) -> Vec<(&str, bool)> {
        let all = prompt.attachments.iter();
        all.map(|m| (m.path.as_str(), m.is_required)).collect()
    }

    #[test]
    fn links_and_embedded_texts_stay_where_the_user_put_them() {
        let prompt = converted(json!([
            { "type": "text", "text": "compare " },
            { "type": "resource_link", "name": "a b.rs", "uri": "file:///p/src/a%20b.rs" },
            { "type": "text", "text": " with @other.rs and " },
            { "type": "resource", "resource": { "uri": "file:///p/x.rs#L3:9", "text": "fn x() {}" } },
            { "type": "text", "text": " and " },
            { "type": "resource_link", "name": "docs", "uri": "https://docs.example/" }
        ]))
        .unwrap();
        assert_eq!(
            prompt.text,
            "compare @\"src/a b.rs\" with @other.rs and x.rs and docs (https://docs.example/)\n\n<context path=\"x.rs\">\nfn x() {}\n</context>"
        );
        assert_eq!(
            mentions(&prompt),
            [("src/a b.rs", true), ("other.rs", false)]
        );
    }

    #[test]
    fn image_is_written_to_a_file_until_it_is_read() {
        let mut files = SentFiles::default();
        let image = json!([{ "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" }]);
        let blocks = serde_json::from_value(image).unwrap();
        let prompt = convert(blocks, Path::new("/p"), &mut files).unwrap();
        assert_eq!(prompt.text, "[image 1]");
        let path = PathBuf::from(&prompt.attachments[0].path);
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
        files.clear();
        assert!(!path.exists());
    }

    #[test]
    fn content_that_cannot_be_sent_is_named() {
        for (block, why) in [
            (
                json!({ "type": "image", "data": "aGVsbG8=", "mimeType": "image/tiff" }),
                "image 1 of the prompt is of the type",
            ),
            (
                json!({ "type": "image", "data": "%", "mimeType": "image/png" }),
                "image 1 of the prompt is damaged",
            ),
            (
                json!({ "type": "audio", "data": "", "mimeType": "audio/wav" }),
                "cannot send audio",
            ),
            (
                json!({ "type": "text", "text": " \n" }),
                "the prompt is empty",
            ),
            (
                json!({ "type": "text", "text": "x".repeat(TEXT_MAX + 1) }),
                "at most 1024 KB can be sent",
            ),
        ] {
            let error = converted(json!([block])).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn uris_of_files_are_decoded() {
        for (uri, path) in [
            ("file:///a/b%C3%A9.rs", Some("/a/bé.rs")),
            ("file://localhost/a?x#y", Some("/a")),
            ("file:///a%2", Some("/a%2")),
            ("file:///%ff", None),
            ("https://a/b", None),
            ("file://", None),
        ] {
            assert_eq!(file_path(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}

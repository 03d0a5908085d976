//! Files that are attached to a message. Their content is stored in files beside the transcripts; messages contain only
//! the names of these files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The first characters of the text block that contains an attached file or directory in a conversation. Stored in
/// transcripts, so it must not change.
pub const ATTACHED: &str = "<attachment ";

/// A file, directory or image that is attached to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The name under which the user sees the attachment: the mentioned path or resource as the user wrote it, or the
    /// slash command.
    pub path: String,
    /// Size of the content as shown to the user, such as `120 lines`.
    pub size: String,
    /// The name of the file in which the content is stored.
    pub file: String,
    /// The media type and the dimensions of an image; `None` for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSize>,
    /// Whether the content is the prompt of a slash command. The model gets it as instructions, not as an attached
    /// file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_command: bool,
}

impl Attachment {
    /// Returns the attachment as one line for the user: `README.md · 120 lines`.
    pub fn label(&self) -> String {
        format!("{} · {}", self.path, self.size)
    }
}

/// The media type and the dimensions of an image as it is sent to the model, possibly scaled down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSize {
    /// The MIME type, such as `image/png`.
    pub media_type: String,
    pub width: u32,
    pub height: u32,
}

/// An image that is attached to a prompt, as contained in the event that shows the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptImage {
    /// Index of the image among all attachments of the prompt, counted from 0.
    pub label: usize,
    /// The name of the file in which the content is stored.
    pub file: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// An image in a conversation. A transcript contains only the name of the file in which the content is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedImage {
    /// The name under which the user sees the image: the mentioned path or resource as the user wrote it, or the tool
    /// that returned the image.
    pub path: String,
    /// The name of the file in which the content is stored.
    pub file: String,
    #[serde(flatten)]
    pub size: ImageSize,
    /// The content. `None` before it is loaded from the file, or if the file no longer exists.
    #[serde(skip)]
    pub data: ImageData,
}

impl AttachedImage {
    /// Returns the text that is sent instead of an image that cannot be sent; `why` is the reason.
    pub fn placeholder(&self, why: &str) -> String {
        let ImageSize { width, height, .. } = self.size;
        format!("[image {} ({width}x{height}) {why}]", self.path)
    }

    /// Estimates the number of tokens of the image: one per 750 pixels, as Anthropic documents.
    pub fn tokens(&self) -> u64 {
        u64::from(self.size.width) * u64::from(self.size.height) / 750
    }
}

/// The content of an image in base64. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ImageData(pub Option<Arc<str>>);

/// Prints the length of the content instead of the content.
impl std::fmt::Debug for ImageData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let length = self.0.as_ref().map(|data| data.len());
        f.debug_tuple("ImageData").field(&length).finish()
    }
}

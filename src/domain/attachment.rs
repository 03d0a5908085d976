//! Files and other content that is attached to a message. The content is stored in files in the folder
//! `.transcripts/attachments`; messages contain only the names of these files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The first characters of the text block that contains an attached file or directory in a conversation. Stored in
/// transcripts, so it must not change.
pub const ATTACHED: &str = "<attachment ";

/// A file, directory, image, MCP resource or MCP prompt that is attached to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The name under which the user sees the attachment: the mentioned path or resource as the user wrote it, or the
    /// slash command. If one mention or command gives several attachments, a number follows the name.
    pub path: String,
    /// Size of the content as shown to the user, such as `120 lines`.
    pub size: String,
    /// The name of the file in the folder `.transcripts/attachments` in which the content is stored.
    pub file: String,
    /// The media type and the dimensions of an image; `None` for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSize>,
    /// Whether the content is the text of an MCP server's prompt, which the user has called as a slash command. The
    /// model gets the text as instructions, not as an attached file.
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
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// An image that is attached to a prompt, as contained in the event that shows the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptImage {
    /// Index of the image among all attachments of the prompt, counted from 0.
    pub label: usize,
    /// The name of the file in the folder `.transcripts/attachments` in which the content is stored.
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
    /// The name of the file in the folder `.transcripts/attachments` in which the content is stored.
    pub file: String,
    #[serde(flatten)]
    pub size: ImageSize,
    /// The content of the image. Contains `None` until crewdeck loads the file, and if the file cannot be read.
    #[serde(skip)]
    pub data: ImageData,
}

impl AttachedImage {
    /// Returns the text that the model gets in place of an image that is not sent. `why` continues the sentence `image
    /// PATH`, for example `is no longer stored`.
    pub fn placeholder(&self, why: &str) -> String {
        let ImageSize { width, height, .. } = self.size;
        format!("[image {} ({width}x{height}) {why}]", self.path)
    }

    /// Estimates the number of tokens of the image: one per 750 pixels, rounded down, as Anthropic documents.
    pub fn tokens(&self) -> u64 {
        u64::from(self.size.width) * u64::from(self.size.height) / 750
    }
}

/// The content of an image in base64; `None` if it is not loaded. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ImageData(pub Option<Arc<str>>);

/// Prints the length of the base64 text in bytes instead of the text.
impl std::fmt::Debug for ImageData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let length = self.0.as_ref().map(|data| data.len());
        f.debug_tuple("ImageData").field(&length).finish()
    }
}

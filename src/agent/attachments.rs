//! Turns the attachments of a message into parts of the conversation.

use crate::domain::attachment::{
    ATTACHED, AttachedImage, Attachment, ImageData, ImageSize, PromptImage,
};
use crate::domain::chat::Block;
use crate::protocol::AgentEvent;
use crate::store::AttachmentStore;

/// Returns one block of a conversation message per attachment, in the same order: an image block for an image, a text
/// block with the content for any other attachment. If the content is no longer stored, the image block has no data,
/// or the text block says so.
pub fn blocks(store: &AttachmentStore, attachments: &[Attachment]) -> Vec<Block> {
    attachments.iter().map(|one| block(store, one)).collect()
}

fn block(store: &AttachmentStore, attachment: &Attachment) -> Block {
    let Attachment { path, file, .. } = attachment;
    if let Some(size) = attachment.image.clone() {
        let data = store.image(file);
        let (path, file) = (path.clone(), file.clone());
        return Block::Image(AttachedImage {
            path,
            file,
            size,
            data,
        });
    }
    let name = path.replace('"', "'");
    let text = match store.read(file) {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => "(the content is no longer stored)".into(),
    };
    if attachment.is_command {
        let name = name.trim_start_matches('/');
        return Block::text(format!("<command name=\"{name}\">\n{text}\n</command>"));
    }
    let size = &attachment.size;
    Block::text(format!(
        "{ATTACHED}path=\"{name}\" content=\"{size}\">\n{text}\n</attachment>"
    ))
}

/// Returns the event that shows a prompt with its attachments.
pub fn prompt_event(text: String, attachments: &[Attachment]) -> AgentEvent {
    let image = |(label, attachment): (usize, &Attachment)| {
        let ImageSize { width, height, .. } = attachment.image.as_ref()?;
        Some(PromptImage {
            label,
            file: attachment.file.clone(),
            width: *width,
            height: *height,
        })
    };
    AgentEvent::Prompted {
        text,
        attachments: attachments.iter().map(Attachment::label).collect(),
        images: attachments.iter().enumerate().filter_map(image).collect(),
    }
}

/// Returns whether `blocks` contain an image that can be sent to the model. An image whose data is no longer stored
/// does not count.
pub fn has_image(blocks: &[Block]) -> bool {
    let is_image =
        |block: &Block| matches!(block, Block::Image(image) if image.data != ImageData::default());
    blocks.iter().any(is_image)
}

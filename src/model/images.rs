//! Selects which images of a conversation are sent with a request, and recognizes the errors of servers that cannot
//! read images. Does no I/O.

use std::collections::HashSet;

use super::{ErrorKind, ImageInput, ModelError, ModelRequest};
use crate::domain::attachment::AttachedImage;
use crate::domain::chat::Block;

/// Maximum number of images in a request; the newest are sent. For a request with more images, Anthropic lowers the
/// maximum size of each image.
const IMAGES_MAX: usize = 20;
/// Maximum total size of the images in a request, in bytes of base64. Anthropic limits a complete request to 32 MB.
const BYTES_MAX: usize = 24 * 1024 * 1024;

/// The images that are sent with a request. For an image that is not sent, [`SentImages::form`] returns a line of text
/// with the reason.
pub struct SentImages<'a> {
    sent: HashSet<*const AttachedImage>,
    input: ImageInput,
    model: &'a str,
}

pub enum SentImage<'a> {
    /// The image is sent, with its media type and its content in base64.
    Data(&'a str, &'a str),
    /// The text that replaces an image that is not sent.
    Text(String),
}

impl<'a> SentImages<'a> {
    /// Selects images, newest first, until the next one would exceed `IMAGES_MAX` or `BYTES_MAX`. Selects none if the
    /// model cannot read images.
    pub fn of(request: &'a ModelRequest) -> SentImages<'a> {
        let mut sent = HashSet::new();
        let mut room = BYTES_MAX;
        let blocks = request
            .messages
            .iter()
            .rev()
            .flat_map(|m| m.blocks.iter().rev());
        for block in blocks {
            let Block::Image(image) = block else { continue };
            let Some(data) = &image.data.0 else { continue };
            if request.images == ImageInput::LeftOut
                || sent.len() == IMAGES_MAX
                || data.len() > room
            {
                break;
            }
            room -= data.len();
            sent.insert(std::ptr::from_ref(image));
        }
        SentImages {
            sent,
            input: request.images,
            model: &request.model,
        }
    }

    /// Returns the content of `image` if it is sent, else a line of text that says why it is not.
    pub fn form<'i>(&self, image: &'i AttachedImage) -> SentImage<'i> {
        let why = match &image.data.0 {
            Some(data) if self.sent.contains(&std::ptr::from_ref(image)) => {
                return SentImage::Data(&image.size.media_type, data);
            }
            Some(_) if self.input == ImageInput::LeftOut => {
                format!("was not sent: {} cannot read images", self.model)
            }
            Some(_) => "was sent earlier; only the newest images are sent again".into(),
            None => "is no longer stored".into(),
        };
        SentImage::Text(image.placeholder(&why))
    }
}

/// Returns the error to show to the user if `error` says that the server does not accept images, else `None`. Call this
/// only for errors of requests with images. The words of the error message decide, because servers use different status
/// codes: 400, 404 (no such endpoint) and 500 (llama.cpp without a projector).
pub fn refusal(error: &ModelError, model: &str) -> Option<ModelError> {
    let may_be = matches!(
        error.kind,
        ErrorKind::BadRequest | ErrorKind::UnknownModel | ErrorKind::Server
    );
    let lower = error.message.to_lowercase();
    let names_images = ["image", "multimodal", "vision", "mmproj"]
        .iter()
        .any(|word| lower.contains(word));
    (may_be && names_images).then(|| {
        ModelError::new(
            ErrorKind::BadRequest,
            format!("the image was not accepted: {}", error.message),
            format!("From now on, {model} gets a line of text instead of each image. To send images, choose another model with /model."),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_of_images_are_recognised() {
        let error = |kind, text: &str| ModelError::new(kind, text, "");
        for (kind, text) in [
            (
                ErrorKind::UnknownModel,
                "'m' was not found (404): No endpoints found that support image input",
            ),
            (
                ErrorKind::Server,
                "the server failed (500): image input is not supported - hint: you may need to provide the mmproj",
            ),
            (
                ErrorKind::BadRequest,
                "the server rejected the request (400): m is not a multimodal model",
            ),
            (
                ErrorKind::BadRequest,
                "the server rejected the request (400): unknown variant `image_url`, expected `text`",
            ),
        ] {
            let told = refusal(&error(kind, text), "m").unwrap();
            assert_eq!(told.kind, ErrorKind::BadRequest);
            assert!(told.message.contains(text), "{text}");
        }
        assert_eq!(refusal(&error(ErrorKind::Server, "overloaded"), "m"), None);
        assert_eq!(
            refusal(&error(ErrorKind::RateLimited, "too many images"), "m"),
            None
        );
    }
}

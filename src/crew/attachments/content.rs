//! The content of an attachment, and texts about files that are attached.

use crate::domain::attachment::ImageSize;
use crate::store::os_errors;

/// The content to attach for one mention: the text of a file or resource, the list of files in a directory, or an
/// image.
pub struct Content {
    pub bytes: Vec<u8>,
    /// The size of the content as text that is shown to the user, such as `120 lines`.
    pub size: String,
    /// The format, width and height of an image; `None` for text.
    pub image: Option<ImageSize>,
}

pub fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        // `NotADirectory`: a parent in the path is a file.
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            "it does not exist".into()
        }
        std::io::ErrorKind::PermissionDenied => "no permission to read it".into(),
        _ => os_errors::explain(error),
    }
}

/// Formats a size in bytes, for example as `120 bytes`, `12 KB` or `3.4 MB`, rounded down. 1 KB is 1024 bytes.
pub fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} bytes"),
        1024..1_048_576 => format!("{} KB", size / 1024),
        _ => {
            let tenths = size / (1024 * 1024 / 10);
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    }
}

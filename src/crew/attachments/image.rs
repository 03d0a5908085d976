//! Reads an image, checks it, removes its metadata, and scales it down to what model servers accept.

use std::io::{Cursor, Read};
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{
    DynamicImage, GenericImageView, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage,
};

use super::content::{Content, bytes, explain};
use crate::domain::attachment::ImageSize;
use crate::store::{image_metadata, regular_file};

/// Maximum length, in pixels, of the longer side of an image that is sent to the model. Larger images are scaled down
/// here, because Anthropic's API would scale them down anyway.
const SIDE_MAX: u32 = 1568;
/// Maximum size, in bytes, of an image that is sent to the model. In base64 this is 5 MB, the limit of Anthropic's API.
const SENT_MAX: usize = 3_750_000;
/// Maximum size, in bytes, of an image file that is attached. It may exceed [`SENT_MAX`], because [`prepare`] makes the
/// image smaller.
const FILE_MAX: u64 = 32 * 1024 * 1024;
/// Maximum width and maximum height, in pixels, of an image file that is attached.
const FILE_SIDE_MAX: u32 = 20_000;
/// Maximum memory for the decoded image, in bytes.
const DECODED_MAX: u64 = 256 * 1024 * 1024;
/// JPEG qualities, tried in this order until the image has at most [`SENT_MAX`] bytes.
const QUALITIES: [u8; 3] = [85, 70, 50];

/// Returns whether a file name has the extension of an image format that models accept.
pub fn has_image_name(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|e| e.to_str());
    let extension = extension.map(str::to_ascii_lowercase);
    matches!(extension.as_deref(), Some("png" | "jpg" | "jpeg" | "webp"))
}

/// Reads the image file at `at`, and prepares it for the model as [`prepare`] does. `size` is the file's size in bytes.
///
/// # Errors
/// Returns the reason if the image cannot be attached.
pub fn read(at: &Path, size: u64) -> Result<Content, String> {
    if size > FILE_MAX {
        let most = bytes(FILE_MAX);
        return Err(format!(
            "it has {}, but an image file may have at most {most}",
            bytes(size)
        ));
    }
    let mut raw = Vec::new();
    let file = regular_file::open(at).map_err(|e| explain(&e))?;
    file.take(FILE_MAX)
        .read_to_end(&mut raw)
        .map_err(|e| explain(&e))?;
    prepare(&raw)
}

/// Decodes a PNG, JPEG or WebP image and turns it upright, as its metadata says.
///
/// # Errors
/// Returns the reason if the image is damaged, has another format, or exceeds `FILE_SIDE_MAX` or `DECODED_MAX`.
pub fn decode(raw: &[u8]) -> Result<DynamicImage, String> {
    let DecodedImage {
        mut image,
        orientation,
        ..
    } = decode_as_stored(raw)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// A decoded image that has not been turned upright yet.
struct DecodedImage {
    image: DynamicImage,
    format: ImageFormat,
    /// The rotation or reflection that turns the image upright.
    orientation: Orientation,
}

fn decode_as_stored(raw: &[u8]) -> Result<DecodedImage, String> {
    let not_an_image = || "it is not a PNG, JPEG or WebP image".to_string();
    let mut reader = ImageReader::new(Cursor::new(raw));
    reader = reader.with_guessed_format().map_err(|_| not_an_image())?;
    let format = reader
        .format()
        .filter(|format| image_metadata::IMAGE_FORMATS.contains(format));
    let format = format.ok_or_else(not_an_image)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(FILE_SIDE_MAX);
    limits.max_image_height = Some(FILE_SIDE_MAX);
    limits.max_alloc = Some(DECODED_MAX);
    reader.limits(limits);
    let mut decoder = reader
        .into_decoder()
        .map_err(|e| describe_image_error(&e))?;
    if decoder.total_bytes() > DECODED_MAX {
        return Err("it has too many pixels: scale it down".into());
    }
    let orientation = decoder
        .orientation()
        .map_err(|e| describe_image_error(&e))?;
    let image = DynamicImage::from_decoder(decoder).map_err(|e| describe_image_error(&e))?;
    if image.width() == 0 || image.height() == 0 {
        return Err("it has no pixels".into());
    }
    Ok(DecodedImage {
        image,
        format,
        orientation,
    })
}

/// Prepares an image for the model: removes its metadata, and limits it to [`SIDE_MAX`] and [`SENT_MAX`]. If the image
/// is upright and within these limits, its pixels are unchanged. Otherwise it is turned upright, scaled down if
/// necessary, and encoded again as PNG or JPEG.
///
/// # Errors
/// Returns the reason if the image cannot be decoded or its size cannot be reduced enough.
pub fn prepare(raw: &[u8]) -> Result<Content, String> {
    let DecodedImage {
        mut image,
        format,
        orientation,
    } = decode_as_stored(raw)?;
    let (width, height) = image.dimensions();
    if width.max(height) <= SIDE_MAX && orientation == Orientation::NoTransforms {
        let stripped = image_metadata::strip(raw, format).filter(|image| image.len() <= SENT_MAX);
        if let Some(stripped) = stripped {
            return Ok(content(stripped, format, width, height));
        }
    }
    image.apply_orientation(orientation);
    if image.width().max(image.height()) > SIDE_MAX {
        image = image.resize(SIDE_MAX, SIDE_MAX, FilterType::Triangle);
    }
    let (width, height) = image.dimensions();
    // PNG keeps screenshots sharper than JPEG, and the PNG file is usually small enough.
    if format != ImageFormat::Jpeg {
        let mut out = Vec::new();
        image
            .write_to(&mut Cursor::new(&mut out), ImageFormat::Png)
            .map_err(|e| describe_image_error(&e))?;
        if out.len() <= SENT_MAX {
            return Ok(content(out, ImageFormat::Png, width, height));
        }
    }
    let out = as_jpeg(&image.into_rgb8(), SENT_MAX)?;
    Ok(content(out, ImageFormat::Jpeg, width, height))
}

/// Encodes an image as JPEG, in the first of the [`QUALITIES`] with which the result has at most `most` bytes.
///
/// # Errors
/// Returns the reason if the image is too large in the lowest quality.
pub(super) fn as_jpeg(image: &RgbImage, most: usize) -> Result<Vec<u8>, String> {
    for quality in QUALITIES {
        let mut out = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut out, quality);
        image
            .write_with_encoder(encoder)
            .map_err(|e| describe_image_error(&e))?;
        if out.len() <= most {
            return Ok(out);
        }
    }
    Err(format!(
        "it is larger than {} even when scaled down",
        bytes(most as u64)
    ))
}

fn content(data: Vec<u8>, format: ImageFormat, width: u32, height: u32) -> Content {
    Content {
        bytes: data,
        size: format!("{width}x{height} image"),
        image: Some(ImageSize {
            media_type: format.to_mime_type().into(),
            width,
            height,
        }),
    }
}

fn describe_image_error(error: &image::ImageError) -> String {
    match error {
        image::ImageError::Limits(_) => "it has too many pixels: scale it down".into(),
        _ => "the image is damaged or empty".into(),
    }
}

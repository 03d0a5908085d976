//! Removes metadata from image files without decoding them: location, device, times, comments, colour profiles,
//! previews, and whatever follows the image in the file. Copies only the parts that are needed to display the image.
//! Does no I/O.

use image::ImageFormat;

/// The image formats that models accept.
pub const IMAGE_FORMATS: [ImageFormat; 3] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];
/// The chunks of a PNG that [`strip`] does not remove.
const PNG_CHUNKS: [&[u8]; 9] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT",
];
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The chunks of a WebP that [`strip`] does not remove.
const WEBP_CHUNKS: [&[u8]; 6] = [b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF"];
/// The flags of a `VP8X` chunk that announce a colour profile, EXIF and XMP.
const WEBP_METADATA_FLAGS: u8 = 0x20 | 0x08 | 0x04;

/// Returns the image without metadata. Returns `None` if the structure of the image is invalid or its format is not one
/// of [`IMAGE_FORMATS`]. The caller must then decode the image and encode it again.
pub fn strip(image: &[u8], format: ImageFormat) -> Option<Vec<u8>> {
    match format {
        ImageFormat::Png => png(image),
        ImageFormat::Jpeg => jpeg(image),
        ImageFormat::WebP => webp(image),
        _ => None,
    }
}

/// Removes the metadata from a PNG; returns `None` if its structure is invalid. The format is a signature, then chunks
/// of length, type, data and checksum.
fn png(image: &[u8]) -> Option<Vec<u8>> {
    let mut rest = image.strip_prefix(PNG_SIGNATURE)?;
    let mut out = PNG_SIGNATURE.to_vec();
    loop {
        let length = u32::from_be_bytes(*rest.first_chunk()?);
        let (chunk, next) =
            rest.split_at_checked(usize::try_from(length).ok()?.checked_add(12)?)?;
        let kind = chunk.get(4..8)?;
        if PNG_CHUNKS.contains(&kind) {
            out.extend(chunk);
        }
        if kind == b"IEND" {
            return Some(out);
        }
        rest = next;
    }
}

/// Removes the metadata from a JPEG; returns `None` if its structure is invalid. The format is a sequence of segments
/// of marker, length and data. The coded picture follows a start-of-scan segment.
fn jpeg(image: &[u8]) -> Option<Vec<u8>> {
    let mut rest = image.strip_prefix(b"\xff\xd8")?;
    let mut out = b"\xff\xd8".to_vec();
    loop {
        let [0xff, marker] = *rest.first_chunk()? else {
            return None;
        };
        match marker {
            // A marker may be preceded by padding bytes.
            0xff => rest = &rest[1..],
            0xd9 => {
                out.extend(b"\xff\xd9");
                return Some(out);
            }
            // This marker has no data.
            0x01 => {
                out.extend(&rest[..2]);
                rest = &rest[2..];
            }
            // No segment begins with these. Directly after a coded picture they would belong to it.
            0x00 | 0x02..=0xbf | 0xd0..=0xd8 => return None,
            _ => {
                let length = u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]);
                let (segment, next) = rest.split_at_checked(usize::from(length) + 2)?;
                let data = segment.get(4..)?;
                let is_kept = match marker {
                    // A JFIF segment of 14 bytes holds the pixel density; a longer one also holds a preview. An Adobe
                    // segment says how colours are coded.
                    0xe0 => data.starts_with(b"JFIF\0") && data.len() == 14,
                    0xee => data.starts_with(b"Adobe") && data.len() == 12,
                    // Other application segments and comments are removed.
                    0xe1..=0xef | 0xfe => false,
                    _ => true,
                };
                if is_kept {
                    out.extend(segment);
                }
                rest = next;
                if marker == 0xda {
                    let (coded, next) = rest.split_at(coded_length(rest)?);
                    out.extend(coded);
                    rest = next;
                }
            }
        }
    }
}

/// Returns the length in bytes of the coded picture at the start of `rest`. The picture ends before the first `FF` that
/// is followed by neither `00` nor a restart marker, because this byte begins the next segment. Returns `None` if there
/// is no such byte.
fn coded_length(rest: &[u8]) -> Option<usize> {
    let is_end = |pair: &[u8]| matches!(pair, [0xff, 0x01..=0xcf | 0xd8..=0xff]);
    rest.windows(2).position(is_end)
}

/// Removes the metadata from a WebP; returns `None` if its structure is invalid. The format is a RIFF file with chunks
/// of type, length, data, and a padding byte if the length is odd.
fn webp(image: &[u8]) -> Option<Vec<u8>> {
    let (head, body) = image.split_at_checked(12)?;
    if !head.starts_with(b"RIFF") || &head[8..] != b"WEBP" {
        return None;
    }
    let size = u32::from_le_bytes(*head[4..].first_chunk()?);
    let size = usize::try_from(size).ok()?.checked_sub(4)?;
    // Some writers count the padding byte of the last chunk, some do not.
    let mut rest = body.get(..size.min(body.len()))?;
    let mut out = head.to_vec();
    while let Some(kind) = rest.first_chunk::<4>() {
        let length = u32::from_le_bytes(*rest.get(4..)?.first_chunk()?);
        let length = usize::try_from(length).ok()?.checked_add(8)?;
        let chunk = rest.get(..length)?;
        if WEBP_CHUNKS.contains(&kind.as_slice()) {
            let start = out.len();
            out.extend(chunk);
            if length % 2 == 1 {
                out.push(0);
            }
            if kind == b"VP8X" {
                *out.get_mut(start + 8)? &= !WEBP_METADATA_FLAGS;
            }
        }
        rest = rest.get(length + length % 2..).unwrap_or_default();
    }
    let size = u32::try_from(out.len() - 8).ok()?;
    out[4..8].copy_from_slice(&size.to_le_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{DynamicImage, ImageDecoder, ImageReader};
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const SECRET: &[u8] = b"47.3769N 8.5417E Camera 7";

    fn encode_image(format: ImageFormat) -> Vec<u8> {
        let low = |n: u32| u8::try_from(n * 7 % 256).unwrap();
        let image = image::RgbImage::from_fn(33, 17, |x, y| image::Rgb([low(x), low(y), 90]));
        let mut out = Cursor::new(Vec::new());
        image.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    fn decoder(image: &[u8]) -> impl ImageDecoder {
        let reader = ImageReader::new(Cursor::new(image)).with_guessed_format();
        reader.unwrap().into_decoder().unwrap()
    }

    fn pixels(image: &[u8]) -> DynamicImage {
        DynamicImage::from_decoder(decoder(image)).unwrap()
    }

    /// Returns EXIF data that say where and with what the image was taken.
    fn exif() -> Vec<u8> {
        // The data have one entry, the camera model (tag 0x0110), as a text at offset 26.
        let mut out = b"II*\0\x08\0\0\0\x01\0\x10\x01\x02\0".to_vec();
        out.extend(u32::try_from(SECRET.len()).unwrap().to_le_bytes());
        out.extend(b"\x1a\0\0\0\0\0\0\0");
        out.extend(SECRET);
        out
    }

    fn jpeg_segment(marker: u8, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xff, marker], &length[..], data].concat()
    }

    fn png_chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let mut crc = u32::MAX;
        for byte in kind.iter().chain(data) {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
            }
        }
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], kind, data, &(!crc).to_be_bytes()].concat()
    }

    fn webp_chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_le_bytes();
        let filling = &[0][..data.len() % 2];
        [kind, &length, data, filling].concat()
    }

    /// Returns an image with metadata in every part in which its format allows metadata.
    fn image_with_metadata(format: ImageFormat) -> Vec<u8> {
        let image = encode_image(format);
        match format {
            ImageFormat::Jpeg => {
                let app1 = jpeg_segment(0xe1, &[b"Exif\0\0", &exif()[..]].concat());
                let xmp = jpeg_segment(0xe1, &[b"http://ns.adobe.com/xap/1.0/\0", SECRET].concat());
                let iptc = jpeg_segment(0xed, &[b"Photoshop 3.0\0", SECRET].concat());
                let preview = jpeg_segment(0xe0, &[b"JFXX\0\x10", SECRET].concat());
                let comment = jpeg_segment(0xfe, SECRET);
                let parts = [
                    &image[..2],
                    &app1,
                    &xmp,
                    &iptc,
                    &preview,
                    &comment,
                    b"\xff\xff",
                    &image[3..],
                    SECRET,
                ];
                parts.concat()
            }
            ImageFormat::Png => {
                let start = PNG_SIGNATURE.len() + 25;
                let text = png_chunk(b"tEXt", &[b"Comment\0", SECRET].concat());
                let international = png_chunk(b"iTXt", &[b"XML\0\0\0\0\0", SECRET].concat());
                let exif = png_chunk(b"eXIf", &exif());
                let time = png_chunk(b"tIME", &[7, 0xea, 1, 2, 3, 4, 5]);
                let parts = [
                    &image[..start],
                    &text,
                    &international,
                    &exif,
                    &time,
                    &image[start..],
                    SECRET,
                ];
                parts.concat()
            }
            _ => {
                // The header of an image of 33x17 pixels with EXIF and XMP.
                let head = webp_chunk(b"VP8X", &[0x0c, 0, 0, 0, 32, 0, 0, 16, 0, 0]);
                let exif = webp_chunk(b"EXIF", &exif());
                let xmp = webp_chunk(b"XMP ", SECRET);
                let mut out = [&image[..12], &head, &image[12..], &exif, &xmp].concat();
                let size = u32::try_from(out.len() - 8).unwrap();
                out[4..8].copy_from_slice(&size.to_le_bytes());
                out.extend(SECRET);
                out
            }
        }
    }

    fn contains(image: &[u8], part: &[u8]) -> bool {
        image.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn metadata_is_removed_and_the_picture_stays() {
        for format in IMAGE_FORMATS {
            let tagged = image_with_metadata(format);
            assert!(contains(&tagged, SECRET));
            assert!(
                decoder(&tagged).exif_metadata().unwrap().is_some(),
                "{format:?}"
            );
            let stripped = strip(&tagged, format).unwrap();
            assert!(!contains(&stripped, SECRET), "{format:?}");
            assert!(
                decoder(&stripped).exif_metadata().unwrap().is_none(),
                "{format:?}"
            );
            assert_eq!(pixels(&stripped), pixels(&tagged), "{format:?}");
            assert_eq!(strip(&stripped, format).unwrap(), stripped, "{format:?}");
        }
    }

    #[test]
    fn images_of_other_encoders_keep_their_pixels() {
        // The corpus has progressive and CMYK JPEG, PNG with a palette, and lossy, lossless and animated WebP, all with
        // EXIF.
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/image");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let Ok(format) = ImageFormat::from_path(&path) else {
                continue;
            };
            let image = std::fs::read(&path).unwrap();
            let stripped = strip(&image, format).unwrap();
            assert!(contains(&image, b"Camera 7") && !contains(&stripped, b"Camera 7"));
            assert_eq!(pixels(&stripped), pixels(&image), "{}", path.display());
            count += 1;
        }
        assert_eq!(count, 7);
    }

    #[test]
    fn image_without_metadata_is_unchanged() {
        for format in IMAGE_FORMATS {
            let image = encode_image(format);
            assert_eq!(strip(&image, format).unwrap(), image, "{format:?}");
        }
    }

    #[test]
    fn truncated_images_are_refused() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg] {
            let image = image_with_metadata(format);
            let whole = image.len() - SECRET.len();
            for length in 0..whole {
                assert_eq!(strip(&image[..length], format), None, "{format:?} {length}");
            }
        }
    }

    proptest! {
        #[test]
        fn damaged_images_never_panic(at in 0usize..1000, byte: u8, length in 0usize..2000, which in 0usize..3) {
            let format = IMAGE_FORMATS[which];
            let mut image = image_with_metadata(format);
            image.truncate(length);
            if let Some(place) = image.get_mut(at) {
                *place = byte;
            }
            let size = image.len();
            if let Some(stripped) = strip(&image, format) {
                // At most one padding byte is added.
                prop_assert!(stripped.len() <= size + 1);
            }
        }
    }
}

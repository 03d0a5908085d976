//! Tests of reading attachments.

use std::fs;

use pretty_assertions::assert_eq;

use super::*;

/// Attaches the files `paths` in `dir`. Returns the attachments, or the error for the user.
async fn attach(dir: &Path, paths: &[&str]) -> Result<Vec<Attachment>, String> {
    let mentions = paths.iter().map(|path| Mention {
        path: (*path).into(),
        is_required: true,
    });
    let none = Err("no MCP server is configured");
    read(dir, mentions.collect(), &Redactor::default(), none).await
}

async fn refusal(dir: &Path, path: &str) -> String {
    let why = attach(dir, &[path]).await.unwrap_err();
    let why = why.strip_suffix(". The message was not sent.").unwrap();
    let why = why
        .strip_prefix(&format!("Cannot attach {path}: "))
        .unwrap();
    assert!(!why.contains('\n'));
    why.into()
}

/// Reads the content of `attachment` from the store in `dir`.
fn read_content(dir: &Path, attachment: &Attachment) -> Vec<u8> {
    AttachmentStore::open(dir).read(&attachment.file).unwrap()
}

#[tokio::test]
async fn long_text_is_cut_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::write(root.join("one.txt"), "one").unwrap();
    fs::write(root.join("empty.txt"), "").unwrap();
    fs::write(root.join("many.txt"), "line\n".repeat(2500)).unwrap();
    fs::write(root.join("wide.txt"), "x".repeat(60_000)).unwrap();
    fs::write(
        root.join("big.txt"),
        format!("{}\n", "y".repeat(999)).repeat(200),
    )
    .unwrap();
    let paths = ["one.txt", "empty.txt", "many.txt", "wide.txt", "big.txt"];
    let all = attach(root, &paths).await.unwrap();
    let sizes: Vec<&str> = all.iter().map(|a| a.size.as_str()).collect();
    let expected = [
        "1 line",
        "0 lines",
        "first 2000 of 2500 lines",
        "first 48 KB of 1 line of 58 KB",
        "first 50 of 200 lines",
    ];
    assert_eq!(sizes, expected);
    let text = String::from_utf8(read_content(root, &all[2])).unwrap();
    assert!(text.starts_with("(first 2000 of 2500 lines)\nline\n"));
    assert_eq!(text.lines().count(), 2001);
    assert_eq!(all[2].label(), "many.txt · first 2000 of 2500 lines");
}

#[tokio::test]
async fn files_outside_of_the_project_can_be_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    fs::create_dir(&root).unwrap();
    let outside = dir.path().join("notes.md");
    fs::write(&outside, "hello").unwrap();
    for path in ["../notes.md", outside.to_str().unwrap()] {
        let all = attach(&root, &[path]).await.unwrap();
        assert_eq!(read_content(&root, &all[0]), b"hello");
    }
}

#[tokio::test]
async fn directory_is_listed_without_ignored_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    for file in ["src/a.rs", "src/deep/b.rs", "src/x.log"] {
        fs::write(root.join(file), "x").unwrap();
    }
    let all = attach(root, &["src/"]).await.unwrap();
    assert_eq!(all[0].size, "2 files");
    let text = String::from_utf8(read_content(root, &all[0])).unwrap();
    assert_eq!(
        text,
        "Files below this directory (2 files):\na.rs\ndeep/b.rs"
    );
    for n in 0..600 {
        fs::write(root.join(format!("src/deep/{n}.rs")), "x").unwrap();
    }
    let all = attach(root, &["src"]).await.unwrap();
    assert_eq!(all[0].size, "first 500 of 602 files");
}

#[tokio::test]
async fn unusable_files_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::write(root.join("binary"), b"a\0b").unwrap();
    fs::write(root.join("fake.png"), "text").unwrap();
    fs::write(root.join("empty.webp"), "").unwrap();
    let huge = fs::File::create(root.join("huge.png")).unwrap();
    huge.set_len(200 * 1024 * 1024).unwrap();
    for (path, why) in [
        ("gone.md", "it does not exist"),
        ("binary", "it is a binary file of 3 bytes"),
        ("fake.png", "it is not a PNG, JPEG or WebP image"),
        ("empty.webp", "it is not a PNG, JPEG or WebP image"),
        (
            "huge.png",
            "it has 200.0 MB, but an image file may have at most 32.0 MB",
        ),
        ("/dev/zero", "it is neither a file nor a directory"),
        ("gone.png", "it does not exist"),
        ("gone/", "it does not exist"),
        ("binary/x", "it does not exist"),
    ] {
        assert_eq!(refusal(root, path).await, why, "{path}");
    }
    let many: Vec<String> = (0..=ATTACHMENTS_MAX).map(|n| format!("{n}.txt")).collect();
    for path in &many {
        fs::write(root.join(path), "x").unwrap();
    }
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let why = attach(root, &many).await.unwrap_err();
    assert!(
        why.contains("20.txt: a message has at most 20 attachments"),
        "{why}"
    );
}

#[tokio::test]
async fn optional_mention_of_nothing_is_text() {
    let dir = tempfile::tempdir().unwrap();
    let mentions = vec![Mention {
        path: "types/node".into(),
        is_required: false,
    }];
    let all = read(
        dir.path(),
        mentions,
        &Redactor::default(),
        Err("no MCP server is configured"),
    )
    .await;
    assert_eq!(all, Ok(Vec::new()));
}

fn low(number: u32) -> u8 {
    u8::try_from(number % 256).unwrap()
}

fn picture(width: u32, height: u32) -> ::image::RgbImage {
    ::image::RgbImage::from_fn(width, height, |x, y| ::image::Rgb([low(x), low(y), 7]))
}

fn encode_picture(width: u32, height: u32, format: ::image::ImageFormat) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    picture(width, height).write_to(&mut out, format).unwrap();
    out.into_inner()
}

fn png(width: u32, height: u32) -> Vec<u8> {
    encode_picture(width, height, ::image::ImageFormat::Png)
}

/// Changes the size in the header of a PNG, and corrects the header's checksum.
fn with_size(mut png: Vec<u8>, width: u32, height: u32) -> Vec<u8> {
    png[16..20].copy_from_slice(&width.to_be_bytes());
    png[20..24].copy_from_slice(&height.to_be_bytes());
    let mut crc = u32::MAX;
    for byte in &png[12..29] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    png[29..33].copy_from_slice(&(!crc).to_be_bytes());
    png
}

#[tokio::test]
async fn small_image_is_unchanged_and_large_one_scaled_down() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::write(root.join("small.png"), png(20, 10)).unwrap();
    fs::write(root.join("wide.png"), png(1600, 100)).unwrap();
    let all = attach(root, &["small.png", "wide.png"]).await.unwrap();
    assert_eq!(read_content(root, &all[0]), png(20, 10));
    assert_eq!(all[0].size, "20x10 image");
    let scaled = all[1].image.clone().unwrap();
    assert_eq!((scaled.width, scaled.height), (1568, 98));
    assert_eq!(scaled.media_type, "image/png");
}

/// A WebP image keeps its format unless it is scaled down; then it becomes PNG. A JPEG image stays JPEG.
#[tokio::test]
async fn webp_and_jpeg_images_are_scaled_down() {
    use ::image::ImageFormat::{Jpeg, WebP};
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let cases = [
        ("small.webp", 20, 10, WebP, (20, 10, "image/webp")),
        ("wide.webp", 1600, 100, WebP, (1568, 98, "image/png")),
        ("wide.jpg", 1600, 100, Jpeg, (1568, 98, "image/jpeg")),
    ];
    for (name, width, height, format, expected) in cases {
        fs::write(root.join(name), encode_picture(width, height, format)).unwrap();
        let all = attach(root, &[name]).await.unwrap();
        let sent = all[0].image.clone().unwrap();
        let found = (sent.width, sent.height, sent.media_type.as_str());
        assert_eq!(found, expected, "{name}");
        let image = ::image::load_from_memory(&read_content(root, &all[0])).unwrap();
        let size = (image.width(), image.height());
        assert_eq!(size, (expected.0, expected.1), "{name}");
        if name == "small.webp" {
            assert_eq!(image.into_rgb8(), picture(width, height));
        }
    }
}

#[test]
fn jpeg_quality_is_lowered_until_the_image_fits() {
    let picture = picture(200, 200);
    let best = super::image::as_jpeg(&picture, usize::MAX).unwrap().len();
    let middle = super::image::as_jpeg(&picture, best - 1).unwrap().len();
    let least = super::image::as_jpeg(&picture, middle - 1).unwrap().len();
    assert!(least < middle && middle < best, "{least} {middle} {best}");
    assert_eq!(
        super::image::as_jpeg(&picture, least - 1).unwrap_err(),
        format!(
            "it is larger than {} even when scaled down",
            super::content::bytes(least as u64 - 1)
        )
    );
}

#[tokio::test]
async fn turned_photo_is_sent_upright_without_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let image = ::image::RgbImage::from_pixel(20, 10, ::image::Rgb([9, 9, 9]));
    let mut out = std::io::Cursor::new(Vec::new());
    image
        .write_to(&mut out, ::image::ImageFormat::Jpeg)
        .unwrap();
    let plain = out.into_inner();
    // EXIF with one entry: the orientation (0x0112), a number, 6 (turned right).
    let exif =
        b"\xff\xe1\0\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let photo = [&plain[..2], exif, &plain[2..]].concat();
    fs::write(root.join("photo.jpg"), &photo).unwrap();
    fs::write(root.join("plain.jpg"), &plain).unwrap();
    let all = attach(root, &["photo.jpg", "plain.jpg"]).await.unwrap();
    assert_eq!(all[0].size, "10x20 image");
    assert_eq!(all[0].image.as_ref().unwrap().media_type, "image/jpeg");
    let sent = read_content(root, &all[0]);
    assert!(!sent.windows(4).any(|part| part == b"Exif"));
    assert_eq!(read_content(root, &all[1]), plain);
}

#[tokio::test]
async fn hostile_images_are_refused_before_they_are_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for (name, width, height, why) in [
        ("none.png", 0, 5, "the image is damaged or empty"),
        (
            "bomb.png",
            15_000,
            15_000,
            "it has too many pixels: scale it down",
        ),
        (
            "wide.png",
            30_000,
            1,
            "it has too many pixels: scale it down",
        ),
    ] {
        fs::write(root.join(name), with_size(png(2, 2), width, height)).unwrap();
        assert_eq!(refusal(root, name).await, why, "{name}");
    }
    fs::write(root.join("cut.png"), &png(200, 200)[..300]).unwrap();
    assert_eq!(
        refusal(root, "cut.png").await,
        "the image is damaged or empty"
    );
}

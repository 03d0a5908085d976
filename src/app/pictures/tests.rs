//! Tests of loading pictures.

use std::path::PathBuf;

use pretty_assertions::assert_eq;

use super::*;

fn size(columns: u16, rows: u16) -> PictureSize {
    PictureSize { columns, rows }
}

/// Stores an image of `width` × `height` pixels whose left half is red and whose right half is blue.
fn store_image(root: &Path, width: u32, height: u32) -> String {
    let image = RgbaImage::from_fn(width, height, |x, _| {
        let is_left = x < width / 2;
        Rgba(if is_left {
            [255, 0, 0, 255]
        } else {
            [0, 0, 255, 255]
        })
    });
    let mut png = Cursor::new(Vec::new());
    image.write_to(&mut png, ImageFormat::Png).unwrap();
    let store = AttachmentStore::open(root);
    store.save(&png.into_inner(), "png").unwrap()
}

fn key(file: &str, size: PictureSize) -> PictureKey {
    PictureKey {
        file: file.into(),
        size,
    }
}

#[test]
fn images_are_scaled_to_their_cells_and_not_enlarged() {
    let dir = tempfile::tempdir().unwrap();
    let store = AttachmentStore::open(dir.path());
    let large = store_image(dir.path(), 800, 300);
    let load = |file: &str, size, drawing| load(&store, &key(file, size), drawing).ok();
    let Some(Thumbnail::Pixels(grid)) = load(&large, size(48, 9), ImageDrawing::HalfBlocks) else {
        panic!("no pixels");
    };
    assert_eq!((grid.width, grid.pixels.len()), (48, 48 * 18));
    assert_eq!(grid.pixels[0], [255, 0, 0, 255]);
    assert_eq!(grid.pixels[47], [0, 0, 255, 255]);
    let sides = |decoded| match decoded {
        Some(Thumbnail::Png(png)) => {
            let image = image::load_from_memory(&png).unwrap();
            (image.width(), image.height())
        }
        _ => panic!("no PNG"),
    };
    assert_eq!(
        sides(load(&large, size(40, 8), ImageDrawing::Kitty)),
        (640, 240)
    );
    let small = store_image(dir.path(), 20, 10);
    assert_eq!(
        sides(load(&small, size(3, 1), ImageDrawing::Kitty)),
        (20, 10)
    );
}

#[test]
fn transparent_pixels_do_not_darken_others() {
    let image = RgbaImage::from_fn(4, 4, |x, _| {
        Rgba(if x < 3 { [250, 200, 0, 255] } else { [0; 4] })
    });
    let grid = pixels(&image.into(), size(2, 1));
    let half = grid.pixels[1];
    let is_near = |color: u8, expected: u8| color.abs_diff(expected) <= 2;
    let is_yellow = is_near(half[0], 250) && is_near(half[1], 200) && half[2] == 0;
    assert!(is_yellow, "{half:?}");
    assert!((127..=128).contains(&half[3]), "{half:?}");
}

#[test]
fn missing_and_damaged_files_have_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let store = AttachmentStore::open(dir.path());
    let damaged = store.save(b"\x89PNG\r\n\x1a\nno image", "png").unwrap();
    let reason = |file: &str| {
        let loaded = load(&store, &key(file, size(4, 2)), ImageDrawing::HalfBlocks);
        loaded.err().unwrap()
    };
    assert_eq!(reason("00.png"), "the file is gone");
    assert_eq!(reason("../../secret.png"), "the file is gone");
    assert_eq!(reason(&damaged), "the image is damaged or empty");
}

#[tokio::test]
async fn pictures_on_the_screen_stay_and_others_make_room() {
    let mut loader = PictureLoader::new(&PathBuf::from("/nowhere"), ImageDrawing::HalfBlocks);
    let all: Vec<PictureKey> = (0..40)
        .map(|at| key(&format!("{at}.png"), size(1, 1)))
        .collect();
    loader.request(&[]);
    assert!(loader.running.is_none());
    for key in &all[..PICTURES_MAX] {
        loader.loaded.push_back((key.clone(), None));
    }
    // All pictures on the screen are loaded.
    loader.request(&all[..2]);
    assert!(loader.running.is_none());
    assert_eq!(loader.loaded[14].0, all[0]);
    // More pictures than the maximum are on the screen: the others are not loaded.
    loader.request(&all[..=PICTURES_MAX]);
    assert!(loader.running.is_none());
    loader.request(&all[1..=PICTURES_MAX]);
    let (loading, _) = loader.running.as_ref().unwrap();
    assert_eq!(*loading, all[PICTURES_MAX]);
    let loaded = loader.next().await;
    assert_eq!(loaded.result.err().unwrap(), "the file is gone");
    assert!(loader.running.is_none());
}

#[test]
fn ids_have_24_bits_and_are_not_in_use() {
    let mut loader = PictureLoader::new(&PathBuf::from("/nowhere"), ImageDrawing::Kitty);
    let first = loader.new_id();
    loader
        .loaded
        .push_back((key("a.png", size(1, 1)), Some(first)));
    for _ in 0..600 {
        let id = loader.new_id();
        assert!(id != first && id < 1 << 24 && id & 0xff != 0);
    }
}

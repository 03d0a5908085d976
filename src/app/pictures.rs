//! Loads the pictures of the conversation: decodes stored images off the main loop, one at a time, and only those that
//! are on the screen.

use std::collections::VecDeque;
use std::io::{self, Cursor};
use std::path::Path;

use image::{DynamicImage, ImageFormat, imageops};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::config::Settings;
use crate::crew::decode_image;
use crate::store::AttachmentStore;
use crate::ui::terminal::Screen;
use crate::ui::{
    ColorDepth, ImageDrawing, Msg, PICTURES_MAX, Picture, PictureKey, PictureSize, PictureUpdate,
    PixelGrid, TerminalNames, UiState, update,
};

/// Maximum size of a cell, in pixels of an image that the terminal draws: the size on a screen with high resolution.
const CELL_MAX: (u32, u32) = (16, 32);
/// The ids of images in the terminal end with a number from 1 to this one.
const IDS: u32 = 255;

/// Returns how the terminal draws images, according to settings and environment.
pub fn drawing(settings: &Settings, depth: ColorDepth) -> ImageDrawing {
    let var = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let (term, program, kitty_window) = (var("TERM"), var("TERM_PROGRAM"), var("KITTY_WINDOW_ID"));
    let multiplexer = ["TMUX", "STY", "ZELLIJ"].into_iter().find_map(var);
    let terminal = TerminalNames {
        term: term.as_deref(),
        program: program.as_deref(),
        kitty_window: kitty_window.as_deref(),
        multiplexer: multiplexer.as_deref(),
    };
    ImageDrawing::of(settings.images.unwrap_or_default(), terminal, depth)
}

/// Loads pictures and decides which ones stay in memory.
pub struct PictureLoader {
    store: AttachmentStore,
    drawing: ImageDrawing,
    /// The pictures on the screen.
    on_screen: Vec<PictureKey>,
    /// The loaded pictures with their ids in the terminal. The one that was on the screen last is at the end.
    loaded: VecDeque<(PictureKey, Option<u32>)>,
    running: Option<(PictureKey, JoinHandle<Result<Decoded, String>>)>,
    last_id: u32,
}

/// An image in the size and form in which it is drawn.
enum Decoded {
    Png(Vec<u8>),
    Pixels(PixelGrid),
}

/// The result of loading a picture.
pub struct LoadedPicture {
    key: PictureKey,
    result: Result<Decoded, String>,
}

impl PictureLoader {
    /// Creates the loader for the project `root`. Starts nothing yet.
    pub fn new(root: &Path, drawing: ImageDrawing) -> PictureLoader {
        PictureLoader {
            store: AttachmentStore::open(root),
            drawing,
            on_screen: Vec::new(),
            loaded: VecDeque::new(),
            running: None,
            last_id: 0,
        }
    }

    /// Starts to load the next of the pictures that are on the screen, if none is being loaded.
    pub fn request(&mut self, on_screen: &[PictureKey]) {
        if self.on_screen != on_screen {
            self.on_screen = on_screen.to_vec();
            let (shown, others) = std::mem::take(&mut self.loaded)
                .into_iter()
                .partition(|(key, _)| on_screen.contains(key));
            let (shown, mut all): (VecDeque<_>, VecDeque<_>) = (shown, others);
            all.extend(shown);
            self.loaded = all;
        }
        if self.running.is_some() || !self.has_room() {
            return;
        }
        let is_loaded = |key: &PictureKey| self.loaded.iter().any(|(loaded, _)| loaded == key);
        let Some(key) = on_screen.iter().find(|key| !is_loaded(key)).cloned() else {
            return;
        };
        let (store, drawing, wanted) = (self.store.clone(), self.drawing, key.clone());
        let work = spawn_blocking(move || load(&store, &wanted, drawing));
        self.running = Some((key, work));
    }

    /// Returns whether another picture can be loaded without removing one that is on the screen.
    fn has_room(&self) -> bool {
        let is_spare = |(key, _): &(PictureKey, _)| !self.on_screen.contains(key);
        self.loaded.len() < PICTURES_MAX || self.loaded.front().is_some_and(is_spare)
    }

    /// Waits until the picture that is being loaded is there; forever if none is. Cancel safe.
    pub async fn next(&mut self) -> LoadedPicture {
        let Some((_, work)) = &mut self.running else {
            return std::future::pending().await;
        };
        let result = work.await;
        let Some((key, _)) = self.running.take() else {
            return std::future::pending().await;
        };
        let result = result.unwrap_or_else(|_| Err("the image is damaged".into()));
        LoadedPicture { key, result }
    }

    /// Shows a loaded picture. Sends it to the terminal if the terminal draws it.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn show(
        &mut self,
        LoadedPicture { key, result }: LoadedPicture,
        screen: &mut Screen,
        state: &mut UiState,
    ) -> io::Result<()> {
        let decoded = match result {
            Ok(decoded) => decoded,
            Err(why) => {
                let file = key.file;
                update(state, Msg::Picture(PictureUpdate::Failed { file, why }));
                return Ok(());
            }
        };
        while self.loaded.len() >= PICTURES_MAX {
            let Some((key, id)) = self.loaded.pop_front() else {
                break;
            };
            update(state, Msg::Picture(PictureUpdate::Dropped(key)));
            if let Some(id) = id {
                screen.remove_image(id)?;
            }
        }
        let picture = match decoded {
            Decoded::Pixels(grid) => Picture::Pixels(grid),
            Decoded::Png(png) => {
                let id = self.new_id();
                screen.show_image(id, key.size, &png)?;
                Picture::InTerminal(id)
            }
        };
        let id = match &picture {
            Picture::InTerminal(id) => Some(*id),
            Picture::Pixels(_) => None,
        };
        self.loaded.push_back((key.clone(), id));
        update(state, Msg::Picture(PictureUpdate::Loaded(key, picture)));
        Ok(())
    }

    /// Forgets the pictures that the terminal draws, after another program has used the terminal. Those on the screen
    /// are loaded again.
    pub fn forget_terminal(&mut self, state: &mut UiState) {
        let (gone, kept): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.loaded)
            .into_iter()
            .partition(|(_, id)| id.is_some());
        self.loaded = kept;
        for (key, _) in gone {
            update(state, Msg::Picture(PictureUpdate::Dropped(key)));
        }
    }

    /// Returns an id that no loaded picture has. Its upper bits are the process id, because other programs may use the
    /// same terminal. It has 24 bits, as many as the colour of a placeholder.
    fn new_id(&mut self) -> u32 {
        let base = (std::process::id() & 0xffff) << 8;
        // There are fewer pictures than ids, so the loop ends.
        loop {
            self.last_id = self.last_id % IDS + 1;
            let id = Some(base | self.last_id);
            if self.loaded.iter().all(|(_, used)| *used != id) {
                return base | self.last_id;
            }
        }
    }
}

/// Reads and decodes an image, scaled down to the size in which it is drawn.
fn load(
    store: &AttachmentStore,
    key: &PictureKey,
    drawing: ImageDrawing,
) -> Result<Decoded, String> {
    let bytes = store.read(&key.file).ok_or("the file is gone")?;
    let image = decode_image(&bytes)?;
    match drawing {
        ImageDrawing::Kitty => png(&image, key.size).map(Decoded::Png),
        ImageDrawing::HalfBlocks | ImageDrawing::LabelOnly => {
            Ok(Decoded::Pixels(pixels(&image, key.size)))
        }
    }
}

/// Returns the image as PNG, with no more pixels than its cells have.
fn png(image: &DynamicImage, size: PictureSize) -> Result<Vec<u8>, String> {
    let width = u32::from(size.columns) * CELL_MAX.0;
    let height = u32::from(size.rows) * CELL_MAX.1;
    let small;
    let image = if image.width() > width || image.height() > height {
        small = image.thumbnail(width, height);
        &small
    } else {
        image
    };
    let mut out = Cursor::new(Vec::new());
    // The terminal reads no other kinds of pixels, such as 16-bit ones.
    DynamicImage::from(image.to_rgba8())
        .write_to(&mut out, ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    Ok(out.into_inner())
}

/// Returns the pixels of the image for half blocks: one per column and half row.
fn pixels(image: &DynamicImage, size: PictureSize) -> PixelGrid {
    let width = u32::from(size.columns).min(image.width());
    let half_rows = 2 * u64::from(size.rows);
    let wanted = (u64::from(width) * u64::from(image.height()) + u64::from(image.width()) / 2)
        / u64::from(image.width().max(1));
    let height = u32::try_from(wanted.clamp(1, half_rows)).unwrap_or(1);
    let height = height.min(image.height());
    let grid = imageops::thumbnail(&image.to_rgba8(), width, height);
    PixelGrid {
        width: u16::try_from(grid.width()).unwrap_or(size.columns),
        pixels: grid.pixels().map(|pixel| pixel.0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use image::{Rgba, RgbaImage};
    use pretty_assertions::assert_eq;

    use super::*;

    fn size(columns: u16, rows: u16) -> PictureSize {
        PictureSize { columns, rows }
    }

    /// Stores an image of `width` × `height` pixels whose left half is red and whose right half is blue.
    fn stored(root: &Path, width: u32, height: u32) -> String {
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
        let large = stored(dir.path(), 800, 300);
        let load = |file: &str, size, drawing| load(&store, &key(file, size), drawing).ok();
        let Some(Decoded::Pixels(grid)) = load(&large, size(48, 9), ImageDrawing::HalfBlocks)
        else {
            panic!("no pixels");
        };
        assert_eq!((grid.width, grid.pixels.len()), (48, 48 * 18));
        assert_eq!(grid.pixels[0], [255, 0, 0, 255]);
        assert_eq!(grid.pixels[47], [0, 0, 255, 255]);
        let sides = |decoded| match decoded {
            Some(Decoded::Png(png)) => {
                let image = image::load_from_memory(&png).unwrap();
                (image.width(), image.height())
            }
            _ => panic!("no PNG"),
        };
        assert_eq!(
            sides(load(&large, size(40, 8), ImageDrawing::Kitty)),
            (640, 240)
        );
        let small = stored(dir.path(), 20, 10);
        assert_eq!(
            sides(load(&small, size(3, 1), ImageDrawing::Kitty)),
            (20, 10)
        );
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
        // More than the maximum is on the screen: the rest is not loaded.
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
}

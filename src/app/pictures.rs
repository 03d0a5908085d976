//! Loads the pictures of the conversation. Stored images are decoded on a blocking thread, one at a time, and only if
//! they are on the screen.

use std::collections::VecDeque;
use std::io::{self, Cursor};
use std::path::Path;

use image::{DynamicImage, ImageFormat, Rgba, RgbaImage, imageops};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::config::Settings;
use crate::crew::decode_image;
use crate::store::AttachmentStore;
use crate::ui::terminal::Screen;
use crate::ui::{
    ColorDepth, ImageDrawing, Msg, PICTURES_MAX, Picture, PictureKey, PictureSize, PictureUpdate,
    PixelGrid, TerminalNames, UiState, update,
};

/// Maximum number of pixels per terminal cell (width, height) of an image that is sent to the terminal. Based on the
/// size of a cell on a screen with high resolution.
const CELL_MAX: (u64, u64) = (16, 32);
/// Number of image ids that this process uses. The lowest byte of an id is from 1 to this number.
const IDS: u32 = 255;

/// Returns how the terminal draws images, according to settings and environment.
fn detect_image_drawing(settings: &Settings, depth: ColorDepth) -> ImageDrawing {
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
    /// The pictures on the screen, as given to [`PictureLoader::request`] last.
    on_screen: Vec<PictureKey>,
    /// The loaded pictures. Each has an id if the terminal itself draws the image, otherwise `None`. The picture that
    /// was on the screen most recently is at the end.
    loaded: VecDeque<(PictureKey, Option<u32>)>,
    /// The picture that is being loaded; `None` if none is.
    running: Option<(PictureKey, JoinHandle<Result<Thumbnail, String>>)>,
    last_id: u32,
}

/// An image scaled for drawing: as PNG if the terminal itself draws it, or as pixels for half blocks.
enum Thumbnail {
    Png(Vec<u8>),
    Pixels(PixelGrid),
}

/// The result of loading a picture: the scaled image, or the reason why it could not be loaded.
pub struct LoadedPicture {
    key: PictureKey,
    result: Result<Thumbnail, String>,
}

impl PictureLoader {
    /// Creates the loader for the project `root`, and sets in `state` how the terminal draws images. Reads no file yet.
    pub fn start(
        root: &Path,
        settings: &Settings,
        depth: ColorDepth,
        state: &mut UiState,
    ) -> PictureLoader {
        let drawing = detect_image_drawing(settings, depth);
        state.set_image_drawing(drawing);
        PictureLoader::new(root, drawing)
    }

    fn new(root: &Path, drawing: ImageDrawing) -> PictureLoader {
        PictureLoader {
            store: AttachmentStore::open(root),
            drawing,
            on_screen: Vec::new(),
            loaded: VecDeque::new(),
            running: None,
            last_id: 0,
        }
    }

    /// Starts to load the first picture of `on_screen` that is not loaded. Does nothing if a picture is being loaded,
    /// or if [`PICTURES_MAX`] pictures on the screen are loaded.
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

    /// Waits until the picture that is being loaded is ready or has failed. Waits forever if none is being loaded. No
    /// picture is lost if the future is dropped.
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

    /// Shows a loaded picture, or why it could not be loaded. Sends the image to a terminal that draws images itself. If
    /// [`PICTURES_MAX`] pictures are loaded, first removes the one that was on the screen least recently.
    ///
    /// # Errors
    /// Fails if the terminal cannot be written to.
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
            Thumbnail::Pixels(grid) => Picture::Pixels(grid),
            Thumbnail::Png(png) => {
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

    /// Removes all pictures that the terminal itself draws. Call this after another program has used the terminal,
    /// which then no longer has the images. Pictures on the screen are loaded again.
    pub fn forget_terminal(&mut self, state: &mut UiState) {
        let (gone, kept): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.loaded)
            .into_iter()
            .partition(|(_, id)| id.is_some());
        self.loaded = kept;
        for (key, _) in gone {
            update(state, Msg::Picture(PictureUpdate::Dropped(key)));
        }
    }

    /// Returns an image id that no loaded picture has. An id has 24 bits, because it is encoded as the colour of a
    /// placeholder character. The upper 16 bits are those of the process id, because another crewdeck process may send
    /// images to the same terminal.
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

/// Reads and decodes an image, and scales it down to the size in which it is drawn. If that fails, returns the reason
/// for the user.
fn load(
    store: &AttachmentStore,
    key: &PictureKey,
    drawing: ImageDrawing,
) -> Result<Thumbnail, String> {
    let bytes = store.read(&key.file).ok_or("the file is gone")?;
    let image = decode_image(&bytes)?;
    match drawing {
        ImageDrawing::Kitty => png(&image, key.size).map(Thumbnail::Png),
        ImageDrawing::HalfBlocks | ImageDrawing::LabelOnly => {
            Ok(Thumbnail::Pixels(pixels(&image, key.size)))
        }
    }
}

/// Returns the image as PNG, scaled down to at most `CELL_MAX` pixels per cell. A smaller image keeps its size.
fn png(image: &DynamicImage, size: PictureSize) -> Result<Vec<u8>, String> {
    let (width, height) = (u64::from(image.width()), u64::from(image.height()));
    let widest = u64::from(size.columns) * CELL_MAX.0;
    let highest = u64::from(size.rows) * CELL_MAX.1;
    let (width, height) = if width <= widest && height <= highest {
        (width, height)
    } else if width * highest >= height * widest {
        (widest, height * widest / width)
    } else {
        (width * highest / height, highest)
    };
    let mut out = Cursor::new(Vec::new());
    // `scale_down` returns 8 bits per colour. Terminals may not support other PNG images.
    scale_down(image, width, height)
        .write_to(&mut out, ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    Ok(out.into_inner())
}

/// Returns the pixels of the image for half blocks: one per column and half row, within `size`. A smaller image is not
/// enlarged.
fn pixels(image: &DynamicImage, size: PictureSize) -> PixelGrid {
    let (width, height) = (u64::from(image.width()), u64::from(image.height()));
    let columns = u64::from(size.columns).min(width);
    let rows = (columns * height + width / 2) / width.max(1);
    let rows = rows.clamp(1, 2 * u64::from(size.rows)).min(height);
    let grid = scale_down(image, columns, rows);
    PixelGrid {
        width: u16::try_from(grid.width()).unwrap_or(size.columns),
        pixels: grid.pixels().map(|pixel| pixel.0).collect(),
    }
}

/// Returns the image scaled down to `width` × `height` pixels. Each side has at least one pixel.
fn scale_down(image: &DynamicImage, width: u64, height: u64) -> RgbaImage {
    let side = |pixels: u64| u32::try_from(pixels.max(1)).unwrap_or(u32::MAX);
    let (width, height) = (side(width), side(height));
    let mut image = image.to_rgba8();
    if (image.width(), image.height()) == (width, height) {
        return image;
    }
    // Multiply each colour by its opacity, so that transparent pixels do not change the mean colour.
    for Rgba([colors @ .., opacity]) in image.pixels_mut() {
        let opacity = u16::from(*opacity);
        for color in colors {
            *color = u8::try_from((u16::from(*color) * opacity + 127) / 255).unwrap_or(u8::MAX);
        }
    }
    let mut small = imageops::thumbnail(&image, width, height);
    for Rgba([colors @ .., opacity]) in small.pixels_mut() {
        let opacity = u16::from(*opacity).max(1);
        for color in colors {
            let full = (u16::from(*color) * 255 + opacity / 2) / opacity;
            *color = u8::try_from(full).unwrap_or(u8::MAX);
        }
    }
    small
}

#[cfg(test)]
mod tests;

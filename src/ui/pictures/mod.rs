//! Pictures in the conversation: their size, their content, and how they are drawn. Pure: the front end decodes the
//! images and writes escape sequences to the terminal.

mod cells;
mod drawing;
pub mod kitty;
mod size;

use std::collections::BTreeMap;

pub use cells::PlacedPicture;
pub use drawing::{ImageDrawing, TerminalNames};
pub use size::{PictureSize, fit, room};

/// Maximum number of pictures in memory and in the terminal.
pub const PICTURES_MAX: usize = 16;

/// Identifies a picture: a stored image in one size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureKey {
    /// The name of the file with the stored image.
    pub file: String,
    pub size: PictureSize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// The terminal has the image under this id.
    InTerminal(u32),
    Pixels(PixelGrid),
}

/// The pixels of a picture that is drawn with half blocks: one per column and half row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PixelGrid {
    /// Number of pixels in a row.
    pub width: u16,
    /// Red, green, blue and opacity of each pixel, row by row.
    pub pixels: Vec<[u8; 4]>,
}

/// A change of a picture that the front end reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureUpdate {
    /// The picture can be drawn.
    Loaded(PictureKey, Picture),
    /// The image in the file `file` cannot be shown; `why` is the reason.
    Failed { file: String, why: String },
    /// The picture was removed from memory or from the terminal, and can be loaded again.
    Dropped(PictureKey),
}

/// The pictures that can be drawn, at most [`PICTURES_MAX`].
#[derive(Debug, Default)]
pub struct Pictures {
    /// How this terminal draws images.
    pub drawing: ImageDrawing,
    loaded: BTreeMap<PictureKey, Picture>,
}

impl Pictures {
    pub fn get(&self, key: &PictureKey) -> Option<&Picture> {
        self.loaded.get(key)
    }

    /// Adds or replaces a picture. If there are already [`PICTURES_MAX`] other pictures, removes one of them.
    pub fn insert(&mut self, key: PictureKey, picture: Picture) {
        while self.loaded.len() >= PICTURES_MAX && !self.loaded.contains_key(&key) {
            self.loaded.pop_first();
        }
        self.loaded.insert(key, picture);
    }

    pub fn remove(&mut self, key: &PictureKey) {
        self.loaded.remove(key);
    }
}

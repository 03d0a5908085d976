//! Lays out the files that are attached to a prompt: a line with the label of each file, and rows for its picture.

use crate::ui::pictures::{ImageDrawing, PictureKey, PictureSize, fit};
use crate::ui::text::wrap::Row;
use crate::ui::transcript::cell::AttachedFile;
use crate::ui::transcript::layout::{LayoutParams, plain};

/// Number of columns to the left of a picture.
pub const PICTURE_INDENT: u16 = 4;

/// How images are drawn, and the maximum size of a picture. The size is `None` if there is no room for pictures.
pub type PictureParams = (ImageDrawing, Option<PictureSize>);

/// The position of a picture in the rows of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidPicture {
    pub key: PictureKey,
    /// The index of the picture's first row among the rows of the cell, counted from 0.
    pub row: usize,
}

/// Adds the rows of an attached file to `out`: its label, and blank rows over which its picture is drawn. Adds the
/// position of the picture to `pictures`. The blank rows are added even before the picture is loaded, so that no text
/// moves later.
///
/// Only the label is added if the file is not an image, the image cannot be shown, or there is no room for it. All rows
/// get `text_offset`, the number of visible characters of the cell before them.
pub fn rows(
    file: &AttachedFile,
    out: &mut Vec<Row>,
    pictures: &mut Vec<LaidPicture>,
    text_offset: usize,
    page: LayoutParams<'_>,
) {
    let mut label = format!("  + {}", file.label);
    if let Some(why) = file.picture.as_ref().and_then(|p| p.failure.as_ref()) {
        label.push_str(&format!(" · not shown: {why}"));
    }
    out.extend(
        plain(&label, page.theme.dim, page)
            .into_iter()
            .map(|row| Row { text_offset, ..row }),
    );
    let (drawing, room) = page.pictures;
    let picture = file.picture.as_ref().filter(|p| p.failure.is_none());
    let size = picture.zip(room).and_then(|(picture, room)| {
        let size = fit(picture.pixels, drawing, room)?;
        Some((picture, size))
    });
    let Some((picture, size)) = size else { return };
    pictures.push(LaidPicture {
        key: PictureKey {
            file: picture.file.clone(),
            size,
        },
        row: out.len(),
    });
    let blank = Row::decoration(Vec::new(), text_offset);
    out.extend(std::iter::repeat_n(blank, usize::from(size.rows)));
}

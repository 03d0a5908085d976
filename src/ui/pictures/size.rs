//! Computes the size of a picture in the conversation, in terminal cells. A cell counts as twice as high as wide.

use super::ImageDrawing;

/// Maximum width of a picture, in columns.
pub const COLUMNS_MAX: u16 = 48;
/// Maximum height of a picture, in rows.
const ROWS_MAX: u16 = 12;
/// Maximum height of a picture in a conversation of fewer than [`HIGH`] rows, in rows.
const ROWS_MAX_LOW: u16 = 6;
/// Minimum height of a conversation, in rows, in which a picture may have [`ROWS_MAX`] rows.
const HIGH: usize = 20;
/// Minimum height of a conversation, in rows, to show pictures in it.
const HEIGHT_MIN: usize = 8;
/// Minimum width of a conversation, in columns, to show pictures in it.
const WIDTH_MIN: usize = 24;
/// Assumed width of a terminal cell, in pixels, if the terminal draws the image itself. The real width is unknown;
/// common fonts have about this width.
const KITTY_CELL: u64 = 8;

/// A size in terminal cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureSize {
    pub columns: u16,
    pub rows: u16,
}

/// Returns the maximum size of a picture in a conversation of `columns` columns and `rows` rows, with a margin of
/// `indent` columns; `None` if the conversation is too small for pictures. There are only two maximum heights, so that
/// pictures seldom change their size when the composer grows.
pub fn room(columns: usize, rows: usize, indent: usize) -> Option<PictureSize> {
    if columns < WIDTH_MIN || rows < HEIGHT_MIN {
        return None;
    }
    let columns = u16::try_from(columns.saturating_sub(indent)).unwrap_or(u16::MAX);
    Some(PictureSize {
        columns: columns.min(COLUMNS_MAX),
        rows: if rows < HIGH { ROWS_MAX_LOW } else { ROWS_MAX },
    })
}

/// Returns the size in which an image of `width` × `height` pixels is drawn: within `room`, with its aspect ratio and
/// not enlarged. `None` if images are not drawn or the image has no pixels.
pub fn fit(
    (width, height): (u32, u32),
    drawing: ImageDrawing,
    room: PictureSize,
) -> Option<PictureSize> {
    let pixels_per_column = match drawing {
        ImageDrawing::LabelOnly => return None,
        ImageDrawing::HalfBlocks => 1,
        ImageDrawing::Kitty => KITTY_CELL,
    };
    let (width, height) = (u64::from(width), u64::from(height));
    if width == 0 || height == 0 {
        return None;
    }
    // The unit of both sides is the width of a column, which is half the height of a row.
    let widest = u64::from(room.columns);
    let highest = 2 * u64::from(room.rows);
    let natural = (
        div_round(width, pixels_per_column),
        div_round(height, pixels_per_column),
    );
    let (columns, half_rows) = if natural.0 <= widest && natural.1 <= highest {
        natural
    } else if width * highest >= height * widest {
        (widest, div_round(widest * height, width))
    } else {
        (div_round(highest * width, height), highest)
    };
    let to_u16 = |cells: u64| u16::try_from(cells).unwrap_or(u16::MAX);
    Some(PictureSize {
        columns: to_u16(columns.clamp(1, widest.max(1))),
        rows: to_u16(half_rows.clamp(1, highest.max(1)).div_ceil(2)),
    })
}

fn div_round(dividend: u64, divisor: u64) -> u64 {
    (2 * dividend + divisor) / (2 * divisor)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn size(columns: u16, rows: u16) -> PictureSize {
        PictureSize { columns, rows }
    }

    #[test]
    fn pictures_keep_the_aspect_ratio_and_are_not_enlarged() {
        use ImageDrawing::{HalfBlocks, Kitty, LabelOnly};
        let all = size(48, 12);
        let cases = [
            ((1568, 882), HalfBlocks, all, Some(size(43, 12))),
            ((1568, 882), Kitty, all, Some(size(43, 12))),
            ((882, 1568), Kitty, all, Some(size(14, 12))),
            ((1000, 100), Kitty, all, Some(size(48, 3))),
            ((1568, 1), Kitty, all, Some(size(48, 1))),
            ((1, 1568), Kitty, all, Some(size(1, 12))),
            ((4, 4), HalfBlocks, all, Some(size(4, 2))),
            ((3, 5), HalfBlocks, all, Some(size(3, 3))),
            ((100, 80), Kitty, all, Some(size(13, 5))),
            ((1, 1), Kitty, all, Some(size(1, 1))),
            ((1600, 900), Kitty, size(48, 6), Some(size(21, 6))),
            ((u32::MAX, u32::MAX), Kitty, all, Some(size(24, 12))),
            ((0, 5), Kitty, all, None),
            ((100, 80), LabelOnly, all, None),
        ];
        for (image, drawing, room, expected) in cases {
            assert_eq!(fit(image, drawing, room), expected, "{image:?} {drawing:?}");
        }
    }

    #[test]
    fn small_conversations_have_small_pictures_or_none() {
        let cases = [
            ((120, 40), Some(size(48, 12))),
            ((40, 20), Some(size(38, 12))),
            ((120, 19), Some(size(48, 6))),
            ((24, 8), Some(size(22, 6))),
            ((23, 40), None),
            ((120, 7), None),
        ];
        for ((columns, rows), expected) in cases {
            assert_eq!(room(columns, rows, 2), expected, "{columns} {rows}");
        }
    }
}

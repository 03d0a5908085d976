//! Draws pictures into terminal cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Picture, PictureKey, Pictures, PixelGrid, kitty};
use crate::ui::theme::pixels;

/// Minimum opacity, from 0 to 255, of a pixel that is drawn. A pixel with less opacity counts as transparent.
const OPAQUE: u8 = 128;

/// A picture at its position on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedPicture {
    pub key: PictureKey,
    /// The area of the picture's visible part on the screen.
    pub at: Rect,
    /// Number of rows of the picture that are scrolled out above the visible part.
    pub skip: u16,
}

impl PlacedPicture {
    /// Draws the picture if it is loaded.
    pub fn draw(&self, pictures: &Pictures, buffer: &mut Buffer) {
        match pictures.get(&self.key) {
            Some(Picture::Pixels(grid)) => self.draw_pixels(grid, buffer),
            Some(Picture::InTerminal(id)) => self.draw_placeholders(*id, buffer),
            None => {}
        }
    }

    fn draw_pixels(&self, grid: &PixelGrid, buffer: &mut Buffer) {
        for position in self.at.intersection(buffer.area).positions() {
            let column = position.x - self.at.x;
            let row = 2 * usize::from(position.y - self.at.y + self.skip);
            let (symbol, style) =
                pixels::half_block(grid.pixel(column, row), grid.pixel(column, row + 1));
            buffer[position].set_symbol(symbol).set_style(style);
        }
    }

    fn draw_placeholders(&self, id: u32, buffer: &mut Buffer) {
        let style = pixels::image_id(id);
        for position in self.at.intersection(buffer.area).positions() {
            let row = position.y - self.at.y + self.skip;
            if let Some(symbol) = kitty::placeholder(row, position.x - self.at.x) {
                buffer[position].set_symbol(&symbol).set_style(style);
            }
        }
    }
}

impl PixelGrid {
    /// Returns the colour of the pixel at `column` and `row`, both counted from 0; there are two rows of pixels per
    /// cell. `None` if the pixel is transparent or outside of the picture.
    fn pixel(&self, column: u16, row: usize) -> Option<[u8; 3]> {
        let at = row.checked_mul(usize::from(self.width))? + usize::from(column);
        let pixel = self.pixels.get(at).filter(|_| column < self.width);
        pixel.and_then(|[red, green, blue, opacity]| {
            (*opacity >= OPAQUE).then_some([*red, *green, *blue])
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use ratatui::style::Style;

    use super::*;
    use crate::ui::pictures::PictureSize;

    fn placed_picture(columns: u16, rows: u16) -> PlacedPicture {
        let size = PictureSize { columns, rows };
        PlacedPicture {
            key: PictureKey {
                file: "a.png".into(),
                size,
            },
            at: Rect::new(1, 1, columns, rows),
            skip: 0,
        }
    }

    fn draw_picture(placed: &PlacedPicture, picture: Picture) -> Buffer {
        let mut pictures = Pictures::default();
        pictures.insert(placed.key.clone(), picture);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 4));
        placed.draw(&pictures, &mut buffer);
        buffer
    }

    fn cell(buffer: &Buffer, x: u16, y: u16) -> (String, Style) {
        (buffer[(x, y)].symbol().into(), buffer[(x, y)].style())
    }

    /// Returns a picture of 4 × 4 pixels: red is 10 times the column, green 10 times the row. The last row and the
    /// first pixel are transparent.
    fn grid() -> PixelGrid {
        let pixel = |at: u8| {
            let (column, row) = (at % 4, at / 4);
            let is_clear = row == 3 || at == 0;
            [10 * column, 10 * row, 0, if is_clear { 0 } else { 255 }]
        };
        PixelGrid {
            width: 4,
            pixels: (0..16).map(pixel).collect(),
        }
    }

    #[test]
    fn half_blocks_show_two_pixels_in_each_cell() {
        let buffer = draw_picture(&placed_picture(4, 2), Picture::Pixels(grid()));
        let style = |top, bottom| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
            let (symbol, style) = pixels::half_block(top, bottom);
            buffer[(0, 0)].set_symbol(symbol).set_style(style);
            cell(&buffer, 0, 0)
        };
        assert_eq!(cell(&buffer, 1, 1), style(None, Some([0, 10, 0])));
        assert_eq!(cell(&buffer, 1, 1).0, "▄");
        assert_eq!(
            cell(&buffer, 4, 1),
            style(Some([30, 0, 0]), Some([30, 10, 0]))
        );
        assert_eq!(cell(&buffer, 4, 1).0, "▀");
        assert_eq!(cell(&buffer, 2, 2), style(Some([10, 20, 0]), None));
        assert_eq!(cell(&buffer, 0, 1).0, " ");
        assert_eq!(cell(&buffer, 5, 1).0, " ");
        assert_eq!(cell(&buffer, 1, 3).0, " ");
    }

    #[test]
    fn scrolled_picture_shows_its_lower_rows() {
        let mut lower = placed_picture(4, 2);
        lower.at.height = 1;
        lower.skip = 1;
        let whole = draw_picture(&placed_picture(4, 2), Picture::Pixels(grid()));
        let buffer = draw_picture(&lower, Picture::Pixels(grid()));
        for x in 1..5 {
            assert_eq!(cell(&buffer, x, 1), cell(&whole, x, 2));
            assert_eq!(cell(&buffer, x, 2).0, " ");
        }
        let buffer = draw_picture(&lower, Picture::InTerminal(7));
        assert_eq!(cell(&buffer, 1, 1).0, "\u{10EEEE}\u{30D}\u{305}");
    }

    #[test]
    fn placeholders_name_image_row_and_column() {
        let buffer = draw_picture(&placed_picture(2, 2), Picture::InTerminal(0x01_02_03));
        assert_eq!(cell(&buffer, 1, 1).0, "\u{10EEEE}\u{305}\u{305}");
        assert_eq!(cell(&buffer, 2, 1).0, "\u{10EEEE}\u{305}\u{30D}");
        assert_eq!(cell(&buffer, 1, 2).0, "\u{10EEEE}\u{30D}\u{305}");
        assert_eq!(buffer[(1, 1)].fg.to_string(), "#010203");
        assert_eq!(cell(&buffer, 3, 1).0, " ");
    }
}

//! The cells of a terminal for a picture: their colours, how their words look, and which are written and which drawn. Pure.

use super::color::{Palette, Rgb, mixed};
use super::shapes::{Shape, shape};

/// How much of its colour a dim word keeps, in percent.
const DIM: u8 = 62;

/// How words look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub color: Rgb,
    pub is_bold: bool,
    pub is_italic: bool,
}

/// What a cell's character is for the picture.
pub enum Glyph {
    Blank,
    /// Every font with one width has it.
    Letter,
    Shape(Shape),
    /// It stands alone, in the middle of its cells: its font may have another width.
    Alone,
}

/// Words and ground of a cell as they are seen.
pub fn colors(cell: &vt100::Cell, palette: &Palette) -> (Rgb, Rgb) {
    let words = palette.rgb(cell.fgcolor(), palette.words);
    let ground = palette.rgb(cell.bgcolor(), palette.ground);
    let (words, ground) = if cell.inverse() {
        (ground, words)
    } else {
        (words, ground)
    };
    if cell.dim() {
        (mixed(words, ground, DIM), ground)
    } else {
        (words, ground)
    }
}

/// How the words of a cell look, in the colour that [`colors`] found.
pub fn look(cell: &vt100::Cell, color: Rgb) -> Look {
    Look {
        color,
        is_bold: cell.bold(),
        is_italic: cell.italic(),
    }
}

/// What the character of a cell is for the picture.
pub fn glyph(cell: &vt100::Cell) -> Glyph {
    let mut chars = cell.contents().chars();
    let Some(first) = chars.next() else {
        return Glyph::Blank;
    };
    let is_one = chars.next().is_none();
    match first {
        ' ' if is_one => Glyph::Blank,
        // Latin, and the punctuation of text.
        '!'..='\u{24f}' | '\u{2010}'..='\u{2027}' | '‹' | '›'
            if is_one && !cell.is_wide() && first != '•' =>
        {
            Glyph::Letter
        }
        sign if is_one => shape(sign).map_or(Glyph::Alone, Glyph::Shape),
        _ => Glyph::Alone,
    }
}

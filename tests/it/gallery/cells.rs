//! Classifies terminal cells for a picture: colours, text style, and whether a cell is written as text or drawn. Pure.

use super::color::{Palette, Rgb, mix};
use super::shapes::{Shape, shape};

/// How much of its colour dim text keeps, in percent. The rest is the background.
const DIM: u8 = 62;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    pub color: Rgb,
    pub is_bold: bool,
    pub is_italic: bool,
}

pub enum Glyph {
    Blank,
    /// A character that every monospaced font has, which is rendered together with its neighbours.
    Text,
    Shape(Shape),
    /// A character that is rendered alone and centred on its cells, because the font may give it another width.
    Centred,
}

/// Returns the foreground and background colours in which a cell is seen, after inversion and dimming.
pub fn colors(cell: &vt100::Cell, palette: &Palette) -> (Rgb, Rgb) {
    let foreground = palette.rgb(cell.fgcolor(), palette.foreground);
    let background = palette.rgb(cell.bgcolor(), palette.background);
    let (foreground, background) = if cell.inverse() {
        (background, foreground)
    } else {
        (foreground, background)
    };
    if cell.dim() {
        (mix(foreground, background, DIM), background)
    } else {
        (foreground, background)
    }
}

/// Returns the style of a cell's text. `color` is the foreground from [`colors`].
pub fn text_style(cell: &vt100::Cell, color: Rgb) -> TextStyle {
    TextStyle {
        color,
        is_bold: cell.bold(),
        is_italic: cell.italic(),
    }
}

pub fn glyph(cell: &vt100::Cell) -> Glyph {
    let mut chars = cell.contents().chars();
    let Some(first) = chars.next() else {
        return Glyph::Blank;
    };
    let is_one = chars.next().is_none();
    match first {
        ' ' if is_one => Glyph::Blank,
        // Latin characters and common punctuation.
        '!'..='\u{24f}' | '\u{2010}'..='\u{2027}' | '‹' | '›'
            if is_one && !cell.is_wide() && first != '•' =>
        {
            Glyph::Text
        }
        symbol if is_one => shape(symbol).map_or(Glyph::Centred, Glyph::Shape),
        _ => Glyph::Centred,
    }
}

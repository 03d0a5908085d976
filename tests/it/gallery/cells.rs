//! Classifies terminal cells for a picture: colours, text style, and whether a cell is written as text or drawn. Pure.

use super::color::{Palette, Rgb, mix};
use super::shapes::{Shape, shape};

/// Share of its colour that dim text keeps, in percent.
const DIM: u8 = 62;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    pub color: Rgb,
    pub is_bold: bool,
    pub is_italic: bool,
}

/// How the character of a cell is rendered.
pub enum Glyph {
    Blank,
    /// As text: every monospaced font has the character.
    Text,
    Shape(Shape),
    /// As text on its own, centred on its cells, because the font may have another width.
    Centred,
}

/// Returns the visible foreground and background colours of a cell.
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

/// Returns the text style of a cell, with a colour from [`colors`].
pub fn text_style(cell: &vt100::Cell, color: Rgb) -> TextStyle {
    TextStyle {
        color,
        is_bold: cell.bold(),
        is_italic: cell.italic(),
    }
}

/// Returns how the character of a cell is rendered.
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

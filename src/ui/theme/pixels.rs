//! The styles of cells that show a picture.

use ratatui::style::{Color, Style};

/// Returns the symbol and the style of a cell that shows two pixels, one above the other. `None` is a transparent
/// pixel.
pub fn half_block(top: Option<[u8; 3]>, bottom: Option<[u8; 3]>) -> (&'static str, Style) {
    let color = |[red, green, blue]: [u8; 3]| Color::Rgb(red, green, blue);
    match (top.map(color), bottom.map(color)) {
        (Some(top), Some(bottom)) => ("▀", Style::new().fg(top).bg(bottom)),
        (Some(top), None) => ("▀", Style::new().fg(top)),
        (None, Some(bottom)) => ("▄", Style::new().fg(bottom)),
        (None, None) => (" ", Style::new()),
    }
}

/// Returns the style of a placeholder for the image with this id. The text colour is the lower 24 bits of the id, as
/// the kitty graphics protocol defines it.
pub fn image_id(id: u32) -> Style {
    let [_, red, green, blue] = id.to_be_bytes();
    Style::new().fg(Color::Rgb(red, green, blue))
}

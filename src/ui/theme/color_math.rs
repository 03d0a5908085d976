//! Contrast of colours (WCAG 2.2), and conversion to the nearest colour of a smaller palette.
//!
//! Terminals let users redefine the sixteen ANSI colours; these calculations use common default values.

use ratatui::style::Color;

/// The sixteen ANSI colours in order, with the values of the Linux console.
pub const SIXTEEN: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [170, 0, 0]),
    (Color::Green, [0, 170, 0]),
    (Color::Yellow, [170, 85, 0]),
    (Color::Blue, [0, 0, 170]),
    (Color::Magenta, [170, 0, 170]),
    (Color::Cyan, [0, 170, 170]),
    (Color::Gray, [170, 170, 170]),
    (Color::DarkGray, [85, 85, 85]),
    (Color::LightRed, [255, 85, 85]),
    (Color::LightGreen, [85, 255, 85]),
    (Color::LightYellow, [255, 255, 85]),
    (Color::LightBlue, [85, 85, 255]),
    (Color::LightMagenta, [255, 85, 255]),
    (Color::LightCyan, [85, 255, 255]),
    (Color::White, [255, 255, 255]),
];

/// Returns the red, green and blue values of one of xterm's 256 colours.
pub fn rgb_of(index: u8) -> [u8; 3] {
    let step = |n: u8| [0, 95, 135, 175, 215, 255][usize::from(n % 6)];
    match index {
        0..16 => SIXTEEN[usize::from(index)].1,
        16..232 => {
            let n = index - 16;
            [step(n / 36), step(n / 6), step(n)]
        }
        232.. => [8 + 10 * (index - 232); 3],
    }
}

/// Returns the red, green and blue values of a colour; `None` for the terminal's default colours, which are unknown.
pub fn rgb(color: Color) -> Option<[u8; 3]> {
    match color {
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        Color::Indexed(index) => Some(rgb_of(index)),
        named => {
            let found = SIXTEEN.iter().find(|(color, _)| *color == named);
            found.map(|(_, rgb)| *rgb)
        }
    }
}

/// Returns the relative luminance of a colour, from 0 for black to 1 for white, as WCAG 2.2 defines it.
fn luminance(rgb: [u8; 3]) -> f64 {
    let linear = |channel: u8| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 {
            c / 12.92
        } else {
            ((c + 0.055) / 1.055).powf(2.4)
        }
    };
    let [red, green, blue] = rgb.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Returns the contrast ratio of two colours, from 1 to 21; `None` if one of them is a default colour of the terminal,
/// whose value is unknown.
pub fn contrast(one: Color, other: Color) -> Option<f64> {
    let (a, b) = (luminance(rgb(one)?), luminance(rgb(other)?));
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

/// Returns the colour in [`SIXTEEN`] that is nearest to `wanted`, given as red, green and blue.
pub fn nearest_of_sixteen(wanted: [u8; 3]) -> Color {
    let nearest = SIXTEEN
        .into_iter()
        .min_by_key(|(_, rgb)| distance(wanted, *rgb));
    nearest.map_or(Color::Reset, |(color, _)| color)
}

/// Returns the xterm colour from 16 to 255 that is nearest to `wanted`, given as red, green and blue.
pub fn nearest_of_256(wanted: [u8; 3]) -> Color {
    let nearest = (16..=255).min_by_key(|index| distance(wanted, rgb_of(*index)));
    nearest.map_or(Color::Reset, Color::Indexed)
}

/// Returns the weighted squared distance of two colours. Differences in green weigh most and in blue least, because
/// eyes distinguish greens best and blues worst.
fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    let [red, green, blue] = [0, 1, 2].map(|at: usize| {
        let far = u32::from(one[at].abs_diff(other[at]));
        far * far
    });
    3 * red + 4 * green + 2 * blue
}

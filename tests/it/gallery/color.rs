//! Converts terminal colours to RGB. Pure.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// The colours that a terminal theme defines.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    pub background: Rgb,
    pub foreground: Rgb,
    pub ansi: [Rgb; 16],
}

pub const DARK: Palette = Palette {
    background: Rgb(0x14, 0x17, 0x1c),
    foreground: Rgb(0xd3, 0xd8, 0xdf),
    ansi: [
        Rgb(0x2a, 0x2f, 0x37),
        Rgb(0xf2, 0x77, 0x7a),
        Rgb(0x82, 0xc9, 0x8b),
        Rgb(0xe6, 0xc0, 0x74),
        Rgb(0x74, 0xa8, 0xf0),
        Rgb(0xce, 0x93, 0xe8),
        Rgb(0x66, 0xc5, 0xd0),
        Rgb(0xc3, 0xc9, 0xd2),
        Rgb(0x7a, 0x84, 0x92),
        Rgb(0xff, 0x93, 0x93),
        Rgb(0x9d, 0xdf, 0xa5),
        Rgb(0xf5, 0xd4, 0x90),
        Rgb(0x94, 0xbf, 0xff),
        Rgb(0xe0, 0xb0, 0xf5),
        Rgb(0x8a, 0xdc, 0xe6),
        Rgb(0xf5, 0xf7, 0xfa),
    ],
};

impl Palette {
    /// Converts a terminal colour to RGB. `default` is the result for the terminal's default colour.
    pub fn rgb(&self, color: vt100::Color, default: Rgb) -> Rgb {
        match color {
            vt100::Color::Default => default,
            vt100::Color::Rgb(red, green, blue) => Rgb(red, green, blue),
            vt100::Color::Idx(index @ 0..16) => self.ansi[usize::from(index)],
            vt100::Color::Idx(index @ 16..232) => {
                let step = |n: u8| [0, 95, 135, 175, 215, 255][usize::from(n % 6)];
                let n = index - 16;
                Rgb(step(n / 36), step(n / 6), step(n))
            }
            vt100::Color::Idx(index) => {
                let grey = 8 + 10 * (index - 232);
                Rgb(grey, grey, grey)
            }
        }
    }
}

/// Blends two colours: `percent` of `over` and the rest of `under`.
pub fn mix(over: Rgb, under: Rgb, percent: u8) -> Rgb {
    let channel = |over: u8, under: u8| {
        let percent = u16::from(percent.min(100));
        let sum = u16::from(over) * percent + u16::from(under) * (100 - percent);
        u8::try_from(sum / 100).unwrap_or(u8::MAX)
    };
    Rgb(
        channel(over.0, under.0),
        channel(over.1, under.1),
        channel(over.2, under.2),
    )
}

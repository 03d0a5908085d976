//! Well-known palettes, mapped on the roles of a theme. Colours with too little contrast for text are lighter or darker
//! than in the original; `contrast.rs` checks all of them.

// Colours are written without separators, as in CSS.
#![allow(clippy::unreadable_literal)]

use crate::ui::theme::tones::{Tone, Tones};
use crate::ui::theme::{dark, light};

/// The 24-bit and the 256-colour value of each role, in the order of the fields of [`Tones`]: ground, panel, selection,
/// strong, text; dim, border, accent, ok, warn; error, working, waiting, code, tool.
type Colors = [(u32, u8); 15];

/// Builds a theme's colours from the 24-bit and 256-colour values in `colors`. The sixteen-colour values are those of
/// `base`, because terminals with sixteen colours cannot show the palette.
const fn tones(base: Tones, colors: Colors) -> Tones {
    const fn tone(base: Tone, (rgb, indexed): (u32, u8)) -> Tone {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Tone([red, green, blue], indexed, base.2)
    }
    #[rustfmt::skip]
    let [
        ground, panel, selection, strong, text,
        dim, border, accent, ok, warn,
        error, working, waiting, code, tool,
    ] = colors;
    Tones {
        ground: tone(base.ground, ground),
        panel: tone(base.panel, panel),
        selection: tone(base.selection, selection),
        strong: tone(base.strong, strong),
        text: tone(base.text, text),
        dim: tone(base.dim, dim),
        border: tone(base.border, border),
        accent: tone(base.accent, accent),
        ok: tone(base.ok, ok),
        warn: tone(base.warn, warn),
        error: tone(base.error, error),
        working: tone(base.working, working),
        waiting: tone(base.waiting, waiting),
        code: tone(base.code, code),
        tool: tone(base.tool, tool),
    }
}

#[rustfmt::skip]
pub const CATPPUCCIN_MOCHA: Tones = tones(dark::TONES, [
    (0x1e1e2e, 235), (0x181825, 234), (0x363a4f, 237), (0xf5f5ff, 231), (0xcdd6f4, 189),
    (0xa6adc8, 146), (0x6c7086, 243), (0x89b4fa, 111), (0xa6e3a1, 151), (0xf9e2af, 223),
    (0xf38ba8, 211), (0x94e2d5, 116), (0xcba6f7, 183), (0xfab387, 216), (0xb4befe, 147),
]);

#[rustfmt::skip]
pub const CATPPUCCIN_LATTE: Tones = tones(light::TONES, [
    (0xeff1f5, 255), (0xe6e9ef, 255), (0xd8dce6, 253), (0x1e2030, 235), (0x404357, 238),
    (0x575a6b, 59), (0x808392, 102), (0x1854cc, 25), (0x2a691d, 22), (0x825110, 58),
    (0xb40f30, 125), (0x10666b, 23), (0x7c33da, 92), (0x9c3e0b, 58), (0x4955a0, 59),
]);

#[rustfmt::skip]
pub const GRUVBOX: Tones = tones(dark::TONES, [
    (0x282828, 235), (0x1d2021, 234), (0x3c3836, 237), (0xfbf1c7, 230), (0xebdbb2, 187),
    (0xbdae93, 144), (0x807369, 243), (0x8eaea1, 109), (0xb8bb26, 142), (0xfabd2f, 214),
    (0xfb8476, 210), (0x8ec07c, 108), (0xd691a4, 181), (0xfe8420, 208), (0xd3a0c8, 182),
]);

#[rustfmt::skip]
pub const NORD: Tones = tones(dark::TONES, [
    (0x2e3440, 236), (0x272c36, 236), (0x3b4252, 238), (0xeceff4, 255), (0xd8dee9, 253),
    (0xaeb4c5, 146), (0x738096, 244), (0x88c0d0, 116), (0xa3be8c, 150), (0xebcb8b, 186),
    (0xdaa9ae, 181), (0x8fbcbb, 115), (0xc4a6bd, 249), (0xdba998, 180), (0x9fb7d0, 146),
]);

#[rustfmt::skip]
pub const TOKYO_NIGHT: Tones = tones(dark::TONES, [
    (0x1a1b26, 234), (0x16161e, 234), (0x283457, 237), (0xd5daf2, 189), (0xc0caf5, 153),
    (0x9aa5ce, 110), (0x606990, 242), (0x7aa2f7, 111), (0x9ece6a, 149), (0xe0af68, 179),
    (0xf7768e, 210), (0x73daca, 80), (0xbb9af7, 147), (0xff9e64, 215), (0xae92de, 146),
]);

#[rustfmt::skip]
pub const SOLARIZED_DARK: Tones = tones(dark::TONES, [
    (0x002b36, 234), (0x00222b, 234), (0x073f4d, 23), (0xfdf6e3, 230), (0xbac3c3, 252),
    (0x97a6a8, 151), (0x62767d, 242), (0x64acdd, 117), (0x9cae31, 185), (0xc39f31, 185),
    (0xee8987, 222), (0x52b3ad, 85), (0xe487b4, 219), (0xdc9170, 185), (0x9b9fd6, 152),
]);

#[rustfmt::skip]
pub const SOLARIZED_LIGHT: Tones = tones(light::TONES, [
    (0xfdf6e3, 230), (0xf5eedb, 255), (0xe8e1cd, 253), (0x002b36, 234), (0x3e4d51, 238),
    (0x51646a, 59), (0x7f8a8a, 102), (0x1b6496, 24), (0x596800, 58), (0x7a5c00, 58),
    (0xb72b29, 124), (0x1d6c67, 23), (0xb02d6c, 125), (0xa93f10, 124), (0x545999, 59),
]);

#[rustfmt::skip]
pub const ROSE_PINE: Tones = tones(dark::TONES, [
    (0x191724, 234), (0x1f1d2e, 235), (0x332f48, 237), (0xf2f0ff, 255), (0xe0def4, 189),
    (0x9c98b3, 248), (0x6e6a86, 243), (0x9ccfd8, 152), (0xa3be8c, 144), (0xf6c177, 216),
    (0xed7798, 210), (0x74a1b3, 109), (0xc4a7e7, 182), (0xebbcba, 181), (0xb3a1e0, 146),
]);

#[rustfmt::skip]
pub const DRACULA: Tones = tones(dark::TONES, [
    (0x282a36, 236), (0x21222c, 235), (0x3a3c4e, 238), (0xffffff, 231), (0xf8f8f2, 231),
    (0xa9b2d6, 146), (0x6776a7, 67), (0x8be9fd, 117), (0x50fa7b, 84), (0xf1fa8c, 228),
    (0xff8e8e, 216), (0x5af0d0, 86), (0xff7dc8, 213), (0xffb86c, 215), (0xc59ff9, 183),
]);

#[rustfmt::skip]
pub const ONE: Tones = tones(dark::TONES, [
    (0x282c34, 236), (0x21252b, 235), (0x343a45, 237), (0xe6e9ef, 255), (0xd0d3d9, 252),
    (0xa4abb4, 248), (0x737984, 244), (0x66b1ef, 75), (0x98c379, 108), (0xe5c07b, 180),
    (0xea9299, 210), (0x5bb8c4, 74), (0xd7a0e8, 182), (0xd4a373, 179), (0xd295e5, 177),
]);

#[rustfmt::skip]
pub const GITHUB_DARK: Tones = tones(dark::TONES, [
    (0x0d1117, 233), (0x161b22, 234), (0x1f3a5f, 237), (0xf0f6fc, 255), (0xe6edf3, 255),
    (0x9da6af, 248), (0x6e7681, 243), (0x5da9ff, 75), (0x45bb55, 77), (0xd39c29, 178),
    (0xf8827c, 210), (0x39c5cf, 80), (0xe487b8, 211), (0xffa657, 215), (0xbc8cff, 177),
]);

#[rustfmt::skip]
pub const GITHUB_LIGHT: Tones = tones(light::TONES, [
    (0xffffff, 231), (0xf6f8fa, 231), (0xd6e8fb, 189), (0x010409, 232), (0x1f2328, 235),
    (0x59636e, 59), (0x818b98, 245), (0x0960c7, 25), (0x177331, 23), (0x895b00, 58),
    (0xc5222d, 124), (0x176e73, 23), (0xae337d, 126), (0x953800, 88), (0x764acc, 92),
]);

#[rustfmt::skip]
pub const HIGH_CONTRAST: Tones = tones(dark::TONES, [
    (0x000000, 16), (0x0a0a0a, 232), (0x003a70, 23), (0xffffff, 231), (0xffffff, 231),
    (0xd6d6d6, 188), (0xa8a8a8, 248), (0x6fd3ff, 117), (0x5cff6e, 83), (0xffd93b, 221),
    (0xff8f8f, 222), (0x3dfff0, 87), (0xff9cf5, 219), (0xffc380, 222), (0xd0b8ff, 189),
]);

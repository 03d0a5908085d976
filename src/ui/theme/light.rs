//! The light theme: dark words on a paper ground.

use ratatui::style::Color;

use super::tones::{Tone, Tones};

/// Its colours.
pub const TONES: Tones = Tones {
    ground: Tone(0xfb_fb_f9, 231, Color::White),
    panel: Tone(0xf1_f2_ef, 255, Color::White),
    selection: Tone(0xcb_dd_f4, 189, Color::Black),
    strong: Tone(0x0b_0f_14, 233, Color::Black),
    text: Tone(0x24_29_2f, 235, Color::Black),
    dim: Tone(0x5c_65_70, 241, Color::DarkGray),
    border: Tone(0x7f_87_90, 102, Color::DarkGray),
    accent: Tone(0x0a_58_ad, 25, Color::Blue),
    ok: Tone(0x1b_6e_31, 22, Color::Green),
    warn: Tone(0x7d_52_00, 58, Color::Red),
    error: Tone(0xb0_24_1d, 124, Color::Red),
    working: Tone(0x00_6a_75, 23, Color::Blue),
    waiting: Tone(0x7a_32_a6, 90, Color::Magenta),
    code: Tone(0x85_38_0f, 88, Color::Magenta),
    tool: Tone(0x5f_45_a6, 54, Color::Magenta),
};

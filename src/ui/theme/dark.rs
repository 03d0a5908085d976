//! The dark theme: soft light words on a blue-black ground.

use ratatui::style::Color;

use super::tones::{Tone, Tones};

/// Its colours.
pub const TONES: Tones = Tones {
    ground: Tone(0x12_16_1c, 234, Color::Black),
    panel: Tone(0x1a_20_28, 235, Color::Black),
    selection: Tone(0x2b_3a_4f, 237, Color::Gray),
    strong: Tone(0xf2_f5_f9, 255, Color::White),
    text: Tone(0xd5_db_e4, 253, Color::White),
    dim: Tone(0x8d_98_a9, 246, Color::Gray),
    border: Tone(0x64_71_82, 243, Color::DarkGray),
    accent: Tone(0x78_b7_ff, 75, Color::LightCyan),
    ok: Tone(0x7f_cf_8f, 114, Color::LightGreen),
    warn: Tone(0xe8_b8_64, 179, Color::LightYellow),
    error: Tone(0xff_80_80, 210, Color::LightRed),
    working: Tone(0x5c_d0_c4, 80, Color::LightGreen),
    waiting: Tone(0xd9_a6_ff, 183, Color::LightMagenta),
    code: Tone(0xe3_b9_8f, 180, Color::LightYellow),
    tool: Tone(0xb3_a8_f0, 147, Color::LightMagenta),
};

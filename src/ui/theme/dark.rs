//! The dark theme: soft light text on a blue-black background.

use ratatui::style::Color;

use crate::ui::theme::tones::{Tone, Tones};

pub const TONES: Tones = Tones {
    ground: Tone([0x12, 0x16, 0x1c], 234, Color::Black),
    panel: Tone([0x1a, 0x20, 0x28], 235, Color::Black),
    selection: Tone([0x2b, 0x3a, 0x4f], 237, Color::Gray),
    strong: Tone([0xf2, 0xf5, 0xf9], 255, Color::White),
    text: Tone([0xd5, 0xdb, 0xe4], 253, Color::White),
    dim: Tone([0x9a, 0xa5, 0xb5], 248, Color::Gray),
    border: Tone([0x64, 0x71, 0x82], 243, Color::DarkGray),
    accent: Tone([0x78, 0xb7, 0xff], 75, Color::LightCyan),
    ok: Tone([0x7f, 0xcf, 0x8f], 114, Color::LightGreen),
    warn: Tone([0xe8, 0xb8, 0x64], 179, Color::LightYellow),
    error: Tone([0xff, 0x80, 0x80], 210, Color::LightRed),
    working: Tone([0x5c, 0xd0, 0xc4], 80, Color::LightGreen),
    waiting: Tone([0xd9, 0xa6, 0xff], 183, Color::LightMagenta),
    code: Tone([0xe3, 0xb9, 0x8f], 180, Color::LightYellow),
    tool: Tone([0xb3, 0xa8, 0xf0], 147, Color::LightMagenta),
};

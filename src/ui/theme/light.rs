//! The light theme: dark text on an off-white background.

use ratatui::style::Color;

use crate::ui::theme::tones::{Tone, Tones};

pub const TONES: Tones = Tones {
    ground: Tone([0xfb, 0xfb, 0xf9], 231, Color::White),
    panel: Tone([0xf1, 0xf2, 0xef], 255, Color::White),
    selection: Tone([0xcb, 0xdd, 0xf4], 189, Color::Black),
    strong: Tone([0x0b, 0x0f, 0x14], 233, Color::Black),
    text: Tone([0x24, 0x29, 0x2f], 235, Color::Black),
    dim: Tone([0x56, 0x5f, 0x6a], 240, Color::DarkGray),
    border: Tone([0x7f, 0x87, 0x90], 102, Color::DarkGray),
    accent: Tone([0x0a, 0x58, 0xad], 25, Color::Blue),
    ok: Tone([0x1b, 0x6e, 0x31], 22, Color::Green),
    warn: Tone([0x7d, 0x52, 0x00], 58, Color::Red),
    error: Tone([0xb0, 0x24, 0x1d], 124, Color::Red),
    working: Tone([0x00, 0x6a, 0x75], 23, Color::Blue),
    waiting: Tone([0x7a, 0x32, 0xa6], 90, Color::Magenta),
    code: Tone([0x85, 0x38, 0x0f], 88, Color::Magenta),
    tool: Tone([0x5f, 0x45, 0xa6], 54, Color::Magenta),
};

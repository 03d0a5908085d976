//! Decides how the terminal draws images.

use crate::domain::screen::ImageSetting;
use crate::ui::theme::ColorDepth;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageDrawing {
    /// Images are not drawn; only their labels are shown.
    #[default]
    LabelOnly,
    /// Images are drawn with half blocks: each cell shows two pixels, one above the other.
    HalfBlocks,
    /// Images are drawn with the kitty graphics protocol: the terminal receives each image once, and draws it in the
    /// cells that contain placeholder characters.
    Kitty,
}

/// The environment variables by which a terminal is recognized.
#[derive(Debug, Clone, Copy, Default)]
pub struct TerminalNames<'a> {
    /// `TERM`: the type of the terminal, such as `xterm-kitty`; `None` if it is not set.
    pub term: Option<&'a str>,
    /// `TERM_PROGRAM`: the name of the terminal program, such as `ghostty`; `None` if it is not set.
    pub program: Option<&'a str>,
    /// `KITTY_WINDOW_ID`, which kitty sets for programs in its windows; `None` if it is not set.
    pub kitty_window: Option<&'a str>,
    /// A variable that tmux, screen or zellij sets: `TMUX`, `STY` or `ZELLIJ`.
    pub multiplexer: Option<&'a str>,
}

impl TerminalNames<'_> {
    /// Returns whether the terminal is known to draw images in cells that contain the placeholder characters of the
    /// kitty graphics protocol. Returns `false` in a terminal multiplexer, because it does not pass the images on to
    /// the terminal.
    fn has_placeholders(self) -> bool {
        let filled = |name: Option<&str>| name.is_some_and(|text| !text.is_empty());
        let term = self.term.unwrap_or_default();
        if filled(self.multiplexer) || term.starts_with("tmux") || term.starts_with("screen") {
            return false;
        }
        if matches!(term, "xterm-kitty" | "xterm-ghostty") {
            return true;
        }
        // Another terminal that was started from kitty inherits `KITTY_WINDOW_ID`, but most set `TERM_PROGRAM`.
        match self.program {
            Some("ghostty" | "kitty") => true,
            None | Some("") => filled(self.kitty_window),
            Some(_) => false,
        }
    }
}

impl ImageDrawing {
    /// Returns how to draw images with this setting, terminal and number of colours. Half blocks need 24-bit colours,
    /// the kitty protocol needs at least 16; otherwise only the labels are shown.
    pub fn of(
        setting: ImageSetting,
        terminal: TerminalNames<'_>,
        depth: ColorDepth,
    ) -> ImageDrawing {
        match setting {
            ImageSetting::Off => ImageDrawing::LabelOnly,
            _ if depth == ColorDepth::None => ImageDrawing::LabelOnly,
            ImageSetting::Auto if terminal.has_placeholders() => ImageDrawing::Kitty,
            ImageSetting::Auto | ImageSetting::Blocks if depth == ColorDepth::True => {
                ImageDrawing::HalfBlocks
            }
            ImageSetting::Auto | ImageSetting::Blocks => ImageDrawing::LabelOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_follows_setting_terminal_and_colours() {
        use ColorDepth::{Indexed, None as Colourless, Sixteen, True};
        use ImageDrawing::{HalfBlocks, Kitty, LabelOnly};
        use ImageSetting::{Auto, Blocks, Off};
        let named = |term| TerminalNames {
            term: Some(term),
            ..TerminalNames::default()
        };
        let xterm = named("xterm-256color");
        let program = |program| TerminalNames {
            program: Some(program),
            ..xterm
        };
        let in_kitty = TerminalNames {
            kitty_window: Some("1"),
            ..xterm
        };
        let started_in_kitty = TerminalNames {
            kitty_window: Some("1"),
            ..program("vscode")
        };
        let in_tmux = TerminalNames {
            multiplexer: Some("/tmp/tmux-0/default,1,0"),
            ..named("xterm-kitty")
        };
        let cases = [
            (Auto, named("xterm-kitty"), Indexed, Kitty),
            (Auto, named("xterm-ghostty"), True, Kitty),
            (Auto, in_kitty, True, Kitty),
            (Auto, program("ghostty"), True, Kitty),
            (Auto, started_in_kitty, True, HalfBlocks),
            (Auto, in_tmux, True, HalfBlocks),
            (Auto, in_tmux, Indexed, LabelOnly),
            (Auto, named("tmux-256color"), True, HalfBlocks),
            (Auto, xterm, True, HalfBlocks),
            (Auto, xterm, Indexed, LabelOnly),
            (Auto, TerminalNames::default(), Sixteen, LabelOnly),
            (Auto, named("xterm-kitty"), Colourless, LabelOnly),
            (Blocks, named("xterm-kitty"), True, HalfBlocks),
            (Blocks, named("xterm-kitty"), Indexed, LabelOnly),
            (Off, named("xterm-kitty"), True, LabelOnly),
        ];
        for (setting, terminal, depth, expected) in cases {
            let found = ImageDrawing::of(setting, terminal, depth);
            assert_eq!(found, expected, "{setting:?} {terminal:?} {depth:?}");
        }
    }
}

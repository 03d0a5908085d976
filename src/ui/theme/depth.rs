//! Colour depth of the terminal.

/// The colours that the screen may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// No colours, for example because `NO_COLOR` is set.
    None,
    /// The sixteen ANSI colours, as the terminal's palette defines them.
    #[default]
    Sixteen,
    /// The 256 colours of xterm.
    Indexed,
    /// 24-bit colours.
    True,
}

/// Substrings of `TERM` for terminals with 256 colours.
const WITH_256: [&str; 6] = [
    "256color",
    "kitty",
    "alacritty",
    "ghostty",
    "foot",
    "wezterm",
];

impl ColorDepth {
    #[cfg(test)]
    pub const ALL: [ColorDepth; 4] = [
        ColorDepth::None,
        ColorDepth::Sixteen,
        ColorDepth::Indexed,
        ColorDepth::True,
    ];

    /// Determines the depth from the values of three environment variables. A non-empty `NO_COLOR` means no colours
    /// (<https://no-color.org>). `COLORTERM` with the value `truecolor` or `24bit` means 24-bit colours. `TERM` with
    /// the name of a terminal that is known to have 256 colours means 256 colours. In all other cases, the depth is
    /// sixteen colours.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> ColorDepth {
        if no_color.is_some_and(|text| !text.is_empty()) {
            return ColorDepth::None;
        }
        if matches!(colorterm, Some("truecolor" | "24bit")) {
            return ColorDepth::True;
        }
        let term = term.unwrap_or_default();
        if WITH_256.iter().any(|name| term.contains(name)) {
            ColorDepth::Indexed
        } else {
            ColorDepth::Sixteen
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_follows_the_environment() {
        let xterm = Some("xterm-256color");
        let cases = [
            (None, None, None, ColorDepth::Sixteen),
            (None, None, Some("linux"), ColorDepth::Sixteen),
            (None, None, xterm, ColorDepth::Indexed),
            (None, Some(""), xterm, ColorDepth::Indexed),
            (None, Some("truecolor"), xterm, ColorDepth::True),
            (None, Some("24bit"), None, ColorDepth::True),
            (Some(""), None, xterm, ColorDepth::Indexed),
            (Some("1"), Some("truecolor"), xterm, ColorDepth::None),
            (Some("0"), None, None, ColorDepth::None),
        ];
        for (no_color, colorterm, term, expected) in cases {
            let found = ColorDepth::of(no_color, colorterm, term);
            assert_eq!(found, expected, "{no_color:?} {colorterm:?} {term:?}");
        }
    }
}

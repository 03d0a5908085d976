//! How many colours the terminal has.

/// How many colours the screen may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// None: the person does not want any.
    None,
    /// The sixteen that every terminal has; which they are is the person's choice.
    #[default]
    Sixteen,
    /// The 256 of xterm.
    Indexed,
    /// All.
    True,
}

/// What the names of terminals with 256 colours contain.
const WITH_256: [&str; 6] = [
    "256color",
    "kitty",
    "alacritty",
    "ghostty",
    "foot",
    "wezterm",
];

impl ColorDepth {
    /// All of them.
    #[cfg(test)]
    pub const ALL: [ColorDepth; 4] = [
        ColorDepth::None,
        ColorDepth::Sixteen,
        ColorDepth::Indexed,
        ColorDepth::True,
    ];

    /// What the environment says: `NO_COLOR` set to anything but nothing means none
    /// (<https://no-color.org>); `COLORTERM` promises all with `truecolor` or `24bit`; the name in `TERM`
    /// tells of 256.
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
    fn the_environment_says_how_many() {
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

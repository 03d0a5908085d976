//! Test: whether people can read the themes that bring their own grounds (WCAG 2.2, 1.4.3 and 1.4.11).

use ratatui::style::{Color, Modifier};

use super::{ColorDepth, Theme, ThemeName};

/// Least contrast of words (WCAG 1.4.3).
const WORDS: f64 = 4.5;
/// Least contrast of frames (WCAG 1.4.11).
const FRAMES: f64 = 3.0;
/// Least contrast with sixteen colours: the console's dark grey on black and green on white do no better.
const SIXTEEN_LEAST: f64 = 2.8;

/// The sixteen colours as the console of Linux and most lists of defaults have them.
const SIXTEEN: [(Color, [u8; 3]); 16] = [
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

/// Red, green and blue of one of xterm's colours from 16 on.
fn rgb_of(index: u8) -> [u8; 3] {
    let step = |n: u8| [0, 95, 135, 175, 215, 255][usize::from(n % 6)];
    match index {
        0..16 => panic!("{index}: which colour that is, is the person's choice"),
        16..232 => {
            let n = index - 16;
            [step(n / 36), step(n / 6), step(n)]
        }
        232.. => [8 + 10 * (index - 232); 3],
    }
}

fn rgb(color: Color) -> [u8; 3] {
    match color {
        Color::Rgb(red, green, blue) => [red, green, blue],
        Color::Indexed(index) => rgb_of(index),
        named => {
            let found = SIXTEEN.iter().find(|(color, _)| *color == named);
            found
                .unwrap_or_else(|| panic!("{named:?} has no place here"))
                .1
        }
    }
}

/// Relative luminance (WCAG 2.2, definitions).
fn luminance(color: Color) -> f64 {
    let linear = |channel: u8| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 {
            c / 12.92
        } else {
            ((c + 0.055) / 1.055).powf(2.4)
        }
    };
    let [red, green, blue] = rgb(color).map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: Color, other: Color) -> f64 {
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// What of a theme is too hard to read at that depth.
fn problems(name: ThemeName, depth: ColorDepth) -> Vec<String> {
    let theme = Theme::new(name, depth);
    let mut out = Vec::new();
    let grounds = [
        ("ground", theme.ground),
        ("panel", theme.panel),
        ("selection", theme.selection),
    ];
    // A reversed row has the words' colour for its ground.
    let plain = |(_, style): &(&str, ratatui::style::Style)| {
        !style.add_modifier.contains(Modifier::REVERSED)
    };
    for (under, ground) in grounds.into_iter().filter(plain) {
        let ground = ground.bg.unwrap();
        for (style, color) in theme
            .styles()
            .into_iter()
            .filter_map(|(n, s)| Some((n, s.fg?)))
        {
            let least = match (style, under) {
                // No frame lies on the row that keys act on.
                ("border", "selection") => continue,
                _ if depth == ColorDepth::Sixteen => SIXTEEN_LEAST,
                ("border", _) => FRAMES,
                _ => WORDS,
            };
            let found = contrast(color, ground);
            if found < least {
                out.push(format!(
                    "{name:?} {depth:?}: {style} on {under} {found:.2}, {least} at least"
                ));
            }
        }
    }
    out
}

#[test]
fn the_measure_is_right() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found}");
    close(
        contrast(Color::Rgb(0, 0, 0), Color::Rgb(255, 255, 255)),
        21.0,
    );
    close(contrast(Color::Rgb(0x76, 0x76, 0x76), Color::White), 4.54);
    close(contrast(Color::White, Color::Indexed(231)), 1.0);
}

#[test]
fn every_word_stands_out_from_its_ground() {
    let mut found = Vec::new();
    for name in [ThemeName::Dark, ThemeName::Light] {
        for depth in [ColorDepth::True, ColorDepth::Indexed, ColorDepth::Sixteen] {
            found.extend(problems(name, depth));
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn the_states_differ_in_colour() {
    for name in [ThemeName::Dark, ThemeName::Light] {
        let theme = Theme::new(name, ColorDepth::True);
        let states = [
            theme.ok,
            theme.warn,
            theme.error,
            theme.working,
            theme.waiting,
            theme.accent,
        ];
        for (at, one) in states.iter().enumerate() {
            for other in &states[at + 1..] {
                assert_ne!(one.fg, other.fg, "{name:?}");
            }
        }
    }
}

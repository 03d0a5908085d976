//! Contrast tests for the themes with their own background (WCAG 2.2, 1.4.3 and 1.4.11).

use ratatui::style::{Color, Modifier};

use crate::ui::theme::{ColorDepth, Theme, ThemeName, color_math};

/// Minimum contrast ratio of text (WCAG 1.4.3).
const TEXT_CONTRAST_MIN: f64 = 4.5;
/// Minimum contrast ratio of frames (WCAG 1.4.11).
const FRAME_CONTRAST_MIN: f64 = 3.0;
/// Minimum contrast ratio of text and frames in sixteen colours. It is low because of dark grey on black and green on
/// white in the Linux console.
const SIXTEEN_CONTRAST_MIN: f64 = 2.8;

fn contrast(one: Color, other: Color) -> f64 {
    color_math::contrast(one, other)
        .unwrap_or_else(|| panic!("unknown colour: {one:?} or {other:?}"))
}

/// The styles that are drawn on the backgrounds of code and of changed lines.
const CODE_STYLES: [&str; 12] = [
    "text",
    "dim",
    "code",
    "added",
    "removed",
    "keyword",
    "string",
    "number",
    "comment",
    "function",
    "type_name",
    "assistant",
];

/// Returns a message for each style of the theme that has too little contrast at this colour depth.
fn problems(name: ThemeName, depth: ColorDepth) -> Vec<String> {
    let theme = Theme::new(name, depth);
    let mut out = Vec::new();
    let grounds = [
        ("ground", theme.ground),
        ("panel", theme.panel),
        ("selection", theme.selection),
        ("code_ground", theme.code_ground),
        ("added_line", theme.added_line),
        ("removed_line", theme.removed_line),
    ];
    // Excludes a reversed row, whose background is the text colour, and the backgrounds that a smaller colour depth
    // lacks.
    let plain = |(_, style): &(&str, ratatui::style::Style)| {
        !style.add_modifier.contains(Modifier::REVERSED) && style.bg.is_some()
    };
    for (under, ground) in grounds.into_iter().filter(plain) {
        let ground = ground.bg.unwrap();
        for (style, color) in theme
            .styles()
            .into_iter()
            .filter_map(|(n, s)| Some((n, s.fg?)))
        {
            let least = match (style, under) {
                // No frame is drawn on the selected row.
                ("border", "selection") => continue,
                (style, "code_ground" | "added_line" | "removed_line")
                    if !CODE_STYLES.contains(&style) =>
                {
                    continue;
                }
                _ if depth == ColorDepth::Sixteen => SIXTEEN_CONTRAST_MIN,
                ("border", _) => FRAME_CONTRAST_MIN,
                _ => TEXT_CONTRAST_MIN,
            };
            let found = contrast(color, ground);
            if found < least {
                out.push(format!(
                    "{name:?} {depth:?}: contrast of {style} on {under} is {found:.2}, minimum {least}"
                ));
            }
        }
    }
    for (name_of_style, style) in [
        ("added_word", theme.added_word),
        ("removed_word", theme.removed_word),
    ] {
        if let (Some(text), Some(ground)) = (style.fg, style.bg) {
            let found = contrast(text, ground);
            if found < TEXT_CONTRAST_MIN {
                out.push(format!(
                    "{name:?} {depth:?}: contrast within {name_of_style} is {found:.2}"
                ));
            }
        }
    }
    out
}

/// Iterates over the themes with a background of their own.
fn with_background() -> impl Iterator<Item = ThemeName> {
    let own = [ThemeName::Terminal, ThemeName::Mono];
    ThemeName::ALL
        .into_iter()
        .filter(move |name| !own.contains(name))
}

#[test]
fn contrast_matches_known_values() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found}");
    close(
        contrast(Color::Rgb(0, 0, 0), Color::Rgb(255, 255, 255)),
        21.0,
    );
    close(contrast(Color::Rgb(0x76, 0x76, 0x76), Color::White), 4.54);
    close(contrast(Color::White, Color::Indexed(231)), 1.0);
}

#[test]
fn all_text_has_enough_contrast() {
    let mut found = Vec::new();
    for name in with_background() {
        for depth in [ColorDepth::True, ColorDepth::Indexed, ColorDepth::Sixteen] {
            found.extend(problems(name, depth));
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn status_colours_differ() {
    for name in with_background() {
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

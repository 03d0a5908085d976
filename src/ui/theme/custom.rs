//! Builds custom themes: the user's colours over a base theme, reduced to the terminal's colour depth.
//!
//! A colour with too little contrast to its background is replaced, because a custom theme must not make a request
//! unreadable. The caller gets the roles of the replaced colours.

use ratatui::style::{Color, Modifier, Style};

use crate::domain::custom_theme::{ColorRole, CustomTheme, ThemeColor};
use crate::ui::theme::color_math::contrast;
use crate::ui::theme::{ColorDepth, Theme, ThemeName, color_math, tints};

/// Contrast ratio below which text counts as unreadable. More contrast is up to the theme's author.
const CONTRAST_MIN: f64 = 1.5;

/// Builds the custom theme `own` for a colour depth. Also returns the roles whose colours were replaced because they
/// were unreadable. Without colours ([`ColorDepth::None`]), returns the theme of the base unchanged.
pub fn theme(own: &CustomTheme, depth: ColorDepth) -> (Theme, Vec<ColorRole>) {
    let mut theme = Theme::new(own.base, depth);
    if depth == ColorDepth::None {
        return (theme, Vec::new());
    }
    for (meaning, theme_color) in &own.colors {
        set_color(&mut theme, *meaning, color(*theme_color, depth));
    }
    let mut hidden = Vec::new();
    fix_grounds(&mut theme, own, &mut hidden);
    fix_words(&mut theme, &mut hidden);
    if own.base != ThemeName::Mono {
        tints::set(&mut theme);
    }
    (theme, hidden)
}

fn color(theme_color: ThemeColor, depth: ColorDepth) -> Color {
    match (theme_color, depth) {
        (_, ColorDepth::None) => Color::Reset,
        (ThemeColor::Indexed(index @ 0..16), _) => color_math::SIXTEEN[usize::from(index)].0,
        (ThemeColor::Indexed(index), ColorDepth::Sixteen) => {
            color_math::nearest_of_sixteen(color_math::rgb_of(index))
        }
        (ThemeColor::Indexed(index), ColorDepth::Indexed | ColorDepth::True) => {
            Color::Indexed(index)
        }
        (ThemeColor::Rgb(rgb), ColorDepth::Sixteen) => color_math::nearest_of_sixteen(rgb),
        (ThemeColor::Rgb(rgb), ColorDepth::Indexed) => color_math::nearest_of_256(rgb),
        (ThemeColor::Rgb([red, green, blue]), ColorDepth::True) => Color::Rgb(red, green, blue),
    }
}

fn set_color(theme: &mut Theme, meaning: ColorRole, color: Color) {
    match meaning {
        ColorRole::Ground => {
            theme.ground.bg = Some(color);
            theme.found_here.bg = Some(color);
        }
        ColorRole::Panel => theme.panel.bg = Some(color),
        ColorRole::Selection => {
            theme.selection = Style::new()
                .bg(color)
                .add_modifier(Modifier::BOLD)
                .remove_modifier(Modifier::DIM);
        }
        ColorRole::Text
        | ColorRole::Dim
        | ColorRole::Title
        | ColorRole::Focus
        | ColorRole::Border
        | ColorRole::Accent
        | ColorRole::Ok
        | ColorRole::Warn
        | ColorRole::Error
        | ColorRole::Working
        | ColorRole::Waiting
        | ColorRole::Code
        | ColorRole::Tool => {
            for style in text_styles(theme, meaning) {
                style.fg = Some(color);
                // Without the modifier, only the user's colour determines how dim the text is.
                style.add_modifier.remove(Modifier::DIM);
            }
        }
    }
}

/// Returns the styles of `theme` whose text colour the role `meaning` sets. Empty for roles that set a background.
fn text_styles(theme: &mut Theme, meaning: ColorRole) -> Vec<&mut Style> {
    match meaning {
        ColorRole::Ground | ColorRole::Panel | ColorRole::Selection => vec![],
        ColorRole::Text => vec![
            &mut theme.text,
            &mut theme.assistant,
            &mut theme.ground,
            &mut theme.panel,
        ],
        ColorRole::Dim => vec![&mut theme.dim, &mut theme.quote, &mut theme.comment],
        ColorRole::Title => vec![&mut theme.title, &mut theme.heading],
        ColorRole::Focus => vec![&mut theme.title_focused, &mut theme.border_focused],
        ColorRole::Border => vec![&mut theme.border],
        ColorRole::Accent => vec![
            &mut theme.accent,
            &mut theme.link,
            &mut theme.user,
            &mut theme.function,
        ],
        ColorRole::Ok => vec![
            &mut theme.ok,
            &mut theme.yes,
            &mut theme.added,
            &mut theme.string,
        ],
        ColorRole::Warn => vec![&mut theme.warn, &mut theme.number, &mut theme.found_here],
        ColorRole::Error => vec![&mut theme.error, &mut theme.no, &mut theme.removed],
        ColorRole::Working => vec![&mut theme.working, &mut theme.type_name],
        ColorRole::Waiting => vec![&mut theme.waiting, &mut theme.border_waiting],
        ColorRole::Code => vec![&mut theme.code],
        ColorRole::Tool => vec![&mut theme.tool, &mut theme.keyword],
    }
}

fn is_hidden(words: Option<Color>, ground: Option<Color>) -> bool {
    let both = words.zip(ground);
    both.and_then(|(words, ground)| contrast(words, ground))
        .is_some_and(|contrast| contrast < CONTRAST_MIN)
}

fn is_known(color: Option<Color>) -> bool {
    color.is_some_and(|color| color != Color::Reset)
}

/// Returns black or white, whichever has more contrast to `ground`; white if the value of `ground` is unknown.
fn readable_on(ground: Option<Color>) -> Color {
    let on = |words| contrast(words, ground.unwrap_or_default()).unwrap_or_default();
    if on(Color::Black) > on(Color::White) {
        Color::Black
    } else {
        Color::White
    }
}

/// Replaces colours so that normal text is readable on the backgrounds of the screen, of popups and of the selected
/// row. Adds the roles of unreadable colours to `hidden`.
fn fix_grounds(theme: &mut Theme, own: &CustomTheme, hidden: &mut Vec<ColorRole>) {
    let ground = theme.ground.bg;
    if is_known(ground) {
        // The terminal's default text colour is only readable on its default background.
        if !is_known(theme.text.fg) {
            set_color(theme, ColorRole::Text, readable_on(ground));
        } else if is_hidden(theme.text.fg, ground) {
            set_color(theme, ColorRole::Text, readable_on(ground));
            hidden.push(ColorRole::Text);
        }
        if !is_known(theme.panel.bg) {
            theme.panel.bg = ground;
        }
    }
    let text = theme.text.fg;
    if is_hidden(text, theme.panel.bg) {
        theme.panel.bg = ground;
        hidden.push(ColorRole::Panel);
    } else if is_known(theme.panel.bg) && !is_known(text) {
        theme.panel.fg = Some(readable_on(theme.panel.bg));
    }
    if own.colors.contains_key(&ColorRole::Selection) && !is_known(text) {
        theme.selection.fg = Some(readable_on(theme.selection.bg));
    } else if !is_reversed(theme.selection) && is_hidden(text, theme.selection.bg) {
        theme.selection = Style::new()
            .fg(text.unwrap_or_default())
            .bg(ground.unwrap_or_default())
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM);
        hidden.push(ColorRole::Selection);
    }
}

fn is_reversed(style: Style) -> bool {
    style.add_modifier.contains(Modifier::REVERSED)
}

/// Replaces unreadable text colours by the colour of normal text, and adds their roles to `hidden`. Frames are exempt.
fn fix_words(theme: &mut Theme, hidden: &mut Vec<ColorRole>) {
    let mut grounds = vec![theme.ground.bg, theme.panel.bg];
    // A selection with a text colour overrides the colours of the row's text. So only a selection without one is
    // checked.
    if !is_reversed(theme.selection) && theme.selection.fg.is_none() {
        grounds.push(theme.selection.bg);
    }
    // If `text` is `None`, the style keeps the text colour of the style under it.
    let text = theme.text.fg;
    for meaning in ColorRole::ALL {
        if matches!(meaning, ColorRole::Text | ColorRole::Border) {
            continue;
        }
        let mut is_replaced = false;
        for style in text_styles(theme, meaning) {
            if grounds.iter().any(|ground| is_hidden(style.fg, *ground)) {
                style.fg = text;
                is_replaced = true;
            }
        }
        if is_replaced {
            hidden.push(meaning);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::ui::theme::{ThemeChoice, ThemeName};

    /// The entries of a theme, the colour depth, and the roles that are unreadable.
    type Case<'a> = (&'a [(&'a str, &'a str)], ColorDepth, &'a [ColorRole]);

    fn own(entries: &[(&str, &str)]) -> CustomTheme {
        CustomTheme::parse("dusk", entries.iter().copied()).unwrap()
    }

    fn theme_of_entries(entries: &[(&str, &str)], depth: ColorDepth) -> (Theme, Vec<ColorRole>) {
        theme(&own(entries), depth)
    }

    #[test]
    fn empty_custom_theme_equals_its_base() {
        for name in ThemeName::ALL {
            for depth in ColorDepth::ALL {
                let found = theme_of_entries(&[("base", name.word())], depth);
                assert_eq!(
                    found,
                    (Theme::new(name, depth), vec![]),
                    "{name:?} {depth:?}"
                );
            }
        }
    }

    #[test]
    fn colours_are_reduced_to_the_colour_depth() {
        let entries = [
            ("base", "dark"),
            ("ok", "#10e020"),
            ("warn", "208"),
            ("error", "light-red"),
        ];
        let colours = |depth| {
            let (theme, hidden) = theme_of_entries(&entries, depth);
            assert_eq!(hidden, []);
            [theme.ok.fg, theme.warn.fg, theme.error.fg].map(Option::unwrap_or_default)
        };
        assert_eq!(
            colours(ColorDepth::True),
            [
                Color::Rgb(0x10, 0xe0, 0x20),
                Color::Indexed(208),
                Color::LightRed
            ]
        );
        assert_eq!(
            colours(ColorDepth::Indexed),
            [Color::Indexed(40), Color::Indexed(208), Color::LightRed]
        );
        assert_eq!(
            colours(ColorDepth::Sixteen),
            [Color::Green, Color::LightRed, Color::LightRed]
        );
        assert_eq!(
            theme_of_entries(&entries, ColorDepth::None).0,
            Theme::new(ThemeName::Mono, ColorDepth::None)
        );
    }

    #[test]
    fn meaning_sets_the_colour_of_all_its_styles() {
        let (theme, _) = theme_of_entries(
            &[
                ("title", "red"),
                ("focus", "blue"),
                ("dim", "green"),
                ("selection", "yellow"),
            ],
            ColorDepth::True,
        );
        assert_eq!(
            (theme.title.fg, theme.heading.fg),
            (Some(Color::Red), Some(Color::Red))
        );
        assert_eq!(
            (theme.title_focused.fg, theme.border_focused.fg),
            (Some(Color::Blue), Some(Color::Blue))
        );
        assert_eq!(theme.dim, Style::new().fg(Color::Green));
        // The terminal's default text colour is unknown.
        assert_eq!(
            (theme.selection.fg, theme.selection.bg),
            (Some(Color::White), Some(Color::Yellow))
        );
    }

    #[test]
    fn unreadable_colours_are_replaced_and_reported() {
        let dark = ("base", "dark");
        let cases: [Case<'_>; 8] = [
            (
                &[dark, ("dim", "#12161c")],
                ColorDepth::True,
                &[ColorRole::Dim],
            ),
            (
                &[dark, ("dim", "#16181c")],
                ColorDepth::True,
                &[ColorRole::Dim],
            ),
            (
                &[dark, ("text", "#12161c")],
                ColorDepth::True,
                &[ColorRole::Text],
            ),
            (
                &[dark, ("panel", "#d5dbe4")],
                ColorDepth::True,
                &[ColorRole::Panel],
            ),
            (
                &[dark, ("selection", "#d5dbe4")],
                ColorDepth::True,
                &[ColorRole::Selection],
            ),
            (
                &[("ground", "black"), ("code", "black")],
                ColorDepth::True,
                &[ColorRole::Code],
            ),
            // Equal with sixteen colours, different with 24 bits.
            (
                &[("ground", "#000000"), ("code", "#282828")],
                ColorDepth::Sixteen,
                &[ColorRole::Code],
            ),
            (&[dark, ("border", "#12161c")], ColorDepth::True, &[]),
        ];
        for (entries, depth, expected) in cases {
            let (_, hidden) = theme_of_entries(entries, depth);
            assert_eq!(hidden, expected, "{entries:?}");
        }
        let (theme, _) = theme_of_entries(&[("ground", "white")], ColorDepth::True);
        assert_eq!(
            (theme.text.fg, theme.panel.bg),
            (Some(Color::Black), Some(Color::White))
        );
    }

    fn anything() -> impl Strategy<Value = CustomTheme> {
        let base = proptest::sample::select(ThemeName::ALL.to_vec());
        let theme_color = prop_oneof![
            any::<u8>().prop_map(ThemeColor::Indexed),
            any::<[u8; 3]>().prop_map(ThemeColor::Rgb),
            Just(ThemeColor::Rgb([0x12, 0x16, 0x1c])),
        ];
        let inks = proptest::collection::btree_map(
            proptest::sample::select(ColorRole::ALL.to_vec()),
            theme_color,
            0..16,
        );
        (base, inks).prop_map(|(base, inks)| CustomTheme {
            name: "x".into(),
            base,
            colors: inks,
        })
    }

    proptest! {
        /// With any custom theme, all text is readable on all backgrounds whose colours are known.
        #[test]
        fn text_is_readable_in_any_custom_theme(own in anything()) {
            for depth in ColorDepth::ALL {
                let theme = Theme::of(&ThemeChoice::Custom(Arc::new(own.clone())), depth);
                let ground = Style::reset().patch(theme.ground);
                let panel = Style::reset().patch(theme.panel);
                for under in [ground, panel, ground.patch(theme.selection), panel.patch(theme.selection)] {
                    for (name, style) in theme.styles() {
                        if ["ground", "panel", "selection", "border", "found", "found_here"].contains(&name) {
                            continue;
                        }
                        // The selection is applied over the text's own style.
                        let bar = if under.bg == theme.selection.bg { theme.selection } else { Style::new() };
                        let cell = under.patch(style).patch(bar);
                        prop_assert!(!is_hidden(cell.fg, cell.bg), "{name} at {depth:?}: {cell:?}");
                        // A known background requires a known text colour.
                        prop_assert!(!is_known(cell.bg) || is_known(cell.fg) || is_reversed(cell), "{name} at {depth:?}: {cell:?}");
                    }
                }
            }
        }
    }
}

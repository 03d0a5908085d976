//! The themes that people write: the colours of one over its base, as far as the terminal has them, and nothing that
//! can not be read.
//!
//! What would stand on a ground of its own colour gets another one, and the theme tells which: a colour is a matter of
//! taste, and a question that nobody can read is not.

use ratatui::style::{Color, Modifier, Style};

use crate::domain::own_theme::{Ink, Meaning, OwnTheme};
use crate::ui::theme::sight::contrast;
use crate::ui::theme::{ColorDepth, Theme, sight};

/// Least contrast of what can be read at all. Whether it is read with ease is up to who wrote the theme.
const LEAST: f64 = 1.5;

/// The theme on a terminal with so many colours, and what of it can not be read there: that has other colours.
pub fn theme(own: &OwnTheme, depth: ColorDepth) -> (Theme, Vec<Meaning>) {
    let mut theme = Theme::new(own.base, depth);
    if depth == ColorDepth::None {
        return (theme, Vec::new());
    }
    for (meaning, ink) in &own.inks {
        paint(&mut theme, *meaning, color(*ink, depth));
    }
    let mut hidden = Vec::new();
    mend_grounds(&mut theme, own, &mut hidden);
    mend_words(&mut theme, &mut hidden);
    (theme, hidden)
}

fn color(ink: Ink, depth: ColorDepth) -> Color {
    match (ink, depth) {
        (_, ColorDepth::None) => Color::Reset,
        (Ink::Indexed(index @ 0..16), _) => sight::SIXTEEN[usize::from(index)].0,
        (Ink::Indexed(index), ColorDepth::Sixteen) => {
            sight::nearest_of_sixteen(sight::rgb_of(index))
        }
        (Ink::Indexed(index), ColorDepth::Indexed | ColorDepth::True) => Color::Indexed(index),
        (Ink::Rgb(rgb), ColorDepth::Sixteen) => sight::nearest_of_sixteen(rgb),
        (Ink::Rgb(rgb), ColorDepth::Indexed) => sight::nearest_of_256(rgb),
        (Ink::Rgb([red, green, blue]), ColorDepth::True) => Color::Rgb(red, green, blue),
    }
}

fn paint(theme: &mut Theme, meaning: Meaning, color: Color) {
    match meaning {
        Meaning::Ground => {
            theme.ground.bg = Some(color);
            theme.found_here.bg = Some(color);
        }
        Meaning::Panel => theme.panel.bg = Some(color),
        Meaning::Selection => {
            theme.selection = Style::new()
                .bg(color)
                .add_modifier(Modifier::BOLD)
                .remove_modifier(Modifier::DIM);
        }
        Meaning::Text
        | Meaning::Dim
        | Meaning::Title
        | Meaning::Focus
        | Meaning::Border
        | Meaning::Accent
        | Meaning::Ok
        | Meaning::Warn
        | Meaning::Error
        | Meaning::Working
        | Meaning::Waiting
        | Meaning::Code
        | Meaning::Tool => {
            for style in words(theme, meaning) {
                style.fg = Some(color);
                // It is as dim as its colour.
                style.add_modifier.remove(Modifier::DIM);
            }
        }
    }
}

/// The styles of the words that mean it.
fn words(theme: &mut Theme, meaning: Meaning) -> Vec<&mut Style> {
    match meaning {
        Meaning::Ground | Meaning::Panel | Meaning::Selection => vec![],
        Meaning::Text => vec![
            &mut theme.text,
            &mut theme.assistant,
            &mut theme.ground,
            &mut theme.panel,
        ],
        Meaning::Dim => vec![&mut theme.dim, &mut theme.quote, &mut theme.comment],
        Meaning::Title => vec![&mut theme.title, &mut theme.heading],
        Meaning::Focus => vec![&mut theme.title_focused, &mut theme.border_focused],
        Meaning::Border => vec![&mut theme.border],
        Meaning::Accent => vec![&mut theme.accent, &mut theme.link, &mut theme.user],
        Meaning::Ok => vec![
            &mut theme.ok,
            &mut theme.yes,
            &mut theme.added,
            &mut theme.string,
        ],
        Meaning::Warn => vec![&mut theme.warn, &mut theme.number, &mut theme.found_here],
        Meaning::Error => vec![&mut theme.error, &mut theme.no, &mut theme.removed],
        Meaning::Working => vec![&mut theme.working],
        Meaning::Waiting => vec![&mut theme.waiting, &mut theme.border_waiting],
        Meaning::Code => vec![&mut theme.code],
        Meaning::Tool => vec![&mut theme.tool, &mut theme.keyword],
    }
}

fn is_hidden(words: Option<Color>, ground: Option<Color>) -> bool {
    let both = words.zip(ground);
    both.and_then(|(words, ground)| contrast(words, ground))
        .is_some_and(|contrast| contrast < LEAST)
}

fn is_known(color: Option<Color>) -> bool {
    color.is_some_and(|color| color != Color::Reset)
}

/// Black or white, whichever is read better on that ground.
fn readable_on(ground: Option<Color>) -> Color {
    let on = |words| contrast(words, ground.unwrap_or_default()).unwrap_or_default();
    if on(Color::Black) > on(Color::White) {
        Color::Black
    } else {
        Color::White
    }
}

/// Ordinary words can be read on all three grounds.
fn mend_grounds(theme: &mut Theme, own: &OwnTheme, hidden: &mut Vec<Meaning>) {
    let ground = theme.ground.bg;
    if is_known(ground) {
        // The terminal's own words fit the terminal's own ground alone.
        if !is_known(theme.text.fg) {
            paint(theme, Meaning::Text, readable_on(ground));
        } else if is_hidden(theme.text.fg, ground) {
            paint(theme, Meaning::Text, readable_on(ground));
            hidden.push(Meaning::Text);
        }
        if !is_known(theme.panel.bg) {
            theme.panel.bg = ground;
        }
    }
    let text = theme.text.fg;
    if is_hidden(text, theme.panel.bg) {
        theme.panel.bg = ground;
        hidden.push(Meaning::Panel);
    } else if is_known(theme.panel.bg) && !is_known(text) {
        theme.panel.fg = Some(readable_on(theme.panel.bg));
    }
    if own.inks.contains_key(&Meaning::Selection) && !is_known(text) {
        theme.selection.fg = Some(readable_on(theme.selection.bg));
    } else if !is_reversed(theme.selection) && is_hidden(text, theme.selection.bg) {
        theme.selection = Style::new()
            .fg(text.unwrap_or_default())
            .bg(ground.unwrap_or_default())
            .add_modifier(Modifier::REVERSED)
            .remove_modifier(Modifier::DIM);
        hidden.push(Meaning::Selection);
    }
}

fn is_reversed(style: Style) -> bool {
    style.add_modifier.contains(Modifier::REVERSED)
}

/// What can not be read on one of the grounds looks like ordinary words. Frames need not be seen.
fn mend_words(theme: &mut Theme, hidden: &mut Vec<Meaning>) {
    let mut grounds = vec![theme.ground.bg, theme.panel.bg];
    // A bar with words of its own colour takes the others away.
    if !is_reversed(theme.selection) && theme.selection.fg.is_none() {
        grounds.push(theme.selection.bg);
    }
    // None: those of what they stand on.
    let text = theme.text.fg;
    for meaning in Meaning::ALL {
        if matches!(meaning, Meaning::Text | Meaning::Border) {
            continue;
        }
        let mut is_so = false;
        for style in words(theme, meaning) {
            if grounds.iter().any(|ground| is_hidden(style.fg, *ground)) {
                style.fg = text;
                is_so = true;
            }
        }
        if is_so {
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

    /// What is written, on which terminal, and what of it can not be read.
    type Case<'a> = (&'a [(&'a str, &'a str)], ColorDepth, &'a [Meaning]);

    fn own(entries: &[(&str, &str)]) -> OwnTheme {
        OwnTheme::parse("dusk", entries.iter().copied()).unwrap()
    }

    fn shown(entries: &[(&str, &str)], depth: ColorDepth) -> (Theme, Vec<Meaning>) {
        theme(&own(entries), depth)
    }

    #[test]
    fn a_theme_that_says_nothing_is_its_base() {
        for name in ThemeName::ALL {
            for depth in ColorDepth::ALL {
                let found = shown(&[("base", name.word())], depth);
                assert_eq!(
                    found,
                    (Theme::new(name, depth), vec![]),
                    "{name:?} {depth:?}"
                );
            }
        }
    }

    #[test]
    fn colours_come_down_to_those_that_the_terminal_has() {
        let entries = [
            ("base", "dark"),
            ("ok", "#10e020"),
            ("warn", "208"),
            ("error", "light-red"),
        ];
        let colours = |depth| {
            let (theme, hidden) = shown(&entries, depth);
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
            shown(&entries, ColorDepth::None).0,
            Theme::new(ThemeName::Mono, ColorDepth::None)
        );
    }

    #[test]
    fn what_belongs_to_a_meaning_has_its_colour() {
        let (theme, _) = shown(
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
        // The terminal's words are of a colour that is not known.
        assert_eq!(
            (theme.selection.fg, theme.selection.bg),
            (Some(Color::White), Some(Color::Yellow))
        );
    }

    #[test]
    fn what_could_not_be_read_has_another_colour_and_is_told() {
        let dark = ("base", "dark");
        let cases: [Case<'_>; 8] = [
            (
                &[dark, ("dim", "#12161c")],
                ColorDepth::True,
                &[Meaning::Dim],
            ),
            (
                &[dark, ("dim", "#16181c")],
                ColorDepth::True,
                &[Meaning::Dim],
            ),
            (
                &[dark, ("text", "#12161c")],
                ColorDepth::True,
                &[Meaning::Text],
            ),
            (
                &[dark, ("panel", "#d5dbe4")],
                ColorDepth::True,
                &[Meaning::Panel],
            ),
            (
                &[dark, ("selection", "#d5dbe4")],
                ColorDepth::True,
                &[Meaning::Selection],
            ),
            (
                &[("ground", "black"), ("code", "black")],
                ColorDepth::True,
                &[Meaning::Code],
            ),
            // Both are the same with sixteen colours, and not with all.
            (
                &[("ground", "#000000"), ("code", "#282828")],
                ColorDepth::Sixteen,
                &[Meaning::Code],
            ),
            (&[dark, ("border", "#12161c")], ColorDepth::True, &[]),
        ];
        for (entries, depth, expected) in cases {
            let (_, hidden) = shown(entries, depth);
            assert_eq!(hidden, expected, "{entries:?}");
        }
        let (theme, _) = shown(&[("ground", "white")], ColorDepth::True);
        assert_eq!(
            (theme.text.fg, theme.panel.bg),
            (Some(Color::Black), Some(Color::White))
        );
    }

    fn anything() -> impl Strategy<Value = OwnTheme> {
        let base = proptest::sample::select(ThemeName::ALL.to_vec());
        let ink = prop_oneof![
            any::<u8>().prop_map(Ink::Indexed),
            any::<[u8; 3]>().prop_map(Ink::Rgb),
            Just(Ink::Rgb([0x12, 0x16, 0x1c])),
        ];
        let inks = proptest::collection::btree_map(
            proptest::sample::select(Meaning::ALL.to_vec()),
            ink,
            0..16,
        );
        (base, inks).prop_map(|(base, inks)| OwnTheme {
            name: "x".into(),
            base,
            inks,
        })
    }

    proptest! {
        /// Whatever somebody writes: all words can be read on all grounds, as far as both are known.
        #[test]
        fn nothing_is_hidden(own in anything()) {
            for depth in ColorDepth::ALL {
                let theme = Theme::of(&ThemeChoice::Own(Arc::new(own.clone())), depth);
                let ground = Style::reset().patch(theme.ground);
                let panel = Style::reset().patch(theme.panel);
                for under in [ground, panel, ground.patch(theme.selection), panel.patch(theme.selection)] {
                    for (name, style) in theme.styles() {
                        if ["ground", "panel", "selection", "border", "found", "found_here"].contains(&name) {
                            continue;
                        }
                        // The bar is laid over the words.
                        let bar = if under.bg == theme.selection.bg { theme.selection } else { Style::new() };
                        let cell = under.patch(style).patch(bar);
                        prop_assert!(!is_hidden(cell.fg, cell.bg), "{name} at {depth:?}: {cell:?}");
                        // Where the ground is known, so are the words.
                        prop_assert!(!is_known(cell.bg) || is_known(cell.fg) || is_reversed(cell), "{name} at {depth:?}: {cell:?}");
                    }
                }
            }
        }
    }
}

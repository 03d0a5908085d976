//! The looks: every style by its meaning. The only folder with colours.
//!
//! Headers are bold, what is secondary is dim, colour is kept for what has a meaning. Shapes and words say the
//! same, so that nothing is lost without colour (`NO_COLOR`) or to eyes that do not tell red from green.
//!
//! A new theme is a name in [`ThemeName`], a file with its tones beside `dark.rs`, and its arm in [`Theme::new`]:
//! `contrast.rs` then holds it to the contrasts that people can read. Those that people write themselves are made in
//! `own.rs`; for what their colours are given is [`Meaning`].

/// Hands the names of all styles of a theme to a macro.
#[cfg(test)]
macro_rules! each_style {
    ($of:ident) => {
        $of![
            ground,
            panel,
            text,
            dim,
            title,
            title_focused,
            border,
            border_focused,
            border_waiting,
            selection,
            accent,
            ok,
            warn,
            error,
            working,
            waiting,
            yes,
            no,
            code,
            heading,
            link,
            quote,
            added,
            removed,
            keyword,
            string,
            number,
            comment,
            found,
            found_here,
            user,
            assistant,
            tool
        ]
    };
}

#[cfg(test)]
mod contrast;
mod dark;
mod depth;
mod light;
mod mono;
pub(in crate::ui) mod motion;
mod own;
#[cfg(test)]
pub mod roles;
mod sight;
mod terminal;
mod tones;

use ratatui::style::Style;

use crate::domain::own_theme::Meaning;
pub use crate::domain::own_theme::ThemeChoice;
pub use crate::domain::theme::ThemeName;
pub use depth::ColorDepth;

/// Every style of the screen, named by what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Under everything: the ground that words stand on. Laid over cells, it takes what was there away.
    pub ground: Style,
    /// Under what lies over the panes.
    pub panel: Style,
    /// Ordinary words.
    pub text: Style,
    /// What is secondary: times, counts, hints.
    pub dim: Style,
    /// The title of a pane.
    pub title: Style,
    /// The title of the pane that has the keys.
    pub title_focused: Style,
    /// The frame of a pane.
    pub border: Style,
    /// The frame of the pane that has the keys.
    pub border_focused: Style,
    /// The frame of a pane that waits for the person.
    pub border_waiting: Style,
    /// The row that keys act on. Laid over a whole row.
    pub selection: Style,
    /// Keys, names, whatever should catch the eye without alarm.
    pub accent: Style,
    /// It went well; it is finished.
    pub ok: Style,
    /// Something is not as it should be, work goes on.
    pub warn: Style,
    /// It failed.
    pub error: Style,
    /// Somebody is at work.
    pub working: Style,
    /// Somebody waits for the person.
    pub waiting: Style,
    /// What a key says yes to.
    pub yes: Style,
    /// What a key says no to. No louder than yes.
    pub no: Style,
    /// Code and commands.
    pub code: Style,
    /// A heading in a text.
    pub heading: Style,
    /// An address in a text.
    pub link: Style,
    /// Quoted words.
    pub quote: Style,
    /// A line that a diff adds.
    pub added: Style,
    /// A line that a diff takes away.
    pub removed: Style,
    /// A word of a language, in code.
    pub keyword: Style,
    /// A text in code.
    pub string: Style,
    /// A number in code.
    pub number: Style,
    /// A comment in code.
    pub comment: Style,
    /// What was searched for. Laid over the words.
    pub found: Style,
    /// The one of them that the reader stands at. Laid over the words.
    pub found_here: Style,
    /// What the person said.
    pub user: Style,
    /// What a model said.
    pub assistant: Style,
    /// A tool call.
    pub tool: Style,
}

impl Theme {
    /// The theme of that name on a terminal with so many colours; without any, it is [`ThemeName::Mono`].
    pub fn new(name: ThemeName, depth: ColorDepth) -> Theme {
        match (name, depth) {
            (ThemeName::Mono, _) | (_, ColorDepth::None) => mono::theme(),
            (ThemeName::Terminal, _) => terminal::theme(),
            (ThemeName::Dark, depth) => dark::TONES.theme(depth),
            (ThemeName::Light, depth) => light::TONES.theme(depth),
        }
    }

    /// The theme that was chosen, on a terminal with so many colours.
    pub fn of(choice: &ThemeChoice, depth: ColorDepth) -> Theme {
        match choice {
            ThemeChoice::BuiltIn(name) => Theme::new(*name, depth),
            ThemeChoice::Own(own) => own::theme(own, depth).0,
        }
    }

    /// What of it could not be read there, and has another colour than it was given.
    pub fn hidden(choice: &ThemeChoice, depth: ColorDepth) -> Vec<Meaning> {
        match choice {
            ThemeChoice::BuiltIn(_) => Vec::new(),
            ThemeChoice::Own(own) => own::theme(own, depth).1,
        }
    }

    /// What lies behind a popup, whatever it was: dim words on the ground.
    pub fn behind(&self) -> Style {
        Style::reset().patch(self.ground).patch(self.dim)
    }

    /// All styles with their names, for tests that look at each of them.
    #[cfg(test)]
    fn styles(&self) -> Vec<(&'static str, Style)> {
        macro_rules! named {
            ($($field:ident),*) => { vec![$((stringify!($field), self.$field)),*] };
        }
        each_style!(named)
    }
}

impl Default for Theme {
    fn default() -> Theme {
        Theme::new(ThemeName::default(), ColorDepth::Sixteen)
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    fn colours(theme: &Theme) -> Vec<(&'static str, Color)> {
        // The terminal's own ground and words are no colour.
        let both = |(name, style): (&'static str, Style)| {
            [style.fg, style.bg]
                .into_iter()
                .flatten()
                .filter(|color| *color != Color::Reset)
                .map(move |c| (name, c))
        };
        theme.styles().into_iter().flat_map(both).collect()
    }

    #[test]
    fn without_colour_there_is_no_colour() {
        for name in ThemeName::ALL {
            assert_eq!(colours(&Theme::new(name, ColorDepth::None)), [], "{name:?}");
        }
        for depth in ColorDepth::ALL {
            assert_eq!(
                colours(&Theme::new(ThemeName::Mono, depth)),
                [],
                "{depth:?}"
            );
        }
    }

    #[test]
    fn every_style_of_every_theme() {
        let mut out = String::new();
        for name in ThemeName::ALL {
            out += &format!("{}\n", name.word());
            for (
                style,
                Style {
                    fg,
                    bg,
                    add_modifier,
                    sub_modifier,
                    ..
                },
            ) in Theme::new(name, ColorDepth::True).styles()
            {
                let color =
                    |color: Option<Color>| color.map_or_else(|| "-".into(), |c| c.to_string());
                let added = format!("{add_modifier:?}").to_lowercase();
                let taken = if sub_modifier.is_empty() || sub_modifier.is_all() {
                    ""
                } else {
                    " undimmed"
                };
                let added = if add_modifier.is_empty() { "" } else { &added };
                out += format!(
                    "  {style:<15} {:<9} {:<9} {added}{taken}",
                    color(fg),
                    color(bg)
                )
                .trim_end();
                out.push('\n');
            }
        }
        insta::assert_snapshot!("themes", out);
    }

    #[test]
    fn no_theme_has_more_colours_than_the_terminal() {
        for name in ThemeName::ALL {
            for (style, color) in colours(&Theme::new(name, ColorDepth::Sixteen)) {
                let is_own = !matches!(color, Color::Rgb(..) | Color::Indexed(_));
                assert!(is_own, "{name:?} {style}: {color:?}");
            }
            for (style, color) in colours(&Theme::new(name, ColorDepth::Indexed)) {
                assert!(
                    !matches!(color, Color::Rgb(..)),
                    "{name:?} {style}: {color:?}"
                );
            }
        }
    }

    #[test]
    fn the_terminals_own_theme_is_its_sixteen_colours_on_its_ground() {
        for depth in [ColorDepth::Sixteen, ColorDepth::Indexed, ColorDepth::True] {
            let theme = Theme::new(ThemeName::Terminal, depth);
            assert_eq!(theme, Theme::default(), "{depth:?}");
        }
        let theme = Theme::default();
        assert_eq!(
            (theme.ground, theme.panel),
            (Style::reset(), Style::reset())
        );
    }
}

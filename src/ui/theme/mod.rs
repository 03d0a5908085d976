//! Themes. A theme holds all styles of the screen, each named by its meaning. No other folder of `ui` uses colours.
//!
//! Headings are bold, secondary text is dim, and colour is used for meaning only. Symbols and words repeat that
//! meaning, so that the screen also works without colour (`NO_COLOR`) and for colour-blind users.
//!
//! A new theme needs a name in [`ThemeName`], its tones in `palettes.rs`, and an arm in [`Theme::new`];
//! `contrast.rs` then checks its contrast. `custom.rs` builds the users' own themes, which set a colour per
//! [`ColorRole`].

/// Calls the macro `$of` with the names of all fields of [`Theme`].
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
            added_line,
            removed_line,
            added_word,
            removed_word,
            code_ground,
            keyword,
            string,
            number,
            comment,
            function,
            type_name,
            found,
            found_here,
            user,
            assistant,
            tool
        ]
    };
}

mod color_math;
#[cfg(test)]
mod contrast;
mod custom;
mod dark;
mod depth;
mod light;
mod mono;
mod palettes;
pub mod pixels;
mod terminal;
#[cfg(test)]
pub mod test_theme;
mod tints;
mod tones;

use ratatui::style::{Color, Style};

use crate::domain::custom_theme::ColorRole;
pub use crate::domain::custom_theme::ThemeChoice;
use crate::domain::role::RoleColor;
pub use crate::domain::theme::ThemeName;
pub use depth::ColorDepth;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// The background of the screen. Drawing it over a cell resets the cell's style.
    pub ground: Style,
    /// The background of popups.
    pub panel: Style,
    pub text: Style,
    /// Secondary text: times, counts, hints.
    pub dim: Style,
    pub title: Style,
    pub title_focused: Style,
    pub border: Style,
    pub border_focused: Style,
    /// Frame of a pane or request card that waits for the user.
    pub border_waiting: Style,
    /// The selected row. It is drawn over the styles of the row's text.
    pub selection: Style,
    /// Keys, names and other highlights.
    pub accent: Style,
    /// Success and completion.
    pub ok: Style,
    /// A problem that does not stop the work, and other states that the user should notice, such as a pause.
    pub warn: Style,
    pub error: Style,
    /// Work that is going on: busy agents, tasks and todo items in progress, running jobs, servers that start.
    pub working: Style,
    /// What waits for the user: agents, requests, and servers that need approval or a login.
    pub waiting: Style,
    /// A button or key that approves.
    pub yes: Style,
    /// A button or key that rejects. Must not be more prominent than `yes`.
    pub no: Style,
    /// Code and commands.
    pub code: Style,
    pub heading: Style,
    pub link: Style,
    pub quote: Style,
    /// Added line of a diff.
    pub added: Style,
    /// Removed line of a diff.
    pub removed: Style,
    /// Background of an added line. Without one, the line is shown in the style `added` instead of the colours of its
    /// language.
    pub added_line: Style,
    /// Background of a removed line. Without one, the line is shown in the style `removed` instead of the colours of
    /// its language.
    pub removed_line: Style,
    /// Changed words of an added line.
    pub added_word: Style,
    /// Changed words of a removed line.
    pub removed_word: Style,
    /// Background of a block of code. Without one, a bar is shown beside the code.
    pub code_ground: Style,
    pub keyword: Style,
    pub string: Style,
    pub number: Style,
    pub comment: Style,
    pub function: Style,
    /// Name of a type, a module or an attribute in code.
    pub type_name: Style,
    /// Search match. It is drawn over the text's own style.
    pub found: Style,
    /// The current search match. It is drawn over the text's own style.
    pub found_here: Style,
    /// A message of the user, or the user's answer to a question.
    pub user: Style,
    /// Text of a model.
    pub assistant: Style,
    pub tool: Style,
}

impl Theme {
    /// Returns `usual` with the text colour that this theme uses for `color`, the colour of an agent's role. The colour
    /// is one of the theme's own, so it is readable on the theme's background. In a theme without colours, returns
    /// `usual` unchanged. Some of these colours also mark a status. That is no conflict, because symbols and words
    /// always repeat the status.
    pub fn in_role_color(&self, usual: Style, color: RoleColor) -> Style {
        let from = match color {
            RoleColor::Red => self.error,
            RoleColor::Blue => self.link,
            RoleColor::Green => self.ok,
            RoleColor::Yellow => self.warn,
            RoleColor::Purple => self.keyword,
            RoleColor::Orange => self.number,
            RoleColor::Pink => self.waiting,
            RoleColor::Cyan => self.accent,
        };
        Style {
            fg: from.fg.or(usual.fg),
            ..usual
        }
    }

    /// Returns a built-in theme for a colour depth. Without colours, returns [`ThemeName::Mono`] for every name.
    pub fn new(name: ThemeName, depth: ColorDepth) -> Theme {
        match (name, depth) {
            (ThemeName::Mono, _) | (_, ColorDepth::None) => mono::theme(),
            (ThemeName::Terminal, _) => terminal::theme(),
            (ThemeName::Dark, depth) => dark::TONES.theme(depth),
            (ThemeName::Light, depth) => light::TONES.theme(depth),
            (ThemeName::CatppuccinMocha, depth) => palettes::CATPPUCCIN_MOCHA.theme(depth),
            (ThemeName::CatppuccinLatte, depth) => palettes::CATPPUCCIN_LATTE.theme(depth),
            (ThemeName::Dracula, depth) => palettes::DRACULA.theme(depth),
            (ThemeName::GithubDark, depth) => palettes::GITHUB_DARK.theme(depth),
            (ThemeName::GithubLight, depth) => palettes::GITHUB_LIGHT.theme(depth),
            (ThemeName::Gruvbox, depth) => palettes::GRUVBOX.theme(depth),
            (ThemeName::HighContrast, depth) => palettes::HIGH_CONTRAST.theme(depth),
            (ThemeName::Nord, depth) => palettes::NORD.theme(depth),
            (ThemeName::One, depth) => palettes::ONE.theme(depth),
            (ThemeName::RosePine, depth) => palettes::ROSE_PINE.theme(depth),
            (ThemeName::SolarizedDark, depth) => palettes::SOLARIZED_DARK.theme(depth),
            (ThemeName::SolarizedLight, depth) => palettes::SOLARIZED_LIGHT.theme(depth),
            (ThemeName::TokyoNight, depth) => palettes::TOKYO_NIGHT.theme(depth),
        }
    }

    /// Returns the theme for a terminal with this background: [`ThemeName::Dark`] or [`ThemeName::Light`].
    pub fn suited_to([red, green, blue]: [u8; 3]) -> ThemeName {
        let on = |text| color_math::contrast(text, Color::Rgb(red, green, blue));
        if on(Color::White) >= on(Color::Black) {
            ThemeName::Dark
        } else {
            ThemeName::Light
        }
    }

    /// Returns the built-in or custom theme `choice` for a colour depth.
    pub fn of(choice: &ThemeChoice, depth: ColorDepth) -> Theme {
        match choice {
            ThemeChoice::BuiltIn(name) => Theme::new(*name, depth),
            ThemeChoice::Custom(own) => custom::theme(own, depth).0,
        }
    }

    /// Returns the roles whose colours in a custom theme are replaced at this depth, because they would be unreadable;
    /// none for a built-in theme.
    pub fn unreadable(choice: &ThemeChoice, depth: ColorDepth) -> Vec<ColorRole> {
        match choice {
            ThemeChoice::BuiltIn(_) => Vec::new(),
            ThemeChoice::Custom(own) => custom::theme(own, depth).1,
        }
    }

    /// Returns the style of the screen behind a popup: dim text on the normal background.
    pub fn backdrop(&self) -> Style {
        Style::reset().patch(self.ground).patch(self.dim)
    }

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
    use super::*;

    #[test]
    fn colours_of_roles_are_those_of_the_theme() {
        const ALL: [RoleColor; 8] = [
            RoleColor::Red,
            RoleColor::Blue,
            RoleColor::Green,
            RoleColor::Yellow,
            RoleColor::Purple,
            RoleColor::Orange,
            RoleColor::Pink,
            RoleColor::Cyan,
        ];
        for name in ThemeName::ALL {
            let theme = Theme::new(name, ColorDepth::True);
            let shown = ALL.map(|color| theme.in_role_color(theme.title, color));
            // `contrast.rs` checks each style of the theme.
            macro_rules! known {
                ($($style:ident),*) => { [$(theme.$style.fg),*] };
            }
            let known = each_style!(known);
            for style in shown {
                assert!(known.contains(&style.fg), "{name:?}: {style:?}");
                assert_eq!(style.add_modifier, theme.title.add_modifier);
            }
        }
    }

    fn colours(theme: &Theme) -> Vec<(&'static str, Color)> {
        // The terminal's default foreground and background do not count as colours.
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
    fn mono_and_no_color_use_no_colours() {
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
    fn themes_stay_within_the_colour_depth() {
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
    fn terminal_theme_uses_sixteen_colours_at_every_depth() {
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

//! The looks: every style by its meaning. The only file with colours.
//!
//! Colours are the terminal's own sixteen, so they fit the person's background. Headers are bold, what
//! is secondary is dim, colour is kept for what has a meaning. Shapes and words say the same, so that
//! nothing is lost without colour (`NO_COLOR`) or to eyes that do not tell red from green.

use ratatui::style::{Color, Modifier, Style};

/// Whether the screen may use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// The terminal's own sixteen colours.
    #[default]
    Ansi,
    /// No colour at all: bold, dim, reversed and underlined only.
    Mono,
}

impl Palette {
    /// The palette that the environment asks for: `NO_COLOR` set to anything but nothing means
    /// [`Palette::Mono`] (<https://no-color.org>).
    pub fn from_no_color(value: Option<&str>) -> Palette {
        match value {
            Some(text) if !text.is_empty() => Palette::Mono,
            Some(_) | None => Palette::Ansi,
        }
    }
}

/// Every style of the screen, named by what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
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
    /// What the person said.
    pub user: Style,
    /// What a model said.
    pub assistant: Style,
    /// A tool call.
    pub tool: Style,
}

impl Theme {
    /// The theme of `palette`.
    pub fn new(palette: Palette) -> Theme {
        match palette {
            Palette::Ansi => Theme::ansi(),
            Palette::Mono => Theme::mono(),
        }
    }

    fn ansi() -> Theme {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        Theme {
            text: plain,
            dim,
            title: bold,
            title_focused: bold.fg(Color::Cyan),
            border: dim,
            border_focused: plain.fg(Color::Cyan),
            // The bar is in one colour over spans of many, and dim words on it would be hard to read.
            selection: plain
                .fg(Color::Reset)
                .add_modifier(Modifier::REVERSED)
                .remove_modifier(Modifier::DIM),
            accent: plain.fg(Color::Cyan),
            ok: plain.fg(Color::Green),
            warn: plain.fg(Color::Yellow),
            error: plain.fg(Color::Red),
            working: plain.fg(Color::Green),
            waiting: bold.fg(Color::Magenta),
            code: plain.fg(Color::Cyan),
            heading: bold,
            link: plain.fg(Color::Cyan).add_modifier(Modifier::UNDERLINED),
            quote: dim.add_modifier(Modifier::ITALIC),
            added: plain.fg(Color::Green),
            removed: plain.fg(Color::Red),
            user: bold.fg(Color::Cyan),
            assistant: plain,
            tool: plain.fg(Color::Magenta),
        }
    }

    fn mono() -> Theme {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        let underlined = plain.add_modifier(Modifier::UNDERLINED);
        Theme {
            text: plain,
            dim,
            title: bold,
            title_focused: bold.add_modifier(Modifier::REVERSED),
            border: dim,
            border_focused: bold,
            selection: plain.add_modifier(Modifier::REVERSED),
            accent: bold,
            ok: plain,
            warn: bold,
            error: bold.add_modifier(Modifier::UNDERLINED),
            working: bold,
            waiting: bold.add_modifier(Modifier::REVERSED),
            code: bold,
            heading: bold.add_modifier(Modifier::UNDERLINED),
            link: underlined,
            quote: dim.add_modifier(Modifier::ITALIC),
            added: bold,
            removed: dim,
            user: bold,
            assistant: plain,
            tool: dim,
        }
    }
}

impl Default for Theme {
    fn default() -> Theme {
        Theme::new(Palette::Ansi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styles(theme: &Theme) -> Vec<Style> {
        vec![
            theme.text,
            theme.dim,
            theme.title,
            theme.title_focused,
            theme.border,
            theme.border_focused,
            theme.selection,
            theme.accent,
            theme.ok,
            theme.warn,
            theme.error,
            theme.working,
            theme.waiting,
            theme.code,
            theme.heading,
            theme.link,
            theme.quote,
            theme.added,
            theme.removed,
            theme.user,
            theme.assistant,
            theme.tool,
        ]
    }

    #[test]
    fn without_colour_there_is_no_colour() {
        for style in styles(&Theme::new(Palette::Mono)) {
            assert_eq!((style.fg, style.bg), (None, None), "{style:?}");
        }
    }

    #[test]
    fn colours_are_the_terminals_own() {
        for style in styles(&Theme::new(Palette::Ansi)) {
            for color in [style.fg, style.bg].into_iter().flatten() {
                assert!(
                    !matches!(color, Color::Rgb(..) | Color::Indexed(_)),
                    "{color:?}"
                );
            }
        }
    }

    #[test]
    fn no_color_counts_when_it_says_anything() {
        let cases = [
            (None, Palette::Ansi),
            (Some(""), Palette::Ansi),
            (Some("1"), Palette::Mono),
            (Some("0"), Palette::Mono),
        ];
        for (value, expected) in cases {
            assert_eq!(Palette::from_no_color(value), expected, "{value:?}");
        }
    }
}

//! Builds the styles of a theme with its own background from a few colours.

use ratatui::style::{Color, Modifier, Style};

use crate::ui::theme::depth::ColorDepth;
use crate::ui::theme::{Theme, tints};

/// A colour for each colour depth: 24-bit RGB, an xterm colour from 16 to 255, and one of the sixteen ANSI colours. All
/// three are chosen by hand, because the nearest colour of a smaller depth does not always have enough contrast.
#[derive(Debug, Clone, Copy)]
pub struct Tone(pub [u8; 3], pub u8, pub Color);

impl Tone {
    fn color(self, depth: ColorDepth) -> Color {
        let [red, green, blue] = self.0;
        match depth {
            ColorDepth::None => Color::Reset,
            ColorDepth::Sixteen => self.2,
            ColorDepth::Indexed => Color::Indexed(self.1),
            ColorDepth::True => Color::Rgb(red, green, blue),
        }
    }
}

/// The colours of a theme. `contrast.rs` tests their contrast.
#[derive(Debug, Clone, Copy)]
pub struct Tones {
    /// Background of the screen.
    pub ground: Tone,
    /// Background of popups.
    pub panel: Tone,
    /// Background of the selected row.
    pub selection: Tone,
    /// Titles and headings.
    pub strong: Tone,
    pub text: Tone,
    /// Secondary text.
    pub dim: Tone,
    pub border: Tone,
    /// Keys, names and other highlights, and the frame of the focused pane.
    pub accent: Tone,
    pub ok: Tone,
    /// A problem that does not stop the work, and other states that the user should notice, such as a pause.
    pub warn: Tone,
    pub error: Tone,
    /// Work that is going on: busy agents, tasks and todo items in progress, running jobs, servers that start.
    pub working: Tone,
    /// What waits for the user: agents, requests, servers that need approval or a login. Also the frame of a pane that
    /// contains one of them.
    pub waiting: Tone,
    /// Code and commands.
    pub code: Tone,
    pub tool: Tone,
}

impl Tones {
    pub fn theme(&self, depth: ColorDepth) -> Theme {
        let on = |tone: Tone| Style::new().fg(tone.color(depth));
        let under = |tone: Tone| Style::new().bg(tone.color(depth));
        let (text, dim, accent) = (on(self.text), on(self.dim), on(self.accent));
        let mut theme = Theme {
            ground: Style::reset().patch(text).patch(under(self.ground)),
            panel: Style::reset().patch(text).patch(under(self.panel)),
            text,
            dim,
            title: on(self.strong).add_modifier(Modifier::BOLD),
            title_focused: accent.add_modifier(Modifier::BOLD),
            border: on(self.border),
            border_focused: accent,
            border_waiting: on(self.waiting),
            selection: match depth {
                // With sixteen colours, no background leaves all other colours readable, so the selected row is
                // reversed.
                ColorDepth::None | ColorDepth::Sixteen => text
                    .patch(under(self.ground))
                    .add_modifier(Modifier::REVERSED),
                // Text keeps its colour, so that a status is visible on the selected row too.
                ColorDepth::Indexed | ColorDepth::True => {
                    under(self.selection).add_modifier(Modifier::BOLD)
                }
            },
            accent,
            ok: on(self.ok),
            warn: on(self.warn),
            error: on(self.error),
            working: on(self.working),
            waiting: on(self.waiting).add_modifier(Modifier::BOLD),
            yes: on(self.ok),
            no: on(self.error),
            code: on(self.code),
            heading: on(self.strong).add_modifier(Modifier::BOLD),
            link: accent.add_modifier(Modifier::UNDERLINED),
            quote: dim.add_modifier(Modifier::ITALIC),
            added: on(self.ok),
            removed: on(self.error),
            added_line: Style::new(),
            removed_line: Style::new(),
            added_word: Style::new(),
            removed_word: Style::new(),
            code_ground: Style::new(),
            keyword: on(self.tool),
            string: on(self.ok),
            number: on(self.warn),
            comment: dim.add_modifier(Modifier::ITALIC),
            function: accent,
            type_name: on(self.working),
            found: Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD),
            found_here: on(self.warn)
                .patch(under(self.ground))
                .add_modifier(Modifier::REVERSED | Modifier::BOLD),
            user: accent.add_modifier(Modifier::BOLD),
            assistant: text,
            tool: on(self.tool),
        };
        tints::set(&mut theme);
        theme
    }
}

//! The colours of a theme that brings its own, and what each is for.

use ratatui::style::{Color, Modifier, Style};

use crate::ui::theme::Theme;
use crate::ui::theme::depth::ColorDepth;

/// Red, green and blue of a colour, and what stands for it on terminals with fewer: one of xterm's 256 from 16 on, and one
/// of the sixteen. The nearest one need not be the one that can be read, so neither is worked out.
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

/// The colours of a theme. What they have to stand out from what: `contrast.rs`.
#[derive(Debug, Clone, Copy)]
pub struct Tones {
    /// Under everything.
    pub ground: Tone,
    /// Under what lies over the panes.
    pub panel: Tone,
    /// Under the row that keys act on.
    pub selection: Tone,
    /// Titles and headings.
    pub strong: Tone,
    /// Ordinary words.
    pub text: Tone,
    /// What is secondary.
    pub dim: Tone,
    /// Frames.
    pub border: Tone,
    /// Keys, names, the focus.
    pub accent: Tone,
    /// It went well.
    pub ok: Tone,
    /// Something is not as it should be.
    pub warn: Tone,
    /// It failed.
    pub error: Tone,
    /// Somebody is at work.
    pub working: Tone,
    /// Somebody waits for the person.
    pub waiting: Tone,
    /// Code and commands.
    pub code: Tone,
    /// A tool call.
    pub tool: Tone,
}

impl Tones {
    /// The theme with these colours, as far as the terminal has them.
    pub fn theme(&self, depth: ColorDepth) -> Theme {
        let on = |tone: Tone| Style::new().fg(tone.color(depth));
        let under = |tone: Tone| Style::new().bg(tone.color(depth));
        let (text, dim, accent) = (on(self.text), on(self.dim), on(self.accent));
        Theme {
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
                // Sixteen have no ground on which all the others could be read.
                ColorDepth::None | ColorDepth::Sixteen => text
                    .patch(under(self.ground))
                    .add_modifier(Modifier::REVERSED),
                // The words keep their colours: a state is told by its colour in the selected row too.
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
            keyword: on(self.tool),
            string: on(self.ok),
            number: on(self.warn),
            comment: dim.add_modifier(Modifier::ITALIC),
            found: Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD),
            found_here: on(self.warn)
                .patch(under(self.ground))
                .add_modifier(Modifier::REVERSED | Modifier::BOLD),
            user: accent.add_modifier(Modifier::BOLD),
            assistant: text,
            tool: on(self.tool),
        }
    }
}

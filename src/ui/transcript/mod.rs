//! The conversation of one agent, as lines. A stand-in for the cells that are built beside this floor.

use std::collections::VecDeque;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::theme::Theme;
use crate::domain::ids::Name;
use crate::domain::text::one_line;
use crate::protocol::EventKind;
use crate::protocol::event::Level;

const LINES_MAX: usize = 500;

/// How a transcript is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// One line up.
    LineUp,
    /// One line down.
    LineDown,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    /// To the beginning.
    Top,
    /// To the end, and follow.
    Bottom,
}

/// The conversation of one agent.
#[derive(Debug, Default)]
pub struct Transcript {
    lines: VecDeque<String>,
    open: String,
    up: usize,
}

/// What the drawing of a transcript keeps; its loss changes no pixel.
#[derive(Debug, Default)]
pub struct TranscriptCache {
    _kept: usize,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Transcript {
        Transcript::default()
    }

    /// Takes an event in, if it happened to `agent`.
    pub fn apply(&mut self, agent: &Name, event: &EventKind) {
        match event {
            EventKind::Prompted { agent: of, text } if of == agent => {
                self.push(&format!("> {text}"));
            }
            EventKind::TextDelta { agent: of, text } if of == agent => self.open.push_str(text),
            EventKind::Said {
                agent: of, text, ..
            } if of == agent => {
                self.open.clear();
                self.push(text);
            }
            EventKind::ToolStarted {
                agent: of,
                tool,
                on,
                ..
            } if of == agent => {
                self.push(&format!("• {tool} {on}"));
            }
            _ => {}
        }
    }

    /// Adds a line of crewdeck's own.
    pub fn push_notice(&mut self, _level: Level, text: &str) {
        self.push(&format!("! {text}"));
    }

    /// Scrolls.
    pub fn scroll(&mut self, by: Scroll) {
        self.up = match by {
            Scroll::LineUp => self.up + 1,
            Scroll::LineDown => self.up.saturating_sub(1),
            Scroll::PageUp => self.up + 20,
            Scroll::PageDown => self.up.saturating_sub(20),
            Scroll::HalfUp => self.up + 10,
            Scroll::HalfDown => self.up.saturating_sub(10),
            Scroll::Top => self.lines.len(),
            Scroll::Bottom => 0,
        }
        .min(self.lines.len());
    }

    /// Selects the tool cell above.
    pub fn select_prev(&mut self) {}

    /// Selects the tool cell below.
    pub fn select_next(&mut self) {}

    /// Opens or folds the selected tool cell.
    pub fn toggle_selected(&mut self) {}

    /// Whether the newest line is in view and stays so.
    pub fn is_following(&self) -> bool {
        self.up == 0
    }

    /// How many new cells lie below what is in view.
    pub fn unread_below(&self) -> usize {
        self.up
    }

    /// Draws it.
    pub fn view(
        &self,
        _cache: &mut TranscriptCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let all: Vec<&String> = self
            .lines
            .iter()
            .chain((!self.open.is_empty()).then_some(&self.open))
            .collect();
        let end = all.len().saturating_sub(self.up);
        let start = end.saturating_sub(usize::from(area.height));
        for (line, row) in all[start..end].iter().zip(area.rows()) {
            Line::styled(line.as_str(), theme.text).render(row, buffer);
        }
    }

    fn push(&mut self, line: &str) {
        for line in line.lines() {
            self.lines.push_back(one_line(line));
        }
        while self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }
}

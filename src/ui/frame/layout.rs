//! Areas of the screen: the classes of its size, and where panes lie.

use ratatui::layout::{Margin, Position, Rect};

use crate::domain::screen::PaneLayout;
use crate::ui::app::App;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::transcript::Viewport;

/// Minimum width in columns of a screen with panes.
pub const WIDTH_MIN: u16 = 60;

/// Minimum height in rows of a screen with panes.
pub const HEIGHT_MIN: u16 = 16;

/// Minimum width in columns to show all panes at once.
pub const WIDE: u16 = 140;

/// Minimum height in rows for a narrow screen to show two panes, one above the other.
pub const TALL: u16 = 36;

/// Minimum width in columns to show two panes side by side.
pub const MIDDLE: u16 = 100;

/// The size class of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeClass {
    /// Too small for panes.
    Small,
    /// One pane at a time; from [`TALL`] rows on, two.
    Narrow,
    /// The conversation and a column with tabs.
    Middle,
    /// The conversation and a column with all panes.
    Wide,
}

/// Returns the class of a screen of that size.
pub fn class(area: Rect) -> SizeClass {
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        SizeClass::Small
    } else if area.width < MIDDLE {
        SizeClass::Narrow
    } else if area.width < WIDE {
        SizeClass::Middle
    } else {
        SizeClass::Wide
    }
}

/// The areas of everything on the screen. A part without an area is not drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub class: SizeClass,
    /// The line at the top.
    pub status: Rect,
    /// The line at the bottom.
    pub hints: Rect,
    /// The line with the demo's tips.
    pub tour: Option<Rect>,
    /// The position line of a replay.
    pub replay: Option<Rect>,
    /// The tab line and its panes.
    pub tabs: Option<(Rect, Vec<Pane>)>,
    /// The line for waiting requests, if Needs you is not in view.
    pub banner: Option<Rect>,
    /// The border between two columns, which the mouse can drag.
    pub border: Option<Rect>,
    /// The panes in view.
    pub panes: Vec<(Pane, Rect)>,
    pub composer: Option<Rect>,
    /// The preview.
    pub peek: Option<Rect>,
}

impl Layout {
    /// Returns the area of a pane, if it is in view.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(p, _)| *p == pane)
            .map(|(_, area)| *area)
    }

    /// Returns what a click at a cell focuses.
    pub fn at(&self, column: u16, row: u16) -> Option<Focus> {
        let here = Position::new(column, row);
        if self.composer.is_some_and(|area| area.contains(here)) {
            return Some(Focus::Composer);
        }
        self.panes
            .iter()
            .find(|(_, area)| area.contains(here))
            .map(|(pane, _)| Focus::Pane(*pane))
    }
}

/// The margin beside text in a pane.
pub const BESIDE_TEXT: Margin = Margin::new(1, 0);

/// Maximum width in columns of running text; longer lines are hard to read.
pub const TEXT_WIDEST: u16 = 120;

/// Returns the area inside a pane's frame.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// Returns the viewport of a conversation with its text in `talk`.
pub fn viewport(talk: Rect) -> Viewport {
    Viewport {
        width: talk.width,
        height: talk.height,
    }
}

/// Whether the layout shows one pane at a time.
pub fn shows_one(app: &App) -> bool {
    is_one(
        class(app.size),
        app.size.height,
        app.arrangement.screen.layout,
    )
}

pub fn is_one(class: SizeClass, height: u16, arrangement: PaneLayout) -> bool {
    arrangement == PaneLayout::Focus || class == SizeClass::Narrow && height < TALL
}

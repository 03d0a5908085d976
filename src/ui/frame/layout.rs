//! Areas of the screen: the classes of its size, and where panes lie.

use ratatui::layout::{Margin, Position, Rect};

use crate::domain::screen::Arrangement;
use crate::ui::app::App;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::transcript::Viewport;

/// Narrowest screen with panes, in columns.
pub const WIDTH_MIN: u16 = 60;

/// Lowest screen with panes, in rows.
pub const HEIGHT_MIN: u16 = 16;

/// From here on all panes lie side by side.
pub const WIDE: u16 = 140;

/// A narrow screen so high shows the conversation and one more pane, one above the other.
pub const TALL: u16 = 36;

/// From here on the conversation and one more pane lie side by side.
pub const MIDDLE: u16 = 100;

/// The panes of the right column that share one place on a middling screen, and their tab line.
pub const TABS: [Pane; 4] = [Pane::Board, Pane::Team, Pane::Inbox, Pane::Todo];

/// Which layout a screen gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Too small for panes.
    Small,
    /// One pane at a time; where the screen is high, the conversation and one more.
    Narrow,
    /// The conversation, and a column with tabs.
    Middle,
    /// The conversation, and a column with all panes.
    Wide,
}

/// The class of a screen of that size.
pub fn class(area: Rect) -> Class {
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        Class::Small
    } else if area.width < MIDDLE {
        Class::Narrow
    } else if area.width < WIDE {
        Class::Middle
    } else {
        Class::Wide
    }
}

/// Where everything lies. What is not there is not drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Which layout it is.
    pub class: Class,
    /// The line at the top.
    pub status: Rect,
    /// The line at the bottom.
    pub hints: Rect,
    /// The line that guides through the demo, while there is one.
    pub tour: Option<Rect>,
    /// The line that says where a recording stands, while one is played.
    pub replay: Option<Rect>,
    /// The tab line and the panes that it offers.
    pub tabs: Option<(Rect, Vec<Pane>)>,
    /// The line that says that something waits, where its pane is not in view.
    pub banner: Option<Rect>,
    /// The border between two columns: the mouse moves it.
    pub border: Option<Rect>,
    /// The panes in view.
    pub panes: Vec<(Pane, Rect)>,
    /// Where the person writes.
    pub composer: Option<Rect>,
    /// What is peeked at, while something is.
    pub peek: Option<Rect>,
}

impl Layout {
    /// Where a pane lies, if it is in view.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(p, _)| *p == pane)
            .map(|(_, area)| *area)
    }

    /// What lies at a cell: who gets the keys by a click there.
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

/// The blank columns beside a text that fills a pane.
pub const BESIDE_TEXT: Margin = Margin::new(1, 0);

/// Most columns of running text: the eye does not find the next line at the end of a longer one.
pub const TEXT_WIDEST: u16 = 120;

/// The inside of a pane's frame.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// Most rows of queued messages.
pub const QUEUED_MAX: u16 = 3;

/// The rows at the lower edge of a conversation `height` rows high that show messages on their way to its agent.
pub fn queued_rows(app: &App, height: u16) -> u16 {
    let waiting = app
        .model
        .queued
        .iter()
        .filter(|q| q.to == app.shown)
        .count();
    let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
    waiting.min(QUEUED_MAX).min(height / 3)
}

/// Where the words of a conversation lie in a pane with the frame `area`.
pub fn talk(app: &App, area: Rect) -> Rect {
    let inner = inside(area).inner(BESIDE_TEXT);
    Rect {
        width: inner.width.min(TEXT_WIDEST),
        height: inner.height - queued_rows(app, inner.height),
        ..inner
    }
}

/// The room of a conversation whose words lie at `talk`.
pub fn viewport(talk: Rect) -> Viewport {
    Viewport {
        width: talk.width,
        height: talk.height,
    }
}

/// Whether one pane is in view at a time, whatever else there is.
pub fn shows_one(app: &App) -> bool {
    is_one(
        class(app.size),
        app.size.height,
        app.arrangement.screen.layout,
    )
}

pub fn is_one(class: Class, height: u16, arrangement: Arrangement) -> bool {
    arrangement == Arrangement::Focus || class == Class::Narrow && height < TALL
}

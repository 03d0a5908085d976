//! The layout of the screen: its size classes, and the areas of panes and other parts.

use ratatui::layout::{Margin, Position, Rect};

use crate::domain::screen::PaneLayout;
use crate::ui::app::App;
use crate::ui::keymap::pane::{Focus, Pane};
pub use crate::ui::text::TEXT_WIDEST;
use crate::ui::transcript::Viewport;

/// Minimum width of the screen, in columns, to show panes.
pub const WIDTH_MIN: u16 = 60;

/// Minimum height of the screen, in rows, to show panes.
pub const HEIGHT_MIN: u16 = 16;

/// Minimum width of the screen, in columns, to show panes in two columns without tabs at every height. A narrower
/// screen that has at least [`MIDDLE`] columns needs no tabs only if it is high enough.
pub const WIDE: u16 = 140;

/// Minimum height, in rows, of a screen narrower than `MIDDLE` to show two panes, one above the other.
pub const TALL: u16 = 36;

/// Minimum width of the screen, in columns, to show two panes side by side.
pub const MIDDLE: u16 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeClass {
    /// Too narrow or too low for panes.
    Small,
    /// Room for one pane at a time, or for two if the screen has at least [`TALL`] rows.
    Narrow,
    /// Room for the conversation and a column of panes beside it. On a low screen, the column has tabs: it shows the
    /// pane of the selected tab, and other panes only if they fit.
    Middle,
    /// Room for the conversation and a column of panes beside it that needs no tabs, however low the screen is.
    Wide,
}

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

/// The areas of all parts of the screen. A part whose area is `None` is not drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub class: SizeClass,
    pub status: Rect,
    /// The line at the bottom with key hints.
    pub hints: Rect,
    /// The rows of the status message directly above the hints. The lowest one covers the tour line if there is one.
    /// `None` if no message is shown or the message is shown in the row of the hints.
    pub message: Option<Rect>,
    /// The line with the demo's tips.
    pub tour: Option<Rect>,
    /// The progress line of a replay.
    pub replay: Option<Rect>,
    /// The tab line, and the panes that it lists.
    pub tabs: Option<(Rect, Vec<Pane>)>,
    /// The line that announces open requests while the pane "Needs you" is not visible.
    pub banner: Option<Rect>,
    /// The border between two columns, which the mouse can drag.
    pub border: Option<Rect>,
    pub panes: Vec<(Pane, Rect)>,
    pub composer: Option<Rect>,
    /// The area above the composer that shows the request that the user can answer from the composer.
    pub request: Option<Rect>,
    /// The preview of the selected item, if it is open.
    pub peek: Option<Rect>,
}

impl Layout {
    /// Returns the area of a pane; `None` if the pane is not visible.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(p, _)| *p == pane)
            .map(|(_, area)| *area)
    }

    /// Returns which pane or input gets the focus when the user clicks the cell at `column` and `row` of the screen,
    /// both counted from 0; `None` if the click changes no focus.
    pub fn at(&self, column: u16, row: u16) -> Option<Focus> {
        let here = Position::new(column, row);
        let inputs = [self.composer, self.request];
        if inputs.into_iter().flatten().any(|area| area.contains(here)) {
            return Some(Focus::Composer);
        }
        self.panes
            .iter()
            .find(|(_, area)| area.contains(here))
            .map(|(pane, _)| Focus::Pane(*pane))
    }
}

/// The margin of one column to the left and right of the text in a pane.
pub const BESIDE_TEXT: Margin = Margin::new(1, 0);

/// Returns the area inside a pane's frame.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// Returns the size of the text area `talk` of a conversation as a [`Viewport`].
pub fn viewport(talk: Rect) -> Viewport {
    Viewport {
        width: talk.width,
        height: talk.height,
    }
}

/// Returns whether the layout shows only one pane at a time: it is [`PaneLayout::Focus`], or the screen is narrow and
/// has fewer than [`TALL`] rows. A pane in full screen does not count.
pub fn shows_one(app: &App) -> bool {
    is_one_pane(
        class(app.size),
        app.size.height,
        app.arrangement.screen.layout,
    )
}

/// Returns whether a line above the pane, a card above the composer or the tour line announces open requests. This is the
/// case if the screen is narrow, shows one pane at a time, and does not show the pane "Needs you".
pub fn has_request_line(app: &App) -> bool {
    class(app.size) == SizeClass::Narrow && shows_one(app) && app.focus.pane() != Pane::Needs
}

/// Returns whether the line below the status line has a tab that counts the open requests. This is the case if the screen
/// is narrow and shows one pane at a time, unless the tabs are omitted.
pub fn has_request_tab(app: &App) -> bool {
    let class = class(app.size);
    let omits = omits_tabs(class, app.arrangement.screen.layout);
    class == SizeClass::Narrow && shows_one(app) && !omits
}

/// Returns whether the layout omits the tabs to save a row.
pub fn omits_tabs(class: SizeClass, arrangement: PaneLayout) -> bool {
    class == SizeClass::Narrow && arrangement == PaneLayout::Focus
}

pub fn is_one_pane(class: SizeClass, height: u16, arrangement: PaneLayout) -> bool {
    arrangement == PaneLayout::Focus || class == SizeClass::Narrow && height < TALL
}

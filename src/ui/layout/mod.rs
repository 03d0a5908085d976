//! Computes where everything is on the screen, from its size and the user's layout. Views, mouse and page keys use it.

pub(super) mod cut;
pub(super) mod scrollbar;

mod arrange;
mod shares;

use ratatui::layout::{Margin, Position, Rect};

use super::state::UiState;
use super::transcript::Viewport;
use crate::domain::screen::Arrangement;
use crate::ui::guide::tour;
use crate::ui::popup::peek;
use crate::ui::state::pane::{Focus, Pane};
use arrange::{alone, banner, board_first, middle, one, stacked, wide};

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

/// The panes that share one area with tabs.
pub const TABS: [Pane; 4] = [Pane::Board, Pane::Team, Pane::Inbox, Pane::Todo];

/// The size class of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
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

/// The areas of everything on the screen. A part without an area is not drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub class: Class,
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

/// Most rows of queued messages.
const QUEUED_MAX: u16 = 3;

/// Returns how many rows at the bottom of a conversation of `height` rows show queued messages.
pub fn queued_rows(state: &UiState, height: u16) -> u16 {
    let waiting = state.queued.iter().filter(|q| q.to == state.shown).count();
    let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
    waiting.min(QUEUED_MAX).min(height / 3)
}

/// Returns the area of the conversation's text in a pane with the frame `area`.
pub fn talk(state: &UiState, area: Rect) -> Rect {
    let inner = inside(area).inner(BESIDE_TEXT);
    Rect {
        width: inner.width.min(TEXT_WIDEST),
        height: inner.height - queued_rows(state, inner.height),
        ..inner
    }
}

/// Returns the viewport of a conversation with its text in `talk`.
pub fn viewport(talk: Rect) -> Viewport {
    Viewport {
        width: talk.width,
        height: talk.height,
    }
}

/// Computes the layout of a screen of size `area`.
pub fn layout(state: &UiState, area: Rect) -> Layout {
    let mut out = lay_out(state, area);
    peek::make_room(state, &mut out);
    out
}

fn lay_out(state: &UiState, area: Rect) -> Layout {
    let class = class(area);
    let row = |y: u16| Rect::new(area.x, y, area.width, 1.min(area.height));
    let mut out = Layout {
        class,
        status: row(area.y),
        hints: row(area.bottom().saturating_sub(1)),
        tour: None,
        replay: None,
        tabs: None,
        banner: None,
        border: None,
        panes: Vec::new(),
        composer: None,
        peek: None,
    };
    if class == Class::Small {
        return out;
    }
    let mut body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
    if state.replay.is_some() {
        body.height -= 1;
        out.replay = Some(row(body.bottom()));
    } else if tour::line(state).is_some() {
        body.height -= 1;
        out.tour = Some(row(body.bottom()));
    }
    let one_at_a_time = is_one(class, area.height, state.screen.layout);
    if let Some(pane) = state.zoom.filter(|_| !one_at_a_time) {
        let body = banner(state, &mut out, body, pane);
        alone(state, &mut out, pane, body);
        return out;
    }
    match (class, state.screen.layout) {
        (Class::Small, _) => {}
        _ if one_at_a_time => one(state, &mut out, body),
        (Class::Narrow, _) => stacked(state, &mut out, body),
        (Class::Middle | Class::Wide, Arrangement::Focus) => one(state, &mut out, body),
        (Class::Middle, Arrangement::Wall) => middle(state, &mut out, body),
        (Class::Wide, Arrangement::Wall) => wide(state, &mut out, body),
        (Class::Middle | Class::Wide, Arrangement::Board) => board_first(state, &mut out, body),
    }
    out
}

/// Whether the layout shows one pane at a time.
pub fn shows_one(state: &UiState) -> bool {
    is_one(class(state.size), state.size.height, state.screen.layout)
}

fn is_one(class: Class, height: u16, arrangement: Arrangement) -> bool {
    arrangement == Arrangement::Focus || class == Class::Narrow && height < TALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture;

    #[test]
    fn class_follows_the_size() {
        let cases = [
            (59, 16, Class::Small),
            (60, 15, Class::Small),
            (60, 16, Class::Narrow),
            (99, 50, Class::Narrow),
            (100, 16, Class::Middle),
            (139, 50, Class::Middle),
            (140, 16, Class::Wide),
        ];
        for (width, height, expected) in cases {
            assert_eq!(class(Rect::new(0, 0, width, height)), expected);
        }
    }

    #[test]
    fn areas_cover_the_screen_without_overlap() {
        let sizes = (60..=400).step_by(17).chain([61, 99, 100, 139, 140, 400]);
        for width in sizes {
            let mut state = fixture::busy(width, 60);
            for height in (16..60).chain([90, 120]) {
                for arrangement in Arrangement::ALL {
                    state.screen.layout = arrangement;
                    for focus in [
                        Focus::Composer,
                        Focus::Pane(Pane::Needs),
                        Focus::Pane(Pane::Todo),
                    ] {
                        state.focus = focus;
                        for share in [None, Some(0), Some(100)] {
                            state.screen.wall_left = share;
                            state.screen.board_left = share;
                            check(&state, Rect::new(0, 0, width, height));
                        }
                    }
                }
            }
        }
    }

    fn check(state: &UiState, area: Rect) {
        let layout = layout(state, area);
        let mut parts: Vec<Rect> = layout.panes.iter().map(|(_, r)| *r).collect();
        parts.extend([layout.status, layout.hints]);
        parts.extend(layout.composer);
        parts.extend(layout.banner);
        parts.extend(layout.tabs.map(|(r, _)| r));
        for (i, one) in parts.iter().enumerate() {
            assert_eq!(area.intersection(*one), *one, "{area}");
            for other in &parts[i + 1..] {
                assert!(!one.intersects(*other), "{area}: {one} {other}");
            }
        }
        let cells: u32 = parts.iter().map(|r| r.area()).sum();
        assert_eq!(cells, area.area(), "{area}: cells are not covered");
    }

    #[test]
    fn needs_you_is_on_top_of_its_column() {
        for width in [100, 160] {
            let layout = layout(&fixture::busy(width, 40), Rect::new(0, 0, width, 40));
            let needs = layout.pane(Pane::Needs).unwrap();
            assert_eq!(needs.y, 1);
            assert_eq!(layout.at(needs.x, needs.y), Some(Focus::Pane(Pane::Needs)));
        }
    }
}

//! Areas of popups on the screen.

use ratatui::layout::Margin;
use ratatui::layout::Rect;

/// A rectangle in the middle of another, cut to it.
pub fn centered(screen: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(screen.width);
    let height = height.min(screen.height);
    Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + (screen.height - height) / 2,
        width,
        height,
    }
}

/// The height of the frame around so many lines of words.
pub fn framed(lines: usize) -> u16 {
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX);
    wanted.max(ROWS_MIN).saturating_add(2)
}

/// A rectangle in the middle of the lower edge of another, above the lines with hints: what it is about, which lies on top
/// of the screen, can be read meanwhile.
pub fn low(screen: Rect, width: u16, height: u16) -> Rect {
    let area = centered(screen, whole_or(screen, width), height);
    Rect {
        y: screen
            .bottom()
            .saturating_sub(area.height + 2)
            .max(screen.y),
        ..area
    }
}

/// `width`, or the whole width of the screen where only a few columns would be left beside a popup: single letters and
/// pieces of borders would stand there.
pub fn whole_or(screen: Rect, width: u16) -> u16 {
    if screen.width.saturating_sub(width).div_ceil(2) <= BESIDE_MAX {
        screen.width
    } else {
        width
    }
}

/// Most columns beside a popup in which nothing can be read.
pub const BESIDE_MAX: u16 = 4;

/// Least rows of a popup of words, inside of its frame: a strip of one or two is overlooked.
pub const ROWS_MIN: u16 = 5;

/// Where a popup and its list lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The popup with its frame.
    pub area: Rect,
    /// The rows of its list.
    pub list: Rect,
    /// The place of the first row in view.
    pub first: usize,
}

/// The mark on the frame of a popup that closes it, while crewdeck has the mouse.
pub fn close_mark(area: Rect) -> Rect {
    Rect {
        x: area.right().saturating_sub(4),
        width: 3,
        height: 1,
        ..area
    }
    .intersection(area)
}

/// Inside the frame of a popup.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(2, 1))
}

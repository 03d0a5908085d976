//! Layout of the popups with a list, and their visible rows.

use ratatui::layout::{Margin, Rect};

use crate::ui::popup::readers::{centered, framed, low, whole_or};
use crate::ui::popup::themes;
use crate::ui::popup::{Choice, Picker};
use crate::ui::state::UiState;
use crate::ui::state::rows::{self, first_row};
use crate::ui::textual::wrap;

/// Maximum width of a picker, in columns.
const PICKER_WIDTH: u16 = 76;
/// Maximum width of the list of jobs, in columns.
const JOBS_WIDTH: u16 = 120;
/// Maximum rows of the list of jobs; the rest shows the output of the selected job.
const JOBS_MAX: usize = 8;

/// The layout of a popup with a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The popup, including its border.
    pub area: Rect,
    /// The rows of its list.
    pub list: Rect,
    /// The index of the first visible row.
    pub first: usize,
}

/// Returns the close button on the popup's border, shown while crewdeck captures the mouse.
pub fn close_mark(area: Rect) -> Rect {
    Rect {
        x: area.right().saturating_sub(4),
        width: 3,
        height: 1,
        ..area
    }
    .intersection(area)
}

/// Returns the area inside the border of a popup.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(2, 1))
}

/// Returns the layout of a picker of `len` rows, below a search line and a blank line.
pub fn picker(state: &UiState, screen: Rect, picker: &Picker, len: usize) -> Place {
    let most = match picker.choice {
        Choice::Palette { .. } | Choice::Models | Choice::Rules => 20,
        // Only as tall as its rows, so that the text to copy stays visible.
        Choice::Copy => {
            let all = rows::copies(state).len();
            u16::try_from(all).unwrap_or(u16::MAX).clamp(1, 12) + 4
        }
        // Low as well, so that the theme is visible.
        Choice::Themes => {
            let all = themes::rows(state).len();
            u16::try_from(all).unwrap_or(u16::MAX).clamp(1, 10) + 4
        }
        // Low enough to leave the card above readable.
        Choice::Scopes(_) => 6,
    };
    let height = screen.height.saturating_sub(4).min(most);
    let width = PICKER_WIDTH.min(screen.width.saturating_sub(4));
    let area = match picker.choice {
        Choice::Scopes(_) => low(screen, width, height),
        // The screen below matters, so no truncated remainder is left beside them.
        Choice::Copy | Choice::Themes => centered(screen, whole_or(screen, width), height),
        Choice::Palette { .. } | Choice::Models | Choice::Rules => centered(screen, width, height),
    };
    let inside = inside(area);
    let above = 2.min(inside.height);
    let list = Rect {
        y: inside.y + above,
        height: inside.height - above,
        ..inside
    };
    Place {
        area,
        list,
        first: first_row(len, picker.row, list.height),
    }
}

/// Returns the width of the list of jobs, including the border.
pub fn jobs_width(screen: Rect) -> u16 {
    JOBS_WIDTH.min(screen.width.saturating_sub(4))
}

/// The text of an empty list of jobs.
pub const NO_JOBS: &str = "No background jobs. Agents start one with background_run for long tasks: \
                           builds, test suites, servers.";

/// Returns the text of an empty list of jobs, wrapped.
pub fn no_jobs(screen: Rect) -> Vec<String> {
    wrap(NO_JOBS, usize::from(jobs_width(screen).saturating_sub(4)))
}

/// Returns the layout of the list of `len` jobs, above the output of the selected one. An empty list is a low popup
/// with text.
pub fn jobs(screen: Rect, row: usize, len: usize) -> Place {
    let height = match len {
        0 => framed(no_jobs(screen).len()),
        _ => screen.height.saturating_sub(4).min(30),
    };
    let area = centered(screen, jobs_width(screen), height);
    let inside = inside(area);
    let rows = u16::try_from(len.min(JOBS_MAX)).unwrap_or(1);
    let list = Rect {
        height: rows.min(inside.height),
        ..inside
    };
    Place {
        area,
        list,
        first: first_row(len, row, rows),
    }
}

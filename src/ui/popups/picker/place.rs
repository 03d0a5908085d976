//! Where the popups with a list lie, and which of their rows are in view.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::themes;
use crate::ui::text::wrap;
use crate::ui::widgets::area::{Place, centered, framed, inside, low, whole_or};
use crate::ui::widgets::list::first_row;

/// Widest list to choose from, in columns.
const PICKER_WIDTH: u16 = 76;
/// Widest list of jobs, in columns.
const JOBS_WIDTH: u16 = 120;
/// Most rows of the list of jobs; the rest is for the output of the selected one.
const JOBS_MAX: usize = 8;

/// A list of `len` rows with a line to search in it and a blank one above.
pub fn picker(app: &App, screen: Rect, picker: &Picker, len: usize) -> Place {
    let most = match picker.choice {
        Choice::Palette { .. } | Choice::Models | Choice::Rules => 20,
        // As low as its rows, so that what is copied can be seen beside it.
        Choice::Copy => {
            let all = picker_rows::copies(app).len();
            u16::try_from(all).unwrap_or(u16::MAX).clamp(1, 12) + 4
        }
        // Low too: what it changes is to be seen.
        Choice::Themes => {
            let all = themes::rows(app).len();
            u16::try_from(all).unwrap_or(u16::MAX).clamp(1, 10) + 4
        }
        // So low that the card can be read above it.
        Choice::Scopes(_) => 6,
    };
    let height = screen.height.saturating_sub(4).min(most);
    let width = PICKER_WIDTH.min(screen.width.saturating_sub(4));
    let area = match picker.choice {
        Choice::Scopes(_) => low(screen, width, height),
        // What is below them matters: they leave nothing that is cut off beside them.
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

/// The columns of the list of jobs with its frame.
pub fn jobs_width(screen: Rect) -> u16 {
    JOBS_WIDTH.min(screen.width.saturating_sub(4))
}

/// What the list of jobs says while it is empty.
pub const NO_JOBS: &str = "No background jobs. An agent starts one with background_run for what takes long: \
                           builds, test suites, servers.";

/// The words of a list without jobs, wrapped to its width.
pub fn no_jobs(screen: Rect) -> Vec<String> {
    wrap(NO_JOBS, usize::from(jobs_width(screen).saturating_sub(4)))
}

/// The list of `len` jobs, above what the selected one writes; words in a low frame where there are none.
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

//! Layout of the popups with a list, and their visible rows.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::themes;
use crate::ui::widgets::area::{Place, centered, inside, low, whole_or};
use crate::ui::widgets::list::first_row;

/// Maximum width of a picker, in columns.
const PICKER_WIDTH: u16 = 76;

/// A list of `len` rows, below a search line and a blank line.
pub fn picker(app: &App, screen: Rect, picker: &Picker, len: usize) -> Place {
    let most = match picker.choice {
        Choice::Palette { .. } | Choice::Models | Choice::Rules => 20,
        // Only as tall as its rows, so that the text to copy stays visible.
        Choice::Copy => {
            let all = picker_rows::copies(app).len();
            u16::try_from(all).unwrap_or(u16::MAX).clamp(1, 12) + 4
        }
        // Low as well, so that the theme is visible.
        Choice::Themes => {
            let all = themes::rows(app).len();
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

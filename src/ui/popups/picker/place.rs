//! Where the popups with a list lie, and which of their rows are in view.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::themes;
use crate::ui::widgets::area::{Place, centered, inside, low, whole_or};
use crate::ui::widgets::list::first_row;

/// Widest list to choose from, in columns.
const PICKER_WIDTH: u16 = 76;

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

//! What the shell asks of a pane. Each pane answers in its own folder; [`feature`] lists them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::frame::hit::{Hit, listed};
use crate::ui::frame::layout;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::board::BoardPane;
use crate::ui::panes::inbox::InboxPane;
use crate::ui::panes::lead::LeadPane;
use crate::ui::panes::needs::NeedsPane;
use crate::ui::panes::team::TeamPane;
use crate::ui::panes::todo::TodoListPane;
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The pane of each name: to add one, add its line.
pub fn feature(pane: Pane) -> &'static dyn PaneFeature {
    match pane {
        Pane::Lead => &LeadPane,
        Pane::Todo => &TodoListPane,
        Pane::Board => &BoardPane,
        Pane::Team => &TeamPane,
        Pane::Inbox => &InboxPane,
        Pane::Needs => &NeedsPane,
    }
}

/// One pane. `area` is its frame on the screen; `None` where it is not in view.
pub trait PaneFeature: Sync {
    /// Draws it; returns where the cursor is to be while something is written in it.
    fn draw(
        &self,
        app: &App,
        cache: &mut ViewCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position>;

    /// Adds what the mouse can press inside it.
    fn targets(&self, app: &App, area: Rect, out: &mut Vec<Target<Hit>>);

    /// Adds what else than its title and scrollbar the mouse can press on its frame.
    fn frame_targets(&self, _app: &App, _area: Rect, _out: &mut Vec<Target<Hit>>) {}

    /// Returns its scrollbar; `None` where all of it is in view.
    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar>;

    /// Scrolls it, or moves its selection.
    fn scroll(&self, app: &mut App, area: Option<Rect>, by: Scroll);

    /// Selects a row of its list.
    fn select(&self, _app: &mut App, _row: usize) {}

    /// Returns whether a click on a row opens it; `is_second` if the click before was on the same row.
    fn opens(&self, _app: &App, _row: usize, _is_second: bool) -> bool {
        false
    }

    /// Goes to where its scrollbar was pulled, to a row of the screen.
    fn jump(&self, app: &mut App, _area: Option<Rect>, bar: Scrollbar, row: u16) {
        self.select(app, bar.row_at(row));
    }

    /// Goes to what lies beside the selection.
    fn neighbour(&self, _app: &mut App, _area: Option<Rect>, _way: Way) {}

    /// Follows the newest.
    fn follow(&self, _app: &mut App, _area: Option<Rect>) {}

    /// Shows more of what is selected.
    fn open(&self, app: &mut App, area: Option<Rect>);

    /// Returns whether there is something to open.
    fn can_open(&self, app: &App) -> bool;

    /// Returns whether there is something to peek at.
    fn can_peek(&self, _app: &App) -> bool {
        false
    }

    /// Returns whether something newer than what is in view can be followed.
    fn can_follow(&self, app: &App) -> bool {
        let agent = app.model.agents.get(&app.shown);
        agent.is_some_and(|agent| !agent.transcript.is_following())
    }

    /// Returns whether there is something beside the selection.
    fn has_neighbour(&self, _app: &App) -> bool {
        false
    }

    /// Returns whether there are rows to filter.
    fn can_filter(&self, _app: &App) -> bool {
        false
    }

    /// Returns whether there is something to copy.
    fn can_copy(&self, app: &App) -> bool {
        self.can_open(app)
    }

    /// Returns what `Copy` copies, and what it is called.
    fn copied(&self, app: &App) -> Option<(String, String)>;

    /// Selects the first row again: the filter has changed.
    fn filter_changed(&self, _app: &mut App) {}

    /// Returns how much is in it, for its tab.
    fn tab_count(&self, _app: &App) -> String {
        String::new()
    }

    /// Returns whether the keys that go from pane to pane stop there.
    fn is_stop(&self, _app: &App) -> bool {
        true
    }
}

/// Returns the rows of a list of `len` rows as targets of `pane`.
pub fn rows(pane: Pane, list: Rect, (len, first): (usize, usize)) -> Vec<Target<Hit>> {
    let rows = listed(list, first, len);
    rows.map(|(at, row)| Target {
        at,
        what: Hit::Row(pane, row),
    })
    .collect()
}

/// Returns how many rows of a list are in view in the frame `area`; at least one.
pub fn page(area: Option<Rect>, list: impl FnOnce(Rect) -> Rect) -> usize {
    let list = area.map(|area| list(layout::inside(area)));
    usize::from(list.map_or(1, |list| list.height)).max(1)
}

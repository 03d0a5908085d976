//! What the shell asks of a pane.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::frame::hit::{Hit, listed};
use crate::ui::frame::layout;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::direction::{Scroll, Toward, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Lines that one notch of the mouse wheel scrolls.
pub const NOTCH: usize = 3;

/// A pane with its state. `area` is its frame on the screen; `None` if the pane is not visible.
pub trait PaneFeature {
    /// Draws the pane. Returns the position of the text cursor while the user types in it.
    fn draw(
        &self,
        app: &App,
        cache: &mut ViewCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position>;

    /// Adds the mouse targets inside the pane.
    fn targets(&self, app: &App, area: Rect, out: &mut Vec<Target<Hit>>);

    /// Adds the mouse targets on the frame, besides the title and the scrollbar.
    fn frame_targets(&self, _app: &App, _area: Rect, _out: &mut Vec<Target<Hit>>) {}

    /// Returns the scrollbar; `None` if all content is visible.
    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar>;

    /// Returns how many rows its whole content has, which its height may depend on.
    fn content_rows(&self, app: &App) -> usize;

    /// Scrolls it, or moves its selection.
    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll);

    /// Selects a row of its list.
    fn select(&mut self, _app: &App, _row: usize) {}

    /// Returns whether a click opens the row. `is_second` says whether the previous click was on the same row.
    fn opens(&self, _app: &App, _row: usize, _is_second: bool) -> bool {
        false
    }

    /// Scrolls to where its scrollbar was dragged, to a row of the screen.
    fn jump(&mut self, app: &mut App, _area: Option<Rect>, bar: Scrollbar, row: u16) {
        self.select(app, bar.row_at(row));
    }

    /// Handles a notch of the mouse wheel; `zooms` with the control key.
    fn wheel(&mut self, app: &mut App, area: Option<Rect>, toward: Toward, _zooms: bool) {
        let by = match toward {
            Toward::Up => Scroll::LineUp,
            Toward::Down => Scroll::LineDown,
            Toward::Left | Toward::Right => return,
        };
        for _ in 0..NOTCH {
            self.scroll(app, area, by);
        }
    }

    /// Moves its content after its background was dragged by columns and rows.
    fn drag(&mut self, _app: &App, _area: Option<Rect>, _by: (isize, isize)) {}

    /// Moves the selection sideways, for example to a blocker in the graph.
    fn neighbour(&mut self, _app: &mut App, _area: Option<Rect>, _way: Way) {}

    /// Returns whether there is something beside the selection.
    fn has_neighbour(&self, _app: &App) -> bool {
        false
    }

    /// Follows the newest.
    fn follow(&mut self, _app: &mut App, _area: Option<Rect>) {}

    /// Returns whether something newer than what is in view can be followed.
    fn can_follow(&self, app: &App) -> bool {
        let agent = app.model.agents.get(&app.shown);
        agent.is_some_and(|agent| !agent.transcript.is_following())
    }

    /// Shows more of what is selected.
    fn open(&mut self, app: &mut App, area: Option<Rect>);

    /// Returns whether there is something to open.
    fn can_open(&self, app: &App) -> bool;

    /// Runs an action that only this pane has, even without the focus. Returns `false` if the pane does not have it.
    fn act(
        &mut self,
        _app: &mut App,
        _area: Option<Rect>,
        _action: Action,
        _out: &mut Vec<Effect>,
    ) -> bool {
        false
    }

    /// Returns whether an action that only this pane has would have an effect now; `None` if it is no such action.
    fn offers(&self, _app: &App, _action: Action) -> Option<bool> {
        None
    }

    /// Returns the label of a key in the hint line where it differs from the key table.
    fn hint(&self, _app: &App, _binding: &KeyBinding) -> Option<String> {
        None
    }

    /// Returns the key context that is more specific than that of the pane.
    fn inner_context(&self, _app: &App) -> Option<Context> {
        None
    }

    /// Returns the key context of the text that is being typed in it.
    fn typing_context(&self, _app: &App) -> Option<Context> {
        let is_typing = self.filter().is_some_and(ListFilter::is_typing);
        is_typing.then_some(Context::Filter)
    }

    /// Returns the filter of its list, if it can have one.
    fn filter(&self) -> Option<&ListFilter> {
        None
    }

    /// Returns the filter of its list, if it can have one.
    fn filter_mut(&mut self) -> Option<&mut ListFilter> {
        None
    }

    /// Selects the first row again after the filter has changed.
    fn filter_changed(&mut self) {}

    /// Returns whether there are rows to filter.
    fn can_filter(&self, _app: &App) -> bool {
        false
    }

    /// Returns whether there is something to copy.
    fn can_copy(&self, app: &App) -> bool {
        self.can_open(app)
    }

    /// Returns the text that the action `Copy` puts on the clipboard, after a description of it.
    fn copied(&self, app: &App) -> Option<(String, String)>;

    /// Returns the selected item that can be previewed.
    fn selected_item(&self, _app: &App) -> Option<SelectedItem> {
        None
    }

    /// Returns whether there is something to preview.
    fn can_peek(&self, app: &App) -> bool {
        self.selected_item(app).is_some()
    }

    /// Returns the preview of the selected item, `columns` columns wide.
    fn preview(&self, _app: &App, _columns: usize, _theme: &Theme) -> Option<Preview> {
        None
    }

    /// Selects another item while the preview is open.
    fn step_preview(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        self.scroll(app, area, by);
    }

    /// Called when the end of the selected item's preview was visible.
    fn preview_was_read(&mut self, _app: &App) {}

    /// Returns the ages that its preview shows.
    fn preview_ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns the ages that it shows only while it has the focus.
    fn ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns the tip of the tour while it has the focus, if it has one.
    fn tour_tip(&self, _app: &App) -> Option<String> {
        None
    }

    /// Returns how much is in it, for its tab.
    fn tab_count(&self, _app: &App) -> String {
        String::new()
    }

    /// Returns whether it has a tab where all panes have one.
    fn has_tab(&self, _app: &App) -> bool {
        true
    }

    /// Returns whether its tab is highlighted while the pane is not in view.
    fn tab_calls(&self) -> bool {
        false
    }

    /// Returns whether the keys that go from pane to pane stop there.
    fn is_stop(&self, _app: &App) -> bool {
        true
    }

    /// Does what others ask of the panes, where it concerns this one.
    fn requested(&mut self, _request: &PaneRequest) {}

    /// Called before an event that may change its list: remembers the selected item by identity.
    fn before_event(&mut self, _app: &App, _event: &EventKind) {}

    /// Called after such an event: selects the remembered item, or what took its place.
    fn after_event(&mut self, _app: &App) {}
}

/// An item that is selected in a pane, by identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedItem {
    Task(TaskId),
    /// A message, by its number.
    Letter(u64),
    Request(RequestId),
    Agent(Name),
}

/// The content of a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The title.
    pub title: String,
    /// The lines at the top.
    pub lines: Vec<Line<'static>>,
    /// The line to start at if not all lines fit.
    pub begin: usize,
    /// The agent whose conversation is shown below.
    pub agent: Option<Name>,
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

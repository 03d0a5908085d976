//! The interface that each pane implements: drawing, mouse, keys and preview.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::{Hit, listed};
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::frame::{CLEAR_FILTER, layout};
use crate::ui::keymap::direction::{PanDirection, Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Number of lines that one notch of the mouse wheel scrolls.
pub const NOTCH: usize = 3;

/// The buffer that a pane is drawn into, with the theme and caches for drawing.
pub struct PaneCanvas<'a> {
    pub cache: &'a mut ViewCache,
    pub theme: &'a Theme,
    pub buffer: &'a mut Buffer,
}

/// A pane with its state. In all methods, `area` is the pane's frame on the screen; `None` if the pane is not visible.
pub trait PaneFeature {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor;

    /// Adds the mouse targets inside the pane.
    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>);

    /// Adds the mouse targets on the frame, besides the title and the scrollbar.
    fn frame_targets(&self, _app: &App, _area: Rect, _out: &mut Vec<PlacedPart<Hit>>) {}

    /// Returns the pane's scrollbar; `None` if all content is visible.
    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar>;

    /// Returns the number of rows of the whole content. The layout derives the height of some panes from it.
    fn content_rows(&self, app: &App) -> usize;

    /// Returns the height that the pane wants in a column of `width` columns, including the frame, at most `most` rows.
    /// Called only for panes whose height depends on nothing but their content.
    fn wanted_height(&self, _app: &App, _width: u16, most: u16) -> u16 {
        most
    }

    /// Scrolls the content, or moves the selection of a list.
    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll);

    /// Selects row `_row` of the pane's list. Does nothing in a pane without a list.
    fn select(&mut self, _app: &App, _row: usize) {}

    /// Returns whether a click on the row opens its item if the pane already has the focus. `_is_second` says whether
    /// the previous click was on the same row.
    fn opens(&self, _app: &App, _row: usize, _is_second: bool) -> bool {
        false
    }

    /// Scrolls to where the user has dragged the thumb of the scrollbar `bar`: to the screen row `row`.
    fn jump(&mut self, app: &mut App, _area: Option<Rect>, bar: Scrollbar, row: u16) {
        self.select(app, bar.row_at(row));
    }

    /// Handles one notch of the mouse wheel. `zooms` is true if the control key is pressed.
    fn wheel(&mut self, app: &mut App, area: Option<Rect>, toward: PanDirection, _zooms: bool) {
        let by = match toward {
            PanDirection::Up => Scroll::LineUp,
            PanDirection::Down => Scroll::LineDown,
            PanDirection::Left | PanDirection::Right => return,
        };
        for _ in 0..NOTCH {
            self.scroll(app, area, by);
        }
    }

    /// Pans the content after the user dragged its background by some columns and rows.
    fn drag(&mut self, _app: &App, _area: Option<Rect>, _by: (isize, isize)) {}

    /// Selects the next or previous item in a second direction, for example a blocker of the selected task, or another
    /// request.
    fn neighbour(&mut self, _app: &mut App, _area: Option<Rect>, _way: Way) {}

    fn has_neighbour(&self, _app: &App) -> bool {
        false
    }

    /// Scrolls to the newest content and keeps new content in view.
    fn follow(&mut self, _app: &mut App, _area: Option<Rect>) {}

    /// Returns whether [`PaneFeature::follow`] would have an effect, because the pane does not follow new content now.
    fn can_follow(&self, app: &App) -> bool {
        let agent = app.model.agents.get(&app.shown);
        agent.is_some_and(|agent| !agent.transcript.is_following())
    }

    /// Opens the selected item, for example the page of a task.
    fn open(&mut self, app: &mut App, area: Option<Rect>);

    fn can_open(&self, app: &App) -> bool;

    /// Runs an action that only this pane handles, even if the pane does not have the focus. Returns `false` if the
    /// pane does not handle the action. While a list of the pane covers other panes, `Action::Move` is such an action:
    /// it moves the selection in that list.
    fn act(
        &mut self,
        _app: &mut App,
        _area: Option<Rect>,
        _action: Action,
        _out: &mut Vec<Effect>,
    ) -> bool {
        false
    }

    /// Returns whether an action would have an effect now; `None` if the action is not one that only this pane handles.
    fn offers(&self, _app: &App, _action: Action) -> Option<bool> {
        None
    }

    /// Returns the label of a key in the hint line; `None` to use the label in the key table.
    fn hint(&self, _app: &App, _binding: &KeyBinding) -> Option<String> {
        None
    }

    /// Returns a key context that takes precedence over that of the pane, such as the one for the choices of a
    /// question. `None` if there is none.
    fn inner_context(&self, _app: &App) -> Option<Context> {
        None
    }

    /// Returns the key context of the text that the user is typing in the pane, such as a filter. `None` if no text is
    /// being typed.
    fn typing_context(&self, _app: &App) -> Option<Context> {
        let is_typing = self.filter().is_some_and(ListFilter::is_typing);
        is_typing.then_some(Context::Filter)
    }

    /// Returns the filter of the pane's list; `None` if the list cannot be filtered.
    fn filter(&self) -> Option<&ListFilter> {
        None
    }

    fn filter_mut(&mut self) -> Option<&mut ListFilter> {
        None
    }

    /// Called after the user has typed into a text of the pane, such as its filter: resets the selection in the list
    /// that depends on the text.
    fn text_changed(&mut self) {}

    /// Edits the text that is being typed in the pane, such as its filter. Returns `false` if no text is being typed.
    fn edit_text(
        &mut self,
        _app: &mut App,
        _area: Option<Rect>,
        edit: &mut dyn FnMut(&mut LineInput),
    ) -> bool {
        let Some(text) = self.filter_mut().and_then(ListFilter::input) else {
            return false;
        };
        edit(text);
        self.text_changed();
        true
    }

    /// Ends the typing of a text in the pane, such as a filter, and keeps the text in effect. If the text stands for an
    /// action, returns the action, which the caller runs.
    fn accept(&mut self, _app: &mut App) -> Option<Action> {
        self.filter_mut()?.finish();
        None
    }

    /// Goes one step back inside the focused pane, such as removing its filter. Returns `false` if there is no such
    /// step.
    fn step_back(&mut self, _app: &mut App) -> bool {
        self.filter_mut().is_some_and(ListFilter::remove)
    }

    /// Returns the label of what [`PaneFeature::step_back`] does; `None` if it does nothing.
    fn back_label(&self, _app: &App) -> Option<&'static str> {
        let is_set = self.filter().is_some_and(ListFilter::is_set);
        is_set.then_some(CLEAR_FILTER)
    }

    /// Returns whether there are rows to filter.
    fn can_filter(&self, _app: &App) -> bool {
        false
    }

    fn can_copy(&self, app: &App) -> bool {
        self.can_open(app)
    }

    /// Returns what the action `Copy` puts on the clipboard: a description for the status message, and the text.
    fn copied(&self, app: &App) -> Option<(String, String)>;

    /// Returns the selected item; `None` if there is none or the pane has no previews.
    fn selected_item(&self, _app: &App) -> Option<SelectedItem> {
        None
    }

    /// Returns whether there is a selected item whose preview can be opened.
    fn can_peek(&self, app: &App) -> bool {
        self.selected_item(app).is_some()
    }

    fn preview(&self, _app: &App, _columns: usize, _theme: &Theme) -> Option<Preview> {
        None
    }

    /// Selects another item while the preview is open.
    fn step_preview(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        self.scroll(app, area, by);
    }

    /// Called when the user has seen the end of the selected item's preview.
    fn preview_was_read(&mut self, _app: &App) {}

    /// Returns the ages, such as `2m`, that the preview of the selected item shows. The screen is redrawn when one
    /// changes.
    fn preview_ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns the ages, such as `2m`, that the pane shows only while it has the focus. The screen is redrawn when one
    /// changes.
    fn ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns the tip that the tour shows while the pane has the focus; `None` if the pane has none.
    fn tour_tip(&self, _app: &App) -> Option<String> {
        None
    }

    /// Returns what the pane's tab shows after the title, such as the number of messages; may be empty.
    fn tab_count(&self, _app: &App) -> String {
        String::new()
    }

    /// Returns whether the pane has a tab in the layout that shows one pane and tabs for the others.
    fn has_tab(&self, _app: &App) -> bool {
        true
    }

    /// Returns whether the pane's tab is highlighted as long as the pane is not visible.
    fn highlights_tab(&self) -> bool {
        false
    }

    /// Returns whether the keys that focus the next or previous pane stop at this pane. A pane without content is
    /// skipped.
    fn is_stop(&self, _app: &App) -> bool {
        true
    }

    /// Handles a request from a popup or another pane, if it concerns this pane.
    fn requested(&mut self, _request: &PaneRequest) {}

    /// Called before each event, except text deltas: remembers the selected item, because the event may change its row.
    fn before_event(&mut self, _app: &App, _event: &EventKind) {}

    /// Called after the event: selects the remembered item, or the item that took its place.
    fn after_event(&mut self, _app: &App) {}
}

/// The selected item of a pane, identified independently of its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedItem {
    Task(TaskId),
    /// A message, by its number in the log of messages.
    Message(u64),
    Request(RequestId),
    Agent(Name),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    pub title: String,
    /// The description of the item, wrapped to the width of the preview.
    pub lines: Vec<Line<'static>>,
    /// The index of the first line to show if not all lines fit.
    pub begin: usize,
    /// The agent whose conversation is shown below the lines; `None` for other items.
    pub agent: Option<Name>,
}

/// Returns the visible rows of a list in the area `list` as mouse targets of `pane`. The list has `len` rows in total,
/// and `first` is the index of the first visible one.
pub fn rows(pane: Pane, list: Rect, (len, first): (usize, usize)) -> Vec<PlacedPart<Hit>> {
    let rows = listed(list, first, len);
    rows.map(|(at, row)| PlacedPart {
        at,
        what: Hit::Row(pane, row),
    })
    .collect()
}

/// Returns the number of visible list rows in a pane with the frame `area`, at least 1. `list` computes the area of the
/// list from the area inside the frame.
pub fn page(area: Option<Rect>, list: impl FnOnce(Rect) -> Rect) -> usize {
    let list = area.map(|area| list(layout::inside(area)));
    usize::from(list.map_or(1, |list| list.height)).max(1)
}
